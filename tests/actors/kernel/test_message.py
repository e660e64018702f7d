"""Messages as JSON: ids and times as people write them, texts that any encoder takes, and back to the same bytes."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import BadTime, InvalidValue, NoSuchMemory
from mnemic.actors.kernel.events import to_bytes, to_text
from mnemic.actors.kernel.message import format_id, from_json, parse_id, to_json
from mnemic.actors.log.messages import RelatedMemory
from mnemic.actors.recall.messages import GetMemories, Recall
from tests.clocks import NamedZone

TEXTS = st.text(st.characters(codec=None))
HALVES = to_bytes("\ud83d") + to_bytes("\ude00")


def related(text: bytes, at: int = 0) -> RelatedMemory:
    return RelatedMemory(id=bytes(range(16)), at=at, since=None, retired_at=None, data=text, size_bytes=len(text))


@given(st.binary(min_size=16, max_size=16))
def test_an_id_is_read_as_it_is_shown(memory: bytes) -> None:
    shown = format_id(memory)
    assert shown is not None
    assert parse_id(shown) == parse_id(shown.upper()) == memory


@pytest.mark.parametrize("text", ["", "x", "0" * 31, "\ud800"])
def test_what_is_no_id_names_no_memory(text: str) -> None:
    with pytest.raises(NoSuchMemory):
        parse_id(text)


def test_a_message_has_ids_times_and_texts_as_people_write_them() -> None:
    assert to_json(related(b"nine books", 1_760_000_000_000_000)) == {
        "id": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "at": "2025-10-09T08:53:20Z",
        "since": None,
        "retired_at": None,
        "text": "nine books",
        "size_bytes": 10,
    }


@given(TEXTS, st.integers(-(1 << 63), (1 << 63) - 1))
def test_what_is_written_exactly_is_read_as_it_was(text: str, at: int) -> None:
    whole = related(to_bytes(text), at)
    carried = json.loads(json.dumps(to_json(whole, exact=True)))
    assert msgspec.convert(from_json(RelatedMemory, carried), RelatedMemory) == whole


def test_two_halves_that_json_would_join_are_carried_as_bytes() -> None:
    assert to_json(related(HALVES), exact=True)["text"] == {"base64": "7aC97biA"}
    assert to_json(related(HALVES))["text"] == to_text(HALVES)


@given(TEXTS)
def test_a_strict_encoder_takes_every_text_and_is_told_where_it_was_written_out(text: str) -> None:
    view = to_json(related(to_bytes(text)), strict=True)
    assert msgspec.json.decode(msgspec.json.encode(view)) == view
    halves = any("\ud800" <= letter <= "\udfff" for letter in text)
    assert view.get("escaped", False) is halves
    if not halves:
        assert view["text"] == text


def test_a_half_letter_is_written_out_as_its_number() -> None:
    view = to_json(related(b"a\xed\xa0\xbd\x00b"), strict=True)
    assert (view["text"], view["escaped"]) == ("a\\ud83d\x00b", True)


def test_a_time_or_an_id_that_is_none_is_refused_with_its_own_error() -> None:
    with pytest.raises(BadTime):
        from_json(Recall, {"query": "x", "since": "soon"})
    with pytest.raises(InvalidValue, match="is no text"):
        from_json(Recall, {"query": "x", "since": 1_760_000_000_000_000})
    with pytest.raises(NoSuchMemory):
        from_json(GetMemories, {"ids": ["%"]})


def test_a_time_without_an_offset_is_local() -> None:
    pacific = NamedZone("America/Los_Angeles")
    written = {"2025-02-03": 1_738_569_600, "2025-02-03T08:00:00Z": 1_738_569_600, "2025-07-01": 1_751_353_200}
    for text, at_s in written.items():
        assert from_json(Recall, {"query": "x", "since": text}, pacific)["since"] == at_s * 1_000_000


@pytest.mark.parametrize(("day", "hours"), [("2026-11-01", 25), ("20261102", 24), (" 2026-03-08 ", 23)])
def test_the_same_day_as_both_ends_means_all_of_it_by_the_clock_on_the_wall(day: str, hours: int) -> None:
    read = from_json(Recall, {"query": "x", "since": day, "until": day}, NamedZone("America/Los_Angeles"))
    assert read["until"] - read["since"] == hours * 3_600 * 1_000_000


def test_other_ends_are_as_they_are_given() -> None:
    for since, until in ((None, "2026-11-01"), ("2026-11-01", "2026-11-02"), ("2026-11-01T09:00", "2026-11-01T09:00")):
        given = {"query": "x", "until": until} | ({} if since is None else {"since": since})
        assert from_json(Recall, given)["until"] == from_json(Recall, {"query": "x", "since": until})["since"]


def test_what_does_not_fit_is_left_for_the_decoder_to_name() -> None:
    assert from_json(GetMemories, {"ids": 7, "more": 1}) == {"ids": 7, "more": 1}
