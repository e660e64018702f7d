"""Looks at the hypervectors of a mind: which memories wait for theirs, and which could not be given any.

Beside `mnemic.runtime.examine_mind`; `mnemic.runtime.doctor` has it look.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from mnemic.runtime.checks import Check, counted
from mnemic.runtime.homes import MindFolder
from mnemic.runtime.keys import Keys
from mnemic.runtime.schema import connect, translated

__all__ = ["shape"]


def shape(folder: MindFolder, keys: Keys, able: bool) -> Iterator[Check]:
    """How many memories are not found by their shape.

    Args:
        able: whether there is a model: then a memory that is not embedded yet waits for that first.
    """
    ready = "encoder != 0" if able else "1"
    lost = (
        "SELECT count(*) FROM memories m WHERE m.retired_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM unbound u WHERE u.memory = m.id)"
        " AND NOT EXISTS (SELECT 1 FROM codes c WHERE c.memory = m.id)"
    )
    with translated(folder.store), closing(connect(folder.store, keys)) as connection:
        waiting = int(connection.execute(f"SELECT count(*) FROM unbound WHERE {ready}").get)
        unread = int(connection.execute(lost).get)
    if unread:
        told = f"{counted(unread, 'memory', 'memories')} could not be bound, and cannot be found by shape"
        remedy = "The log of the home says why, where it says `is not bound`; `[binder] extractor` may be the cause."
        yield Check("shape", "advice", told, remedy)
    elif waiting:
        told = f"{counted(waiting, 'memory waits', 'memories wait')} to be bound"
        yield Check("shape", "advice", told, "The next `mnemic capture` does it, or an assistant's session.")
    else:
        yield Check("shape", "ok", "every memory that is embedded is found by its shape too")
