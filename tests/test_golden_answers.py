"""What each verb answers over the example stays what it was: a change that is to alter no answer alters no file here.

`MNEMIC_GOLDEN=write` writes the files of `tests/golden/answers` anew; the diff then shows what users will see change.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import mnemic
from tests.clocks import ManualClock
from tests.paths import ROOT
from tests.processes.faces import Outcome, run

GOLDEN = ROOT / "tests" / "golden" / "answers"
DIGITS = 2
"""The last digits of a sum differ between processors."""
OWN = frozenset({"run", "size_bytes", "took_ms", "took_us"})
"""Fields that hold what a run alone says."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
AFTER_EXAMPLE = "2026-11"
"""The example was said before; a later time is of the run."""
MEMORY_ID = re.compile(r"[\da-f]{8}-[\da-f]{4}(-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12})")
"""It begins with when it was captured."""
CONFLICT_ID = re.compile(r"[\da-f]{8}")

Command = Callable[..., Outcome]

EVERYWHERE = ("--scope", "*")
ASKED: dict[str, list[tuple[str, ...]]] = {
    "recall": [
        ("which database do we use", *EVERYWHERE),
        ("how long does a session last", "--explain", *EVERYWHERE),
        ("what did we decide about sessions", "--at", "2026-10-01", *EVERYWHERE),
        ("why did the deploy fail", "--budget-tokens", "300", *EVERYWHERE),
        ("how do I make a plum cake", *EVERYWHERE),
    ],
    "shape": [
        ("tool=pytest", "outcome=failed", "about=time zones", "file=?", "date=?", *EVERYWHERE),
        ("after=edit, test failed", "then=?", *EVERYWHERE),
        ("subject=database", "relation=?", "object=?", *EVERYWHERE),
        ("--roles",),
    ],
    "facts": [EVERYWHERE, ("database", "--history", *EVERYWHERE)],
    "timeline": [("database", *EVERYWHERE)],
    "entities": [("--limit", "60", *EVERYWHERE)],
    "entity": [("Postgres", *EVERYWHERE)],
    "conflicts": [EVERYWHERE, ("--replaced", *EVERYWHERE)],
    "communities": [EVERYWHERE],
    "digest": [("--of", kind, *EVERYWHERE) for kind in ("project", "session")],
    "derived": [("project-digests", *EVERYWHERE)],
    "profile": [EVERYWHERE],
    "log": [("--by", "said", "--limit", "60", *EVERYWHERE), ("--kind", "decision", *EVERYWHERE)],
    "scope": [("list",)],
    "minds": [()],
    "nights": [(), ("show", "1")],
}
"""By verb, what is asked of it."""
DAY_AFTER_US = int(datetime(2026, 10, 27, 9, tzinfo=UTC).timestamp() * 1_000_000)
"""The morning after the example's last session."""


@pytest.fixture(scope="module")
def asked_home(captured_example: tuple[Path, Outcome], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the example and had a night."""
    home = Path(shutil.copytree(captured_example[0], tmp_path_factory.mktemp("golden") / "home"))
    assert run("sleep", "--home", home).code == 0
    return home


def plain(answer: Any, home: Path) -> Any:
    """An answer without what differs from run to run: when it was asked, where its home is, the last digits."""
    if isinstance(answer, dict):
        return {name: "…" if name in OWN and value else plain(value, home) for name, value in answer.items()}
    if isinstance(answer, list):
        return [plain(one, home) for one in answer]
    if isinstance(answer, float):
        return round(answer, DIGITS)
    if not isinstance(answer, str) or CONFLICT_ID.fullmatch(answer):
        return "…" if isinstance(answer, str) else answer
    text = TIME.sub(lambda found: found[0] if found[0] < AFTER_EXAMPLE else "…", answer)
    return MEMORY_ID.sub(r"…\1", text).replace(str(home), "HOME")


def answers(verb: str, home: Path, command: Command) -> Iterator[dict[str, Any]]:
    """What a verb answers to each question."""
    for one in ASKED[verb]:
        ended = command(verb, *one, "--home", home, "--json")
        assert ended.code == 0, (one, ended)
        yield {"asked": " ".join(one), "answers": [plain(json.loads(line), home) for line in ended.out.splitlines()]}


@pytest.mark.parametrize("verb", ASKED)
def test_a_verb_answers_as_it_did(verb: str, asked_home: Path, command: Command) -> None:
    assert_kept(verb, list(answers(verb, asked_home, command)))


def assert_kept(name: str, told: Any) -> None:
    """Check that an answer is what its file holds; write it, where that is asked for."""
    found, path = json.dumps(told, ensure_ascii=False, indent=1) + "\n", GOLDEN / f"{name}.json"
    if os.environ.get("MNEMIC_GOLDEN") == "write":
        path.write_text(found, "utf-8")
    assert found == path.read_text("utf-8")


def test_a_session_starts_with_what_it_did(asked_home: Path) -> None:
    with mnemic.open(asked_home, clock=ManualClock(DAY_AFTER_US)) as mind:
        told = mind.brief(scope="slipway", assistant="claude-code").text
    assert_kept("session-start", plain(told.splitlines(), asked_home))


def test_no_file_is_left_of_a_verb_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*ASKED, "session-start"}
