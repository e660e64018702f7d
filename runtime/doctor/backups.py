"""Doctor check of a mind's backups: whether what opens the mind opens them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.doctor.checks import Check, Target
from mnemic.runtime.minds.homes import mind_options, read_key_header
from mnemic.runtime.transfer.orphans import orphaned_backups

_PATHS_SHOWN = 5


def check_backups(target: Target) -> Iterator[Check]:
    """Whether a backup lies where it was written that nothing opens which opens the mind, or that cannot be read."""
    if not target.readable or target.states.get("mind") == "wrong":
        return  # which the checks of the store and of the key header say
    with target.store() as connection:
        found = orphaned_backups(connection, read_key_header(target.folder))
    told, remedies = [], []
    if found.orphaned:
        counted = pluralize(len(found.orphaned), "backup")
        said = f"{counted} from before a rekey or a restore: nothing that opens the mind now opens"
        told.append(f"{said} {_listed(found.orphaned)}")
        remedies.append(
            f"`mnemic backup FILE{mind_options(target.folder)}` makes a new one. One from before opens by the key file,"
            " passphrase or recovery key of that time; without them, remove it."
        )
    if found.unread:
        named = _listed([f"{one.path} ({one.why})" for one in found.unread])
        told.append(f"{pluralize(len(found.unread), 'backup')} that cannot be looked into: {named}")
        remedies.append("Have it readable, and look again: what opens the mind may not open it.")
    if told:
        yield Check("backups", "advice", "; ".join(told), " ".join(remedies))
    else:
        yield Check("backups", "ok", "what opens the mind opens each that is where it was written")


def _listed(named: Sequence[str]) -> str:
    shown = ", ".join(named[:_PATHS_SHOWN])
    return shown if len(named) <= _PATHS_SHOWN else f"{shown} and {len(named) - _PATHS_SHOWN} more"
