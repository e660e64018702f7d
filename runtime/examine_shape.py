"""Looks at the hypervectors of a mind: which memories wait for theirs, and which could not be given any.

Beside `mnemic.runtime.examine_mind`; `mnemic.runtime.doctor` has it look.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from mnemic.runtime.checks import Check, counted
from mnemic.runtime.homes import MindFolder
from mnemic.runtime.keys import Keys
from mnemic.runtime.marking import UNREAD
from mnemic.runtime.schema import connect, translated
from mnemic.runtime.settings import Settings

__all__ = ["shape"]

_LOST = (
    "SELECT count(*) FROM memories m WHERE m.retired_at IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM unbound u WHERE u.memory = m.id)"
    " AND NOT EXISTS (SELECT 1 FROM codes c WHERE c.memory = m.id)"
)
_WHY = "`mnemic.log` or `serve.log` in the home says why"


def shape(folder: MindFolder, keys: Keys, able: bool, settings: Settings) -> Iterator[Check]:
    """How many memories are not found by their shape.

    Args:
        able: whether there is a model: then a memory that is not embedded yet waits for that first.
        settings: those of the home.
    """
    ready = "encoder > 0" if able else f"encoder != {UNREAD}"
    with translated(folder.store), closing(connect(folder.store, keys)) as connection:
        waiting = int(connection.execute(f"SELECT count(*) FROM unbound WHERE {ready}").get)
        failed = int(connection.execute("SELECT count(*) FROM unbound WHERE encoder = ?", (UNREAD,)).get)
        lost = int(connection.execute(_LOST).get)
    if failed:
        remedy = f"{_WHY}. Once that is mended, and a process that serves is ended, --repair binds them."
        extractor = settings["binder.extractor"]
        what = f"the extractor {extractor!r} failed on them" if extractor else "reading or binding them failed"
        has = counted(failed, "memory has", "memories have")
        yield Check(
            "shape",
            "advice",
            f"{has} no facts, no roles of your own, or no shape at all: {what}",
            remedy,
            repairable=True,
        )
    if lost:
        told = f"{counted(lost, 'memory', 'memories')} could not be bound, and cannot be found by shape"
        yield Check("shape", "advice", told, f"{_WHY}: report it with that line.")
    if waiting:
        told = f"{counted(waiting, 'memory waits', 'memories wait')} to be bound"
        yield Check("shape", "advice", told, "The next `mnemic capture` does it, or an assistant's session.")
    if not (failed or lost or waiting):
        yield Check("shape", "ok", "every memory that is embedded is found by its shape too")
