"""Where a command works, how it prints, and how it opens the mind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mnemic.runtime.minds.ask_passphrase import is_interactive

if TYPE_CHECKING:
    from mnemic.runtime.keys.keys import Keys

import json
import os
from collections.abc import Iterable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.actors.protocol.errors import InvalidValue, WrongPassphrase, WrongRecoveryKey
from mnemic.cli.output import (
    escape_controls,
    print_lines,
)
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.logs import log_to

if TYPE_CHECKING:
    from mnemic.runtime.api.mind import Mind
    from mnemic.runtime.keys.keys import Keys

__all__ = ["CommandContext", "read_secret_line"]


CLOCK = SystemClock()


_DRAIN_FIRST_S = 3.0  # some thousand records


class CommandContext:
    """Where a command works and how it prints."""

    def __init__(self, home: str | None, mind: str, as_json: bool) -> None:
        from mnemic.runtime.files.paths import default_home, expand_home

        # $MNEMIC_HOME too: an assistant's settings give it as it stands there, and no shell has seen its ~.
        self.home = expand_home(Path(home) if home else default_home(os.environ))
        self.mind = mind
        self.as_json = as_json

    @contextmanager
    def open(self, *, create: bool, alone: bool = False, asking: bool = False, whole: bool = False) -> Iterator[Mind]:
        """The mind, by way of the home's process where it runs, else opened here; let go of at the end.

        Args:
            alone: whether to open it here in any case.
            asking: whether to take in first what hooks kept, as far as that takes no longer than a moment; a process
                does so by itself.
            whole: whether it takes the keys of a mind, which no process gives out: where there is no terminal, the
                passphrase of one that is locked is a line of standard input.
        """
        from mnemic.open_mind import open_here, open_served
        from mnemic.runtime.minds.ask_passphrase import open_with_prompt

        if os.environ.get("MNEMIC_INSTRUCTIONS"):  # a process that serves has its own, and says nothing of it
            from mnemic.runtime.models.models import check_instruction_set

            check_instruction_set()
        if not alone:
            served = open_served(self.home, self.mind, CLOCK, create=create)
            if served is not None and not ((whole or is_interactive()) and served.is_locked()):
                if whole:
                    served.set_secret_reader(read_secret_line)
                with served:
                    yield served
                return
        opens = partial(open_here, self.home, self.mind, create=create)
        with (
            log_to(self.home / "mnemic.log"),
            open_with_prompt(
                lambda said: opens(passphrase=said), self.mind, read_secret_line if whole else None
            ) as mind,
        ):
            if asking:
                until_s = CLOCK.monotonic_s() + _DRAIN_FIRST_S
                mind.drain_before_question(lambda: CLOCK.monotonic_s() < until_s)
            yield mind

    def working_folder(self) -> str:
        """The folder the command was given in.

        Raises:
            InvalidValue: it was removed.
        """
        try:
            return os.getcwd()
        except FileNotFoundError:
            expected = "--scope, or go to a folder that is there"
            raise InvalidValue(name="the working folder", value=".", why="it was removed", expected=expected) from None

    def prompt_for_keys(self) -> Keys | None:
        """The keys of a mind that is locked, where whoever sits at the terminal says its passphrase."""
        from mnemic.runtime.minds.ask_passphrase import keys_for
        from mnemic.runtime.minds.homes import is_locked_mind

        if not is_interactive() or not is_locked_mind(self.home, self.mind):
            return None
        try:
            return keys_for(self.home, self.mind)[1]
        except (WrongPassphrase, WrongRecoveryKey):  # each was answered, and the doctor looks at the rest
            return None

    def is_locked(self) -> bool:
        """Whether nothing can be asked of the mind before somebody says its passphrase."""
        from mnemic.runtime.api.lock import is_unlocked
        from mnemic.runtime.minds.homes import is_locked_mind

        return is_locked_mind(self.home, self.mind) and not is_unlocked(self.home, self.mind, CLOCK)

    def print_answer(self, view: Any, lines: Callable[[], Iterator[str]]) -> None:
        """Print an answer: as JSON, or as lines for a person."""
        print_lines([json.dumps(view)] if self.as_json else map(escape_controls, lines()))

    def print_entries(self, views: Iterable[Any], lines: Callable[[], Iterator[str]]) -> None:
        """Print entries: as JSON, one object a line, or as lines for a person."""
        print_lines(map(json.dumps, views) if self.as_json else map(escape_controls, lines()))


def read_secret_line() -> str | None:
    """A line of standard input; ``None`` where it has ended, or there is none."""
    line = "" if sys.stdin is None else sys.stdin.readline()
    return line.rstrip("\r\n") or None
