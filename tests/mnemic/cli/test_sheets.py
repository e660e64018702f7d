"""What each command prints for a person, line by line, and each sentence by which it refuses: one file a command.

`MNEMIC_GOLDEN=write` writes the files of `tests/golden/sheets` anew; the diff then shows what users will see change.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.runtime.keys.keys import Secrets
from mnemic.runtime.minds.homes import create_mind
from tests.clocks import ManualClock
from tests.graded import grade_pair
from tests.grouped import group_scopes
from tests.harness import START_US
from tests.paths import ROOT
from tests.processes.faces import EXAMPLE, Outcome, lines, turn

Command = Callable[..., Outcome]

GOLDEN = ROOT / "tests" / "golden" / "sheets"
OARS, PYTEST = "/work/boat/oars.py", "command: pytest tests/test_oars.py"
SAID = [
    ("harbour", "2025-03-01", "Our database is SQLite."),
    ("harbour", "2025-03-05", "Our database becomes Postgres 17."),
    ("harbour", "2025-03-06", "Nadia works in Porto."),
    ("harbour", "2025-03-07", "Nadia works in Lisbon."),
    ("bank", "2025-03-08", "Our database is MySQL."),
    ("shelf", "2025-03-09", "the velvet shelf"),
    ("shelf", "2025-03-10", "paint the velvet shelf"),
    ("office", "2025-03-11", "The booking API listens on port 8443 in production since Lukas moved it."),
    ("office", "2025-03-12", "Lukas reviews the booking API on Thursdays before we deploy it to production."),
    ("office", "2025-03-13", "Nadia wants the booking API reviewed by Lukas before each production deploy."),
    ("work/lamp", "2025-03-14", "the lamp is \x1b[2J red"),
]
"""Scope, day and text."""
STAGE_TOOK = re.compile(r", \d+\.\d s$", re.MULTILINE)
"""How long a stage of a night took, which is told where it was long: on a slow machine, of any."""
MEASURED = re.compile(r"\b\d+(?:\.\d+)? (ms|s|kB|MB)\b")
MEMORY_ID = re.compile(r"[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}")

UNKNOWN = "0" * 32
BOAT = ("--session", "b")
SHELF = ("--scope", "shelf")
HARBOUR = ("--scope", "harbour")
SHEETS: dict[str, list[tuple[str, ...]]] = {
    "shape": [
        ("tool=pytest", "outcome=failed", "file=?", "-k", "1", "--full"),
        ("after=edit, test failed", "then=?"),
        ("tool=pytest", "outcome=failed", "file=test_oras.py"),
        ("--roles",),
        *(("who=?", *one) for one in (("--since", "9999-12-31"), ("--until", "1900-01-01"), ("date=1990-01",))),
        *(("who=?", *one) for one in (("date=3026-01-01",), ("size=100000000",), ("hour=22", *BOAT))),
        (),
        ("--but", "tool=cargo", "tool=?"),
        ("--like", "tea"),
        ("--like", UNKNOWN),
        ("--like", UNKNOWN, "--strict"),
        ("--like", UNKNOWN, "--analogy", "a", "b", "c"),
        ("--like", UNKNOWN, "--but", "about=tea"),
        *(("--roles", *one) for one in (("file=?",), ("--scope", "work/boat"), BOAT, ("-k", "3"))),
        ("tool=pytest", "--analogy", "a", "b", "c"),
        *(("--analogy", *one) for one in (("a", "b"), ("a", "b", "c", "d"), ())),
        *((one,) for one in ("tool", "fil=?", "flie=?", "Who=ida", "about=?", "about=?!,.", "kind=bogus")),
        *((one,) for one in ("worked=maybe", "outcome=fail", "size=-3", "date=tomorrow", "then=edit,test")),
        ("after=edit;test",),
        ("subject=ida", "action=edit"),
        ("tool=pytest", "-k", "0"),
        ("tool=pytest", "--scope", "cellar"),
        ("tool=pytest", "--scope", "bank", "--scope", "cellar"),
        ("tool=pytest", "--session", "nobody's"),
        ("tool=pytest", "--since", "2025-11-04", "--until", "2025-11-03"),
        ("tool=pytest", "--since", "soon"),
    ],
    "recall": [
        ("which database", *HARBOUR),
        ("which database", "--at", "2025-03-02", *HARBOUR),
        ("which database", "--at", "March 2025", *HARBOUR),
        ("what was decided on 5 March 2025", *HARBOUR),
        ("velvet", "--scope", "bank", "--scope", "shelf", "--explain"),
        ("lamp", "--budget-tokens", "20"),
        ("no such word",),
        (),
        ("",),
        (" \t\n",),
        *(("x", "-k", one) for one in ("9" * 20, "0", "-3", "many")),
        ("x", "--budget-tokens", "0"),
        *(("x", "--scope", one) for one in ("nowhere", "a/../b", "\udcff")),
        ("x", "--scope", "shelf", "--scope", "shelv"),
        ("x", "--session", "nosuch"),
        *(("x", "--as-of", one) for one in ("01/02/2026", "2026-13-01", "")),
        ("x", "--since", "2025-11-21", "--until", "2025-11-20"),
        ("x", "--at", "soon"),
        ("x", "--kind", "rumour"),
        ("x", "--mind", "../other"),
        ("x", "--mind", "nobody"),
        ("x", "--home", "~no-such-user/x"),
    ],
    "facts": [
        ("database", *HARBOUR),
        ("database", "--history", *HARBOUR),
        ("database", "--at", "2025-03-02", *HARBOUR),
        ("nadia", "--relation", "work in", "--scope", "*"),
        ("--scope", "*", "-k", "2"),
        ("Zeppelin", "--scope", "bank"),
    ],
    "timeline": [("database", *HARBOUR), ("Zeppelin", "--scope", "bank")],
    "entities": [("--kind", "tool", *HARBOUR)],
    "entity": [
        ("postgres", "17", *HARBOUR),
        ("merge", "SQLite", "Postgres 17"),
        ("sqlite", "--scope", "*"),
        ("split", "SQLite"),
        ("Zeppelin", "--scope", "bank"),
    ],
    "conflicts": [
        HARBOUR,
        ("e6a43864",),
        ("e6a43864", "maybe"),
        ("e6a43864", "newer", "--scope", "bank"),
        ("e6a43864", "older"),
        ("e6a43864", "older"),
        HARBOUR,
        ("--replaced", "--scope", "*"),
        ("e6a43864", "open"),
        ("00000000", "newer"),
    ],
    "communities": [
        SHELF,
        ("1",),
        ("#1",),
        ("999", "--scope", "*"),
        ("2", *SHELF),
        ("abc",),
    ],
    "sleep": [
        ("--dry-run", "--stage", "session-digests"),
        ("undo",),
        ("--stage", "session-digests"),
        ("--stage", "session-digests"),
        ("dream",),
        *(("undo", one) for one in ("x", "7", "0", "--dry-run")),
        *(("--stage", one) for one in ("dreams", "topic-digests", "session-steps", "procedures")),
        ("undo",),
    ],
    "nights": [(), ("x",), ("9",), ("-k", "0")],
    "digest": [("--scope", "office"), *(("--of", one) for one in ("topic", "dream")), ("--scope", "nowhere")],
    "derived": [("session-digests", "--scope", "office"), *((one,) for one in ("procedures", "dreams", "no:such"))],
    "profile": [()],
    "procedures": [()],
    "log": [
        ("--by", "said", "-n", "4"),
        ("--by", "said", "-n", "2", "--scope", "work"),
        ("--injected",),
        ("--recalls",),
        ("--session", "nobody's"),
        ("-n", "0"),
        ("--after", "there"),
        ("--since", "soon"),
        ("--since", "2025-11-02", "--until", "2025-11-01"),
        *(("--scope", one) for one in ("work/lamb", "a//b")),
        ("--kind", "tale"),
        *(("--injected", *one) for one in (("--recalls",), ("--kind", "turn"), ("--by", "said"), ("--after", "9"))),
        ("--injected", "--scope", "work/lamb"),
        ("--recalls", "--forgotten"),
        *((*one, "--scope", "bank", "--scope", "nowhere") for one in ((), ("--recalls",))),
    ],
    "show": [
        *((one,) for one in ("@1", "@", "@x", "abc", "%", "00000000", UNKNOWN)),
        ("abc", "--context", "-1"),
    ],
    "forget": [
        (),
        *((one,) for one in ("@1", "nonsense", UNKNOWN)),
        (UNKNOWN, "--undo", "--reason", "none"),
        (UNKNOWN, "--scope", "work"),
        (UNKNOWN, "--erase", "--yes"),
        *(("--scope", "work", "--erase", *one) for one in (("--undo",), ("--reason", "x"))),
        ("--scope", "nowhere", "--erase", "--yes"),
        ("--session", "nobody", "--erase", "--yes"),
        ("--since", "2025-10-02", "--before", "2025-10-01", "--yes"),
        ("--before", "then"),
        ("--scope", "*", "--before", "2030-01-01"),
    ],
    "correct": [*((one, "x") for one in ("no id", "@1", UNKNOWN))],
    "remember": [
        ("the velvet shelf", *SHELF),
        ("paint a velvet shelf", *SHELF),
        ("\x1b[2J", *SHELF),
        ("x", "--everywhere", *SHELF),
    ],
    "scope": [
        ("list",),
        ("undo",),
        ("rename", "work", "home"),
        ("rename", "home", "home"),
        ("merge", "home/lamp", "bank"),
        ("undo",),
        ("undo",),
        ("undo",),
        *(("rename", *one) for one in (("nowhere", "x"), ("bank", "work/lamp"), ("bank", "a//b"), ("bank",))),
        *(("merge", *one) for one in (("work", "work/lamp"), ("bank", "nowhere"))),
        *(("move", *one) for one in (("bank", "/no/where"), ("/no/where", "."))),
        *(("assign", *one) for one in (("notes",), ("019ab3c2", "--unscoped", "notes"))),
        ("list",),
    ],
    "capture": [
        (),
        ("/nowhere/a.jsonl",),
        ("/nowhere\udcff/a.jsonl",),
        ("/dev/null/a.jsonl",),
        ("--format", "word", "/dev/null"),
        ("--scope", "a/*", str(EXAMPLE / "call.jsonl")),
        (__file__, "--mind", "\udcff"),
    ],
    "backup": [("kept.bak",), ("kept.bak",)],
    "lock": [()],
    "unlock": [(), ("--mind", "nobody")],
    "status": [("more",), ("--wrong",), ("--home", "/dev/null/x")],
    "init": [("--home", "/dev/null"), ()],
    "serve": [
        ("--engine", "embedded", "--address", "x:1"),
        *((one,) for one in ("--token", "--new-token", "--no-token")),
        ("--tls-cert", "a.pem", "--tls-key", "b.pem"),
        ("--http", "127.0.0.1:0", "--no-token", "--new-token"),
    ],
    "dream": [()],
}
"""By command, what is given to it, one after the other."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of several projects: work with tools, statements, two communities. Not to be written to."""
    home = tmp_path_factory.mktemp("told") / "home"
    home.mkdir(mode=0o700)
    (home / "mnemic.toml").write_text('[embedder]\nmodel = "/no model"\n', "utf-8")
    create_mind(
        home, "default", ManualClock(START_US), secrets=Secrets(root=b"r" * 32, identities=b"i" * 32, seed=b"s" * 32)
    )
    turns = [turn(text, scope=scope, id=text, session=scope, said_at=f"{day}T10:00:00Z") for scope, day, text in SAID]
    turns.append(turn("the oars float", session="b", scope="work/boat", said_at="2025-02-03T10:00:00Z"))
    for minute, (tool, text, outcome, file) in enumerate(
        [
            ("Edit", f"file_path: {OARS}", "ok", OARS),
            ("Bash", PYTEST, "failed", "tests/test_oars.py"),
            ("Edit", f"file_path: {OARS}", "ok", OARS),
            ("Bash", PYTEST, "ok", "tests/test_oars.py"),
        ],
        1,
    ):
        about: dict[str, Any] = {"session": "b", "scope": "work/boat", "tool": tool, "files": [file]}
        at = f"2025-02-03T10:{minute:02}"
        turns.append(turn(f"{tool}\n{text}", role="assistant", kind="tool_call", said_at=f"{at}:00Z", **about))
        about |= {"outcome": outcome, "said_at": f"{at}:30Z"}
        turns.append(turn(f"{outcome}, {minute}", role="tool", kind="tool_result", **about))
    turns.append(turn("the pier is 40 m", session="a pier", speaker="Ida", scope="work/pier", said_at="2025-02-20"))
    with mnemic.open(home, clock=ManualClock(START_US)) as mind:
        mind.capture(lines(home.parent / "said.jsonl", *turns), embed=False)
        grade_pair(mind, home, "Nadia works in Porto", "Nadia works in Lisbon")
        mind.bind()
        group_scopes(mind, home, "shelf", "office")
        mind.bind()  # the communities' own hypervectors
    return home


def sheet(name: str, command: Command, home: Path) -> Iterator[str]:
    """What is typed, what comes back, and by which code a command ends that fails."""
    for given in SHEETS[name]:
        where = () if "--home" in given else ("--home", home)
        ended = command(name, *given, *where)
        yield f"$ {shlex.join(('mnemic', name, *given))}"
        yield from ended.out.splitlines()
        yield from (f"! {line}" for line in ended.err.splitlines())
        if not ended.code or ended.out:  # done; or shown, and not done
            continue
        assert ended.err.count("\n") == 1, "one sentence"
        as_json = command(name, *given, *where, "--json")
        assert (as_json.code, as_json.err) == (ended.code, "")
        refused = json.loads(as_json.out)
        yield f"= {ended.code} {refused['code']}"
        assert refused.keys() == {"code", "error", "remedy"}
        said = " ".join(filter(None, (refused["error"], refused["remedy"])))
        assert said.encode("utf-8", "backslashreplace").decode() in ended.err


def settled(text: str, home: Path) -> str:
    """A text without what differs from run to run."""
    text = (
        text.replace(str(home), "HOME")
        .replace(str(home.parent), "HERE")
        .replace(str(ROOT), "ROOT")
        .encode("utf-8", "backslashreplace")
        .decode()
    )
    text = re.sub(r"[^\n -~\xa0-\uffff]", lambda found: f"\\x{ord(found[0]):02x}", text)
    return MEMORY_ID.sub("ID", MEASURED.sub(r"… \1", STAGE_TOOK.sub("", text)))


@pytest.mark.parametrize("name", SHEETS)
def test_a_command_prints_what_it_did(
    name: str, command: Command, told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "90")
    home = Path(shutil.copytree(told, tmp_path / "home"))
    found, path = settled("\n".join(sheet(name, command, home)) + "\n", home), GOLDEN / f"{name}.txt"
    if os.environ.get("MNEMIC_GOLDEN") == "write":
        path.write_text(found, "utf-8")
    assert found == path.read_text("utf-8")


def test_no_file_is_left_of_a_command_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*SHEETS}
