"""``python -m mnemic.session_start``: what a session's start is told where no process serves the home.

The hook starts it, for the time it takes the process to come up. It reads the store by itself and writes nothing to it;
whatever goes wrong, it prints nothing and succeeds, since an assistant waits for it: the reason is in the home's log.
NumPy, the faces and the actors are not loaded: Python's own start is most of what it costs.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from mnemic.actors.ambient import Brief, Briefed
from mnemic.actors.briefing import compose_start
from mnemic.actors.errors import MnemicError
from mnemic.actors.excerpts import tokens_of
from mnemic.actors.unasked import Telling
from mnemic.answering import hook_answer
from mnemic.runtime.brief_reader import start_material
from mnemic.runtime.homes import open_mind
from mnemic.runtime.projects import locate
from mnemic.runtime.schema import check_schema, connect, translated

__all__ = ["main", "tell_alone"]

_OPTIONS = ("--assistant", "--event", "--home", "--mind", "--cwd")


def main(arguments: Sequence[str]) -> int:
    """Print the answer to one hook; returns the exit code, which is always 0.

    Args:
        arguments: `_OPTIONS`, each followed by its value; the host's payload is on standard input.
    """
    given = dict(zip(arguments[::2], arguments[1::2], strict=False))
    home = Path(given.get("--home", ""))
    if not given.keys() >= set(_OPTIONS[:3]) or not home.is_dir():
        return 0  # nobody's hook: there is no log to say so in
    try:
        payload = sys.stdin.buffer.read()
        told = hook_answer(
            given["--assistant"],
            given["--event"],
            given.get("--cwd"),
            payload,
            locate,
            lambda asked: tell_alone(home, given.get("--mind", "default"), asked),
        )
        sys.stdout.buffer.write(told)
        sys.stdout.buffer.flush()
    except MnemicError as error:
        _log(home, error.code)
    except Exception as error:  # the whole of this process: logged, and the assistant goes on without
        _log(home, type(error).__name__)
    return 0


def tell_alone(home: Path, mind: str, asked: Brief) -> Briefed:
    """What an assistant should know at the start of its session, read from the store itself; nothing beside a prompt.

    Raises:
        MindMissing, StoreError, InvalidValue: it cannot be read.
    """
    budget = _telling(home).budget(asked)
    if asked.occasion != "session-start" or not budget:
        return Briefed(text="", memories=(), tokens=0)
    folder, keys = open_mind(home, mind)
    with translated(folder.store), closing(connect(folder.store, keys, words_only=True)) as connection:
        connection.execute("BEGIN")  # one state, whatever is written meanwhile
        check_schema(connection, folder.store)
        text, memories = compose_start(start_material(connection, asked), budget)
        connection.execute("ROLLBACK")
    return Briefed(text=text, memories=memories, tokens=tokens_of(text.encode()))


def _telling(home: Path) -> Telling:
    """What the settings say of telling unasked; whoever reads all of them says what is wrong with one."""
    try:
        section = tomllib.loads((home / "mnemic.toml").read_text("utf-8")).get("brief", {})
    except (OSError, ValueError):
        section = {}
    told = Telling()
    if isinstance(section, dict):
        budget, subagents = section.get("budget_tokens"), section.get("subagents")
        tracked = section.get("tracked_scopes")
        told = Telling(
            budget if type(budget) is int and budget >= 0 else told.budget_tokens,
            subagents if isinstance(subagents, bool) else told.subagents,
            tracked if isinstance(tracked, bool) else told.tracked_scopes,
        )
    return told


def _log(home: Path, why: str) -> None:
    import logging

    from mnemic.runtime.logs import log_to  # here: only where something is wrong

    with log_to(home / "mnemic.log"):
        logging.getLogger("mnemic.session_start").warning("a session was told nothing: %s", why, extra={"code": why})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
