"""What a memory is bound from is read as it stands in its session; what is bound is read in pages that join."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from mnemic.actors.log.changes import Retire
from mnemic.actors.shape.queries import NEAR_CALLS, Unbound
from mnemic.runtime.store.shape import read as codes_module
from mnemic.runtime.store.store import Store
from tests.built import added
from tests.runtime.building import ENCODER, add_encoder, add_space, apply, codes, id_of, look, plain, vectors


def read(path: Path, text_bytes: int = 1000) -> dict[int, Unbound]:
    found = look(path, lambda now: now.pending_bindings(ENCODER, False, 0, 1000, text_bytes))
    return {int.from_bytes(one.memory.id, "big"): one for one in found}


def numbers(vector: bytes) -> list[float]:
    return [float(value) for value in np.frombuffer(vector, "<f4")]


def test_turns_are_read_with_the_meaning_of_the_turns_beside_them_in_their_own_session(
    store: Store, path: Path
) -> None:
    apply(
        store,
        add_encoder(),
        *(added(n, said_at=n) for n in (1, 3, 5)),
        added(4, said_at=4, session="another"),
    )
    apply(store, added(2, said_at=2, kind="note"), vectors(1), vectors(3, windows=2), vectors(4))
    found = read(path)
    assert numbers(found[1].meaning) == [1000.0, 1001.0, 1002.0, 1003.0]
    assert numbers(found[3].meaning) == [3002.0, 3003.0, 3004.0, 3005.0], "the mean of its two windows"
    assert (found[1].previous, found[1].next) == (b"", found[3].meaning)
    assert (found[3].previous, found[3].next) == (found[1].meaning, b""), "the fifth is not embedded"
    assert (found[5].previous, found[5].next, found[5].meaning) == (found[3].meaning, b"", b"")
    assert (found[2].previous, found[2].next) == (found[1].meaning, b""), "what follows is asked of turns alone"
    assert (found[4].previous, found[4].next) == (b"", b"")
    assert {one.meaning for one in look(path, lambda now: now.pending_bindings(None, False, 0, 9, 9))} == {b""}


def test_what_is_forgotten_stands_beside_nothing(store: Store, path: Path) -> None:
    apply(store, add_encoder(), *(added(n, speaker=f"p{n}") for n in (1, 2, 3)), vectors(1), vectors(2), vectors(3))
    apply(store, Retire(memory=id_of(2), reason=""))
    found = read(path)
    assert found.keys() == {1, 3}
    assert (found[1].next, found[3].previous) == (found[3].meaning, found[1].meaning)
    assert (found[1].speakers, found[3].speakers) == (("p3",), ("p1",))


def test_turns_of_one_moment_stand_in_the_order_in_which_they_were_kept(store: Store, path: Path) -> None:
    apply(store, add_encoder(), *(added(n) for n in (1, 2, 3)), vectors(1), vectors(2), vectors(3))
    found = read(path)
    assert (found[2].previous, found[2].next) == (found[1].meaning, found[3].meaning)


def test_a_call_is_read_with_the_calls_near_it_and_nothing_else_is(store: Store, path: Path) -> None:
    kinds = ["tool_call", "tool_result"] * NEAR_CALLS
    calls = (
        added(n, b"run %d" % n, kind=kind, tool="Bash", outcome="ok", files=("a.py",), said_at=n)
        for n, kind in enumerate(kinds, start=1)
    )
    apply(store, *calls, added(100, said_at=3))
    found = read(path)
    middle = found[NEAR_CALLS + 1]
    assert [one.text for one in middle.before] == [b"run %d" % n for n in range(NEAR_CALLS, 0, -1)]
    assert [one.text for one in middle.after] == [b"run %d" % n for n in range(NEAR_CALLS + 2, 2 * NEAR_CALLS + 1)]
    nearest = middle.before[0]
    assert (nearest.kind, nearest.tool, nearest.outcome, nearest.files) == ("tool_result", "Bash", "ok", ("a.py",))
    assert (found[100].before, found[100].after) == ((), ())


def test_of_many_speakers_three_others_are_told_whoever_speaks(store: Store, path: Path) -> None:
    names = ["fay", "ann", None, "eve", "bob", "dee", "cy", "ann"]
    apply(store, *(added(n, speaker=name) for n, name in enumerate(names, start=1)))
    found = read(path)
    assert found[1].speakers == found[4].speakers == found[3].speakers == ("ann", "bob", "cy")
    assert found[2].speakers == found[8].speakers == ("bob", "cy", "dee")


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 5, 6, 7, 8, 99])
def test_of_a_long_text_the_beginning_is_read_and_no_letter_is_cut(store: Store, path: Path, limit: int) -> None:
    text = "aéa漢".encode()  # of 1, 2, 1 and 3 bytes
    apply(store, added(1, text))
    given = read(path, limit)[1].memory.data
    assert given == {0: b"", 1: b"a", 2: b"a", 3: text[:3], 5: text[:4], 6: text[:4]}.get(limit, text)
    assert read(path, limit)[1].words == 2, "of the whole"


@pytest.mark.parametrize(("text", "words"), [(b"", 0), (b"hello", 1), (b"hello " * 300, 300)])
def test_a_text_is_as_long_as_its_own_words_whoever_speaks(store: Store, path: Path, text: bytes, words: int) -> None:
    apply(store, added(1, text, speaker="Ann Lee"), added(2, text))
    assert {row: one.words for row, one in read(path).items()} == {1: words, 2: words}


def test_of_a_text_of_any_length_no_more_than_the_beginning_is_read(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = dict.fromkeys((1, 3), "tool_call") | {2: "tool_result"}
    apply(store, *(added(n, b"%d " % n + b"x" * 10_000, kind=kind, said_at=n) for n, kind in calls.items()))
    monkeypatch.setattr(zlib, "decompress", pytest.fail)  # of a whole text, which was packed
    found = read(path, 100)
    assert [len(found[n].memory.data) for n in (1, 2, 3)] == [100, 100, 100]
    assert [len(one.text) for one in (*found[2].before, *found[2].after)] == [2048, 2048]


def test_memories_that_wait_are_read_page_by_page(store: Store, path: Path) -> None:
    apply(store, *(added(n) for n in range(1, 8)))
    after, seen = 0, []
    while page := look(path, lambda now: now.pending_bindings(None, False, after, 3, 10)):  # noqa: B023
        assert len(page) <= 3
        seen += [one.row for one in page]
        after = page[-1].row
    assert seen == list(range(1, 8))


def test_hypervectors_are_the_same_however_many_are_read_at_once(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(store, *(added(n) for n in range(1, 8)), add_space(), codes(*range(1, 8)))
    whole = plain(look(path, lambda now: now.codes("episode", 0)))
    for page in (1, 2, 7):
        monkeypatch.setattr(codes_module, "_PAGE", page)
        assert plain(look(path, lambda now: now.codes("episode", 0))) == whole
        assert plain(look(path, lambda now: now.codes("episode", 5)))[1] == whole[1][3:]
