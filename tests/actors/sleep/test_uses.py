"""What was taken up, opened or corrected was of use, and ranks higher for it; being given alone changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.recall.messages import Hit
from mnemic.actors.sleep.messages import UndoNights
from mnemic.actors.sleep.uses import uses_of
from mnemic.actors.store.messages import Rebuild
from tests.actors.sleep.sleeping import SHELF, ask_as, open_as, reply_as, whole_night
from tests.harness import ActorHarness

STAGES = ("uses", "strengths")
PORT = "The booking API listens on port 8443 since Lukas moved it to the harbour machine."
DUMP = "The booking database is dumped with pg_dump before each release of the API."
ASKED = "tell me of the booking API"


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as mind:
        yield mind


@pytest.fixture
def ids(mind: ActorHarness) -> dict[str, bytes]:
    """Two memories."""
    kept = {name: mind.keep(text, place=SHELF, session="old").id for name, text in (("port", PORT), ("dump", DUMP))}
    mind.embed()
    return kept


def uses(mind: ActorHarness) -> list[tuple[int, str]]:
    """Rows of memories and what they were of use for."""
    return mind.look(lambda now: [(row, use.kind) for row, use in uses_of(now.derived("uses"))])  # type: ignore[no-any-return]


def hit_of(mind: ActorHarness, id: bytes, **fields: Any) -> Hit:
    (found,) = (hit for hit in mind.recall(ASKED, **fields).hits if hit.id == id)
    return found


def test_what_a_reply_takes_up_was_of_use(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    given = ask_as(mind, "new", ASKED)
    assert {hit.id for hit in given.hits} == set(ids.values())
    reply_as(mind, "new", "It listens on port 8443, on the harbour machine.")
    before = hit_of(mind, ids["port"])
    report = whole_night(mind, stages=STAGES)
    assert [(one.stage, one.changes) for one in report.stages] == [("uses", 1), ("strengths", 1)]
    assert uses(mind) == [(1, "quoted")]
    after = hit_of(mind, ids["port"])
    assert 0.0 < after.why["use"] <= 0.25
    assert after.score > before.score
    assert hit_of(mind, ids["dump"]).why.get("use", 0.0) == 0.0
    assert "use" not in hit_of(mind, ids["port"], signals=("dense", "lexical")).why
    held = mind.recall("on which port does the booking API listen now?").hits
    assert all(hit.why.get("use", 0.0) == 0.0 for hit in held), "what was of use once need not hold"
    assert hit_of(mind, ids["port"], as_of=mind.clock.now_us() - 1_500_000).why.get("use", 0.0) == 0.0, "not yet then"


def test_being_given_alone_changes_nothing(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    for _ in range(3):
        ask_as(mind, "new", ASKED)
    reply_as(mind, "new", "I found nothing on that.")
    mind.embed()
    before = mind.recall(ASKED).hits
    whole_night(mind, stages=STAGES)
    assert uses(mind) == []
    assert mind.recall(ASKED).hits == before


def test_what_is_opened_after_it_was_given_was_of_use(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    open_as(mind, "new", ids["dump"])  # named by somebody else
    ask_as(mind, "new", ASKED)
    open_as(mind, "new", ids["port"])
    open_as(mind, "other", ids["dump"])
    whole_night(mind, stages=STAGES)
    assert uses(mind) == [(1, "opened")]


def test_what_is_corrected_was_of_use_and_its_correction_stands_above_it(
    mind: ActorHarness, ids: dict[str, bytes]
) -> None:
    ask_as(mind, "new", ASKED)
    newer = mind.keep("The booking API listens on port 9443.", place=SHELF, session="new", supersedes=ids["port"]).id
    whole_night(mind, stages=STAGES)
    assert uses(mind) == [(1, "corrected")]
    ranked = [hit.id for hit in mind.recall(ASKED).hits]
    assert ranked.index(newer) < ranked.index(ids["port"])


def test_what_the_user_said_is_no_use_of_what_was_given(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    ask_as(mind, "new", ASKED)
    mind.keep(
        "No: it listens on port 8443, on the harbour machine Lukas moved it to.", session="new", assistant="claude"
    )
    reply_as(mind, "new", "So port 8443, on the harbour machine.")
    whole_night(mind, stages=STAGES)
    assert uses(mind) == []


def test_uses_are_gone_once_their_night_is_taken_back_and_kept_by_a_rebuild(
    mind: ActorHarness, ids: dict[str, bytes]
) -> None:
    before = mind.recall(ASKED).hits
    ask_as(mind, "new", ASKED)
    open_as(mind, "new", ids["port"])
    whole_night(mind, stages=STAGES)
    after = mind.recall(ASKED).hits
    assert after != before
    mind.ask(Rebuild())
    assert mind.recall(ASKED).hits == after
    mind.ask(UndoNights())
    assert mind.recall(ASKED).hits == before


def test_in_a_mind_that_nobody_uses_nothing_fades(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    ask_as(mind, "new", ASKED)
    open_as(mind, "new", ids["port"])
    whole_night(mind, stages=STAGES)
    before = [(hit.id, hit.score) for hit in mind.recall(ASKED).hits]
    mind.clock.advance(300 * 86_400)
    whole_night(mind)
    assert [(hit.id, hit.score) for hit in mind.recall(ASKED).hits] == before


def test_what_was_used_lately_weighs_more_than_what_was_used_long_ago(
    mind: ActorHarness, ids: dict[str, bytes]
) -> None:
    ask_as(mind, "new", ASKED)
    open_as(mind, "new", ids["port"])
    mind.clock.advance(300 * 86_400)
    ask_as(mind, "newer", ASKED)
    open_as(mind, "newer", ids["dump"])
    whole_night(mind, stages=STAGES)
    assert hit_of(mind, ids["dump"]).why["use"] > hit_of(mind, ids["port"]).why["use"] > 0.0


def test_nothing_is_said_of_what_was_forgotten(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    ask_as(mind, "new", ASKED)
    open_as(mind, "new", ids["port"])
    mind.ask(Forget(ids=(ids["port"],), reason="test"))
    whole_night(mind, stages=STAGES)
    assert uses(mind) == []


def test_what_a_conversation_itself_said_and_what_the_prompt_said_is_no_use(mind: ActorHarness) -> None:
    own = mind.keep(PORT, session="new", assistant="claude", place=SHELF).id
    mind.embed()
    given = ask_as(mind, "new", ASKED)
    assert [hit.id for hit in given.hits] == [own]
    reply_as(mind, "new", "It listens on port 8443, on the harbour machine.")
    whole_night(mind, stages=STAGES)
    assert uses(mind) == []


def test_what_the_user_says_just_before_is_known(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    mind.keep("Why is port 8443 of the harbour machine slow?", session="new", assistant="claude", place=SHELF)
    ask_as(mind, "new", ASKED)
    reply_as(mind, "new", "I do not know why port 8443 of the harbour machine is slow.")
    whole_night(mind, stages=STAGES)
    assert uses(mind) == []


def test_where_nobody_names_the_conversation_its_project_tells(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    ask_as(mind, "mcp-17", ASKED, scope="shelf")
    reply_as(mind, "the host's own name", "It listens on port 8443, on the harbour machine.")
    ask_as(mind, "mcp-18", ASKED, scope="shelf")
    mind.clock.advance(3600)
    reply_as(mind, "another", "It is dumped with pg_dump before each release.")
    whole_night(mind, stages=STAGES)
    assert uses(mind) == [(1, "quoted")]


def test_a_reply_that_is_forgotten_is_no_use_any_more(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    ask_as(mind, "new", ASKED)
    reply = reply_as(mind, "new", "It listens on port 8443, on the harbour machine.")
    whole_night(mind, stages=STAGES)
    assert uses(mind) == [(1, "quoted")]
    mind.ask(Forget(ids=(reply,), reason="test"))
    reply_as(mind, "new", "Never mind.")
    whole_night(mind, stages=STAGES)
    assert uses(mind) == []


def test_opening_it_again_and_reading_what_is_made_of_it_is_no_further_use(
    mind: ActorHarness, ids: dict[str, bytes]
) -> None:
    ask_as(mind, "new", ASKED)
    for _ in range(3):
        open_as(mind, "new", ids["port"])
        open_as(mind, "new", ids["dump"], named=False)
    whole_night(mind, stages=STAGES)
    assert uses(mind) == [(1, "opened")]


def test_a_correction_days_later_says_nothing_of_what_was_given(mind: ActorHarness, ids: dict[str, bytes]) -> None:
    ask_as(mind, "new", ASKED)
    mind.clock.advance(2 * 86_400)
    mind.keep("The booking API listens on port 9443.", place=SHELF, session="new", supersedes=ids["port"])
    whole_night(mind, stages=STAGES)
    assert uses(mind) == []
