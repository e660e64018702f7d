"""Asking for a mind's passphrase at the terminal, and opening the mind with what was said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from mnemic.actors.protocol.errors import (
    MindLocked,
    PassphraseNeeded,
    WrongPassphrase,
    WrongRecoveryKey,
)
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, open_mind

__all__ = ["TRIES", "Line", "ask_hidden", "at_terminal", "keys_for", "opened", "prompted"]


def at_terminal() -> bool:
    """Whether somebody is there to be asked."""
    return bool(sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty())


def ask_hidden(prompt: str) -> str:
    """Ask for what nobody shall see; the question is on standard error."""
    return str(click.prompt(prompt, hide_input=True, err=True, show_default=False))


T = TypeVar("T")


Line = Callable[[], str | None]
"""Gives what somebody said without a terminal; ``None`` where nobody did."""


TRIES = 3
"""How often whoever sits at the terminal may say it."""


def keys_for(
    home: Path, mind: str, *, passphrase: str | None = None, line: Line | None = None
) -> tuple[MindFolder, Keys]:
    """A mind's files and keys; whoever sits at the terminal is asked for a passphrase that is not given.

    Args:
        passphrase: of a mind that is locked by one; its recovery key will do.
        line: as in `opened`.

    Raises:
        MindLocked: it is locked, no passphrase is given, and nobody is there to ask.
        MnemicError: as `mnemic.runtime.minds.homes.open_mind`.
    """
    return opened(lambda said: open_mind(home, mind, passphrase if said is None else said), mind, line)


def opened(opens: Callable[[str | None], T], mind: str, line: Line | None = None) -> T:
    """What is opened without a passphrase, or else with one that whoever sits at the terminal is asked for.

    Args:
        line: where there is no terminal, gives what was said; ``None`` where nothing was.

    Raises:
        MindLocked: nobody is there to ask.
        PassphraseNeeded: nothing was said.
        WrongPassphrase, WrongRecoveryKey: nothing that was said opens it.
    """
    from mnemic.runtime.minds.ask_passphrase import at_terminal

    try:
        return opens(None)
    except MindLocked as error:
        if not at_terminal():
            if line is None:
                raise
            said = line()
            if said is None:
                raise PassphraseNeeded(mind=mind) from error
            return opens(said)
    return prompted(opens, f"Passphrase of the mind {mind!r}")


def prompted(opens: Callable[[str], T], prompt: str) -> T:
    """Ask at the terminal until what is said opens something, three times at most.

    Raises:
        WrongPassphrase, WrongRecoveryKey: nothing that was said does.
    """
    from mnemic.runtime.minds.ask_passphrase import ask_hidden

    for _ in range(TRIES - 1):
        try:
            return opens(ask_hidden(prompt))
        except (WrongPassphrase, WrongRecoveryKey) as error:
            click.echo(f"mnemic: {error} Once more.", err=True)
    return opens(ask_hidden(prompt))
