"""What counts as lost, doubled, crashed or silent, and how a row of the fault bench tells it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from mnemic.bench.faults.audit import (
    Attack,
    Case,
    Ended,
    Flaw,
    attack_row,
    audit,
    compare_texts,
    crash_of,
    error_of,
    run_command,
)
from mnemic.bench.harness.homes import fill_home
from mnemic.bench.harness.processes import run_mnemic
from mnemic.runtime.minds.homes import mind_folder

TRACEBACK = "Traceback (most recent call last):\n  File …\nOSError: [Errno 28] No space left on device"
REFUSED = json.dumps({"code": "disk_full", "error": "The disk is full.", "remedy": "Make room."})


@pytest.mark.parametrize(
    ("code", "out", "err", "crash"),
    [
        (0, "kept", "", None),
        (3, REFUSED, "", None),
        (3, "", "mnemic: The disk is full. Make room.", None),
        (0, "", TRACEBACK, "crashed: OSError: [Errno 28] No space left on device"),
        (1, REFUSED, TRACEBACK, "crashed: OSError: [Errno 28] No space left on device"),
        (0, "", "thread 'main' panicked at src/main.rs", "crashed: thread 'main' panicked at src/main.rs"),
        (3, "", "", "ended with 3 and no error: it said nothing"),
        (3, '{"code": "x"}', "", 'ended with 3 and no error: {"code": "x"}'),
        (-11, REFUSED, "", f"ended with -11 and no error: {REFUSED}"),
        (-9, "", "it took longer than 180 s", "ended with -9 and no error: it took longer than 180 s"),
    ],
)
def test_a_command_is_done_or_says_why_not_and_else_it_crashed(
    code: int, out: str, err: str, crash: str | None
) -> None:
    assert crash_of(Ended(code=code, out=out, err=err)) == crash


def test_the_sentence_of_an_error_is_found_in_json_and_in_words() -> None:
    assert error_of(Ended(code=3, out=REFUSED, err="")) == "The disk is full."
    assert error_of(Ended(code=3, out="", err="noise\nmnemic: It is full.")) == "It is full."
    assert error_of(Ended(code=0, out='{"id": 1}', err="mnemic: a warning")) is None


def test_texts_are_lost_doubled_or_never_said() -> None:
    due = Counter(["a", "b"])
    assert compare_texts(due, due=due, allowed=due) == []
    assert compare_texts(due, due=Counter("a"), allowed=due) == []
    found = Counter(["a", "a", "c"])
    assert compare_texts(found, due=due, allowed=due) == [
        Flaw("lost", "1 of 'b'"),
        Flaw("doubled", "1 of 'a' too many"),
        Flaw("silent", "1 of 'c' too many"),
    ]


def test_a_row_counts_what_broke_and_says_how_to_carry_it_out_again() -> None:
    cases = [
        Case(at=3, flaws=[], named=True),
        Case(at=28, flaws=[Flaw("lost", "1 of 'a'"), Flaw("crashed", "it hung")]),
    ]
    row = attack_row(Attack(name="kill/remember", run=lambda at: cases))
    assert (row["what"], row["state"], row["tried"], row["named"]) == ("kill/remember", "failed", 2, 1)
    assert [row[kind] for kind in ("lost", "doubled", "crashed", "silent", "damaged")] == [1, 0, 1, 0, 0]
    assert row["examples"][0] == "--only kill/remember --at 28: lost: 1 of 'a'"
    sound = attack_row(Attack(name="kill/remember", run=lambda at: cases[:1]))
    assert sound["state"] == "ok"
    assert "examples" not in sound


def test_an_attack_that_tried_nothing_fails() -> None:
    row = attack_row(Attack(name="kill/remember", run=lambda at: []))
    assert (row["state"], row["tried"]) == ("failed", 0)


def test_a_hanging_command_is_killed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.bench.faults.audit.TIMEOUT_S", 0.1)
    ended = run_command(["sleep", "1000"])
    assert ended.err == "it took longer than 0.1 s"
    assert crash_of(ended) is not None


def test_a_home_tells_what_it_holds_and_what_is_wrong(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first, second = fill_home(home, 2, seed=1, encoder=None)
    (forgotten,) = [one["id"] for one in run_mnemic(home, "log") if one["text"] == second]
    run_mnemic(home, "forget", forgotten)
    (mind_folder(home, "default").path / "spool.json").write_text("{")
    found = audit(home)
    assert found.texts == Counter([first, f"(forgotten) {second}"])
    assert not found.refused
    assert found.flaws == []
    (mind_folder(home, "default").key).write_bytes(bytes(32))
    refused = audit(home)
    assert refused.refused
    assert "key" in refused.told[0]
