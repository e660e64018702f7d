"""A is to B as C is to what: the role that B fills for A, and what fills it for C."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from tests.harness import ActorHarness
from tests.shaped import TESTS, answers, event, shape, shaped, work

SAID = (
    "Alice lives in Berlin",
    "Alice works at Initech",
    "Bob lives in Paris",
    "Bob works at Acme",
    "Bob works at Acme",
    "Carol works at Acme",
)
MOVED = (
    "queue works at rabbitmq",
    "queue works at rabbitmq",
    "queue lives in rabbitmq",
    "database lives in postgres",
)
TALKS = (  # day, session, who, text, scope: those who say a fact, and those who say none
    (150, "m", "maya", "maya works at harbour", "kiln"),
    (150, "m", "maya", "the oven was cold", "kiln"),
    (154, "p", "piet", "bring the rope", "kiln"),
    (154, "p", "piet", "the rope is here", "kiln"),
    (157, "l", "lena", "lena lives in Riga", "mill"),
    (160, "h", "hana", "maya lives in Narva", "mill"),
    (160, "h", "maya", "Narva is far", "mill"),
    (170, "b", "hana", "the tablet is in the mill", "mill"),
    (170, "b", "bea", "which tablet", "mill"),
)
OVEN, ROPE, RIGA = "2026-03-08", "2026-03-12", "2026-03-15"


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    events = [event(n, "user", text, "t", scope="home") for n, text in enumerate(SAID)]
    events += [one for number in (1, 2) for one in work(number)]
    events += [event(n, "user", text, "q", scope="home") for n, text in enumerate(MOVED, 20)]
    for day, who in ((1, "ines"), (3, "olaf")):  # nobody else says anything in that month
        events += [event((day + 52) * 1440 + n, "user", "the oars", who, scope="pier", speaker=who) for n in range(2)]
    events += [
        event(day * 1440 + n, "user", text, session, scope=scope, speaker=who)
        for n, (day, session, who, text, scope) in enumerate(TALKS)
    ]
    with shaped(tmp_path_factory.mktemp("mind"), events) as actor_system:
        yield actor_system


@pytest.mark.parametrize(
    ("names", "role", "filler"),
    [
        (("Alice", "Berlin", "Bob"), "object", "paris"),
        (("berlin", "alice", "paris"), "subject", "bob"),
        (("Alice", "Initech", "Bob"), "object", "acme"),
        (("alice", "works at", "carol"), "relation", "works at"),
        (("edit", "auth.py", "test"), "file", TESTS),
        (("queue", "rabbitmq", "database"), "object", "postgres"),
        (("ines", "2025-12-01", "olaf"), "date", "2025-12-03"),
        (("2025-12-01", "ines", "2025-12-03"), "who", "olaf"),
    ],
)
def test_what_stands_to_the_third_as_the_second_to_the_first_is_the_first_answer(
    mind: ActorHarness, names: tuple[str, ...], role: str, filler: str
) -> None:
    found = shape(mind, analogy=names)
    assert (found.answers[0].role, found.answers[0].filler) == (role, filler)
    assert found.answers[0].confidence > 0.6
    assert found.hits
    assert found.degraded == ()


@pytest.mark.parametrize(
    ("names", "role", "filler"),
    [
        (("maya", OVEN, "piet"), "date", ROPE),
        (("maya", "kiln", "piet"), "project", "kiln"),
        (("lena", RIGA, "piet"), "date", ROPE),
        ((OVEN, "maya", ROPE), "who", "piet"),
        (("assistant", "2025-10-11", "piet"), "date", ROPE),
    ],
)
def test_what_every_memory_has_is_answered_whether_or_not_a_fact_or_a_step_was_beside_it(
    mind: ActorHarness, names: tuple[str, ...], role: str, filler: str
) -> None:
    found = shape(mind, analogy=names)
    assert [(one.role, one.filler) for one in found.answers] == [(role, filler)]
    assert found.answers[0].confidence > 0.9
    assert [hit.data for hit in found.hits[:2]] == [b"the rope is here", b"bring the rope"]
    assert found.degraded == ()


def test_the_memories_of_the_third_in_the_same_relation_are_the_hits(mind: ActorHarness) -> None:
    found = shape(mind, analogy=("Alice", "Berlin", "Bob"))
    assert [hit.data for hit in found.hits] == [b"Bob lives in Paris"]
    assert set(found.hits[0].why) == {"subject", "relation"}
    assert list(answers(found, "object")) == ["paris"]


def test_where_the_third_stands_in_no_such_relation_nothing_is_answered_and_that_is_said(mind: ActorHarness) -> None:
    found = shape(mind, analogy=("Alice", "Berlin", "Carol"))
    assert (found.hits, found.answers) == ((), ())
    (why,) = found.degraded
    assert why.startswith("analogy: 'Berlin' is the object where 'Alice' is the subject, in the relation 'lives in';")
    assert why.endswith("; no fact looked through has 'Carol' as its subject in such a relation")


@pytest.mark.parametrize("third", ["bea", "piet"])
def test_where_a_fact_relates_the_first_two_no_topic_of_the_third_is_guessed(mind: ActorHarness, third: str) -> None:
    assert "narva" in answers(shape(mind, {"to": "maya", "topic": "?"}), "topic")
    found = shape(mind, analogy=("maya", "narva", third))
    assert (found.hits, found.answers) == ((), ())
    assert found.degraded == (
        "analogy: 'narva' is the object where 'maya' is the subject, in the relation 'lives in'; "
        f"no fact looked through has {third!r} as its subject in such a relation",
    )


def test_where_nothing_else_relates_the_first_two_topics_of_the_third_are_told(mind: ActorHarness) -> None:
    assert list(answers(shape(mind, analogy=("hana", "tablet", "bea")), "topic")) == ["tablet"]


def test_what_the_third_lacks_is_told_by_the_role_that_it_lacks(mind: ActorHarness) -> None:
    found = shape(mind, analogy=("assistant", "edit", "piet"))
    assert (found.hits, found.answers) == ((), ())
    assert found.degraded == (
        "analogy: 'edit' is the action where 'assistant' is the who; "
        "no step looked through that has 'piet' as its who has any action",
    )


def test_a_day_beside_the_one_that_is_named_is_another(mind: ActorHarness) -> None:
    assert shape(mind, analogy=("ines", "2025-12-03", "olaf")).answers == ()
    with pytest.raises(InvalidValue, match=r"'2025-12-04': no memory has it in any role"):
        shape(mind, analogy=("ines", "2025-12-04", "olaf"))


def test_a_day_of_which_there_are_no_such_records_is_not_answered_by_the_day_beside_it(mind: ActorHarness) -> None:
    for names in ((OVEN, "harbour", RIGA), (OVEN, "harbour", ROPE)):
        found = shape(mind, analogy=names)
        assert (found.hits, found.answers) == ((), ())
        assert f"no fact looked through has {names[2]!r} as its date in such a relation" in found.degraded[0]
    with pytest.raises(InvalidValue, match="no memory of the scopes looked through"):
        shape(mind, analogy=(ROPE, "lena", "2025-12-03"), scope="mill")


def test_where_nothing_relates_the_first_two_that_is_said(mind: ActorHarness) -> None:
    found = shape(mind, analogy=("Alice", "Paris", "Bob"))
    assert (found.hits, found.answers) == ((), ())
    assert "nothing in memory relates" in found.degraded[0]


def test_a_name_that_nothing_has_is_refused(mind: ActorHarness) -> None:
    with pytest.raises(InvalidValue, match=r"'Mallory': no memory has it in any role"):
        shape(mind, analogy=("Alice", "Berlin", "Mallory"))


def test_only_what_is_looked_through_counts(mind: ActorHarness) -> None:
    with pytest.raises(InvalidValue, match="'Alice': no memory of the scopes looked through has it in any role"):
        shape(mind, analogy=("Alice", "Berlin", "Bob"), scope="work")
