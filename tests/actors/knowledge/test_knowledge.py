"""What memories state is read as they come, what replaces what is noticed by itself, and a person has the last word."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.kernel.errors import InvalidValue, StoreBusy, UnknownConflict, UnknownEntity, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.changes import AddStatements
from mnemic.actors.knowledge.knowledge import KnowledgeActor
from mnemic.actors.knowledge.messages import (
    ConflictsListed,
    FactsListed,
    ListConflicts,
    ListEntities,
    ListFacts,
    MergeNames,
    SettleConflict,
    ShowEntity,
    UpdateFacts,
)
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.log.messages import CountUse, NoteDelivery
from mnemic.actors.store.messages import Applied, Rebuild
from mnemic.algorithms.knowledge.extraction.statements import statements
from tests.clocks import ManualClock, NamedZone
from tests.harness import START_US, ActorHarness, turns
from tests.waiting import until

DAY_US = 86_400_000_000
SHELF = ScopeRef(path="shelf", project=None, found="named")
BOARD = ScopeRef(path="board", project=None, found="named")
SQLITE = "Our database is SQLite."
POSTGRES = "Our database becomes Postgres 17."


def harness(home: Path, **more: Any) -> ActorHarness:
    """The actors of a mind, a hundred days after what is said first."""
    return ActorHarness(home, clock=ManualClock(START_US + 100 * DAY_US), **more)


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with harness(tmp_path) as mind:
        yield mind


def say(mind: ActorHarness, text: str, day: int = 0, **fields: Any) -> bytes:
    """Keep a text, said so many days after the first."""
    kept: bytes = mind.keep(text, **({"place": SHELF, "said_at": START_US + day * DAY_US} | fields)).id
    return kept


def told_twice(mind: ActorHarness) -> int:
    """How often users said again what memory held, once all is read."""
    read(mind)
    return int(mind.ask(CountUse()).told_twice)


def read(mind: ActorHarness) -> None:
    """Have all read and graded."""
    mind.embed()
    while mind.ask(UpdateFacts()).pending:
        pass


def facts(mind: ActorHarness, entity: str = "", **asked: Any) -> FactsListed:
    found = mind.ask(ListFacts(entity=entity, **asked))
    assert isinstance(found, FactsListed)
    return found


def told(mind: ActorHarness, entity: str = "", **asked: Any) -> list[tuple[str, str]]:
    """State and value of each."""
    return [(one.state, one.value.decode()) for one in facts(mind, entity, **asked).facts]


def conflicts(mind: ActorHarness, **asked: Any) -> ConflictsListed:
    found = mind.ask(ListConflicts(**asked))
    assert isinstance(found, ConflictsListed)
    return found


def kept(mind: ActorHarness) -> dict[str, Any]:
    """All that is kept of it, but for numbers."""

    def look(now: Any) -> dict[str, Any]:
        own = now.statements_of(now.memory_columns(0).row.tolist())
        place = {one.number: (one.memory, one.place) for one in own}
        pairs = now.pairs_of([one.number for one in own])
        keys = {one.number: one.key for one in now.entities()}
        return {
            "statements": sorted((place[one.number], repr(one.said)) for one in own),
            "pairs": sorted((place[pair.older], place[pair.newer], *pair[2:]) for pair in pairs),
            "mentions": sorted((keys[one.entity], *one[1:]) for one in now.mentions(None, None, named=True)),
            "waiting": now.knowledge_waiting(),
        }

    found: dict[str, Any] = mind.look(look)
    return found


# --- what is read ----------------------------------------------------------------------------------------------------


def test_what_is_said_is_read_in_the_background(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    until(lambda: told(mind) == [("holds", "SQLite")])


def test_tools_results_are_not_read(mind: ActorHarness) -> None:
    say(mind, SQLITE, kind="tool_result", role="tool")
    read(mind)
    assert facts(mind).total == 0


def test_a_statement_names_its_memory_its_clause_and_the_rule(mind: ActorHarness) -> None:
    memory = say(mind, "By the way: Nadia works at Siemens.", speaker="Ines")
    read(mind)
    (one,) = facts(mind, "nadia").facts
    assert (one.memory, one.subject, one.relation, one.value) == (memory, b"Nadia", "work at", b"Siemens")
    assert (one.start_byte, one.modality, one.speaker) == (27, "asserted", "Ines")
    assert one.text.endswith(b"Nadia works at Siemens")
    assert one.rule


def test_offsets_are_bytes_whatever_letters_come_before(mind: ActorHarness) -> None:
    say(mind, "Naïve “café” \ud83d first. Our database is SQLite.")
    read(mind)
    assert told(mind, "database") == [("holds", "SQLite")]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("We will move our database to Postgres next year.", "planned"),
        ("Is our database SQLite?", "unsure"),
        ("Our database was SQLite back then.", "held"),
    ],
)
def test_what_is_not_asserted_does_not_hold(mind: ActorHarness, text: str, state: str) -> None:
    say(mind, text)
    read(mind)
    assert facts(mind, "database").total == 0
    assert {found for found, _ in told(mind, "database", history=True)} <= {state}


def test_days_that_the_words_name_bound_what_holds(mind: ActorHarness) -> None:
    say(mind, "The office is closed until 20 October 2025.")
    read(mind)
    (one,) = facts(mind, "office", at=START_US + DAY_US).facts
    assert one.holds_to is not None
    assert facts(mind, "office", at=one.holds_to - 1).total == 1
    assert facts(mind, "office", at=one.holds_to).total == 0, "half-open"
    assert told(mind, "office", at=one.holds_to, history=True)[0][0] == "held"


def test_an_extractor_of_ones_own_is_asked(tmp_path: Path) -> None:
    def shout(text: str, speaker: str | None, said_on: Any) -> list[Any]:
        return [one._replace(rule="mine") for one in statements(text, speaker, said_on)]

    with harness(tmp_path, ports={"extract_statements": shout}, **{"knowledge.extractor": "mine:shout"}) as mind:
        say(mind, SQLITE)
        read(mind)
        assert [one.rule for one in facts(mind).facts] == ["mine"]
    with harness(tmp_path) as mind:
        read(mind)
        assert "mine" not in [one.rule for one in facts(mind).facts], "all is read again"


# --- what was replaced -----------------------------------------------------------------------------------------------


def test_a_new_value_told_as_a_change_replaces_the_old_one_since_then(mind: ActorHarness) -> None:
    old, new = say(mind, SQLITE), say(mind, POSTGRES, 9)
    read(mind)
    assert told(mind, "database") == [("holds", "Postgres 17")]
    now, then = facts(mind, "database", history=True).facts
    assert (now.memory, then.memory, then.state) == (new, old, "replaced")
    assert then.holds_to == now.holds_from == START_US + 9 * DAY_US
    by = then.replaced_by
    assert by is not None
    assert (by.memory, by.value) == (new, b"Postgres 17")
    assert "become" in by.why
    assert by.probability > 0.9
    assert told(mind, "database", at=START_US + DAY_US) == [("holds", "SQLite")], "what held that day"


def test_the_order_in_which_they_came_does_not_matter(tmp_path: Path) -> None:
    found = []
    for number, order in enumerate(((0, 1), (1, 0))):
        with harness(tmp_path / str(number)) as mind:
            for place in order:
                say(mind, (SQLITE, POSTGRES)[place], 9 * place)
                read(mind)
            found.append(told(mind, "database", history=True))
    assert found[0] == found[1] == [("holds", "Postgres 17"), ("replaced", "SQLite")]


@pytest.mark.parametrize("order", [1, -1])
def test_of_many_statements_the_nearest_are_graded_whichever_comes_first(tmp_path: Path, order: int) -> None:
    said = [
        "Our database runs on Fly.",
        *(f"Our database has {n} tables." for n in range(40)),
        "Our database runs on Hetzner now.",
    ]
    found = []
    with harness(tmp_path) as mind:
        for day, text in list(enumerate(said))[::order]:
            say(mind, text, day)
        read(mind)
        found.append(conflicts(mind, replaced=True, k=99).total)
        mind.ask(Rebuild(meaning=False))
        read(mind)
        found.append(conflicts(mind, replaced=True, k=99).total)
        (first,) = [one for one in facts(mind, "database", history=True, k=99).facts if one.value == b"Fly"]
        mind.ask(Forget(ids=(first.memory,)))
        mind.ask(Recover(ids=(first.memory,)))
        read(mind)
        found.append(conflicts(mind, replaced=True, k=99).total)
    assert found == [1, 1, 1]


def test_what_another_project_says_replaces_nothing(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9, place=BOARD)
    read(mind)
    assert sorted(told(mind, "database")) == [("holds", "Postgres 17"), ("holds", "SQLite")]
    assert told(mind, "database", scope="shelf") == [("holds", "SQLite")]


def test_what_an_assistant_says_against_its_user_is_a_conflict(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9, role="assistant")
    read(mind)
    assert {state for state, _ in told(mind, "database")} == {"holds"}
    (one,) = conflicts(mind).conflicts
    assert (one.older.value, one.newer.value) == (b"SQLite", b"Postgres 17")
    assert facts(mind, "database").conflicts[0].id == one.id
    assert conflicts(mind, replaced=True).total == 0


@pytest.mark.parametrize(
    ("older", "newer", "replaces"),
    [
        ("owner", "owner", True),
        ("owner", "other", False),
        ("assistant", "other", False),
        ("other", "other", True),
        ("other", "owner", True),
        ("owner", "assistant", False),  # what an agent has another one do
    ],
)
def test_nobody_replaces_the_word_of_who_weighs_more(
    mind: ActorHarness, older: Any, newer: Any, replaces: bool
) -> None:
    said = ((SQLITE, older, 0), (POSTGRES, newer, 9))
    mind.sources["/a"] = [
        event
        for text, author, day in said
        for event in turns([text], scope="shelf", author=author, said_at=START_US + day * DAY_US)
    ]
    mind.take("/a")
    read(mind)
    assert conflicts(mind).total == (not replaces)
    assert len(told(mind, "database")) == (1 if replaces else 2)


def test_what_is_forgotten_or_taken_back_replaces_nothing_any_more(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    new = say(mind, POSTGRES, 9)
    read(mind)
    mind.ask(Forget(ids=(new,)))
    assert told(mind, "database") == [("holds", "SQLite")]
    mind.ask(Recover(ids=(new,)))
    assert told(mind, "database") == [("holds", "Postgres 17")]


# --- what a person says ----------------------------------------------------------------------------------------------


def test_each_replacement_is_taken_back_by_itself_and_that_is_taken_back_too(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    read(mind)
    (pair,) = conflicts(mind, replaced=True).conflicts
    for verdict, holding in (
        ("both", {"SQLite", "Postgres 17"}),
        ("older", {"SQLite"}),
        ("newer", {"Postgres 17"}),
        ("unrelated", {"SQLite", "Postgres 17"}),
        ("open", {"Postgres 17"}),
    ):
        settled = mind.ask(SettleConflict(id=pair.id, verdict=verdict))
        assert settled.changed
        assert settled.conflict.verdict == (verdict if verdict != "open" else "")
        assert {value for state, value in told(mind, "database") if state == "holds"} == holding, verdict
    assert not mind.ask(SettleConflict(id=pair.id, verdict="open")).changed


def test_a_conflict_that_is_settled_is_asked_no_more(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9, role="assistant")
    read(mind)
    (one,) = conflicts(mind).conflicts
    mind.ask(SettleConflict(id=one.id.upper(), verdict="newer", by="mcp:codex"))
    assert conflicts(mind).total == 0
    (settled,) = conflicts(mind, replaced=True).conflicts
    assert (settled.verdict, settled.by) == ("newer", "mcp:codex")
    (then,) = [fact for fact in facts(mind, "database", history=True).facts if fact.state == "replaced"]
    assert then.replaced_by is not None
    assert (then.replaced_by.probability, then.replaced_by.why) == (1.0, "mcp:codex said so")


def test_what_was_settled_and_merged_comes_back_from_the_log_and_all_else_from_the_memories(
    mind: ActorHarness,
) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    say(mind, "Our store is in the cellar. Nadia likes it.", 10)
    read(mind)
    mind.ask(SettleConflict(id=conflicts(mind, replaced=True).conflicts[0].id, verdict="both"))
    mind.ask(MergeNames(name="store", into="database"))
    before, listed = kept(mind), facts(mind, "store", history=True)
    mind.ask(Rebuild(meaning=True))
    read(mind)
    assert kept(mind) == before
    assert facts(mind, "store", history=True) == listed
    assert {value for _, value in told(mind, "store")} == {
        "SQLite",
        "Postgres 17",
        "cellar",
    }


def test_a_statement_that_somebody_said_holds_is_replaced_by_nothing_older_than_what_it_was_told_over(
    mind: ActorHarness,
) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9)
    say(mind, "Our database becomes MySQL 9.", 20)
    read(mind)
    (pair,) = [
        one
        for one in conflicts(mind, replaced=True).conflicts
        if (one.older.value, one.newer.value) == (b"SQLite", b"MySQL 9")
    ]
    mind.ask(SettleConflict(id=pair.id, verdict="older"))
    assert [value for state, value in told(mind, "database") if state == "holds"] == ["SQLite"]


def test_what_was_replaced_is_in_no_conflict_any_more(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    say(mind, POSTGRES, 9, role="assistant")
    read(mind)
    assert conflicts(mind).total == 1
    say(mind, "Our database becomes MySQL 9.", 20)
    read(mind)
    assert conflicts(mind).total == 0
    assert facts(mind, "database").conflicts == ()


def test_correcting_what_replaced_another_does_not_bring_that_back(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    new = say(mind, POSTGRES, 9)
    read(mind)
    say(mind, "Our database is Postgres 18.", 10, supersedes=new)
    read(mind)
    assert told(mind, "database") == [("holds", "Postgres 18")]


def test_what_was_corrected_stays_in_the_history_and_holds_again_once_its_correction_is_forgotten(
    mind: ActorHarness,
) -> None:
    old = say(mind, "The dev server runs on port 3000.")
    new = say(mind, "The dev server runs on port 3400.", 9, supersedes=old)
    read(mind)
    assert told(mind, "dev server") == [("holds", "port 3400")]
    past = next(one for one in facts(mind, "dev server", history=True).facts if one.state == "replaced")
    assert (past.value, past.memory, past.holds_to) == (b"port 3000", old, START_US + 9 * DAY_US)
    assert past.replaced_by is not None
    assert (past.replaced_by.memory, past.replaced_by.why) == (new, "somebody corrected it")
    assert told(mind, "dev server", at=START_US + 2 * DAY_US) == [("holds", "port 3000")]
    assert conflicts(mind).conflicts == ()
    mind.ask(Forget(ids=(new,)))
    assert told(mind, "dev server", history=True) == [("holds", "port 3000")]
    mind.ask(Recover(ids=(new,)))
    assert told(mind, "dev server") == [("holds", "port 3400")]


@pytest.mark.parametrize("is_graded_first", [True, False])
def test_what_was_corrected_replaces_what_it_did_whenever_it_is_graded(
    mind: ActorHarness, is_graded_first: bool
) -> None:
    say(mind, SQLITE)
    second = say(mind, POSTGRES, 9)
    if is_graded_first:
        read(mind)
    third = say(mind, "Our database is in the cellar.", 10, supersedes=second)
    read(mind)
    assert told(mind, "database") == [("holds", "cellar")]
    mind.ask(Forget(ids=(third,)))
    read(mind)
    assert told(mind, "database") == [("holds", "Postgres 17")]


def test_a_correction_of_a_correction_leaves_the_first_corrected_when_the_last_is_forgotten(mind: ActorHarness) -> None:
    first = say(mind, "The limit is 10 MB.")
    second = say(mind, "The limit is 20 MB.", 3, supersedes=first)
    third = say(mind, "The limit is 30 MB.", 6, supersedes=second)
    read(mind)
    history = [("holds", "30 MB"), ("replaced", "20 MB"), ("replaced", "10 MB")]
    assert told(mind, "limit", history=True) == history
    mind.ask(Forget(ids=(second,)))
    assert told(mind, "limit", history=True) == [history[0], history[2]]
    mind.ask(Forget(ids=(third,)))
    assert told(mind, "limit", history=True) == [("holds", "10 MB")]


def test_what_is_said_twice_is_told_once_since_it_was_said_first(mind: ActorHarness) -> None:
    say(mind, "The dev server runs on port 3000.")
    last = say(mind, "the dev server runs on `port 3000`", 9)
    read(mind)
    (only,) = facts(mind).facts
    assert (only.memory, only.holds_from) == (last, START_US)
    say(mind, "The dev server runs on port 3400.", 12)
    read(mind)
    newer, older = facts(mind).facts
    assert [(one.value, one.in_question) for one in (newer, older)] == [(b"port 3400", True), (b"port 3000", True)]
    assert len(facts(mind).conflicts) == 1, "each contradiction once, too"


def test_a_name_announced_without_a_verb_takes_the_place_of_what_was_said_of_its_kind(mind: ActorHarness) -> None:
    say(mind, "the database is sqlite")
    say(mind, "from now on Postgres", 9)
    read(mind)
    assert told(mind, "database") == [("holds", "Postgres")]


def test_what_we_use_contradicts_what_is_said_of_its_kind(mind: ActorHarness) -> None:
    say(mind, "We use sqlite.")
    say(mind, "Our database is MySQL.", 9)
    read(mind)
    assert [(one.older.value, one.newer.value) for one in conflicts(mind).conflicts] == [(b"sqlite", b"MySQL")]
    say(mind, "We moved to Postgres.", 12)
    read(mind)
    assert {(one.older.value, one.newer.value) for one in conflicts(mind, replaced=True).conflicts} == {
        (b"sqlite", b"Postgres"),
        (b"MySQL", b"Postgres"),
    }
    assert told(mind, "database") == []
    assert told(mind, "Postgres") == [("holds", "Postgres")]


def test_what_is_announced_for_a_day_holds_from_then_on(mind: ActorHarness) -> None:
    say(mind, "The shop will open at nine from 20 October 2025.")
    read(mind)
    (one,) = facts(mind, "shop", history=True).facts
    assert facts(mind, "shop", at=one.holds_from - DAY_US).total == 0
    assert facts(mind, "shop", at=one.holds_from).total == 1


def test_the_days_that_a_statement_names_are_those_of_who_said_it(tmp_path: Path) -> None:
    """What is said in an evening in California holds from the next morning there, which is a day later in UTC."""
    evening = int(datetime(2025, 10, 6, 1, tzinfo=UTC).timestamp()) * 1_000_000
    midnight = int(datetime(2025, 10, 6, 7, tzinfo=UTC).timestamp()) * 1_000_000
    winter = int(datetime(2026, 1, 1, 8, tzinfo=UTC).timestamp()) * 1_000_000  # the clocks went back since
    clock = ManualClock(START_US + 100 * DAY_US, NamedZone("America/Los_Angeles"))
    with ActorHarness(tmp_path, clock=clock) as mind:
        say(mind, "From tomorrow the session token lasts 5 minutes.", said_at=evening)
        say(mind, "The shop will open at nine from 1 January 2026.", said_at=evening)
        read(mind)
        (token,) = facts(mind, "session token", history=True).facts
        (shop,) = facts(mind, "shop", history=True).facts
        assert (token.holds_from, shop.holds_from) == (midnight, winter)
        assert facts(mind, "session token", at=midnight - 1).total == 0
        assert facts(mind, "session token", at=midnight).total == 1
    moved = ManualClock(clock.now_us(), NamedZone("Asia/Kolkata"))
    with ActorHarness(tmp_path, clock=moved) as mind:
        mind.ask(Rebuild())
        read(mind)
        (token,) = facts(mind, "session token", history=True).facts
        assert token.holds_from == midnight - 12 * 3_600_000_000 - 1_800_000_000, "the same day, there"


def test_a_day_is_asked_for_as_it_ends(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    read(mind)
    midnight = START_US // DAY_US * DAY_US
    assert midnight < START_US
    assert told(mind, "database", at=midnight) == [("holds", "SQLite")]
    assert told(mind, at=midnight) == [("holds", "SQLite")]
    assert told(mind, at=midnight - 1) == []


def test_one_text_that_the_extractor_fails_at_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    def pick(text: str, speaker: str | None, said_on: Any) -> list[Any]:
        if "boom" in text:
            raise ValueError(text)
        found = statements(text, speaker, said_on)
        return [one._replace(end=999) for one in found] if "offsets" in text else found

    with harness(tmp_path, ports={"extract_statements": pick}, **{"knowledge.extractor": "mine:pick"}) as mind:
        say(mind, "boom")
        say(mind, "Our offsets are wrong.")
        say(mind, SQLITE, 1)
        read(mind)
        assert told(mind) == [("holds", "SQLite")]
        assert mind.look(lambda now: now.counts(None)).unreadable == 2


def test_a_store_that_fails_once_is_read_on(mind: ActorHarness) -> None:
    asked: list[Any] = []

    class Context:
        trace, clock = "t", mind.clock

        def ask(self, message: Any) -> Any:
            asked.append(message.changes[0])
            if len(asked) == 1:
                raise StoreBusy(path="store.db", waited_s=1.0)
            return Applied(seq=1, kept=(), changed=(True,))

        def tell(self, message: Any) -> None:
            return

        def cancelled(self) -> bool:
            return False

    say(mind, SQLITE)
    read(mind)
    mind.ports.settings["knowledge.extractor"] = "another"  # so that this one has to say so first
    actor = KnowledgeActor.make(mind.ports)
    with pytest.raises(StoreBusy):
        actor.handle(UpdateFacts(), Context())  # type: ignore[arg-type]
    actor.handle(UpdateFacts(), Context())  # type: ignore[arg-type]
    actor.close()
    assert [(type(one), one.reading) for one in asked] == [(AddStatements, "statements/4 another")] * 2


def test_two_who_read_otherwise_do_not_undo_each_others_work_for_ever(tmp_path: Path) -> None:
    with harness(tmp_path) as one, harness(tmp_path, **{"knowledge.extractor": "another"}) as other:
        say(one, SQLITE)
        for _ in range(3):
            for mind in (one, other):
                read(mind)  # which ends
        assert facts(one).total == 1


# --- things ----------------------------------------------------------------------------------------------------------


def test_things_are_listed_by_how_many_memories_name_them(mind: ActorHarness) -> None:
    for day, text in enumerate(("Nadia Keller likes `auth.py`.", "Nadia uses Postgres.", "`auth.py` is slow.")):
        say(mind, text, day)
    read(mind)
    found = mind.ask(ListEntities())
    assert [(one.name, one.memories) for one in found.entities] == [
        ("auth.py", 2),
        ("Nadia Keller", 2),
        ("Postgres", 1),
    ]
    assert found.entities[1].also_called == ("Nadia",)
    assert [one.name for one in mind.ask(ListEntities(kind="file")).entities] == ["auth.py"]


def test_a_thing_is_shown_by_any_of_its_names(mind: ActorHarness) -> None:
    say(mind, "Nadia Keller works at Siemens with `auth.py`.")
    last = say(mind, "nadia likes tea, and Nadia has a bike.", 1)
    read(mind)
    shown = mind.ask(ShowEntity(name="NADIA"))
    assert shown.entity.name == "Nadia Keller"
    assert shown.memories[0] == last
    assert "auth.py" in [one.name for one in shown.neighbours]
    assert [one.name for one in shown.names] == ["Nadia Keller", "Nadia"]
    assert shown.names[1].why


def test_names_are_merged_and_taken_apart_by_hand(mind: ActorHarness) -> None:
    say(mind, "Our database is SQLite. Ledger is a service.")
    read(mind)
    assert mind.ask(MergeNames(name="Ledger", into="the DB")).changed
    assert {value for _, value in told(mind, "Ledger")} >= {"SQLite"}
    assert not mind.ask(MergeNames(name="ledger", into="database")).changed
    assert mind.ask(MergeNames(name="Ledger")).changed
    assert "SQLite" not in {value for _, value in told(mind, "Ledger")}


def test_what_somebody_says_of_themselves_and_of_what_is_theirs_is_found_by_name(mind: ActorHarness) -> None:
    say(mind, "I live in Rome. My sister lives in Bari.", speaker="Nadia")
    say(mind, "I work at Siemens. We use Postgres.", 1)
    read(mind)
    assert told(mind, "nadia") == [("holds", "Rome")]
    assert told(mind, "sister") == [("holds", "Bari")]
    assert told(mind, "me") == [("holds", "Siemens")]
    assert told(mind, "we") == [("holds", "Postgres")]


def test_a_scope_tells_no_names_of_another(mind: ActorHarness) -> None:
    say(mind, "Nadia Keller works at Siemens.", place=BOARD)
    say(mind, "Nadia likes tea.", 1)
    read(mind)
    shown = mind.ask(ShowEntity(name="Nadia", scope="shelf"))
    assert (shown.entity.name, shown.entity.also_called, shown.entity.memories) == ("Nadia", (), 1)
    assert [(one.name, one.why) for one in shown.names] == [("Nadia", "")]
    with pytest.raises(UnknownEntity) as refused:
        mind.ask(ShowEntity(name="Siemens", scope="shelf"))
    assert "Siemens'" not in str(refused.value.remedy_text)


def test_what_is_not_there_is_refused(mind: ActorHarness) -> None:
    say(mind, SQLITE)
    read(mind)
    cases: list[tuple[Any, ...]] = [
        (ListFacts(entity="nobody"), UnknownEntity),
        (ListFacts(scope="nowhere"), UnknownScope),
        (ListFacts(k=0), InvalidValue),
        (ListConflicts(k=0), InvalidValue),
        (ListEntities(k=0), InvalidValue),
        (ShowEntity(name=""), UnknownEntity),
        (SettleConflict(id="deadbeef", verdict="both"), UnknownConflict),
        (SettleConflict(id="", verdict="both"), UnknownConflict),
        (MergeNames(name="nobody", into="SQLite"), UnknownEntity),
        (MergeNames(name="SQLite", into="sqlite"), InvalidValue),
        (SettleConflict(id="deadbeef", verdict="both", by=" "), InvalidValue),
        (SettleConflict(id="deadbeef", verdict="both", by="\ud800"), InvalidValue),
    ]
    for asked, error in cases:
        with pytest.raises(error):
            mind.ask(asked)


def test_names_of_another_scope_or_of_what_is_forgotten_explain_nothing(mind: ActorHarness) -> None:
    secret = say(mind, "We like Xanadu Yellow Zebra. Ask Xanadu Yellow Zebra.", place=BOARD)
    for day in range(3):
        say(mind, "XYZ is slow. Ask XYZ.", day)
    read(mind)
    assert [one.name for one in mind.ask(ShowEntity(name="XYZ", scope="shelf")).names] == ["XYZ"]
    with pytest.raises(UnknownEntity):
        facts(mind, "Xanadu Yellow Zebra", scope="shelf")
    mind.ask(Forget(ids=(secret,)))
    assert [one.name for one in mind.ask(ShowEntity(name="XYZ")).names] == ["XYZ"]


def test_the_later_of_two_opposite_merges_counts(mind: ActorHarness) -> None:
    say(mind, "Osprey is slow. Ask Osprey. Kestrel is fast. Ask Kestrel.")
    read(mind)
    mind.ask(MergeNames(name="Osprey", into="Kestrel"))
    merged = mind.ask(MergeNames(name="Kestrel", into="Osprey"))
    assert (merged.entity.name, merged.entity.also_called) == ("Osprey", ("Kestrel",))


def test_a_name_that_is_near_is_told(mind: ActorHarness) -> None:
    say(mind, "Nadia works at Siemens.")
    read(mind)
    with pytest.raises(UnknownEntity) as refused:
        facts(mind, "Siemenss")
    assert "Did you mean 'Siemens'?" in refused.value.remedy_text


def test_an_empty_mind_answers_with_nothing(mind: ActorHarness) -> None:
    assert mind.ask(UpdateFacts()).pending == 0
    assert (facts(mind).total, conflicts(mind).total, mind.ask(ListEntities()).total) == (0, 0, 0)


def test_what_names_a_thing_as_its_value_is_told_of_that_thing_too(mind: ActorHarness) -> None:
    say(mind, "We use Jenkins.")
    say(mind, "We no longer use Jenkins.", 3)
    say(mind, "My wife Nora works at Siemens.", 4, speaker="Tomas")
    read(mind)
    assert told(mind, "Jenkins", history=True) == [("ended", "Jenkins"), ("replaced", "Jenkins")]
    assert told(mind, "Nora") == [("holds", "Siemens")]
    assert told(mind, "Siemens") == [("holds", "Siemens")]


def test_who_speaks_is_me_whatever_their_name(mind: ActorHarness) -> None:
    say(mind, "I live in Rome.", speaker="Nadia")
    read(mind)
    assert told(mind, "me") == [("holds", "Rome")]


def test_of_two_that_replaced_it_at_once_the_one_that_holds_is_named(mind: ActorHarness) -> None:
    say(mind, "The app is hosted on Fly.")
    say(mind, "We moved the app from Fly to Hetzner.", 3)
    read(mind)
    (then,) = [one for one in facts(mind, "app", history=True).facts if one.state == "replaced"]
    assert then.replaced_by is not None
    assert then.replaced_by.value == b"Hetzner"


def test_a_kind_that_is_none_is_refused(mind: ActorHarness) -> None:
    with pytest.raises(InvalidValue, match="it is not known"):
        mind.ask(ListEntities(kind="dragon"))


def test_what_a_user_says_again_elsewhere_is_told_twice_unless_that_conversation_had_been_given_it(
    mind: ActorHarness,
) -> None:
    first = say(mind, "Our database is SQLite.", session="one")
    assert told_twice(mind) == 0
    say(mind, "As I said, our database is SQLite.", day=1, session="one")
    assert told_twice(mind) == 0, "in the same conversation"
    say(mind, "Our database is SQLite.", day=2, session="two", role="assistant")
    say(mind, "Our database is Postgres 17.", day=3, session="two")
    say(mind, "Our database is SQLite.", day=4, session="three", place=BOARD)
    assert told_twice(mind) == 0, "by an assistant, another value, in another project"
    say(mind, "Remember that our database is SQLite.", day=200, session="four")
    assert told_twice(mind) == 1
    given = (DeliveredSpan(memory=first, start=0, stop=9, why="test"),)
    mind.supervisor.tell(NoteDelivery(assistant="t", session="five", parts=given))
    until(lambda: mind.look(lambda now: now.delivered_spans("t", "five")))
    say(mind, "So our database is SQLite.", day=201, session="five")
    assert told_twice(mind) == 1, "it had been told"
    mind.ask(Forget(ids=(first,), reason="test"))
    assert told_twice(mind) == 1, "said in the first conversation twice"
