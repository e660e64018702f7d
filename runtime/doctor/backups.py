"""Doctor check of a mind's backups: whether what opens the mind opens them."""

from __future__ import annotations

from collections.abc import Iterator

from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.doctor.checks import Check, Target
from mnemic.runtime.minds.homes import mind_options, read_key_header
from mnemic.runtime.transfer.orphans import orphaned_backups

_PATHS_SHOWN = 5


def check_backups(target: Target) -> Iterator[Check]:
    """Whether a backup lies where it was written that nothing opens which opens the mind."""
    if not target.readable or target.states.get("mind") == "wrong":
        return  # which the checks of the store and of the card say
    with target.store() as connection:
        orphans = orphaned_backups(connection, read_key_header(target.folder))
    if not orphans:
        yield Check("backups", "ok", "what opens the mind opens each that is where it was written")
        return
    shown = orphans[:_PATHS_SHOWN]
    more = f" and {len(orphans) - len(shown)} more" if len(orphans) > len(shown) else ""
    told = f"{pluralize(len(orphans), 'backup')} from before a rekey: nothing that opens the mind now opens"
    told += f" {', '.join(shown)}{more}"
    remedy = f"`mnemic backup FILE{mind_options(target.folder)}` makes a new one. One from before opens by the key"
    remedy += " file, passphrase or recovery key of that time; without them, remove it."
    yield Check("backups", "advice", told, remedy)
