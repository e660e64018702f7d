"""The verbs of what holds from Python: facts, conflicts, things; listed, settled, merged, and read step by step."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.actors.kernel.errors import (
    ActorFailed,
    InvalidValue,
    ModelMissing,
    UnknownConflict,
    UnknownEntity,
    UnknownScope,
)
from mnemic.actors.kernel.times import UTC_ZONE, parse_time
from mnemic.actors.knowledge.messages import Fact, FactsProgress, UpdateFacts
from mnemic.actors.meaning.messages import EmbedPending
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.views import hit_view, knowledge_view
from tests.graded import grade_pair
from tests.processes.faces import lines, turn

SAID = [
    ("boat", "2026-11-01", "Our database is SQLite."),
    ("boat", "2026-11-05", "Our database becomes Postgres 17."),
    ("boat", "2026-11-06", "Nadia works in Porto."),
    ("boat", "2026-11-07", "Nadia works in Lisbon."),
    ("bank", "2026-11-08", "Our database is MySQL."),
    ("bank", "2026-11-09", "Nadia likes Oracle."),
]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The minds' folder of a home with two projects. Not to be written to."""
    home = tmp_path_factory.mktemp("graded")
    (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{home / "no model"}"\n', "utf-8")
    turns = [turn(text, scope=scope, id=text, said_at=at) for scope, at, text in SAID]
    with mnemic.open(home) as mind:
        mind.capture(lines(home / "a.jsonl", *turns))
        grade_pair(mind, home, "Nadia works in Porto", "Nadia works in Lisbon")
    return home / "minds"


@pytest.fixture
def mind(graded: Path, home: Path) -> Iterator[Mind]:
    """A mind without a model, of two projects; in one a statement replaced another, and two contradict."""
    shutil.copytree(graded, home / "minds")
    with mnemic.open(home) as mind:
        yield mind


def values(facts: tuple[Fact, ...]) -> list[str]:
    return [one.value.decode() for one in facts]


# --- facts -----------------------------------------------------------------------------------------------------------


def test_what_holds_is_listed_the_newest_first_and_what_was_replaced_only_as_history(mind: Mind) -> None:
    now = mind.facts("database", scope="boat")
    assert (values(now.facts), now.total, now.waiting) == (["Postgres 17"], 1, 0)
    both = mind.facts("database", scope="boat", history=True)
    assert [(one.value, one.state) for one in both.facts] == [(b"Postgres 17", "holds"), (b"SQLite", "replaced")]
    by = both.facts[1].replaced_by
    assert by is not None
    assert (by.value, by.memory, by.at) == (b"Postgres 17", now.facts[0].memory, both.facts[1].holds_to)
    assert mind.get([by.memory])[0].data[by.start_byte :].startswith(by.value)


@pytest.mark.parametrize(("day", "held"), [("2026-11-03", ["SQLite"]), ("2026-11-05", ["Postgres 17"])])
def test_on_a_day_that_is_named_holds_what_held_then(mind: Mind, day: str, held: list[str]) -> None:
    assert values(mind.facts("database", scope="boat", at=parse_time(day, UTC_ZONE)).facts) == held


def test_facts_of_all_things_are_those_of_the_scopes_and_no_more_than_were_asked_for(mind: Mind) -> None:
    assert values(mind.facts(scope="bank").facts) == ["Oracle", "MySQL"]
    assert {one.scope for one in mind.facts(scope=["bank", "boat/"]).facts} == {"bank", "boat"}
    few = mind.facts(k=2)
    assert (values(few.facts), few.total) == (["Oracle", "MySQL"], 5)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["We use MariaDB.", "our database is MariaDB", "The database is MariaDB, as ever."], [("MariaDB", 3)]),
        (["The lock opens on port 8000.", "the lock opens on 8000"], [("8000", 2)]),
        (["My skipper's name is Rae.", "my skipper is called Rae"], [("Rae", 2)]),
        (["Spans are half-open days, not instants."], [("half-open days", 1)]),
        (["Spans are days.", "Spans are months."], [("months", 1), ("days", 1)]),
        (["The lock opens at dawn and at dusk.", "The lock opens at noon and at dusk."], [("noon", 1), ("dawn", 1)]),
    ],
)
def test_what_says_the_same_in_other_words_or_twice_in_a_clause_is_one_fact(
    mind: Mind, texts: list[str], told: list[tuple[str, int]]
) -> None:
    for day, text in enumerate(texts, 1):
        mind.remember(text, scope="quay", kind="turn", said_at=parse_time(f"2026-11-{day:02}", UTC_ZONE))
    mind.update_facts()
    listed = mind.facts(scope="quay")
    assert [(one.value.decode(), one.times) for one in listed.facts] == told
    assert {one.holds_from for one in listed.facts} >= {parse_time("2026-11-01", UTC_ZONE)}


@pytest.mark.parametrize("last", ["assistant", "user"])
def test_what_both_say_is_told_in_the_words_of_its_user(mind: Mind, home: Path, last: str) -> None:
    said = [
        turn("We use MariaDB.", scope="quay", id="a", said_at="2026-11-01"),
        turn("The database is MariaDB.", scope="quay", id="b", said_at="2026-11-02", role="user"),
        turn("Our database is MariaDB.", scope="quay", id="c", said_at="2026-11-03", role=last),
    ]
    mind.capture(lines(home / "b.jsonl", *said))
    mind.update_facts()
    (told,) = mind.facts(scope="quay").facts
    words, day = ("Our database", 3) if last == "user" else ("The database", 2)
    assert (told.text.decode(), told.role, told.times) == (f"{words} is MariaDB", "user", 3)
    assert (told.said_at, told.holds_from) == tuple(parse_time(f"2026-11-{one:02}", UTC_ZONE) for one in (day, 1))
    assert mind.get([told.memory])[0].data.startswith(words.encode())


def test_what_can_not_be_read_alone_is_listed_as_history_or_where_it_is_to_be_settled(mind: Mind) -> None:
    for text in ("The loader accepts that.", "The lantern was painted by Rae."):
        mind.remember(text, scope="quay", kind="turn")
    mind.update_facts()
    assert mind.facts(scope="quay").total == 0
    assert mind.facts(scope="quay", history=True).total == 2


def test_a_relation_leaves_only_its_own_statements(mind: Mind) -> None:
    assert values(mind.facts("Nadia", relation=" Like ").facts) == ["Oracle"]
    assert mind.facts("Nadia", relation="hate").facts == ()


def test_what_contradicts_a_fact_is_told_with_it(mind: Mind) -> None:
    listed = mind.facts("nadia", scope="boat")
    assert (listed.entity, values(listed.facts)) == ("Nadia", ["Lisbon", "Porto"])
    (one,) = listed.conflicts
    assert (one.older.value, one.newer.value, one.grade, one.verdict) == (b"Porto", b"Lisbon", "conflict", "")
    assert mind.facts("database").conflicts == ()


# --- conflicts -------------------------------------------------------------------------------------------------------


def test_conflicts_are_listed_apart_from_what_replaced_another_by_itself(mind: Mind) -> None:
    open_ = mind.conflicts()
    assert [(one.older.value, one.newer.value) for one in open_.conflicts] == [(b"Porto", b"Lisbon")]
    assert (open_.total, open_.waiting) == (1, 0)
    (one,) = mind.conflicts(replaced=True).conflicts
    assert (one.grade, one.older.value, one.newer.value) == ("replaced", b"SQLite", b"Postgres 17")
    assert mind.conflicts(scope="bank").total == mind.conflicts(scope="bank", replaced=True).total == 0


@pytest.mark.parametrize(
    ("verdict", "states"),
    [
        ("newer", ("replaced", "holds")),
        ("older", ("holds", "replaced")),
        ("both", ("holds", "holds")),
        ("unrelated", ("holds", "holds")),
    ],
)
def test_what_somebody_settles_stands_under_their_name_until_they_take_it_back(
    mind: Mind, verdict: Any, states: tuple[str, str]
) -> None:
    (before,) = mind.conflicts().conflicts
    kept = mind.settle(before.id.upper(), verdict, scope="boat", by="Bea")
    assert kept.changed
    assert (kept.conflict.id, kept.conflict.verdict, kept.conflict.by) == (before.id, verdict, "Bea")
    assert (kept.conflict.older.state, kept.conflict.newer.state) == states
    assert mind.conflicts().total == 0
    assert before.id in {one.id for one in mind.conflicts(replaced=True).conflicts}
    assert not mind.settle(before.id, verdict, by="Bea").changed
    for fact in mind.facts("Nadia", history=True, scope="boat").facts:
        assert fact.replaced_by is None or (fact.replaced_by.probability, fact.replaced_by.why) == (1, "Bea said so")
    assert mind.settle(before.id, "open").conflict == before
    assert mind.conflicts().conflicts == (before,)


def test_a_replacement_that_was_none_is_taken_back_by_a_verdict(mind: Mind) -> None:
    (one,) = mind.conflicts(replaced=True).conflicts
    mind.settle(one.id, "older")
    assert values(mind.facts("database", scope="boat").facts) == ["SQLite"]
    mind.settle(one.id, "open")
    assert values(mind.facts("database", scope="boat").facts) == ["Postgres 17"]


WRONG: list[tuple[Callable[[Mind], Any], type[Exception], str]] = [
    (lambda mind: mind.facts("Zeppelin"), UnknownEntity, "No memory names 'Zeppelin'."),
    (lambda mind: mind.facts("Oracle", scope="boat"), UnknownEntity, "No memory names 'Oracle' in boat."),
    (lambda mind: mind.facts(k=0), InvalidValue, "k cannot be 0"),
    (lambda mind: mind.facts(at="soon"), InvalidValue, "at cannot be 'soon'"),  # type: ignore[arg-type]
    (lambda mind: mind.facts(at=1 << 70), InvalidValue, "at cannot be"),
    (lambda mind: mind.facts(scope="nowhere"), UnknownScope, "No memory is in the scope 'nowhere'"),
    (lambda mind: mind.conflicts(k=0), InvalidValue, "k cannot be 0"),
    (lambda mind: mind.settle("00000000", "newer"), UnknownConflict, "no pair of statements '00000000'"),
    (lambda mind: mind.settle("", "newer"), UnknownConflict, "no pair of statements ''"),
    (lambda mind: mind.entity(""), UnknownEntity, "No memory names ''"),
    (lambda mind: mind.entities(scope="nowhere"), UnknownScope, "nowhere"),
    (lambda mind: mind.merge_entities("Nadia", "Zeppelin"), UnknownEntity, "No memory names 'Zeppelin'"),
    (lambda mind: mind.merge_entities("Nadia", "nadia"), InvalidValue, "it is the same name"),
]


def test_what_is_not_there_or_cannot_be_is_refused(mind: Mind) -> None:
    for ask, error, said in WRONG:
        with pytest.raises(error, match=said.replace(".", r"\.")):
            ask(mind)


def test_a_verdict_that_is_none_is_kept_of_nothing(mind: Mind) -> None:
    (one,) = mind.conflicts().conflicts
    with pytest.raises(InvalidValue, match="verdict cannot be 'maybe'"):
        mind.settle(one.id, "maybe")  # type: ignore[arg-type]
    with pytest.raises(UnknownConflict, match="in bank"):
        mind.settle(one.id, "newer", scope="bank")
    assert mind.conflicts().conflicts == (one,)


def test_a_name_that_is_near_is_named_where_it_is_in_the_scopes(mind: Mind) -> None:
    with pytest.raises(UnknownEntity) as here:
        mind.entity("Oracel", scope="bank")
    assert "Did you mean 'Oracle'?" in here.value.remedy_text
    with pytest.raises(UnknownEntity) as elsewhere:
        mind.entity("Oracel", scope="boat")
    assert "Oracle" not in elsewhere.value.remedy_text


# --- things ----------------------------------------------------------------------------------------------------------


def test_things_are_listed_by_how_many_memories_name_them(mind: Mind) -> None:
    listed = mind.entities(k=2)
    assert [(one.name, one.memories) for one in listed.entities] == [("database", 3), ("Nadia", 3)]
    assert listed.total > 2
    tools = mind.entities(kind="Tool", scope="boat").entities
    assert {one.name for one in tools} == {"SQLite", "Postgres 17"}
    with pytest.raises(InvalidValue, match="it is not known"):
        mind.entities(kind="no such kind")


def test_a_thing_is_shown_with_what_holds_first_and_what_it_is_named_beside(mind: Mind) -> None:
    shown = mind.entity("database", scope="boat")
    assert (shown.entity.name, shown.entity.memories) == ("database", 2)
    assert [one.state for one in shown.facts] == ["holds", "replaced"]
    assert {one.name for one in shown.neighbours} == {"SQLite", "Postgres 17"}
    assert [mind.get([id])[0].data.decode() for id in shown.memories] == [SAID[1][2], SAID[0][2]]
    assert len(mind.entity("database", k=1).memories) == 1


def test_a_thing_that_only_statements_are_about_was_named_on_no_day(mind: Mind) -> None:
    mind.remember("the cutoff is at 9", scope="boat")
    shown = mind.entity("cutoff", scope="boat")
    assert (shown.entity.memories, shown.entity.last_at) == (0, None)
    assert len(shown.facts) == 1


def test_names_that_somebody_merges_are_one_thing_until_that_is_taken_back(mind: Mind) -> None:
    merged = mind.merge_entities("SQLite", "Postgres 17")
    assert (merged.changed, merged.entity.name, merged.entity.also_called) == (True, "Postgres 17", ("SQLite",))
    assert not mind.merge_entities("SQLite", "Postgres 17").changed
    shown = mind.entity("sqlite")
    assert [(one.name, one.why) for one in shown.names] == [("Postgres 17", ""), ("SQLite", "you merged them")]
    split = mind.merge_entities("SQLite")
    assert (split.changed, split.entity.name, split.entity.also_called) == (True, "SQLite", ())


def test_of_names_that_were_merged_a_scope_tells_those_that_stand_in_it(mind: Mind) -> None:
    mind.merge_entities("Porto", "Oracle")
    assert mind.entity("Porto", scope="boat").entity.name == "Porto"
    assert "Oracle" not in str(mind.facts("Porto", scope="boat"))
    assert mind.entity("Porto").entity.also_called == ("Porto",)


def test_a_name_that_stands_in_another_scope_alone_is_not_told_in_the_place_of_the_one_asked_for(mind: Mind) -> None:
    mind.remember("Lunch is at noon.", scope="boat")
    mind.update_facts()
    mind.merge_entities("lunch", "Oracle")
    listed = mind.facts("lunch", scope="boat")
    assert (listed.entity, values(listed.facts)) == ("lunch", ["noon"]), "nothing but a statement has that name here"


# --- views, and what a recall tells ----------------------------------------------------------------------------------


def test_the_views_have_the_promised_names(mind: Mind) -> None:
    view = knowledge_view(mind.facts("Nadia", scope="boat"), strict=True, scope=("boat",), found="named")
    assert view.keys() == {
        *("facts", "entity", "also_called", "total", "conflicts", "waiting"),
        *("scope", "scope_found"),
    }
    assert (view["scope"], view["scope_found"]) == (["boat"], "named")
    (pair,) = view["conflicts"]
    assert pair["probability"] == 0.6123, "four digits"
    assert pair["newer"] | {"in_question": True} == view["facts"][0]
    assert (pair["newer"]["value"], pair["newer"]["said_at"]) == ("Lisbon", "2026-11-07T00:00:00Z")


def test_a_recall_tells_what_replaced_a_hit_and_what_contradicts_it(mind: Mind) -> None:
    hits = {hit.data.decode(): hit_view(hit, strict=True, explain=False) for hit in mind.recall("Our database").hits}
    (by,) = hits["Our database is SQLite."]["replaced"]
    assert (by["value"], by["at"]) == ("Postgres 17", "2026-11-05T00:00:00Z")
    assert "replaced" not in hits["Our database becomes Postgres 17."]
    (one,) = mind.conflicts().conflicts
    told = {hit.data: hit.contradicts for hit in mind.recall("Where does Nadia work?", scope="boat").hits}
    assert [(other.value, other.id) for other in told[b"Nadia works in Porto."]] == [(b"Lisbon", one.id)]
    assert [other.value for other in told[b"Nadia works in Lisbon."]] == [b"Porto"]


# --- step by step ----------------------------------------------------------------------------------------------------


class Steps:
    """What actors answer, step by step, in the place of the real ones."""

    def __init__(self, mind: Mind, *answers: FactsProgress | Exception, model: Exception | None = None) -> None:
        self.asked: list[UpdateFacts] = []
        self._answers, self._ask, self._model = list(answers), mind.actor_system.ask, model

    def ask(self, message: Any, *more: Any, **options: Any) -> Any:
        if isinstance(message, EmbedPending) and self._model is not None:
            raise self._model
        if not isinstance(message, UpdateFacts):
            return self._ask(message, *more, **options)
        self.asked.append(message)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def progress(done: int, pending: int) -> FactsProgress:
    return FactsProgress(done=done, pending=pending)


def test_what_waits_is_read_step_by_step_with_or_without_a_model(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(mind, progress(1, 2), progress(2, 1), progress(3, 0), model=ModelMissing(path="x", why="none"))
    monkeypatch.setattr(mind.actor_system, "ask", steps.ask)
    told: list[Any] = []
    assert mind.update_facts(lambda *one: told.append(one)) == progress(3, 0)
    assert told == [("facts", 2, 3), ("facts", 3, 3)]


def test_before_a_question_no_more_steps_are_taken_than_there_is_time_for(
    mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(mind, *[progress(1, 1)] * 3, model=ModelMissing(path="x", why="none"))
    monkeypatch.setattr(mind.actor_system, "ask", steps.ask)
    left = iter((True, False))
    assert mind.catch_up("facts", lambda: next(left)) == []
    assert len(steps.asked) == 2


def test_what_fails_before_a_question_is_said(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = ActorFailed(actor="knowledge", message="UpdateFacts", cause="it fell over")
    monkeypatch.setattr(mind.actor_system, "ask", Steps(mind, failed).ask)
    (said,) = mind.catch_up("facts", lambda: True)
    assert said.startswith("facts: ")
    assert "it fell over" in said


def test_nothing_is_written_before_a_question_where_nothing_can_be(mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(mind)
    monkeypatch.setattr(mind.actor_system, "ask", steps.ask)
    monkeypatch.setattr("mnemic.runtime.api.verbs.unwritable_reason", lambda folder: "the disk is read-only")
    assert mind.catch_up("facts", lambda: True) == []
    assert steps.asked == []
