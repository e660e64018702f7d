"""Dead letters are counted without end, kept whole within their bounds, and handed out oldest first, once."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.message import Envelope
from mnemic.runtime.engine.router import DeadLetters

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


def test_one_too_large_to_keep_is_shown_and_not_sent_again() -> None:
    letters = DeadLetters()
    letters.add("store", envelope(1), "x")
    assert not letters.add("store", envelope(2, bytes(300_000)), "x").replayable
    assert [one.id for _, one in letters.take_replayable()] == ["m1"]
    assert [(one.id, one.replayable) for one in letters.summaries()] == [("m2", False)]


def test_one_that_does_not_pickle_is_kept_as_it_is() -> None:
    letters = DeadLetters()
    one = envelope(1, lambda: 1)
    assert letters.add("store", one, "x").replayable
    assert letters.take_replayable() == [("store", one)]


@given(st.lists(st.sampled_from([None, 0, 300_000]), max_size=600))
def test_whatever_comes_the_bound_holds_the_newest_are_kept_and_all_are_counted(sizes: list[int | None]) -> None:
    letters = DeadLetters()
    small = {size: bytes(size or 0) for size in set(sizes)}
    for number, size in enumerate(sizes):
        letters.add(None if size is None else "store", envelope(number, small[size]), "x")
    shown = list(enumerate(sizes))[-256:]
    assert letters.count == len(sizes)
    assert [one.id for one in letters.summaries()] == [f"m{number}" for number, _ in shown]
    assert [one.id for _, one in letters.take_replayable()] == [f"m{number}" for number, size in shown if size == 0]
    assert [one.id for one in letters.summaries()] == [f"m{number}" for number, size in shown if size != 0]
