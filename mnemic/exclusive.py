"""Having a mind for oneself, to replace its files: the home's process lets go of it, and other commands wait.

Below are `mnemic.runtime.swapping`, which locks and replaces, and `mnemic.runtime.letting_go`, the process's part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mnemic.actors.contract import Clock
from mnemic.actors.errors import MindMissing, NotServed, OlderProcess
from mnemic.runtime.homes import MindFolder, folder_of
from mnemic.runtime.keys import run_name
from mnemic.runtime.meeting import PROTOCOL
from mnemic.runtime.starting import drain, log_of, reach, wait_dead, wait_gone
from mnemic.runtime.swapping import exclusive, settle
from mnemic.runtime.unix_http import LOST, Leaving, held

__all__ = ["exclusively"]

_TRIES = 5


@contextmanager
def exclusively(home: Path, mind: str, clock: Clock) -> Iterator[MindFolder]:
    """Hold a mind alone: no other process has its store open, or opens it, until the context ends.

    Hooks go on writing to its spool meanwhile, and what they write is taken in afterwards.

    Raises:
        MindMissing: there is no such mind.
        StoreBusy: somebody else works on it for long.
        StoreReadOnly: there can be no lock here.
        NotServed: the home's process does not let go of it.
    """
    folder = folder_of(home, mind)
    if not folder.path.is_dir():
        raise MindMissing(mind=mind, home=str(home))
    settle(folder.path)
    with ExitStack() as stack:
        _have_it_let_go(stack, home, mind, clock)
        stack.enter_context(exclusive(folder.path))
        yield folder


def _have_it_let_go(stack: ExitStack, home: Path, mind: str, clock: Clock) -> None:
    """Have the home's process let go of a mind, if there is one: it may be replaced by another one meanwhile."""
    headers = {"Mnemic-Protocol": str(PROTOCOL), "Mnemic-Mind": mind, "Mnemic-Trace": f"x{run_name()}"}
    for _ in range(_TRIES):
        try:
            card = reach(home, clock, start=False)
        except NotServed:
            return
        try:
            stack.enter_context(held(card.http, "/api/let-go", headers))
            return
        except Leaving:
            wait_gone(home, card, clock)
        except OlderProcess:
            drain(card, "an older process")
            wait_gone(home, card, clock)
        except LOST:
            wait_dead(card, clock)
    raise NotServed(home=str(home), why="it does not let go of the mind", log=log_of(home))
