"""A statement is told once: how often it was said, when last, and in its user's own words where these are equal."""

from __future__ import annotations

from typing import Any

from mnemic.actors.brief.messages import Quote
from mnemic.actors.brief.repeats import Said, merge_repeats, statement_key
from mnemic.actors.kernel.events import to_text


def said(text: str, *at: int, **fields: Any) -> Said:
    data = text.encode()
    given = {"id": bytes(16), "size_bytes": len(data), "at": max(at), "role": "user", "kind": "turn"}
    return Said(Quote(**(given | {"text": data} | fields)), frozenset(at))  # type: ignore[arg-type]


def told(*statements: Said) -> list[tuple[str, int, int | None]]:
    return [(to_text(quote.text), quote.times, quote.at) for quote in merge_repeats(statements)]


def test_repeats_are_one_where_the_first_stands_with_the_last_time() -> None:
    found = told(said("Use tabs.", 5, 1), said("Ask first.", 4), said("use tabs", 7, 5))
    assert found == [("Use tabs.", 3, 7), ("Ask first.", 1, 4)]
    assert told() == []


def test_the_users_own_words_stand_for_those_of_others() -> None:
    assistant = said("use tabs", 9, role="assistant")
    by_mcp = said("use tabs", 8, assistant="mcp:codex")
    assert told(assistant, by_mcp, said("Use tabs.", 1)) == [("Use tabs.", 1, 1)]
    assert told(said("Use tabs.", 1), by_mcp) == [("Use tabs.", 1, 1)]
    assert told(assistant, by_mcp) == [("use tabs", 2, 9)]


def test_of_a_text_that_was_not_read_whole_no_other_is_the_equal() -> None:
    parts = [said("Use tabs.", 1, id=bytes([n]) * 16, size_bytes=99) for n in (1, 2)]
    assert len({statement_key(one.quote) for one in parts}) == 2
