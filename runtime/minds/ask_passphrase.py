"""Asking for a mind's passphrase at the terminal, and opening the mind with what was said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from mnemic.actors.kernel.errors import MindLocked, WrongPassphrase, WrongRecoveryKey
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, open_mind


def is_interactive() -> bool:
    """Whether somebody is there to be asked."""
    return bool(sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty())


def prompt_hidden(prompt: str) -> str:
    """Ask for what nobody shall see; the question is on standard error."""
    return str(click.prompt(prompt, hide_input=True, err=True, show_default=False))


T = TypeVar("T")


ReadSecret = Callable[[], str | None]
"""Gives what somebody said without a terminal; ``None`` where nobody did."""


MAX_PROMPTS = 3
"""How often whoever sits at the terminal may say it."""


def keys_for(
    home: Path, mind: str, *, passphrase: str | None = None, line: ReadSecret | None = None
) -> tuple[MindFolder, Keys]:
    """A mind's files and keys; whoever sits at the terminal is asked for a passphrase that is not given.

    Args:
        passphrase: of a mind that is locked by one; its recovery key will do.
        line: as in `open_with_prompt`.

    Raises:
        MindLocked: it is locked, no passphrase is given, and nobody is there to ask.
        MnemicError: as `mnemic.runtime.minds.homes.open_mind`.
    """
    return open_with_prompt(lambda said: open_mind(home, mind, passphrase if said is None else said), mind, line)


_ASKED_EACH_TIME = (
    "What works on a whole mind asks for its passphrase each time: say it in a terminal, which asks, or as a line of"
    " standard input; in Python, open the mind with it"
)


def open_with_prompt(opens: Callable[[str | None], T], mind: str, line: ReadSecret | None = None) -> T:
    """What is opened without a passphrase, or else with one that whoever sits at the terminal is asked for.

    Args:
        line: where there is no terminal, gives what was said; ``None`` where nothing was.

    Raises:
        MindLocked: nobody is there to ask, or nothing was said.
        WrongPassphrase, WrongRecoveryKey: nothing that was said opens it.
    """
    try:
        return opens(None)
    except MindLocked as error:
        if not is_interactive():
            if line is None:
                raise
            said = line()
            if said is None:
                raise MindLocked(mind=mind, remedy=_ASKED_EACH_TIME) from error
            return opens(said)
    return prompt_until_open(opens, f"Passphrase of the mind {mind!r}")


def prompt_until_open(opens: Callable[[str], T], prompt: str) -> T:
    """Ask at the terminal until what is said opens something, three times at most.

    Raises:
        WrongPassphrase, WrongRecoveryKey: nothing that was said does.
    """
    for _ in range(MAX_PROMPTS - 1):
        try:
            return opens(prompt_hidden(prompt))
        except (WrongPassphrase, WrongRecoveryKey) as error:
            click.echo(f"mnemic: {error} Once more.", err=True)
    return opens(prompt_hidden(prompt))
