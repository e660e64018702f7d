"""What only asks, denies or tried stands below what tells; what follows a question of the same words is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.actors.recall.messages import Recalled
from tests.harness import START_US, ActorHarness

WITHOUT = ("dense", "lexical", "session", "structural", "validity", "use")


@pytest.fixture
def actors(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as harness:
        yield harness


def talk(actors: ActorHarness, *turns: str, session: str = "s") -> None:
    """Turns of one conversation, by its user and an assistant in turns."""
    for number, text in enumerate(turns):
        said_at = START_US + number
        actors.keep(text, session=session, said_at=said_at, role=("user", "assistant")[number % 2])
    actors.embed()
    actors.clock.advance(3600)  # what was typed a moment ago is another matter


def order(recalled: Recalled) -> list[str]:
    return [hit.text for hit in recalled.hits]


def test_a_question_of_the_same_words_stands_below_the_reply_to_it(actors: ActorHarness) -> None:
    asked = "why does the crane of the north pier stop at noon?"
    talk(actors, asked, "Its motor overheats, so a relay cuts the current.", "good to know")
    question = "why does the crane of the north pier stop at noon"
    assert order(actors.recall(question, signals=WITHOUT))[0] == asked
    hits = actors.recall(question).hits
    assert hits[0].text == "Its motor overheats, so a relay cuts the current."
    assert hits[0].why["answer"] > 0 > next(hit for hit in hits if hit.text == asked).why["answer"]


def test_what_follows_is_looked_at_even_where_the_first_pass_did_not_find_it(actors: ActorHarness) -> None:
    for number in range(60):
        actors.keep(f"the crane of pier {number} is red", session=f"of {number}", said_at=START_US - 1 - number)
    talk(actors, "is the crane of the north pier red?", "Green, by the harbour master's wish.")
    assert "Green, by the harbour master's wish." in order(actors.recall("is the crane of the north pier red", k=70))


def test_what_the_one_who_asked_says_next_gains_nothing_by_it(actors: ActorHarness) -> None:
    for number, text in enumerate(("where is the key of the crane?", "Anna asked me this morning")):
        actors.keep(text, session="s", said_at=START_US + number, role="user")
    actors.embed()
    (also,) = [hit for hit in actors.recall("where is the key of the crane").hits if "Anna" in hit.text]
    assert also.why.get("answer", 0.0) == 0.0


def test_what_says_that_it_does_not_say_it_stands_below_what_does(actors: ActorHarness) -> None:
    denials = [f"The {name} fixture does not define the berths of the north pier." for name in ("test", "seed", "demo")]
    talk(actors, *denials, "Since spring the berths of the north pier come from data/berths.csv.")
    assert order(actors.recall("what defines the berths of the north pier"))[0].endswith("data/berths.csv.")


def test_a_question_that_denies_is_answered_by_a_denial(actors: ActorHarness) -> None:
    talk(actors, "The seed file does not define the berths.", "The berths come from data/berths.csv.")
    hits = actors.recall("which file does not define the berths").hits
    assert hits[0].text == "The seed file does not define the berths."
    assert hits[0].why.get("answer", 0.0) == 0.0
    (denied,) = [hit for hit in actors.recall("what defines the berths").hits if "seed" in hit.text]
    assert denied.why["answer"] < 0.0


def test_how_it_was_mended_is_answered_by_what_worked(actors: ActorHarness) -> None:
    talk(
        actors,
        "the crane fails at start, error E17",
        "For the crane's error E17 I replaced the fuse at the start.",
        "no change, the crane still shows E17",
        "For the crane's error E17 I turned the phase at the start.",
        "yes! the crane starts, E17 is gone",
    )
    found = order(actors.recall("how did we fix error E17 of the crane at start"))
    assert found.index("For the crane's error E17 I turned the phase at the start.") < min(
        found.index("the crane fails at start, error E17"),
        found.index("For the crane's error E17 I replaced the fuse at the start."),
    )


def test_what_worked_is_found_though_it_does_not_name_the_error(actors: ActorHarness) -> None:
    failed, worked = "Try the legacy provider for ERR_OSSL_EVP.", "Then I raised webpack to version 5."
    report = "the build fails with `node.crypto.ERR_OSSL_EVP`"
    talk(actors, report, failed, "no luck, still ERR_OSSL_EVP", worked, "works, thanks", "You are welcome.")
    for number in range(60):
        actors.keep(
            f"the {number}th build of node has an error page", session=f"of {number}", said_at=START_US - number
        )
    actors.embed()
    for question in ("how did we fix ERR_OSSL_EVP", "what fixed the `ERR_OSSL_EVP` error"):
        found = order(actors.recall(question, k=100))
        assert found.index(worked) < min(found.index(failed), found.index(report)), question
    plain = order(actors.recall("where did ERR_OSSL_EVP come from", k=20))
    assert failed in plain
    assert worked not in plain[: plain.index(failed)], "no remedy is asked for"


def test_a_later_success_with_something_else_lifts_nothing(actors: ActorHarness) -> None:
    talk(actors, "the crane fails with E17", "I replaced the fuse.", "paint the door", "It is blue.", "great, done")
    found = actors.recall("how did we fix E17 of the crane").hits
    assert all(hit.text != "It is blue." or "prior" not in hit.why for hit in found)


def test_why_is_answered_by_a_reason(actors: ActorHarness) -> None:
    talk(actors, "we left the old crane", "We left the old crane because its arm bends in the wind.")
    hits = actors.recall("why did we leave the old crane").hits
    assert [hit.why["answer"] > 0 for hit in hits if "because" in hit.text] == [True]


def test_the_current_one_is_what_tells_of_a_change(actors: ActorHarness) -> None:
    talk(actors, "the crane driver is Olga", "yes", "the crane driver is Pim from today on", "yes")
    assert order(actors.recall("current crane driver"))[0] == "the crane driver is Pim from today on"


def test_notes_that_were_kept_one_by_one_say_nothing_for_each_other(actors: ActorHarness) -> None:
    for number, text in enumerate(
        ("the north crane has a red arm", "the north crane is locked at night", "tea is out")
    ):
        actors.keep(text, session="kept", said_at=START_US + number, role="assistant", kind="note")
    actors.embed()
    for hit in actors.recall("which crane has a red arm").hits:
        assert hit.why.get("session", 0.0) == pytest.approx(0.0)
