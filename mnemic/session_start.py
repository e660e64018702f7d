"""Fast fallback, `python -m mnemic.session_start`: answers a session-start hook when no server runs.

The hook starts it, for the time it takes the process to come up. It reads the store by itself and writes nothing to it;
what it told goes into the spool as a note, and from there into the store. Whatever goes wrong, it prints nothing and
succeeds, since an assistant waits for it: the reason is in the home's log.
NumPy, the faces and the actors are not loaded: Python's own start is most of what it costs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from mnemic.actors.brief.brief import BRIEFING_NOTE, BriefSettings, briefed, briefing_record, encode_note
from mnemic.actors.brief.compose import compose_session_start
from mnemic.actors.brief.gather import gather_sources
from mnemic.actors.brief.messages import Brief, Briefed
from mnemic.actors.brief.reasons import session_start_reasons
from mnemic.actors.kernel.errors import BadSettings, MindLocked, MnemicError
from mnemic.actors.log.changes import RecordDelivery
from mnemic.hooks.read.hook_reply import hook_reply
from mnemic.runtime.capture.pauses import session_notices
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.files.foreign import parse_toml
from mnemic.runtime.minds.homes import is_locked_mind, mind_folder, mind_options, open_mind
from mnemic.runtime.minds.projects import resolve_scope
from mnemic.runtime.store.brief.read import BriefReader
from mnemic.runtime.store.schema import LATEST_SCHEMA, check_schema, connect, translate_errors
from mnemic.runtime.store.scopes.read import has_project

_LOCKED = (
    "Mnemic's memory is locked by its passphrase: nothing from before can be recalled here{kept}. Its owner opens it"
    " with `mnemic unlock{named}` in a terminal."
)
_STILL_CAPTURED = ", and what happens is kept for later"
_NOTHING = Briefed(text="", memories=(), tokens=0)
_OPTIONS = ("--assistant", "--event", "--home", "--mind", "--cwd", "--off")

Note = Callable[[RecordDelivery], None]
"""Takes what the log is to keep of what was told."""


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
        payload, mind = sys.stdin.buffer.read(), given.get("--mind", "default")
        notes: list[RecordDelivery] = []
        told = _reply(
            home,
            mind,
            given["--assistant"],
            given["--event"],
            given.get("--cwd"),
            payload,
            given.get("--off") == "capture",
            notes.append,
        )
        sys.stdout.buffer.write(told)
        sys.stdout.buffer.flush()
    except MnemicError as error:
        _log(home, error.code)
    except Exception as error:  # the whole of this process: logged, and the assistant goes on without
        _log(home, type(error).__name__)
    else:
        for one in notes:
            _spool_note(home, mind, one)
    return 0


def brief_without_server(home: Path, mind: str, asked: Brief, noted: Note = lambda _: None) -> Briefed:
    """What an assistant should know at the start of its session, read from the store itself; nothing beside a prompt.

    Of a mind that is locked there is nothing: that it is, is a notice.

    Args:
        noted: gets what the log is to keep of it.

    Raises:
        MindMissing, StoreError, InvalidValue, BadSettings: it cannot be read.
    """
    if asked.occasion != "session-start":
        return _NOTHING
    budget = _read_brief_settings(home).budget(asked)
    if not budget:
        return _NOTHING
    try:
        folder, keys = open_mind(home, mind)
    except MindLocked:
        return _NOTHING
    with translate_errors(folder.store), closing(connect(folder.store, keys, words_only=True)) as connection:
        connection.execute("BEGIN")  # one state, whatever is written meanwhile
        if check_schema(connection, folder.store) < LATEST_SCHEMA:  # the process that was started brings it up to date
            return _NOTHING
        clock = SystemClock()
        snapshot = BriefReader(connection, clock)
        material = gather_sources(snapshot, asked, clock.now_us(), clock)
        text, parts = compose_session_start(material, budget, asked.notices, clock)
        if parts:
            where = snapshot.scope_path_of(asked.place)
            noted(briefing_record(asked, where, text, parts, session_start_reasons(material, clock)))
        connection.execute("ROLLBACK")
    return briefed(text, parts)


def locked_hook_reply(
    home: Path, mind: str, assistant: str, event: str, cwd: str | None, payload: bytes, unkept: bool
) -> bytes:
    """What a hook of a locked mind prints, where a process serves its home; see
    `mnemic.hooks.read.hook_reply.hook_reply`.

    Raises:
        MnemicError: as there.
    """
    return _reply(home, mind, assistant, event, cwd, payload, unkept)


def _reply(
    home: Path,
    mind: str,
    assistant: str,
    event: str,
    cwd: str | None,
    payload: bytes,
    unkept: bool,
    noted: Note = lambda _: None,
) -> bytes:
    folder = mind_folder(home, mind)
    told_first = session_notices(folder.path, SystemClock().now_us(), unkept=unkept)  # hooks have no other clock
    if is_locked_mind(home, mind) and _read_brief_settings(home).budget_tokens:
        told_first += (_LOCKED.format(kept="" if told_first else _STILL_CAPTURED, named=mind_options(folder)),)
    return hook_reply(
        assistant,
        event,
        cwd,
        payload,
        partial(resolve_scope, home=home, is_project=partial(_has_scope, home, mind)),
        lambda asked: brief_without_server(home, mind, asked, noted),
        told_first,
    )


def _has_scope(home: Path, mind: str, project: str) -> bool:
    """Whether a mind has a scope for a project; of one that is locked nothing is told anyway."""
    try:
        folder, keys = open_mind(home, mind)
    except MindLocked:
        return False
    return has_project(folder.store, keys, project)


def _spool_note(home: Path, mind: str, change: RecordDelivery) -> None:
    """Leave what was told in the spool, sealed as hooks seal: whoever writes the store next takes it in."""
    from mnemic.runtime.spool.note import write_note  # here: the assistant has its answer already

    spool, note = mind_folder(home, mind).spool, encode_note(change)
    try:
        write_note(spool, SystemClock(), note, assistant=change.assistant, event=BRIEFING_NOTE)
    except Exception as error:  # as a hook does, whatever it is: logged, and the assistant has its answer
        _log(home, type(error).__name__, "what a session was told is not kept")


def _read_brief_settings(home: Path) -> BriefSettings:
    """What the settings say of telling unasked. They may forbid it, so what cannot be read is no permission.

    Raises:
        BadSettings: the file cannot be read, or a value in it is not one of its setting.
    """
    path = home / "mnemic.toml"
    try:
        section = parse_toml(path.read_bytes()).get("brief", {})
    except FileNotFoundError:
        return BriefSettings()
    except (OSError, ValueError) as error:
        raise BadSettings(path=str(path), why=str(error)) from error
    if not isinstance(section, dict):
        raise BadSettings(path=str(path), why="brief is no table")
    default = BriefSettings()
    budget = section.get("budget_tokens", default.budget_tokens)
    subagents = section.get("subagents", default.subagents)
    if type(budget) is not int or budget < 0:
        raise BadSettings(path=str(path), why="brief.budget_tokens is no number of tokens")
    if not isinstance(subagents, bool):
        raise BadSettings(path=str(path), why="brief.subagents is neither true nor false")
    return BriefSettings(budget, subagents)


def _log(home: Path, why: str, what: str = "a session was told nothing") -> None:
    import logging

    from mnemic.runtime.logs import log_to  # here: only where something is wrong

    with log_to(home / "mnemic.log"):
        logging.getLogger("mnemic.session_start").warning("%s: %s", what, why, extra={"code": why})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
