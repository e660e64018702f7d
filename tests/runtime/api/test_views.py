"""Answers as JSON: the promised names, ids and times as people write them, texts that any encoder takes."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

from mnemic.actors.capture.forget_messages import Retirement
from mnemic.actors.kernel.message import to_json
from mnemic.actors.recall.messages import FactRef, Recalled
from mnemic.runtime.api.views import hit_view, memory_view, model_view, recall_view, seconds
from tests.built import hit, memory

HIT = hit(
    "nine books",
    id=bytes(range(16)),
    source_id="line 3",
    assistant="codex",
    speaker="Ida",
    said_at=1_760_000_000_000_000,
    score=1.23456789,
    why={"dense": 1.0, "lexical": 0.23456789},
)
MEMORY = memory(
    "nine books",
    assistant="codex",
    found="git",
    kind="tool_call",
    role="assistant",
    branch="main",
    tool="Bash",
    outcome="ok",
    files=("a.py",),
    valid_to=1_000_000,
    recorded_at=1_500_000,
    superseded_by=bytes(range(16)),
    supersedes=(b"\xff" * 16,),
)


def test_a_hit_has_the_promised_names() -> None:
    view = hit_view(HIT, strict=True, explain=False)
    assert view == {
        "id": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "source_id": "line 3",
        "text": "nine books",
        "kind": "turn",
        "role": "user",
        "assistant": "codex",
        "speaker": "Ida",
        "session": "s",
        "scope": "work/shelf",
        "said_at": "2025-10-09T08:53:20Z",
        "score": 1.2346,
        "superseded_by": None,
    }
    assert hit_view(HIT, strict=True, explain=True) == view | {"why": {"dense": 1.0, "lexical": 0.2346}}


def test_a_part_of_a_text_says_which_part_it_is() -> None:
    part = msgspec.structs.replace(HIT, start_byte=90, size_bytes=1000)
    view = hit_view(part, strict=True, explain=False)
    assert (view["start_byte"], view["size_bytes"]) == (90, 1000)


def test_a_memory_is_shown_with_everything_that_is_known_of_it() -> None:
    view: dict[str, Any] = memory_view(MEMORY, b"books", strict=True)
    assert set(view) == set(type(MEMORY).__struct_encode_fields__) | {"size_bytes"}
    assert view | {"id": "", "superseded_by": "", "supersedes": ""} == {
        "id": "",
        "source_id": None,
        "text": "books",
        "size_bytes": 10,
        "assistant": "codex",
        "session": "s",
        "scope": "work/shelf",
        "found": "git",
        "kind": "tool_call",
        "role": "assistant",
        "speaker": None,
        "author": "unknown",
        "utc_offset_min": 0,
        "branch": "main",
        "tool": "Bash",
        "outcome": "ok",
        "files": ["a.py"],
        "said_at": None,
        "valid_from": "1970-01-01T00:00:00Z",
        "valid_to": "1970-01-01T00:00:01Z",
        "recorded_at": "1970-01-01T00:00:01.500000Z",
        "retired_at": None,
        "retired_reason": None,
        "superseded_by": "",
        "supersedes": "",
    }
    assert view["supersedes"] == ["ffffffff-ffff-ffff-ffff-ffffffffffff"]


def test_an_answer_says_where_it_looked_and_what_it_cost() -> None:
    recalled = Recalled(
        hits=(HIT,),
        scope="work",
        searched=7,
        used_tokens=3,
        left_out=1,
        nothing_fits=True,
        degraded=("no model.",),
        candidates=(),
    )
    assert recall_view(recalled, strict=True, found="git", took_ms=1.26, explain=False) == {
        "hits": [hit_view(HIT, strict=True, explain=False)],
        "scope": "work",
        "scope_found": "git",
        "searched": 7,
        "used_tokens": 3,
        "left_out": 1,
        "nothing_fits": True,
        "degraded": ["no model."],
        "took_ms": 1.3,
    }


def test_an_answer_says_which_days_it_counted_where_it_did() -> None:
    recalled = Recalled(
        hits=(),
        scope="*",
        searched=0,
        used_tokens=0,
        left_out=0,
        nothing_fits=True,
        degraded=(),
        held_on="2026-10-31",
        said_near=("2026-10-02",),
        candidates=(),
    )
    view = recall_view(recalled, strict=True, found="git", took_ms=1.0, explain=False)
    assert (view["held_on"], view["said_near"]) == ("2026-10-31", ["2026-10-02"])


def test_a_reference_names_words_of_its_hit_only_where_that_says_more() -> None:
    ref = FactRef(memory=bytes(16), start_byte=0, value=b"9090", at=0, probability=1.0, why="", id="1")
    hit = msgspec.structs.replace(HIT, replaced=(ref, msgspec.structs.replace(ref, of=b"the port is 8080")))
    view = hit_view(hit, strict=True, explain=False)
    assert ["of" in one for one in view["replaced"]] == [False, True]
    given = model_view({"hits": [view], "scope": "*"})["hits"][0]["replaced"]
    assert [one.get("of") for one in given] == [None, "the port is 8080"]


def test_a_model_is_given_of_a_hit_what_tells_it_whether_to_read_on() -> None:
    said = msgspec.structs.replace(HIT, said_at=(HIT.said_at or 0) + 255_198, superseded_by=bytes(16))
    timeless = msgspec.structs.replace(HIT, scope="work", said_at=None, speaker=None)
    views = [hit_view(hit, strict=True, explain=False) for hit in (said, timeless)]
    own = {
        "id": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "text": "nine books",
        "kind": "turn",
        "role": "user",
        "assistant": "codex",
        "score": 1.2346,
    }
    more = {
        "scope": "work/shelf",
        "speaker": "Ida",
        "said_at": "2025-10-09T08:53:20Z",
        "superseded_by": "00000000-0000-0000-0000-000000000000",
    }
    answer = {"hits": views, "scope": "work", "took_ms": 1}
    assert model_view(answer) == answer | {"hits": [own | more, own]}


def test_what_was_forgotten_shows_when_why_and_how_it_begins() -> None:
    retirement = Retirement(
        id=bytes(range(16)),
        changed=True,
        retired_at=2_000_000,
        reason="it was wrong",
        data=b"nine \xed\xa0\xbd",
        size_bytes=900,
        kind="turn",
        role="user",
        speaker=None,
        session="s",
        scope="work/shelf",
        said_at=1_000_000,
    )
    view = to_json(retirement, strict=True)
    assert json.loads(json.dumps(view).encode("ascii")) == view
    assert view == {
        "id": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "changed": True,
        "retired_at": "1970-01-01T00:00:02Z",
        "reason": "it was wrong",
        "text": "nine \\ud83d",
        "escaped": True,
        "size_bytes": 900,
        "kind": "turn",
        "role": "user",
        "speaker": None,
        "session": "s",
        "scope": "work/shelf",
        "said_at": "1970-01-01T00:00:01Z",
    }
    again = to_json(msgspec.structs.replace(retirement, retired_at=None, reason=None), strict=False)
    assert (again["retired_at"], again["reason"], again["text"]) == (None, None, "nine \ud83d")
    shown = memory_view(msgspec.structs.replace(MEMORY, retired_at=2_000_000, retired_reason="r"), b"", strict=True)
    assert (shown["retired_at"], shown["retired_reason"]) == ("1970-01-01T00:00:02Z", "r")


def test_a_model_is_told_local_times_with_their_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    times = ("2025-02-04T02:00:00.250000Z", "2025-07-01T00:00:00Z", "-99999999999999999")
    assert [seconds(one) for one in times] == ["2025-02-04T02:00:00Z", *times[1:]]
    try:
        monkeypatch.setenv("TZ", "America/Los_Angeles")
        local = [seconds(one) for one in times]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert local == ["2025-02-03T18:00:00-08:00", "2025-06-30T17:00:00-07:00", times[2]]
