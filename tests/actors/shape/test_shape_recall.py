"""Memories are found by their structure, what fills a role is decoded, and what could not take part is said."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.kernel.errors import InvalidValue, ModelMissing, UnknownRole, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.messages import ListDeliveries
from mnemic.actors.meaning.messages import EmbedQuery
from mnemic.actors.recall.messages import Memory
from mnemic.actors.recall.retriever import RetrieverActor
from mnemic.actors.shape.messages import ListRoles, RetryBinding, RolesListed, Shape, Shaped
from mnemic.algorithms.knowledge.triples import Triple
from mnemic.hd.roles import ROLES, Role
from tests.harness import ActorHarness
from tests.shaped import AUTH, TESTS, answers, bind, event, shape, shaped, work
from tests.waiting import until


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    """A mind that no test changes."""
    events = [one for number in range(4) for one in work(number)]
    events += [
        event(9_000, "user", "Alice lives in Berlin", "t", scope="home", speaker="Zoe"),
        event(9_001, "user", "Bob lives in Paris", "t", scope="home", speaker="Zoe"),
        event(9_002, "user", "Bob works at Acme", "t", scope="home", speaker="Max"),
    ]
    with shaped(tmp_path_factory.mktemp("mind"), events) as actor_system:
        yield actor_system


def said(found: Shaped) -> list[str]:
    return [hit.text for hit in found.hits]


# --- which memories --------------------------------------------------------------------------------------------------


def test_the_memories_that_have_all_that_was_asked_for_are_found_and_no_others(mind: ActorHarness) -> None:
    found = shape(mind, {"who": "user", "project": "work/auth"}, k=50)
    assert sorted(said(found)) == sorted(["please fix the token rotation in the session store", "thank you"] * 4)
    assert all(hit.score > 0.99 and set(hit.why) == {"who", "project"} for hit in found.hits)
    assert found.degraded == ()


def test_of_memories_that_match_equally_the_newest_come_first_and_no_more_than_k(mind: ActorHarness) -> None:
    found = shape(mind, {"who": "user", "project": "work/auth"}, k=3)
    times = [hit.said_at for hit in found.hits]
    assert len(times) == 3
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(("file", "count"), [(TESTS, 16), ("test_auth.py", 16), ("AUTH.PY", 16), ("auth", 0)])
def test_a_file_is_found_by_its_path_and_by_its_name_in_whatever_case(
    mind: ActorHarness, file: str, count: int
) -> None:
    assert len(shape(mind, {"file": file}, k=50).hits) == count


def test_what_is_near_in_meaning_comes_first_and_says_how_near_it_is(mind: ActorHarness) -> None:
    found = shape(mind, {"who": "user", "about": "fix the token rotation"}, k=4)
    assert set(said(found)) == {"please fix the token rotation in the session store"}
    assert all(0.4 < hit.why["about"] < 1.0 < 1.01 * hit.why["who"] for hit in found.hits)
    assert all(hit.score == pytest.approx(hit.why["about"] * hit.why["who"]) for hit in found.hits)


def test_what_was_said_next_to_something_is_found_by_what_it_stood_beside(mind: ActorHarness) -> None:
    found = shape(mind, {"who": "assistant", "previous": "fix the token rotation", "kind": "turn"}, k=4)
    assert set(said(found)) == {"the garden needs water, and the harbour a crane"}


def test_nearer_days_match_more_and_ranges_of_days_are_exact(mind: ActorHarness) -> None:
    near = shape(mind, {"date": "2025-10-10", "who": "user", "project": "work/auth"}, k=8)
    assert {hit.session for hit in near.hits[:2]} == {"s1"}
    exact = shape(mind, {"date": "2025-10-10..2025-10-11", "who": "user"}, k=50)
    assert {hit.session for hit in exact.hits} == {"s1", "s2"}
    assert len(shape(mind, {"date": "2025-10", "who": "user"}, k=50).hits) == 8
    assert shape(mind, {"date": "2024", "who": "user"}).hits == ()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"date": "2025-10-12"}, {"ann": 0.5, "ben": 0.5}),  # all of the very day
        ({"date": "2025-10-30"}, {"cem": 1.0}),
        ({"date": "2025-10-12", "kind": "turn"}, {"ann": 0.5, "ben": 0.5}),
        ({"hour": "9"}, {"ann": 3 / 8, "ben": 3 / 8, "cem": 1 / 4}),
        ({"size": "2"}, {"ann": 3 / 8, "ben": 3 / 8, "cem": 1 / 4}),
    ],
)
def test_all_that_are_as_near_count_the_same(
    tmp_path: Path, pattern: dict[str, str], expected: dict[str, float]
) -> None:
    events = [
        event(day * 1440 + 10 + n, "user", f"oars {n}", f"s{day}{n}", speaker=name, files=("x.py",) * (n % 3))
        for day, names in ((3, ("ann", "ben") * 6), (20, ("cem",) * 4))
        for n, name in enumerate(names)
    ]
    with shaped(tmp_path, events) as actor_system:
        found = shape(actor_system, pattern | {"who": "?"}, k=50)
    told = {name: one.confidence for name, one in answers(found, "who").items()}
    assert told == pytest.approx(expected, abs=0.02)
    nearest = [hit for hit in found.hits if hit.score > found.hits[0].score - 0.02]
    assert len({round(hit.score, 3) for hit in nearest}) == 1
    assert [hit.said_at for hit in nearest] == sorted((hit.said_at or 0 for hit in nearest), reverse=True)


@pytest.mark.parametrize(
    ("days", "asked", "expected"),
    [
        ({"cy": [1] * 6, "dot": [4]}, "2025-10-12", {"dot": 1.0}),
        ({"cy": [1] * 6, "dot": [4]}, "2025-10-18", {"dot": 1.0}),
        ({"ann": [1, 2], "bob": [2]}, "2025-10-13", {"ann": 0.5, "bob": 0.5}),
    ],
)
def test_where_there_is_none_of_a_day_the_nearest_one_alone_counts(
    tmp_path: Path, days: dict[str, list[int]], asked: str, expected: dict[str, float]
) -> None:
    minutes = [(who, 1440 * day + n) for who, all_of in days.items() for n, day in enumerate(all_of)]
    events = [event(minute, "user", f"{who} was here {minute}", who, speaker=who) for who, minute in minutes]
    with shaped(tmp_path, events) as actor_system:
        found = {one.filler: one.confidence for one in shape(actor_system, {"date": asked, "who": "?"}).answers}
    assert {who: found.get(who, 0.0) for who in expected} == pytest.approx(expected, abs=0.06)


def test_a_day_before_and_a_day_after_are_as_near(tmp_path: Path) -> None:
    events = [event(day * 1440, "user", "oars", f"s{day}", speaker=name) for day, name in ((3, "ann"), (5, "ben"))]
    with shaped(tmp_path, events) as actor_system:
        found = shape(actor_system, {"date": "2025-10-13", "who": "?"})
        assert [round(one.confidence, 2) for one in found.answers] == [0.5, 0.5]
        assert found.hits[0].why["date"] == pytest.approx(found.hits[1].why["date"], abs=0.001)


def test_of_several_days_of_a_memory_one_that_is_near_is_not_taken_for_the_one_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = Role(name="due", encoder="date", tiers=("episode",), many=True, help="A day on which it is due.")
    monkeypatch.setitem(ROLES, "due", due)

    class Due:
        def __call__(self, text: str, speaker: str | None) -> Sequence[Triple]:
            return []

        def fillers(self, memory: Memory) -> list[tuple[str, str]]:
            return [("due", day) for day in memory.text.split()]

    days = ("2026-05-01 2030-08-01", "2026-05-04 2030-08-01")
    with ActorHarness(tmp_path, ports={"extract": Due()}) as actor_system:
        for text in days:
            actor_system.keep(text, session=text)
        actor_system.embed()
        bind(actor_system)
        found = shape(actor_system, {"due": "2026-05-01"})
    assert said(found) == list(days)
    first, second = (hit.why["due"] for hit in found.hits)
    assert first == pytest.approx(1.0, abs=0.15)
    assert second == pytest.approx(0.63, abs=0.15)


def test_scope_session_and_times_are_exact(mind: ActorHarness) -> None:
    assert {hit.scope for hit in shape(mind, {"who": "user"}, k=50, scope="work").hits} == {"work/auth"}
    assert {hit.session for hit in shape(mind, {"who": "user"}, k=50, session="s2").hits} == {"s2"}
    at = shape(mind, {"who": "user"}, session="s2").hits[-1].said_at
    assert at is not None
    assert len(shape(mind, {"who": "user"}, k=50, since=at, until=at + 1).hits) == 1
    with pytest.raises(UnknownScope):
        shape(mind, {"who": "user"}, scope="nowhere")


def test_what_nobody_dated_fulfils_no_time(tmp_path: Path) -> None:
    undated = msgspec.structs.replace(event(0, "user", "it is not", "t"), said_at=None)
    with shaped(tmp_path, [event(0, "user", "it is dated", "s"), undated]) as actor_system:
        assert len(shape(actor_system, {"who": "user"}).hits) == 2
        for asked in ({"since": 0}, {"until": 1 << 60}):
            assert said(shape(actor_system, {"who": "user"}, **asked)) == ["it is dated"]


def test_a_long_memory_is_given_by_its_beginning(tmp_path: Path) -> None:
    with shaped(tmp_path, [event(0, "user", "words " * 50, "s")], hit_bytes=64) as actor_system:
        (hit,) = shape(actor_system, {"who": "user"}).hits
        assert (hit.start_byte, hit.size_bytes) == (0, 300)
        assert len(hit.data) <= 64


# --- what fills a role -----------------------------------------------------------------------------------------------


def test_what_fills_a_role_is_decoded_with_its_share_of_the_memories_that_match(mind: ActorHarness) -> None:
    found = shape(mind, {"tool": "pytest", "kind": "tool_result", "outcome": "?", "file": "?"})
    outcome = answers(found, "outcome")
    assert list(outcome) == ["failed", "ok"]
    assert outcome["failed"].confidence == pytest.approx(5 / 8, abs=0.01)
    assert (outcome["failed"].support, outcome["ok"].support) == (5, 3)
    assert len(outcome["failed"].memories) == 5
    assert list(answers(found, "file")) == [TESTS]  # and not its last part beside it
    assert answers(found, "file")[TESTS].confidence == pytest.approx(1.0, abs=0.01)


def test_days_hours_and_sizes_are_decoded_too(mind: ActorHarness) -> None:
    found = shape(mind, {"who": "zoe", "date": "?", "weekday": "?", "size": "?"})
    assert list(answers(found, "date")) == ["2025-10-15"]
    assert list(answers(found, "weekday")) == ["wednesday"]
    assert answers(found, "size")["4"].support == 2


def test_what_nothing_has_is_decoded_to_nothing(mind: ActorHarness) -> None:
    assert shape(mind, {"who": "zoe", "tool": "?"}).answers == ()


@pytest.mark.parametrize("dimensions", [64, 128, 10_240])
def test_what_is_read_from_no_memory_is_no_answer(tmp_path: Path, dimensions: int) -> None:
    with shaped(
        tmp_path, [one for number in range(3) for one in work(number)], **{"binder.dimensions": dimensions}
    ) as m:
        found = shape(m, {"tool": "pytest", "file": "?", "outcome": "?", "date": "?", "who": "?"}, k=50)
        assert all(one.support and one.memories for one in found.answers)
        assert found.answers or dimensions < 10_240


def test_facts_are_asked_by_what_they_relate(mind: ActorHarness) -> None:
    found = shape(mind, {"subject": "bob", "relation": "?", "object": "?"})
    assert set(answers(found, "relation")) == {"lives in", "works at"}
    assert set(answers(found, "object")) == {"paris", "acme"}
    assert answers(found, "object")["paris"].confidence == pytest.approx(0.5, abs=0.01)
    assert sorted(said(found)) == ["Bob lives in Paris", "Bob works at Acme"]
    assert found.searched == 3
    assert list(answers(shape(mind, {"subject": "?", "relation": "lives in", "object": "paris"}), "subject")) == ["bob"]


def test_what_came_after_steps_is_one_question_with_ranked_answers(mind: ActorHarness) -> None:
    found = shape(mind, {"after": "edit, test failed", "then": "?"})
    then = answers(found, "then")
    assert list(then) == ["edit python ok", "read python ok"]
    assert then["edit python ok"].confidence == pytest.approx(0.75, abs=0.01)
    assert (then["edit python ok"].support, then["read python ok"].support) == (3, 1)
    assert then["edit python ok"].worked == pytest.approx(1.0, abs=0.01)
    assert then["read python ok"].worked == pytest.approx(0.0, abs=0.01)
    assert len(found.hits) == 4
    assert all(hit.kind == "tool_call" for hit in found.hits)


def test_what_worked_is_asked_for_or_filtered_by(mind: ActorHarness) -> None:
    assert list(answers(shape(mind, {"after": "edit, test failed", "then": "?", "worked": "yes"}), "then")) == [
        "edit python ok"
    ]
    assert list(answers(shape(mind, {"after": "test failed", "action": "read", "worked": "?"}), "worked")) == ["no"]
    assert {hit.session for hit in shape(mind, {"after": "test failed", "then": "read"}).hits} == {"s3"}


def test_a_whole_set_is_asked_by_filters_alone(mind: ActorHarness) -> None:
    found = shape(mind, {"file": "?", "who": "?"}, session="s3")
    assert list(answers(found, "file")) in ([AUTH, TESTS], [TESTS, AUTH])
    assert answers(found, "who")["user"].support == 2
    assert answers(found, "who")["assistant"].confidence == pytest.approx(5 / 11, abs=0.01)
    assert all(set(hit.why) == {"typical"} for hit in found.hits)
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_what_was_given_more_often_is_more_typical_of_a_set_and_no_confidence_comes_of_it(tmp_path: Path) -> None:
    events = [event(n, "user", text, "s", tool=None, speaker=text) for n, text in enumerate(("ann", "ben", "cem"))]
    with shaped(tmp_path, events) as actor_system:
        before = shape(actor_system, {"who": "?"})
        even = answers(before, "who")
        assert [one.confidence for one in even.values()] == pytest.approx([1 / 3] * 3, abs=0.01)
        for _ in range(3):
            shape(
                actor_system, {"who": "ben", "kind": "?"}, observe=True, k=1, assistant="codex"
            )  # a hit, and read from
        until(lambda: len(actor_system.ask(ListDeliveries()).deliveries) == 3)
        after = shape(actor_system, {"who": "?"})
        assert after.answers == before.answers
        assert said(after)[0] == "ben"
        assert after.hits[0].score > 1.2 * max(hit.score for hit in before.hits)


# --- what does not take part -----------------------------------------------------------------------------------------


def test_no_name_of_another_scope_is_named_or_answered_and_what_is_probable_is_as_if_it_alone_were_there(
    tmp_path: Path,
) -> None:
    events = [event(n, "user", "a fact", "s", tool=None, speaker="ann", scope="ours") for n in range(3)]
    events += [event(9 + n, "user", "a fact", "t", tool=None, speaker="anna", scope="theirs") for n in range(3)]
    with shaped(tmp_path, events) as actor_system:
        ours = shape(actor_system, {"who": "anna"}, scope="ours")
        assert (ours.hits, ours.degraded) == ((), ("who: no memory has 'anna' as its who: did you mean ann?",))
        assert set(answers(shape(actor_system, {"who": "?"}, scope="ours"), "who")) == {"ann"}
        assert set(answers(shape(actor_system, {"who": "?"}), "who")) == {"ann", "anna"}


def test_a_name_that_no_memory_has_matches_nothing_and_the_like_of_it_is_named(mind: ActorHarness) -> None:
    found = shape(mind, {"tool": "edti", "file": "?"})
    assert (found.hits, found.answers) == ((), ())
    assert found.degraded == ("tool: no memory has 'edti' as its tool: did you mean edit?",)
    assert shape(mind, {"tool": "predict"}).degraded == ("tool: no memory has 'predict' as its tool",)


def test_without_a_model_words_say_what_a_memory_is_about_and_the_rest_answers(mind: ActorHarness) -> None:
    def missing() -> Any:
        raise ModelMissing(path="/nowhere", why="it is gone")

    with ActorHarness(mind.home) as actor_system:
        actor_system.load = missing
        found = shape(actor_system, {"who": "user", "about": "token rotation"}, k=50)
        assert said(found)[:4] == ["please fix the token rotation in the session store"] * 4
        assert "about: " in found.degraded[0]
        assert "Its words and the rest answered." in found.degraded[0]
        alone = shape(actor_system, {"about": "token rotation", "who": "?", "kind": "turn"})
        assert list(answers(alone, "who")) == ["user"]
        beside = shape(actor_system, {"who": "user", "previous": "token rotation"}, k=50)
        assert {hit.text for hit in beside.hits} == {"thank you"}, "the turn before is of that session"
        assert "Its words and the rest answered." in beside.degraded[0]
        unknown = shape(actor_system, {"about": "xylophone", "who": "?"})
        assert (unknown.hits, unknown.answers) == ((), ())
        assert unknown.degraded[1] == "about: no memory has a word of it that tells anything, so it took no part"


def test_what_is_not_bound_yet_is_counted_and_found_once_it_is(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        assert shape(actor_system, {"who": "user"}) == shape(actor_system, {"who": "user", "file": "?"})
        actor_system.encoder.gate = threading.Semaphore(0)
        actor_system.keep("tea")
        found = shape(actor_system, {"who": "user", "file": "?"})
        assert (found.hits, found.answers) == ((), ())
        assert found.degraded == ("structure: 1 memory waits to be bound, and took no part, or only as bound before",)
        actor_system.encoder.gate.release(100)
        actor_system.embed()
        bind(actor_system)
        found = shape(actor_system, {"who": "user"})
        assert (said(found), found.degraded) == (["tea"], ())
        actor_system.keep("cake")
        actor_system.embed()
        bind(actor_system)
        assert sorted(said(shape(actor_system, {"who": "user"}))) == ["cake", "tea"]


def test_what_is_forgotten_is_not_found(tmp_path: Path) -> None:
    with shaped(tmp_path, [event(n, "user", text, "s") for n, text in enumerate(("tea", "cake"))]) as actor_system:
        (tea,) = [hit.id for hit in shape(actor_system, {"who": "user"}).hits if hit.data == b"tea"]
        actor_system.ask(Forget(ids=(tea,)))
        assert said(shape(actor_system, {"who": "user"})) == ["cake"]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"pattern": {"who": "?"}, "analogy": ("a", "b", "c")},
        {"analogy": ("a", "b")},
        {"analogy": ("a", " ", "c")},
        {"pattern": {"who": "?"}, "k": 0},
        {"pattern": {"who": 3}},
    ],
)
def test_what_cannot_be_asked_is_refused(mind: ActorHarness, asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        mind.ask(Shape(**asked))


def test_a_question_for_or_by_what_an_extractor_failed_to_find_says_of_how_many_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = Role(name="ticket", encoder="symbol", tiers=("episode",), many=True, help="A ticket.")
    monkeypatch.setitem(ROLES, "ticket", ticket)

    class Failing:
        broken = True

        def __call__(self, text: str, speaker: str | None) -> Sequence[Triple]:
            if self.broken and "tea" not in text:
                raise RuntimeError(text)
            return [Triple("ann", "drinks", text)]

        def fillers(self, memory: Memory) -> list[tuple[str, str]]:
            return [("ticket", "SLIP-23")]

    def told(pattern: dict[str, str], **more: Any) -> list[str]:
        return [one for one in shape(actor_system, pattern, **more).degraded if "what reads memories failed" in one]

    extract = Failing()
    with ActorHarness(tmp_path, ports={"extract": extract}) as actor_system:
        for text in ("tea", "milk", "water"):
            actor_system.keep(text, session=text, place=ScopeRef(path=text, project=None, found="named"))
        actor_system.embed()
        bind(actor_system)
        for asked in ({"subject": "?"}, {"object": "tea", "who": "?"}, {"subject": "ann", "about": "milk"}):
            (sentence,) = told(asked)
            assert sentence.startswith("facts: what reads memories failed on 2 of those looked through, so some may")
            assert sentence.endswith("`mnemic doctor --repair` binds them again")
        assert told({"ticket": "slip-23"})[0].startswith("ticket: what reads memories failed on 2 of those")
        assert told({"who": "user", "ticket": "?"})[0].startswith("ticket: ")
        assert answers(shape(actor_system, {"ticket": "?"}), "ticket")["slip-23"].support == 3, (
            "facts alone are missing"
        )
        assert told({"who": "?"}) == told({"then": "?"}) == [], "it lacks nothing of them"
        assert "failed on 1 of those" in told({"subject": "?"}, scope="milk")[0]
        assert told({"subject": "?"}, scope="tea") == []
        extract.broken = False
        assert told({"subject": "?"}), "mended, but not bound again"
        actor_system.ask(RetryBinding())
        bind(actor_system)
        assert told({"subject": "?"}) == told({"ticket": "?"}) == []


def test_a_role_that_is_not_bound_unless_a_setting_says_so_is_refused_with_the_remedy(mind: ActorHarness) -> None:
    with pytest.raises(InvalidValue) as error:
        shape(mind, {"workspace": "?"})
    assert error.value.remedy_text == "Give another role, or take workspace out of binder.leave_out in mnemic.toml."


def test_unknown_roles_are_refused_by_a_mind_that_has_bound_nothing_too(tmp_path: Path, mind: ActorHarness) -> None:
    with ActorHarness(tmp_path) as actor_system:
        for one in (actor_system, mind):
            with pytest.raises(UnknownRole):
                shape(one, {"foo": "?"})


# --- what is kept of it ----------------------------------------------------------------------------------------------


def test_what_was_given_is_kept_in_the_log_with_the_question_unless_it_is_private(tmp_path: Path) -> None:
    with shaped(tmp_path, [event(0, "user", "tea", "s")]) as actor_system:
        actor_system.ask(Shape(pattern={"who": "user", "kind": "?"}, assistant="claude-code", asking_session="x"))
        actor_system.ask(Shape(pattern={"who": "user"}, private=True, assistant="claude-code"))
        shape(actor_system, {"who": "user"})
        until(lambda: len(actor_system.ask(ListDeliveries()).deliveries) == 2)
        kept = actor_system.ask(ListDeliveries()).deliveries
        assert [(one.occasion, one.query, one.session) for one in kept] == [
            ("shape", "", ""),
            ("shape", "who=user 'kind=?'", "x"),
        ]
        assert [part.why for part in kept[1].parts] == ["who 1.00", "kind: turn 1.00"]


def test_a_question_of_meaning_says_beforehand_what_it_will_ask_the_embedder() -> None:
    asked = Shape(pattern={"about": "tea", "who": "user", "next": "?"})
    assert RetrieverActor.foresees(asked) == (EmbedQuery(text="tea"),)


def test_the_roles_are_listed_with_what_fills_them_most(mind: ActorHarness) -> None:
    listed = mind.ask(ListRoles())
    assert isinstance(listed, RolesListed)
    assert [role.name for role in listed.roles] == [*ROLES, "after", "session", "then", "community"]
    by_name = {role.name: role for role in listed.roles}
    assert set(by_name["tool"].samples) == {"bash", "pytest", "edit", "read"}
    assert (by_name["tool"].match, by_name["date"].match, by_name["about"].match) == ("exact", "near", "meaning")
    assert by_name["about"].decodes is False
    assert by_name["object"].fillers == 3
    assert (listed.bound, listed.pending) == (47, 0)


def test_a_scope_that_is_named_otherwise_is_found_by_its_new_name(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actor_system:
        actor_system.keep("tea", place=ScopeRef(path="kitchen", project=None, found="named"))
        actor_system.embed()
        bind(actor_system)
        assert said(shape(actor_system, {"project": "kitchen"})) == ["tea"]
