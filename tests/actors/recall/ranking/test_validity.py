"""What changed in passing: the newer statement comes first, and the hit says why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from mnemic.actors.recall.messages import Recalled
from tests.clocks import ManualClock
from tests.harness import ActorHarness

SIGNALS = ("dense", "lexical", "session", "structural", "answer")
SAID = {
    "2026-01-10": "Nadia works at Philips",
    "2026-03-02": "Nadia works at Siemens these days",
    "2026-04-06": "Does Nadia work at Bosch?",
    "2026-04-20": "the bakery on Elm Street opens at seven",
}


def us(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T10:00:00+00:00").timestamp() * 1e6)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    """Where Nadia works: what held, what holds, what was only asked, and chatter."""
    clock = ManualClock(int(datetime(2026, 5, 1, tzinfo=UTC).timestamp() * 1e6))
    with ActorHarness(tmp_path_factory.mktemp("office"), clock=clock) as actors:
        for day, text in SAID.items():
            actors.keep(text, said_at=us(day), session=f"of {day}")
        actors.embed()
        yield actors


def first(recalled: Recalled) -> str:
    return recalled.hits[0].text


def test_what_holds_now_comes_before_what_held_and_what_was_only_asked(office: ActorHarness) -> None:
    recalled = office.recall("where does Nadia work?")
    assert first(recalled) == SAID["2026-03-02"]
    why = {hit.text: hit.why["validity"] for hit in recalled.hits}
    assert why[SAID["2026-03-02"]] > -0.1
    assert why[SAID["2026-01-10"]] < why[SAID["2026-03-02"]] - 0.1
    assert why[SAID["2026-04-06"]] < why[SAID["2026-03-02"]] - 0.1


def test_what_holds_until_a_day_holds_no_longer_then(tmp_path: Path) -> None:
    clock = ManualClock(us("2026-04-10"))
    with ActorHarness(tmp_path, clock=clock) as actors:
        actors.keep("Theo runs tinderbox", said_at=us("2026-01-10"))
        actors.keep("Ravi runs tinderbox until 1 May", said_at=us("2026-04-01"))
        actors.embed()
        assert first(actors.recall("who runs tinderbox?")) == "Ravi runs tinderbox until 1 May"
        clock.advance((us("2026-05-02") - us("2026-04-10")) / 1e6)
        assert first(actors.recall("who runs tinderbox?")) == "Theo runs tinderbox"


def test_before_asks_for_what_held_last(office: ActorHarness) -> None:
    assert first(office.recall("where did Nadia work before?")) == SAID["2026-01-10"]


def test_a_day_asks_for_what_held_then(office: ActorHarness) -> None:
    assert first(office.recall("which firm employed Nadia on 20 February 2026?")) == SAID["2026-01-10"]
    assert first(office.recall("which firm employed Nadia on 20 March 2026?")) == SAID["2026-03-02"]


def test_what_a_mind_knew_on_a_day_has_no_later_rivals(office: ActorHarness) -> None:
    recalled = office.recall("where does Nadia work?", until=us("2026-02-01"))
    assert [hit.text for hit in recalled.hits] == [SAID["2026-01-10"]]
    assert recalled.hits[0].why["validity"] > -0.1


def test_the_score_is_the_sum_of_what_the_signals_say(office: ActorHarness) -> None:
    for hit in office.recall("where does Nadia work?").hits:
        assert np.log(hit.score / (1 - hit.score)) == pytest.approx(sum(hit.why.values()))


@pytest.mark.parametrize("question", ["Nadia, Philips", "When did Nadia last change her job?", "Wo arbeitet Nadia?"])
def test_a_question_that_asks_for_no_time_is_answered_as_without_it(office: ActorHarness, question: str) -> None:
    with_it, without = office.recall(question), office.recall(question, signals=SIGNALS)
    assert all("validity" not in hit.why for hit in with_it.hits)

    def weighed(recalled: Recalled) -> dict[str, dict[str, float]]:
        """What each signal says, but for what is taken over from what it replaced for sure."""
        return {hit.text: {name: one for name, one in hit.why.items() if name != "prior"} for hit in recalled.hits}

    assert weighed(with_it) == weighed(without)


def test_without_meaning_or_words_it_says_nothing(office: ActorHarness) -> None:
    for signals in (("dense", "validity"), ("lexical", "session", "validity")):
        for hit in office.recall("where does Nadia work?", signals=signals).hits:
            assert "validity" not in hit.why


def test_what_fits_and_hardly_holds_still_fits(office: ActorHarness, tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        actors.keep("Nadia worked at Philips in the old days", said_at=us("2026-01-10"))
        actors.embed()
        recalled = actors.recall("where does Nadia work?")
    assert recalled.hits[0].why["validity"] < -1
    assert not recalled.nothing_fits


def test_what_is_not_looked_at_again_passes_nothing_by_it(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        for number in range(80):
            actors.keep(f"the crane number {number} is red", said_at=us("2026-01-10") + number, session=f"of {number}")
        actors.embed()
        plain = [hit.id for hit in actors.recall("which crane is red?", k=80, signals=SIGNALS).hits]
        weighed = [hit.id for hit in actors.recall("which crane is red?", k=80).hits]
    assert plain != weighed
    assert set(plain[:50]) == set(weighed[:50])


def test_what_has_ended_comes_before_what_it_ends(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        actors.keep("We use Redis for caching", said_at=us("2026-01-10"))
        actors.keep("We don't use Redis for caching anymore", said_at=us("2026-03-10"))
        actors.embed()
        assert first(actors.recall("which cache do we use, is it Redis?")) == "We don't use Redis for caching anymore"


def test_what_was_corrected_takes_no_place(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        actors.keep("the door code is 4711", said_at=us("2026-01-10"))
        actors.keep("the door code is 4712", said_at=us("2026-02-10"))
        actors.embed()
        (mistaken,) = (hit.id for hit in actors.recall("the door code is 4712").hits if "4712" in hit.text)
        of = {hit.text: hit.why["validity"] for hit in actors.recall("what is the door code?").hits}
        actors.keep("the code of the door was noted wrongly", said_at=us("2026-03-10"), supersedes=mistaken)
        actors.embed()
        now = {hit.text: hit.why["validity"] for hit in actors.recall("what is the door code?").hits}
    assert of["the door code is 4711"] < now["the door code is 4711"] - 0.2


def test_no_hit_that_corrects_nothing_has_a_prior(office: ActorHarness) -> None:
    assert all("prior" not in hit.why for hit in office.recall("where does Nadia work?").hits)


def test_a_text_whose_days_no_calendar_has_is_recalled(tmp_path: Path) -> None:
    text = "The licence is valid from 9999-12-30 to Friday"
    with ActorHarness(tmp_path) as actors:
        actors.keep(text, said_at=us("2026-01-10"))
        actors.embed()
        assert first(actors.recall("what is the licence?")) == text


def test_what_was_said_after_the_day_lifts_nothing_across_it(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        old = actors.keep("the pump is blue", said_at=us("2025-01-10"))
        actors.keep("the pump is green", said_at=us("2025-03-10"), supersedes=old.id)
        actors.embed()
        now, then = (actors.recall("what colour is the pump", **at).hits for at in ({}, {"at": us("2025-02-01")}))
    assert [hit.text for hit in now] == ["the pump is green", "the pump is blue"]
    assert [hit.text for hit in then] == ["the pump is blue", "the pump is green"]


def test_before_a_thing_is_before_anybody_spoke_of_it_or_who_tells_of_its_coming(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        for day, text in (
            ("2025-01-10", "we had Stripe as payment provider"),
            ("2025-03-01", "Mollie is our payment provider"),
            ("2025-03-02", "the payment provider is Mollie, it says"),
        ):
            actors.keep(text, said_at=us(day), session=day)
        actors.embed()
        hits = actors.recall("which payment provider did we have before Mollie").hits
    assert hits[0].text == "we had Stripe as payment provider"


def test_a_later_word_on_an_earlier_day_counts_as_said_on_it(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        actors.keep("back in January the pump was blue", said_at=us("2025-03-10"))
        actors.keep("the pump is green", said_at=us("2025-03-11"))
        actors.embed()
        validity = {hit.text: hit.why["validity"] for hit in actors.recall("pump", at=us("2025-01-15")).hits}
    assert validity["back in January the pump was blue"] > validity["the pump is green"]


def test_before_a_thing_that_nobody_spoke_of_is_asked_as_it_stands(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        actors.keep("we had Stripe as payment provider", said_at=us("2025-01-10"))
        actors.embed()
        hits = actors.recall("which payment provider did we have before Mollie").hits
        plain = actors.recall("which payment provider did we have").hits
    assert hits[0].text == plain[0].text
    assert hits[0].why["lexical"] < plain[0].why["lexical"], "the name counts as a word that nobody said"
