"""The commands that the fault bench attacks: each as it is run, on a home made for it, and what it may leave behind.

Above stands `mnemic.bench.faults.write_calls`.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from mnemic.actors.kernel.errors import MnemicError
from mnemic.bench.faults.audit import memory_texts, mnemic, run_command
from mnemic.bench.harness.homes import MIND_NAME, lexical_settings
from mnemic.bench.harness.processes import COMMAND, run_mnemic
from mnemic.bench.speed.hook_bench import EXECUTABLE
from mnemic.runtime.api.restore import restore
from mnemic.runtime.minds.homes import mind_folder

TEXTS = (
    "The kiln reached a thousand degrees.",
    "Releases go out on Tuesdays, ünïcode and all.",
    " ".join(f"line {number} of a long turn" for number in range(2_000)),
)
"""What a home holds before a command: the last takes more than ten pages of the store."""
SPOOLED = ("The spool holds this.", "And this one.", "Another session said so.")
"""What hooks have kept of it that nobody has taken in."""
NEW = "The harbour opens at six."
"""What a command adds."""

Base = Callable[[], Path]
"""Gives a folder with the home that attacks begin with, which is made once; they work on copies."""
Texts = Counter[str] | None
"""Texts, each as often as it is there; ``None`` where what would hold them is not there."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One command in a folder of its own, which holds a home of the name ``home``."""

    name: str
    """What it is called."""
    prepare: Callable[[Path], None]
    """Makes what the command needs, from a folder with a home that holds `TEXTS`."""
    command: Callable[[Path], Sequence[str]]
    """The command, in that folder."""
    stdin: bytes = b""
    """What it is given."""
    artefact: Callable[[Path], Texts] | None = None
    """The texts of the file or folder that the command makes besides."""
    hook: bool = False
    """Whether it is a hook, which ends with 0 whatever happens, and counts what it could not keep."""
    leaves: Sequence[str] = ()
    """What the doctor may find wrong after a kill, by the names of checks; whoever serves next clears it."""
    again: bool = False
    """Whether it is run again before the home can be used, which it may refuse as done."""


def make_home(folder: Path) -> None:
    """Make the home that all scenarios begin with, in an empty folder; nothing but words answers there."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    settings = lexical_settings(home).replace("idle_exit_s = 86400.0", "idle_exit_s = 0.5")
    (home / "mnemic.toml").write_text(settings, "utf-8")
    run_mnemic(home, "init")
    for text in TEXTS:
        run_mnemic(home, "remember", text, "--scope", "bench")


def hook_event(session: str, text: str, folder: Path) -> bytes:
    """What a host gives its hook as a prompt is typed."""
    told = {"session_id": session, "hook_event_name": "UserPromptSubmit", "cwd": str(folder), "prompt": text}
    return json.dumps(told).encode()


def hook_command(folder: Path) -> list[str]:
    """The hook's command line."""
    return [str(EXECUTABLE), "claude-code", "prompt", "--home", str(folder / "home")]


def fill_spool(folder: Path) -> None:
    """Have hooks keep `SPOOLED`, of two sessions.

    Raises:
        ValueError: a hook did not end well.
    """
    for number, text in enumerate(SPOOLED):
        event = hook_event(f"session-{number // 2}", text, folder)
        ended = run_command(hook_command(folder), stdin=event)
        if ended.code:
            raise ValueError(f"a hook ended with {ended.code}: {ended.err}")


def restored_texts(folder: Path, backup: str = "backup.mnemic") -> Texts:
    """What a backup holds, seen by restoring it beside the home."""
    if not (folder / backup).exists():
        return None
    beside = folder / "restored"
    restore(folder / backup, beside, MIND_NAME, key_file=folder / "key")
    return memory_texts(beside)


def imported_texts(folder: Path) -> Texts:
    """What an export holds, seen by importing it into another home."""
    if not (folder / "export").exists():
        return None
    beside = folder / "imported"
    beside.mkdir(mode=0o700, exist_ok=True)
    ended = run_command(mnemic(beside, "import", str(folder / "export"), "--no-meaning"))
    if ended.code:
        raise ValueError(f"mnemic import ended with {ended.code}: {ended.out}{ended.err}")
    return memory_texts(beside)


def scenarios() -> list[Scenario]:
    """All of them."""
    return [
        Scenario(name="init", prepare=_empty_home, command=lambda at: mnemic(at / "home", "init"), again=True),
        Scenario(name="remember", prepare=_nothing, command=lambda at: mnemic(at / "home", "remember", NEW)),
        Scenario(
            name="hook",
            prepare=_nothing,
            command=hook_command,
            stdin=hook_event("session-0", NEW, Path("/")),
            hook=True,
            leaves=("losses",),
        ),
        Scenario(
            name="drain",
            prepare=fill_spool,
            command=lambda at: [*COMMAND, "serve", "--on-demand", "--home", str(at / "home")],
            leaves=("process",),
        ),
        Scenario(
            name="forget",
            prepare=_nothing,
            command=lambda at: mnemic(at / "home", "forget", "--scope", "bench", "--yes"),
        ),
        Scenario(
            name="erase",
            prepare=_another_scope,
            command=lambda at: mnemic(at / "home", "forget", "--scope", "else", "--erase", "--yes"),
        ),
        Scenario(
            name="backup",
            prepare=_older_backup,
            command=lambda at: mnemic(at / "home", "backup", str(at / "backup.mnemic"), "--replace"),
            artefact=restored_texts,
        ),
        Scenario(
            name="restore",
            prepare=_older_backup,
            command=lambda at: mnemic(at / "home", "restore", str(at / "backup.mnemic"), "--replace"),
        ),
        Scenario(
            name="export",
            prepare=_nothing,
            command=lambda at: mnemic(at / "home", "export", str(at / "export")),
            artefact=imported_texts,
        ),
        Scenario(
            name="import",
            prepare=_foreign_export,
            command=lambda at: mnemic(at / "home", "import", str(at / "export"), "--no-meaning"),
        ),
        Scenario(name="rekey", prepare=_nothing, command=lambda at: mnemic(at / "home", "rekey")),
    ]


def state_of(scenario: Scenario, folder: Path) -> Texts:
    """The texts of what a command makes besides; of nothing, where it makes nothing.

    Raises:
        ValueError: it is there, and cannot be used.
    """
    if scenario.artefact is None:
        return None
    try:
        return scenario.artefact(folder)
    except MnemicError as error:
        raise ValueError(f"it is there, and cannot be used: {error}") from error


def copy_key(folder: Path) -> None:
    """Keep a copy of a home's key file beside it, as its owner is told to."""
    shutil.copy(mind_folder(folder / "home", MIND_NAME).key, folder / "key")


def _nothing(folder: Path) -> None:
    """It needs no more than the home."""


def _empty_home(folder: Path) -> None:
    shutil.rmtree(folder / "home" / "minds")


def _another_scope(folder: Path) -> None:
    run_mnemic(folder / "home", "remember", NEW, "--scope", "else")


def _older_backup(folder: Path) -> None:
    """A backup, and a memory that came after it."""
    copy_key(folder)
    run_mnemic(folder / "home", "backup", folder / "backup.mnemic")
    run_mnemic(folder / "home", "remember", NEW, "--scope", "bench")


def _foreign_export(folder: Path) -> None:
    """An export of another mind, which holds two texts, one of them unknown here."""
    other = folder / "other"
    other.mkdir(mode=0o700)
    shutil.copy(folder / "home" / "mnemic.toml", other)
    for text in (NEW, "The ferry goes at nine."):
        run_mnemic(other, "remember", text, "--scope", "else")
    run_mnemic(other, "export", folder / "export")
    shutil.rmtree(other)
