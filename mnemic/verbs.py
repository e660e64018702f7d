"""What all verbs of a mind stand on: its actors, and the right to work on its files alone.

Above stand the verbs, by what they are for (`mnemic.seeing`, `mnemic.correcting`, `mnemic.erasing`, `mnemic.pausing`,
`mnemic.moving`, `mnemic.locking`), and `mnemic.mind`, which has them all.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemic.runtime.clock import SystemClock
from mnemic.runtime.homes import MindFolder
from mnemic.runtime.keys import Keys
from mnemic.runtime.reports import SocietyPort

__all__ = ["Verbs"]


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

        Raises: as `mnemic.exclusive.exclusively`; and whatever keeps the mind from being opened again.
        """
        from mnemic.exclusive import exclusively  # here: few verbs need it

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

        Raises: as `mnemic.locking.keys_for`.
        """
        from mnemic.locking import keys_for  # here: few verbs need it

        return keys_for(self._home, self._name, passphrase=self._passphrase, line=self._line)

    def said_by(self, line: Callable[[], str | None]) -> None:
        """Have a passphrase that is not known given by this, without a terminal; ``None`` where nobody says it."""
        self._line = line

    def command(self, *parts: str) -> str:
        """A command line for this mind, whichever home the shell is set to."""
        from mnemic.runtime.homes import folder_of, naming

        return shlex.join(["mnemic", *parts]) + naming(folder_of(self._home, self._name))

    def _ask(self, message: object, progress: Callable[[int, int | None], None] | None = None) -> object:
        return self.society.ask(message, progress=progress)
