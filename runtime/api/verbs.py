"""What all verbs of a mind stand on: its actors, and the right to work on its files alone.

Above stand the verbs, by what they are for (`mnemic.runtime.api.log`, `mnemic.runtime.api.correct`,
`mnemic.runtime.api.erase`, `mnemic.runtime.api.pause`, `mnemic.runtime.api.transfer`, `mnemic.runtime.api.lock`), and
`mnemic.runtime.api.mind`, which has them all.

Having a mind for oneself, to replace its files: the home's process lets go of it, and other commands wait.

Below are `mnemic.runtime.files.atomic_replace`, which locks and replaces, and `mnemic.runtime.serve.http.release_mind`,
the process's part.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import MindMissing, NotServed, OlderProcess
from mnemic.runtime.client.launcher import drain, log_of, reach, wait_dead, wait_gone
from mnemic.runtime.client.unix_http import LOST, Leaving, held
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.reports import SocietyPort
from mnemic.runtime.files.atomic_replace import exclusive, settle
from mnemic.runtime.keys.keys import Keys, run_name
from mnemic.runtime.minds.homes import MindFolder, folder_of
from mnemic.runtime.minds.run_dir import PROTOCOL

__all__ = ["Verbs", "exclusively"]

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


class Verbs:
    """A mind as its verbs see it."""

    def __init__(
        self,
        society: SocietyPort,
        home: Path,
        name: str,
        reopen: Callable[[str | None], SocietyPort] | None = None,
        passphrase: str | None = None,
    ) -> None:
        """Speak to a society.

        Args:
            reopen: starts the actors again, where they are this object's own; given the passphrase, if there is one.
            passphrase: what opened the mind, where it is locked by one and this object was told.
        """
        self.society = society
        """The actors."""
        self._home = home
        self._name = name
        self._reopen = reopen
        self._passphrase = passphrase
        self._line: Callable[[], str | None] = lambda: None

    @contextmanager
    def _exclusively(self) -> Iterator[MindFolder]:
        """Hold the mind alone, its actors stopped, and start them again at the end.

        Raises: as `mnemic.runtime.api.verbs.exclusively`; and whatever keeps the mind from being opened again.
        """
        if self._reopen is not None:
            self.society.stop()
        try:
            with exclusively(self._home, self._name, SystemClock()) as folder:
                yield folder
        finally:
            if self._reopen is not None:
                self.society = self._reopen(self._passphrase)

    def _keys(self) -> tuple[MindFolder, Keys]:
        """The mind's files and keys, for what works on the files themselves; asks for a passphrase that is not known.

        Raises: as `mnemic.runtime.minds.ask_passphrase.keys_for`.
        """
        from mnemic.runtime.minds.ask_passphrase import keys_for

        return keys_for(self._home, self._name, passphrase=self._passphrase, line=self._line)

    def said_by(self, line: Callable[[], str | None]) -> None:
        """Have a passphrase that is not known given by this, without a terminal; ``None`` where nobody says it."""
        self._line = line

    def command(self, *parts: str) -> str:
        """A command line for this mind, whichever home the shell is set to."""
        from mnemic.runtime.minds.homes import folder_of, naming

        return shlex.join(["mnemic", *parts]) + naming(folder_of(self._home, self._name))

    def _ask(self, message: object, progress: Callable[[int, int | None], None] | None = None) -> object:
        return self.society.ask(message, progress=progress)
