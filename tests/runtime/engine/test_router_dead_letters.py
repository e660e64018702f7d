"""Dead letters are counted without end, kept whole within their bounds, and handed out oldest first, once."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.protocol.messages import Envelope
from mnemic.runtime.engine.router import DeadLetters, estimate_size_bytes

SECRET = "the tea is in the blue tin"


class Note(msgspec.Struct, frozen=True):
    """A message that carries something."""

    payload: Any


def envelope(number: int, payload: Any = SECRET) -> Envelope:
    return Envelope(id=f"m{number}", trace=f"t{number}", now=1, deadline=None, message=Note(payload))


def test_what_is_shown_names_a_letter_and_quotes_nothing_of_it() -> None:
    letters = DeadLetters()
    letter = letters.add("store", envelope(1), "disk_full")
    assert msgspec.structs.asdict(letter) == {
        "actor": "store",
        "message": "Note",
        "trace": "t1",
        "reason": "disk_full",
        "id": "m1",
        "replayable": True,
    }
    assert letters.summaries() == (letter,)
    assert SECRET not in repr(letters.summaries())


def test_what_nobody_takes_cannot_be_sent_again() -> None:
    letters = DeadLetters()
    assert not letters.add(None, envelope(1), "no_taker").replayable
    assert letters.take_replayable() == []
    assert [one.actor for one in letters.summaries()] == ["-"]


def test_what_is_taken_out_is_dead_no_more_and_still_counted() -> None:
    letters = DeadLetters()
    for number in range(3):
        letters.add("store", envelope(number), "x")
    assert [(actor, one.id) for actor, one in letters.take_replayable()] == [
        ("store", "m0"),
        ("store", "m1"),
        ("store", "m2"),
    ]
    assert (letters.take_replayable(), letters.summaries(), letters.count) == ([], (), 3)


def test_one_too_large_to_keep_takes_no_other_ones_room() -> None:
    letters = DeadLetters(most_bytes=5000)
    letters.add("store", envelope(1), "x")
    assert not letters.add("store", envelope(2, bytes(6000)), "x").replayable
    assert [one.id for _, one in letters.take_replayable()] == ["m1"]
    assert [(one.id, one.replayable) for one in letters.summaries()] == [("m2", False)]


@given(
    sizes=st.lists(st.one_of(st.none(), st.integers(0, 3000)), max_size=30),
    most=st.integers(1, 6),
    room=st.integers(500, 6000),
    shown=st.integers(6, 10),
)
def test_whatever_comes_the_bounds_hold_the_newest_are_kept_and_all_are_counted(
    sizes: list[int | None], most: int, room: int, shown: int
) -> None:
    letters = DeadLetters(most, room, shown)
    given = []
    for number, size in enumerate(sizes):
        one = envelope(number, bytes(size or 0))
        given.append(one)
        letters.add(None if size is None else "store", one, "x")
    assert letters.count == len(sizes)
    assert [one.id for one in letters.summaries()] == [one.id for one in given][-shown:]
    replayable = [one.id for one in letters.summaries() if one.replayable]
    taken = [one for _, one in letters.take_replayable()]
    assert [one.id for one in taken] == replayable
    assert len(taken) <= most
    assert sum(estimate_size_bytes(one.message) for one in taken) <= room
    fits = [
        one
        for one, size in zip(given, sizes, strict=True)
        if size is not None and estimate_size_bytes(one.message) <= room
    ]
    assert taken == fits[len(fits) - len(taken) :]


@pytest.mark.parametrize(
    ("payload", "least"),
    [
        (b"x" * 10_000, 10_000),
        ("x" * 10_000, 10_000),
        (tuple(b"x" * 1000 + bytes([n]) for n in range(10)), 10_000),
        ({b"a" * 5000: b"b" * 5000}, 10_000),
        ([Note(b"x" * 10_000)], 10_000),
        (np.zeros(10_000, np.uint8)[:], 10_000),
    ],
)
def test_the_estimate_covers_everything_a_message_holds(payload: Any, least: int) -> None:
    assert least <= estimate_size_bytes(Note(payload)) <= 2 * least


def test_what_a_message_holds_twice_is_counted_once_and_a_circle_ends() -> None:
    text = b"x" * 10_000
    assert estimate_size_bytes(Note([text, text])) < 12_000
    circle: list[Any] = []
    circle.append(circle)
    assert estimate_size_bytes(Note(circle)) < 1000
