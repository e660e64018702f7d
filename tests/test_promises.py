"""The promises of the design that hold now, each as a property, through the faces that a user has.

What a lower layer proves by itself (the store, the readers, the engine) is proved there; here it is the whole.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemic
from mnemic.actors.kernel.events import to_bytes
from mnemic.actors.kernel.message import parse_id
from mnemic.errors import InvalidValue, UnknownScope
from mnemic.runtime.api.mind import Mind
from tests.clocks import ManualClock
from tests.processes.faces import EXAMPLE, finish, run, start, turn
from tests.processes.serving import end
from tests.waiting import until

EXAMPLES = settings(max_examples=20)  # each makes a mind
RUN_BYTES = 16
DAY_US = 86_400 * 1_000_000
START_US = 1_760_000_000_000_000

# Any text there is: every letter, halves of surrogate pairs, NUL, every kind of line end.
TEXTS = st.text(st.characters(codec=None), max_size=200)
SCOPES = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=3).map("/".join)


@pytest.fixture(scope="module")
def minds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Makes minds, each empty, in one home without a model; they are closed at the end."""
    home = tmp_path_factory.mktemp("promises")
    (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{home / "no model"}"\n', "utf-8")
    opened: list[Mind] = []

    def make(**options: Any) -> tuple[Mind, Path]:
        opened.append(mnemic.open(home, f"mind-{len(opened)}", **options))
        return opened[-1], home / f"transcript-{len(opened)}.jsonl"

    yield make
    for mind in opened:
        mind.close()


def write(path: Path, *turns: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in turns), "utf-8")
    return path


def everything(mind: Mind, query: str = "otter", **options: Any) -> list[Any]:
    """All memories that a recall finds, without leaving a trace."""
    return list(mind.recall(query, 10_000, observe=False, **options).hits)


# --- 1 and 2: byte for byte, and once --------------------------------------------------------------------------------


@settings(max_examples=40)
@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
def test_1_and_2_what_was_captured_comes_back_byte_for_byte_and_is_stored_once(minds: Any, texts: list[str]) -> None:
    mind, path = minds()
    # A word of its own finds each; the rest of the text is whatever it is.
    said = [f"word{number}x {text}" for number, text in enumerate(texts)]
    first = mind.capture(write(path, *map(turn, said)), embed=False)
    assert (first.new, first.known, first.malformed) == (len(said), 0, 0)
    second = mind.capture(path, embed=False)
    assert (second.new, second.known) == (0, len(said))
    for number, text in enumerate(said):
        hits = everything(mind, f"word{number}x", signals=("lexical",))
        (memory,) = mind.get([hits[0].id])
        assert memory.data == to_bytes(text)
    assert mind.counts().memories == len(said)


@EXAMPLES
@given(texts=st.lists(st.sampled_from(["yes", "otter", "heron"]), max_size=12), cut=st.integers(0, 12))
def test_2_a_transcript_that_grew_adds_what_is_new_however_often_a_word_is_said(
    minds: Any, texts: list[str], cut: int
) -> None:
    mind, path = minds()
    begun = mind.capture(write(path, *map(turn, texts[:cut])), format="jsonl", embed=False)
    grown = mind.capture(write(path, *map(turn, texts)), format="jsonl", embed=False)
    assert (begun.new, grown.new) == (len(texts[:cut]), len(texts[cut:]))
    found = [hit for word in set(texts) for hit in everything(mind, word, signals=("lexical",))]
    kept = Counter(hit.text for hit in found for _ in (hit, *hit.same))
    assert kept == Counter(texts)


# --- 5: recall changes nothing ---------------------------------------------------------------------------------------


def test_5_a_recall_changes_nothing_but_the_log(example_home: Path) -> None:
    with mnemic.open(example_home) as mind:

        def state() -> tuple[Any, ...]:
            found = everything(mind, "session token")
            counted = {name: value for name, value in msgspec.structs.asdict(mind.counts()).items() if name != "seq"}
            return found, mind.get([hit.id for hit in found]), counted

        before, seq = state(), mind.counts().seq
        for question in ("session token", "Who struggles with poor eyesight?", "otter", "226/NAMESPACE"):
            mind.recall(question)
        until(lambda: mind.counts().seq == seq + 4)
        assert state() == before
    checks = run("doctor", "--home", example_home, "--json").json["checks"]
    assert {check["state"] for check in checks} <= {"ok", "advice"}


# --- 6: scopes -------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(scopes=st.lists(SCOPES, min_size=1, max_size=8), asked=SCOPES)
def test_6_a_scope_sees_what_is_in_it_and_below_it_and_nothing_else(minds: Any, scopes: list[str], asked: str) -> None:
    mind, path = minds()
    turns = [turn(f"otter {number}", session=f"s{number}", scope=scope) for number, scope in enumerate(scopes)]
    mind.capture(write(path, *turns), embed=False)
    expected = sorted(
        f"otter {number}"
        for number, scope in enumerate(scopes)
        if scope == asked or (asked and scope.startswith(f"{asked}/"))
    )
    if not expected and asked not in scopes:
        with pytest.raises(UnknownScope):
            everything(mind, scope=asked)
    else:
        assert sorted(hit.text for hit in everything(mind, scope=asked)) == expected
    assert len(everything(mind)) == len(scopes)


# --- 7: time ---------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(days=st.lists(st.integers(0, 5), min_size=1, max_size=8), first=st.integers(0, 6), length=st.integers(0, 6))
def test_7_windows_of_world_time_are_half_open_and_complete(
    minds: Any, days: list[int], first: int, length: int
) -> None:
    mind, path = minds()
    turns = [turn(f"otter {number}", said_at=f"2026-10-{10 + day:02}T00:00:00Z") for number, day in enumerate(days)]
    mind.capture(write(path, *turns), embed=False)
    start_us = 1_791_590_400_000_000  # 2026-10-10T00:00:00Z

    def within(since: int | None, until: int | None) -> set[bytes]:
        edges = [None if day is None else start_us + day * DAY_US for day in (since, until)]
        return {hit.data for hit in everything(mind, since=edges[0], until=edges[1])}

    last = first + length
    if not length:
        with pytest.raises(InvalidValue, match="nothing lies at or after"):
            within(first, last)
        return
    expected = {b"otter %d" % number for number, day in enumerate(days) if first <= day < last}
    assert within(first, last) == expected
    assert within(None, first) | expected | within(last, None) == {b"otter %d" % n for n in range(len(days))}
    assert len(within(None, first)) + len(expected) + len(within(last, None)) == len(days)


@EXAMPLES
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=8))
def test_7_as_of_gives_what_the_memory_knew_then(minds: Any, steps: list[tuple[bool, int]]) -> None:
    clock = ManualClock(START_US)
    mind, _ = minds(clock=clock)
    known: list[tuple[int, dict[bytes, bytes | None]]] = [(clock.now_us() - 1, {})]
    state: dict[bytes, bytes | None] = {}
    newest: bytes | None = None
    for number, (corrects, pause) in enumerate(steps):
        clock.advance(pause)
        kept = mind.remember(f"otter {number}", supersedes=newest if corrects else None)
        if corrects and newest is not None:
            state[newest] = kept.id
        newest = kept.id
        state = state | {newest: None}
        known.append((clock.now_us(), dict(state)))
    for index, (at, expected) in enumerate(known):
        if index + 1 < len(known) and known[index + 1][0] == at:
            continue  # more came at the same moment
        found = {hit.id: hit.superseded_by for hit in everything(mind, as_of=at)}
        assert found == expected


# --- 9: kill -9 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "acknowledged", [pytest.param(1, marks=pytest.mark.system), 2, pytest.param(3, marks=pytest.mark.system)]
)
def test_9_a_kill_loses_nothing_that_mcp_acknowledged(home: Path, tmp_path: Path, acknowledged: int) -> None:
    def message(number: int, method: str, parameters: dict[str, Any]) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode() + b"\n"

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    process = start("mcp", "--home", home, cwd=tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(message(0, "initialize", hello) + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    process.stdin.flush()
    process.stdout.readline()
    ids = []
    for number in range(1, 20):
        call = {"name": "memory_capture", "arguments": {"text": f"otter {number}"}}
        process.stdin.write(message(number, "tools/call", call))
        process.stdin.flush()
        if number <= acknowledged:
            ids.append(json.loads(process.stdout.readline())["result"]["structuredContent"]["id"])
    end(home)  # the process that serves; then the pipe to it
    process.send_signal(signal.SIGKILL)
    finish(process)
    end(home)  # the next one, where the pipe was quick enough to start it
    with mnemic.open(home) as mind:
        kept = mind.get([parse_id(one) for one in ids])
        assert [memory.data for memory in kept] == [b"otter %d" % (number + 1) for number in range(acknowledged)]
        texts = [hit.data for hit in everything(mind)]
        assert len(texts) == len(set(texts))
        assert set(texts) <= {b"otter %d" % number for number in range(1, 20)}, "none is half there"


# --- 10: no plaintext ------------------------------------------------------------------------------------------------


def words_of(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from words_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from words_of(one)


def test_10_nothing_that_was_captured_or_asked_stands_in_clear(example_home: Path) -> None:
    home, question = example_home, "Who struggles with poor eyesight?"
    run("recall", question, "--home", home)
    runs = {question.encode()[at : at + RUN_BYTES] for at in range(len(question) - RUN_BYTES + 1)}
    for path in EXAMPLE.rglob("*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            try:
                said = list(words_of(json.loads(line)))
            except ValueError:
                continue  # the line that a crash tore
            for text in map(str.encode, said):
                runs.update(text[at : at + RUN_BYTES] for at in range(len(text) - RUN_BYTES + 1))
    assert len(runs) > 40_000
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"key", "mind.json", "store.db"}
    for path in files:
        data = path.read_bytes()
        in_clear = [at for at in range(len(data) - RUN_BYTES + 1) if data[at : at + RUN_BYTES] in runs]
        assert in_clear == [], path
