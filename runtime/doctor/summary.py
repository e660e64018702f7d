"""What can be said of a mind at once: how much is in it, when it was added to, and what is plainly wrong.

No actor runs for it, no process is started and no model is loaded. `mnemic.runtime.doctor.doctor` looks at all of it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import MindLocked, MnemicError
from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.capture.pauses import current_pause
from mnemic.runtime.doctor.capture import losses_check
from mnemic.runtime.keys.key_slots import slot_of
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, mind_folder, open_mind, read_key_header
from mnemic.runtime.minds.projects import home_repository, printable_path
from mnemic.runtime.spool.files import measure_backlog, read_losses
from mnemic.runtime.store.capture.read import count_memories, spool_offsets
from mnemic.runtime.store.high_water import lost_transactions
from mnemic.runtime.store.schema import check_schema, connect, translate_errors
from mnemic.runtime.store.scopes.read import project_scope


class MindSummary(msgspec.Struct, kw_only=True):
    """How a mind is."""

    memories: int | None = None
    """How many it holds; ``None`` where it could not be looked into."""
    captured_at: int | None = None
    """When the newest of them was captured, microseconds."""
    waiting_bytes: int = 0
    """How much hooks wrote that is not taken in yet."""
    locked: bool = False
    """Whether a passphrase locks it: it is not looked into then."""
    has_recovery: bool | None = None
    """Whether a recovery key opens it; ``None`` where its key header cannot be read."""
    home_scope: str | None = None
    """The scope of the git repository at the user's own home folder, where there are both."""
    paused: str = ""
    """Why nothing is captured, where its owner paused it."""
    wrong: list[str] = msgspec.field(default_factory=list)
    """What is wrong, and what to do, in words."""


def summarize_mind(home: Path, mind: str, clock: Clock) -> MindSummary | None:
    """Look at a mind; ``None`` where there is none of that name.

    Raises:
        InvalidValue: no mind can have that name.
    """
    folder, now_us = mind_folder(home, mind), clock.now_us()
    if not folder.path.is_dir():
        return None
    summary = MindSummary()
    try:
        summary.has_recovery = slot_of(read_key_header(folder), "recovery") is not None
        _inspect(folder, open_mind(home, mind, looking=True)[1], summary)
    except MindLocked:
        summary.locked = True
    except MnemicError as error:
        summary.wrong.append(f"{error} {error.remedy_text}")
    if (held := current_pause(folder.path, now_us)) is not None:
        summary.paused = held.sentence()
    lost = losses_check(read_losses(folder.spool), now_us)
    if lost.state == "wrong":
        summary.wrong.append(f"{lost.detail}. {lost.remedy}")
    return summary


def _inspect(folder: MindFolder, keys: Keys, summary: MindSummary) -> None:
    path = folder.store
    with translate_errors(path), closing(connect(path, keys, words_only=True)) as connection:
        check_schema(connection, path)
        summary.memories, summary.captured_at = count_memories(connection)
        summary.waiting_bytes = measure_backlog(folder.spool, spool_offsets(connection)).size_bytes
        if (repository := home_repository()) is not None:
            found = project_scope(connection, printable_path(repository))
            summary.home_scope = None if found is None else found[1]
        missing = sum(one.count for one in lost_transactions(connection) if not one.power_cut)
    if missing:
        told = f"{pluralize(missing, 'transaction')} that {'was' if missing == 1 else 'were'} acknowledged"
        summary.wrong.append(f"{told} cannot be found any more. `mnemic doctor` says more")
