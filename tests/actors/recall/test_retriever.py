"""Recall finds what matters inside what was asked for, says what it could not use, and answers as of any time."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.index import recall_index
from mnemic.actors.kernel.errors import InvalidValue, NoSuchMemory, UnknownScope, UnknownSession
from mnemic.actors.kernel.events import DEFAULT_KINDS, KINDS, to_bytes, to_text
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import DeliveredSpan, RecordDelivery
from mnemic.actors.log.messages import ListMemories
from mnemic.actors.meaning.messages import EmbedQuery
from mnemic.actors.recall.messages import GetMemories, Recall, Recalled
from mnemic.actors.recall.retriever import RetrieverActor
from mnemic.actors.scopes.messages import FindScope
from mnemic.actors.shape.messages import Shape
from mnemic.actors.store.messages import Apply, Count, Rebuild
from mnemic.algorithms.retrieval import scan
from mnemic.algorithms.retrieval.calibration import UNLIKELY
from tests.harness import START_US, ActorHarness, BagEncoder, turns
from tests.shaped import bind
from tests.waiting import BOUND_S


def named(path: str) -> ScopeRef:
    return ScopeRef(path=path, project=None, found="named")


def said(recalled: Recalled) -> list[str]:
    return [hit.text for hit in recalled.hits]


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as actor_system:
        yield actor_system


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    """A mind that no test changes: five memories, a minute apart, embedded."""
    with ActorHarness(tmp_path_factory.mktemp("harbour")) as actor_system:
        for number, (text, place, session, kind) in enumerate(
            [
                ("the harbour office opens at nine", "work/harbour", "one", "turn"),
                ("the harbour crane is broken", "work/harbour/crane", "one", "decision"),
                ("the garden needs water", "home", "two", "turn"),
                ("harbour log: 200 lines of crane telemetry", "work/harbour", "two", "tool_result"),
                ("harboured a grudge against the crane", "workshop", "three", "turn"),
            ]
        ):
            actor_system.clock.advance(59)
            actor_system.keep(text, place=named(place), session=session, kind=kind, said_at=START_US + number * 10)
        actor_system.embed()
        yield actor_system


# --- what is looked through ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "searched"), [("*", 4), ("work", 2), ("work/harbour", 2), ("work/harbour/crane", 1), ("workshop", 1)]
)
def test_a_scope_is_itself_and_what_is_below_it_and_not_what_only_begins_alike(
    harbour: ActorHarness, scope: str, searched: int
) -> None:
    recalled = harbour.recall("crane harbour", scope=scope)
    assert recalled.searched == searched
    assert {hit.scope for hit in recalled.hits} <= {
        path
        for path in ("work/harbour", "work/harbour/crane", "home", "workshop")
        if scope == "*" or path == scope or path.startswith(scope + "/")
    }


@pytest.mark.parametrize(
    ("scope", "near"),
    [
        ("harbour", "Did you mean 'work/harbour'? "),
        ("work/harb", "Did you mean 'work/harbour'? "),
        ("Work/Harbour", "Did you mean 'work/harbour' or 'work/harbour/crane'? "),
        *[(scope, "") for scope in ("", "work/", "garden", "\ud800")],
    ],
)
def test_an_unknown_scope_is_refused_and_what_is_near_it_is_named(harbour: ActorHarness, scope: str, near: str) -> None:
    for asked in (scope, (scope,), ("work", scope), (scope, "home")):
        with pytest.raises(UnknownScope) as caught:
            harbour.recall("crane", scope=asked)
        assert (caught.value.operands["scope"], caught.value.operands["near"]) == (scope, near)


@pytest.mark.parametrize(
    ("scopes", "searched"),
    [
        (("home", "workshop"), 2),
        (("work", "work/harbour/crane"), 2),
        (("work/harbour/crane", "home", "work/harbour/crane"), 2),
        (("*",), 4),
        (("home", "*"), 4),
    ],
)
def test_of_several_scopes_each_is_itself_and_what_is_below_it(
    harbour: ActorHarness, scopes: tuple[str, ...], searched: int
) -> None:
    recalled = harbour.recall("crane harbour", scope=scopes)
    assert recalled.searched == searched
    assert recalled.scope == scopes
    assert {hit.scope for hit in recalled.hits} <= {
        path
        for path in ("work/harbour", "work/harbour/crane", "home", "workshop")
        if "*" in scopes or any(path == scope or path.startswith(scope + "/") for scope in scopes)
    }


def test_no_scope_at_all_is_refused(harbour: ActorHarness) -> None:
    for ask in (lambda: harbour.recall("crane", scope=()), lambda: harbour.ask(ListMemories(scope=()))):
        with pytest.raises(InvalidValue, match="none is given"):
            ask()


def test_a_mind_without_scopes_says_that_there_is_none_yet(actor_system: ActorHarness) -> None:
    with pytest.raises(UnknownScope, match="the scope 'a'"):
        actor_system.recall("crane", scope="a")


def test_bulk_stays_out_unless_it_is_asked_for(harbour: ActorHarness) -> None:
    assert all(hit.kind in DEFAULT_KINDS for hit in harbour.recall("telemetry crane").hits)
    assert said(harbour.recall("telemetry", kinds=("tool_result",))) == ["harbour log: 200 lines of crane telemetry"]
    assert harbour.recall("telemetry", kinds=KINDS).searched == 5


def test_a_session_is_looked_through_alone_and_other_filters_may_leave_nothing_of_it(harbour: ActorHarness) -> None:
    assert {hit.session for hit in harbour.recall("the crane", session="one").hits} == {"one"}
    assert harbour.recall("the crane", session="one", until=START_US - 1).searched == 0


@pytest.mark.parametrize(
    ("session", "near"),
    [
        ("o", "Did you mean 'one'? "),
        ("on", "Did you mean 'one'? "),
        ("ONE", "Did you mean 'one'? "),
        ("one ", "Did you mean 'one'? "),
    ]
    + [(session, "") for session in ("nobody's", "", "\ud800")],
)
def test_an_unknown_session_is_refused_and_what_is_near_it_is_named(
    harbour: ActorHarness, session: str, near: str
) -> None:
    for ask in (
        lambda: harbour.recall("crane", session=session),
        lambda: harbour.ask(Shape(pattern={"who": "user"}, session=session)),
    ):
        with pytest.raises(UnknownSession) as caught:
            ask()
        assert (caught.value.operands["session"], caught.value.operands["near"]) == (session, near)


def test_a_session_of_another_scope_is_unknown_and_not_named_as_near(harbour: ActorHarness) -> None:
    whole = {one.session for one in harbour.ask(ListMemories(scope="home")).memories}
    elsewhere = {one.session for one in harbour.ask(ListMemories(scope="workshop")).memories} - whole
    for session in elsewhere:
        with pytest.raises(UnknownSession) as caught:
            harbour.recall("crane", scope="home", session=session)
        assert not any(repr(one) in caught.value.operands["near"] for one in elsewhere)
    assert elsewhere


@pytest.mark.parametrize(
    ("since", "until", "searched"),
    [(0, 20, 2), (20, 21, 1), (20, 20, 0), (10, 40, 2), (None, 0, 0), (0, None, 4), (41, None, 0), (30, 20, 0)],
)
def test_since_and_until_are_half_open(
    harbour: ActorHarness, since: int | None, until: int | None, searched: int
) -> None:
    window = [None if at is None else START_US + at for at in (since, until)]
    assert harbour.recall("harbour", since=window[0], until=window[1]).searched == searched


def test_what_nobody_dated_is_found_and_fulfils_no_time(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": turns(["the harbour office opens at nine"])}) as actor_system:
        actor_system.take_quietly("a")
        actor_system.keep("the harbour office is shut")  # at the time of the message
        assert len(said(actor_system.recall("harbour office"))) == 2
        for asked in ({"since": 0}, {"until": 1 << 60}):
            assert said(actor_system.recall("harbour office", **asked)) == ["the harbour office is shut"]


# --- how much is given -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 100, 10**9])
def test_there_are_at_most_k_hits_best_first_and_a_smaller_k_gives_the_beginning(harbour: ActorHarness, k: int) -> None:
    everything = harbour.recall("harbour crane", k=100)
    recalled = harbour.recall("harbour crane", k=k)
    assert recalled.hits == everything.hits[:k]
    assert [hit.score for hit in recalled.hits] == sorted((hit.score for hit in recalled.hits), reverse=True)


@given(budget=st.integers(1, 600), k=st.integers(1, 6))
def test_the_answer_never_exceeds_the_budget_and_what_is_left_out_is_counted(
    harbour: ActorHarness, budget: int, k: int
) -> None:
    recalled = harbour.recall("harbour crane", k=k, budget_tokens=budget)
    assert recalled.used_tokens <= budget
    assert (recalled.used_tokens > sum(len(hit.data) for hit in recalled.hits) / 4) is bool(recalled.hits)
    whole = harbour.recall("harbour crane", k=100)
    assert {hit.id for hit in recalled.hits} <= {hit.id for hit in whole.hits}
    if len(recalled.hits) < min(k, len(whole.hits)):
        assert recalled.left_out > 0


def test_a_long_memory_is_cut_to_the_budget_and_not_hidden_by_it(actor_system: ActorHarness) -> None:
    long = actor_system.keep("the kettle boils. " + "and so on and on. " * 200)
    actor_system.keep("a kettle")
    recalled = actor_system.recall("when does the kettle boil", budget_tokens=260, signals=("lexical",))
    cut = next(hit for hit in recalled.hits if hit.id == long.id)
    assert 256 <= len(cut.data) < cut.size_bytes
    assert recalled.used_tokens <= 260


def test_the_best_is_cut_to_a_small_budget_and_no_worse_one_is_told_in_its_place(actor_system: ActorHarness) -> None:
    sailing = "The tide table is printed on Mondays. " * 8 + "The kettle boils at 96 degrees. " + "It rained. " * 20
    actor_system.keep(sailing)
    actor_system.keep("a kettle")

    def ask(budget: int) -> Recalled:
        return actor_system.recall("when does the kettle boil at degrees", budget_tokens=budget, signals=("lexical",))

    cut = ask(190)
    assert [b"kettle boils at 96" in hit.data for hit in cut.hits] == [True]
    assert 0 < cut.hits[0].start_byte < cut.hits[0].size_bytes
    none = ask(120)
    assert (none.hits, none.left_out, none.nothing_fits) == ((), 2, cut.nothing_fits)
    (why,) = none.degraded
    needed = int(re.findall(r"excerpt of it takes (\d+) tokens", why)[0])
    assert (len(ask(needed).hits), len(ask(needed - 1).hits)) == (1, 0)


def test_an_answer_says_of_which_day_it_tells_what_held_and_near_which_days_it_looked(
    actor_system: ActorHarness,
) -> None:
    # It is 9 October 2025 in these tests.
    actor_system.keep("the ferry's port is 9000", said_at=START_US - 40 * 86_400_000_000)
    actor_system.embed()

    def days(question: str, **asked: Any) -> tuple[str, tuple[str, ...]]:
        recalled = actor_system.recall(question, **asked)
        return recalled.held_on, recalled.said_near

    assert days("what is the port of the ferry") == ("", ())
    assert days("what is the port of the ferry", at=START_US - 86_400_000_000) == ("2025-10-08", ())
    assert days("what was the port of the ferry on 8 October 2025") == ("2025-10-08", ())
    assert days("what was decided about the ferry yesterday") == ("", ("2025-10-08",))
    assert days("what was decided about the ferry last month")[1] == ("2025-09-01..2025-09-30",)


def test_a_word_whose_stem_a_stop_word_shares_does_not_find_that_stop_word(actor_system: ActorHarness) -> None:
    actor_system.keep("Let us paint the fence")
    database = actor_system.keep("Postgres is our database")
    assert actor_system.recall("which database do we use?").hits[0].id == database.id
    assert actor_system.recall(
        "us", signals=("lexical",)
    ).hits  # where nothing else is asked, it is looked up after all


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": -1},
        {"budget_tokens": 0},
        {"hit_bytes": 63},
        {"hit_bytes": "all"},
        {"k": "3"},
        {"since": "yesterday"},
        {"kinds": ()},
        {"kinds": ("turn", "gossip")},
        {"signals": ()},
        {"signals": ("telepathy",)},
    ],
)
def test_what_cannot_be_asked_is_said(harbour: ActorHarness, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        harbour.recall("crane", **wrong)


@pytest.mark.parametrize("query", ["", " ", "\n\t\u2003"])
def test_a_question_without_anything_in_it_is_refused(harbour: ActorHarness, query: str) -> None:
    with pytest.raises(InvalidValue, match="it is empty"):
        harbour.recall(query)


@pytest.mark.parametrize(
    "query", ["🦀🦀🦀", "\0", "\ud800", "??!", "who are you", "the", "\udcff crane", "crane\0crane"]
)
def test_odd_questions_are_answered(harbour: ActorHarness, query: str) -> None:
    recalled = harbour.recall(query, observe=True)
    assert len(recalled.hits) == 4  # meaning has something to say about each
    words = harbour.recall(query, signals=("lexical", "session"))
    assert bool(words.hits) == ("crane" in query or query == "the")


def test_a_question_of_a_megabyte_is_answered_by_its_first_words_and_says_so(harbour: ActorHarness) -> None:
    query = "crane " + " ".join(f"word{number}" for number in range(110_000))
    assert len(query) > 10**6
    recalled = harbour.recall(query, signals=("lexical",))
    assert "crane" in said(recalled)[0]
    assert recalled.degraded == (
        f"words: of the question's {len(query)} characters the first 512 words were looked up",
    )


def test_an_empty_mind_answers_with_nothing(actor_system: ActorHarness) -> None:
    recalled = actor_system.recall("crane", trace=True)
    assert (recalled.hits, recalled.candidates, recalled.searched, recalled.used_tokens) == ((), (), 0, 0)


def test_the_only_memory_of_a_mind_is_found_by_its_meaning(actor_system: ActorHarness) -> None:
    actor_system.keep("we chose the blue boat")
    actor_system.embed()
    assert said(actor_system.recall("which vessel?")) == ["we chose the blue boat"]


def test_a_word_that_nothing_holds_finds_nothing_by_words(harbour: ActorHarness) -> None:
    assert harbour.recall("zebra", signals=("lexical", "session")).hits == ()


def test_words_are_found_stemmed_without_accents_and_by_who_spoke(actor_system: ActorHarness) -> None:
    actor_system.keep("The cafés were closing", speaker="Maud")
    for query in ("cafe", "CLOSED", "closes", "Maud", "what did maud say"):
        assert said(actor_system.recall(query, signals=("lexical",))) == ["The cafés were closing"], query


# --- what a hit says -------------------------------------------------------------------------------------------------


def test_a_question_meets_texts_of_any_language_in_any_of_its_forms(actor_system: ActorHarness) -> None:
    german = actor_system.keep("Die Prüfungen waren im Keller, und wir haben alle Schlüssel getauscht")
    spanish = actor_system.keep("Los camiones llegaron a las ocho y los conductores cambiaron de turno")
    english = actor_system.keep("the lorry drivers were tested")
    chinese = actor_system.keep("我们把数据库搬到上海")
    actor_system.keep("kettles whistle")
    for question, found in [
        *(("Prüfung", german), ("prufung?", german), ("Wann war die Prüfung?", german), ("Schlüsseln", german)),
        *(
            ("¿Qué conductor cambió?", spanish),
            ("camión", spanish),
            ("the driver", english),
            ("数据库在哪里？", chinese),
        ),
    ]:
        recalled = actor_system.recall(question, signals=("lexical",))
        assert [hit.id for hit in recalled.hits] == [found.id], question


def test_a_stop_word_is_one_of_the_questions_own_language(actor_system: ActorHarness) -> None:
    died = actor_system.keep("the old server would die every night")
    actor_system.keep("Die neue Kiste ist da, und wir haben die alte verschenkt")
    recalled = actor_system.recall("when did it die?", signals=("lexical",))
    assert died.id in [hit.id for hit in recalled.hits]
    assert [hit.text for hit in actor_system.recall("Wo ist die Kiste?", signals=("lexical",)).hits] == [
        "Die neue Kiste ist da, und wir haben die alte verschenkt"
    ]


def test_of_a_long_text_the_stretch_with_the_word_is_shown_whatever_its_accents(actor_system: ActorHarness) -> None:
    text = "Wir haben lange geredet. " * 400 + "Der Schlüssel liegt in der Spülküche. " + "Dann war es spät. " * 400
    actor_system.keep(text)
    (hit,) = actor_system.recall("Schlüssel", signals=("lexical",)).hits
    assert "Der Schlüssel liegt in der Spülküche." in hit.text
    assert len(hit.data) < len(text)


def test_a_hit_explains_its_score_by_the_signals_that_were_asked(harbour: ActorHarness) -> None:
    for signals in (("dense",), ("lexical",), ("session",), ("dense", "session"), ("dense", "lexical", "session")):
        for hit in harbour.recall("harbour crane", signals=signals).hits:
            assert set(hit.why) == {"base", *signals}
            assert hit.score == pytest.approx(1 / (1 + np.exp(-sum(hit.why.values()))))


def test_whether_the_best_is_likely_to_answer_is_told(harbour: ActorHarness) -> None:
    for question in ("the harbour office opens at nine", "quarterly dividends", "of"):
        recalled = harbour.recall(question)
        assert recalled.nothing_fits == (recalled.hits[0].score < UNLIKELY)
    assert harbour.recall("the harbour office", until=START_US - 1).nothing_fits
    assert harbour.recall("quarterly dividends", signals=("lexical",)).nothing_fits


def test_the_trace_gives_each_signals_own_score_and_only_when_asked(harbour: ActorHarness) -> None:
    recalled = harbour.recall("harbour crane", trace=True)
    assert [one.id for one in recalled.candidates] == [hit.id for hit in recalled.hits]
    assert all(set(one.raw) == {"dense", "lexical", "session"} for one in recalled.candidates)
    assert harbour.recall("harbour crane").candidates == ()


@settings(max_examples=12)
@given(
    before=st.text(st.sampled_from("ab é😀\ud800\n"), max_size=400),
    after=st.text(st.sampled_from("ab é😀\ud800\n"), max_size=400),
    embedded=st.booleans(),
)
def test_a_long_memory_is_shown_by_a_verbatim_stretch_with_its_place(
    before: str, after: str, embedded: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = to_bytes(f"{before} kettle {after}")
    with ActorHarness(tmp_path_factory.mktemp("long"), hit_bytes=64) as actor_system:
        kept = actor_system.keep(to_text(text), speaker="Maud")
        if embedded:
            actor_system.embed()
        (hit,) = actor_system.recall("kettle", signals=("dense", "lexical") if embedded else ("lexical",)).hits
        assert hit.id == kept.id
        assert hit.size_bytes == len(text)
        assert text[hit.start_byte : hit.start_byte + len(hit.data)] == hit.data
        assert len(hit.data) == len(text) or len(hit.data) <= 64
        if not embedded:
            assert b"kettle" in hit.data


def test_the_window_that_fits_best_is_the_one_that_is_shown(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, hit_bytes=64) as actor_system:
        actor_system.keep("a" * 190 + " " * 10 + "b" * 190 + " " * 10 + "the kettle boils" + " " * 300)
        actor_system.embed()
        (hit,) = actor_system.recall("the kettle boils", signals=("dense",)).hits
        assert hit.start_byte == 400
        assert hit.data.startswith(b"the kettle boils")


# --- corrections -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedded", [False, True])
def test_a_correction_outranks_what_it_replaces_at_once_whatever_its_words_are(
    actor_system: ActorHarness, embedded: bool
) -> None:
    old = actor_system.keep("the session token lasts ten minutes")
    for number in range(5):
        actor_system.keep(f"something else about number {number}")
    if embedded:
        actor_system.embed()
    new = actor_system.keep("a quarter of an hour from now on", supersedes=old.id)
    hits = actor_system.recall("how long does the session token last").hits
    assert [hit.id for hit in hits[:2]] == [new.id, old.id]
    assert [hit.superseded_by for hit in hits[:2]] == [None, new.id]
    assert hits[0].score > hits[1].score
    assert hits[0].why["prior"] > 0
    assert hits[0].score == pytest.approx(1 / (1 + np.exp(-sum(hits[0].why.values()))))


def test_the_last_of_a_chain_stands_above_all_it_replaces_even_where_a_link_is_not_looked_through(
    actor_system: ActorHarness,
) -> None:
    first = actor_system.keep("the gate code is four four one")
    second = actor_system.keep("no, another", supersedes=first.id, kind="summary")
    third = actor_system.keep("changed again", supersedes=first.id)
    recalled = actor_system.recall("gate code", kinds=KINDS)
    assert [hit.id for hit in recalled.hits] == [third.id, second.id, first.id]
    assert [hit.superseded_by for hit in recalled.hits] == [None, third.id, second.id]
    assert [hit.id for hit in actor_system.recall("gate code").hits] == [third.id, first.id]


def test_a_correction_of_what_nobody_asked_about_is_not_brought_up(actor_system: ActorHarness) -> None:
    old = actor_system.keep("the gate code is four four one")
    actor_system.keep("changed again", supersedes=old.id)
    actor_system.keep("the kettle is on")
    assert said(actor_system.recall("kettle", signals=("lexical", "session"), session="s"))[0] == "the kettle is on"
    assert said(actor_system.recall("kettle", signals=("lexical",))) == ["the kettle is on"]


def test_before_it_was_made_a_correction_is_unknown(actor_system: ActorHarness) -> None:
    old = actor_system.keep("the token lasts ten minutes")
    before = actor_system.clock.now_us()
    new = actor_system.keep("the token lasts an hour", supersedes=old.id)
    hits = actor_system.recall("token", as_of=before).hits
    assert [(hit.id, hit.superseded_by) for hit in hits] == [(old.id, None)]
    hits = actor_system.recall("token", as_of=actor_system.clock.now_us()).hits
    assert [(hit.id, hit.superseded_by) for hit in hits] == [(new.id, None), (old.id, new.id)]


# --- what was forgotten ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedded", [False, True])
def test_what_is_forgotten_is_not_found_from_then_on_by_who_had_loaded_it(
    actor_system: ActorHarness, embedded: bool
) -> None:
    gone = actor_system.keep("the gate code is four four one")
    actor_system.keep("the gate is green")
    if embedded:
        actor_system.embed()
    assert actor_system.recall("gate code").searched == 2
    actor_system.clock.advance(1)
    actor_system.ask(Forget(ids=(gone.id,), reason="it was another gate"))
    recalled = actor_system.recall("gate code", kinds=KINDS)
    assert (said(recalled), recalled.searched) == (["the gate is green"], 1)
    then = actor_system.clock.now_us()
    assert said(actor_system.recall("gate code", as_of=then)) == ["the gate is green"]
    before = actor_system.recall("gate code", as_of=then - 1)
    assert (said(before)[0], before.searched) == ("the gate code is four four one", 2)
    (memory,) = actor_system.ask(GetMemories(ids=(gone.id,))).memories
    assert (memory.retired_at, memory.retired_reason) == (then, "it was another gate")
    assert memory.data == b"the gate code is four four one"
    actor_system.ask(Recover(ids=(gone.id,)))
    assert said(actor_system.recall("gate code"))[0] == "the gate code is four four one"


def test_what_a_forgotten_correction_replaced_stands_again(actor_system: ActorHarness) -> None:
    old = actor_system.keep("the token lasts ten minutes")
    wrong = actor_system.keep("the token lasts a year", supersedes=old.id)
    actor_system.clock.advance(1)
    actor_system.ask(Forget(ids=(wrong.id,)))
    at = actor_system.clock.now_us()
    (hit,) = actor_system.recall("token").hits
    assert (hit.id, hit.superseded_by, "prior" in hit.why) == (old.id, None, False)
    first, second = actor_system.recall("token", as_of=at - 1).hits
    assert (first.id, second.id, second.superseded_by) == (wrong.id, old.id, wrong.id)
    right = actor_system.keep("the token lasts an hour", supersedes=old.id)
    assert [(hit.id, hit.superseded_by) for hit in actor_system.recall("token").hits] == [
        (right.id, None),
        (old.id, right.id),
    ]


# --- time ------------------------------------------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from(["tide", "kettle", "boat", "crane", "noon"]), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=4)
@given(
    life=st.lists(
        st.tuples(WORDS, st.sampled_from(["a", "b"]), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
        min_size=1,
        max_size=9,
    ),
    question=WORDS,
)
def test_an_answer_as_of_then_is_the_answer_that_was_given_then(
    life: list[tuple[str, str, int | None, int | None]], question: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def answer(actor_system: ActorHarness, as_of: int | None) -> list[dict[str, Any]]:
        recalled = actor_system.recall(question, as_of=as_of, kinds=KINDS)
        hits = [msgspec.structs.asdict(hit) for hit in recalled.hits]
        for hit in hits:
            hit["score"] = round(hit["score"], 9)
            hit["why"] = {name: round(share, 9) for name, share in hit["why"].items()}
        return [{"searched": recalled.searched}, *hits]

    with ActorHarness(tmp_path_factory.mktemp("life")) as actor_system:
        given_then: list[tuple[int, list[dict[str, Any]]]] = []
        kept: list[bytes] = []
        for text, session, corrects, forgets in life:
            old = kept[corrects % len(kept)] if kept and corrects is not None else None
            kept.append(actor_system.keep(text, session=session, supersedes=old).id)
            if forgets is not None:
                actor_system.ask(Forget(ids=(kept[forgets % len(kept)],)))
            actor_system.embed()
            given_then.append((actor_system.clock.now_us(), answer(actor_system, None)))
            actor_system.clock.advance(1)
        for at, then in given_then:
            assert answer(actor_system, at) == then
            assert answer(actor_system, at + 1_000_000 - 1) == then
        assert answer(actor_system, given_then[0][0] - 1) == [{"searched": 0}]


@pytest.mark.parametrize("signals", [("dense",), ("dense", "lexical", "session")])
def test_very_many_memories_of_one_text_are_one_hit_and_hide_no_other(tmp_path: Path, signals: tuple[str, ...]) -> None:
    texts = ["yes, do that" if number % 8 else f"the tide at {number}" for number in range(800)]
    said_at = [START_US + number * 1_000_000 for number in range(len(texts))]
    items = [turns([text], said_at=at, session=str(at))[0] for text, at in zip(texts, said_at, strict=True)]
    with ActorHarness(tmp_path, sources={"a": items}) as actor_system:
        actor_system.take("a")
        actor_system.embed()
        first, *others = actor_system.recall("yes do it", signals=signals, k=5).hits
        newest = [START_US + number * 1_000_000 for number in range(799, -1, -1) if number % 8]
        assert [first.said_at, *(one.said_at for one in first.same)] == newest
        assert len(others) == 4
        assert all(hit.text.startswith("the tide at ") and not hit.same for hit in others)


def test_meaning_is_looked_for_by_codes_in_what_is_visible_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int, int]] = []

    def spy(coded: scan.QuantisedVectors, query: Any, *, allowed: Any, exact: int) -> Any:
        assert coded.codes.dtype == np.int8
        asked.append((len(coded.codes), int(np.bitwise_count(allowed).sum()), exact))
        return scan.inner_products(coded, query, allowed=allowed, exact=exact)

    monkeypatch.setattr(recall_index, "inner_products", spy)
    items = {"a": turns(["the tide", "the kettle"], session="s1"), "b": turns(["the kettle again"], session="s2")}
    with ActorHarness(tmp_path, sources=items) as actor_system:
        actor_system.take("a")
        actor_system.take("b")
        actor_system.embed()
        actor_system.recall("kettle", signals=("dense",))
        actor_system.recall("kettle", signals=("dense",), session="s2", k=200)
    assert asked == [(3, 3, 512), (3, 1, 800)]


# --- traces it leaves ------------------------------------------------------------------------------------------------


def test_measuring_leaves_no_trace(actor_system: ActorHarness) -> None:
    actor_system.keep("the kettle is on")
    actor_system.embed()
    bind(actor_system)
    before = actor_system.ask(Count()).seq
    actor_system.recall("kettle", observe=False, trace=True)
    assert actor_system.ask(Count()).seq == before


def test_a_recall_that_is_observed_is_kept_with_exactly_what_was_asked_and_given(actor_system: ActorHarness) -> None:
    actor_system.keep("the kettle is on", place=named("home"))
    actor_system.embed()
    bind(actor_system)
    sent: list[Apply] = []
    send = actor_system.supervisor._router.tell

    def spy(message: Any, **options: Any) -> None:
        if isinstance(message, Apply) and message.author == "retriever":
            sent.append(message)
        send(message, **options)

    actor_system.supervisor._router.tell = spy  # type: ignore[method-assign]
    before = actor_system.ask(Count()).seq
    recalled = actor_system.recall(
        "kettle \udc80", observe=True, scope="home", k=1, assistant="a \udc80", asking_session="mcp-1"
    )
    (apply,) = sent
    (hit,) = recalled.hits
    why = ", ".join(f"{name} {share:.2f}" for name, share in hit.why.items())
    assert apply.changes == (
        RecordDelivery(
            query="kettle \\udc80",
            scope="home",
            assistant="a \\udc80",
            session="mcp-1",
            parts=(DeliveredSpan(memory=hit.id, start=0, stop=16, why=why),),
            tokens=4,
        ),
    )
    asked = Apply(changes=(), key=b"later", author="test", run="test")
    assert actor_system.ask(asked).seq == before + 1  # the store has handled what it was told before
    assert actor_system.supervisor.report().dead_letters == 0


def test_where_nothing_can_be_written_a_question_is_answered_and_leaves_nothing(tmp_path: Path) -> None:
    reasons = ["the disk is full", None]
    with ActorHarness(tmp_path, ports={"unwritable": lambda: reasons[0]}) as actor_system:
        actor_system.keep("the kettle is on")
        actor_system.embed()
        bind(actor_system)
        before = actor_system.ask(Count()).seq
        said = "store: nothing new is kept, nor what was asked and given: the disk is full"
        recalled = actor_system.recall("kettle", observe=True)
        shaped = actor_system.ask(Shape(pattern={"kind": "turn"}, observe=True))
        assert [len(recalled.hits), len(shaped.hits)] == [1, 1]
        assert said in recalled.degraded
        assert said in shaped.degraded
        assert said not in actor_system.recall("kettle", observe=False).degraded, "it would keep nothing anyway"
        assert actor_system.ask(Apply(changes=(), key=b"later", author="test", run="test")).seq == before
        reasons.pop(0)
        assert actor_system.recall("kettle", observe=True).degraded == ()
        assert actor_system.ask(Apply(changes=(), key=b"last", author="test", run="test")).seq == before + 1


# --- following the log -----------------------------------------------------------------------------------------------


def test_what_was_just_kept_is_found_by_its_words_at_once(actor_system: ActorHarness) -> None:
    for number in range(10):
        kept = actor_system.keep(f"note number{number}")
        assert [hit.id for hit in actor_system.recall(f"number{number}", signals=("lexical",)).hits] == [kept.id]


def test_another_process_on_the_same_mind_sees_what_the_first_has_committed(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one, ActorHarness(tmp_path) as other:
        kept = one.keep("the kettle is on")
        assert [hit.id for hit in other.recall("kettle", signals=("lexical",)).hits] == [kept.id]
        other.embed()
        assert [hit.id for hit in one.recall("kettle", signals=("dense",)).hits] == [kept.id]
        other.clock.advance(100)
        corrected = other.keep("the kettle is off", supersedes=kept.id)
        assert one.recall("kettle").hits[0].id == corrected.id


def test_recalls_and_captures_at_the_same_time_disturb_each_other_in_nothing(tmp_path: Path) -> None:
    items = turns([f"note number{n}" for n in range(300)])
    with ActorHarness(tmp_path, sources={"a": items}, batch_events=10) as actor_system, ThreadPoolExecutor(4) as pool:
        done = threading.Event()

        def ask() -> int:
            asked = 0
            while not done.is_set() or not asked:
                for hit in actor_system.recall("number5 number7 note", k=20).hits:
                    assert hit.data.startswith(b"note number")
                asked += 1
            return asked

        asking = [pool.submit(ask) for _ in range(3)]
        actor_system.take("a")
        actor_system.embed()
        done.set()
        assert all(one.result() for one in asking)
        assert len(actor_system.recall("note", k=500).hits) == 300
        assert all(one.failures == 0 for one in actor_system.supervisor.report().actors)


@pytest.mark.parametrize("meaning", [False, True])
def test_what_was_made_anew_from_the_log_answers_as_what_was_kept(tmp_path: Path, meaning: bool) -> None:
    with ActorHarness(
        tmp_path, sources={"a": turns([f"the tide at {n} and the kettle {n % 3}" for n in range(20)])}
    ) as actor_system:
        actor_system.take("a")
        old = actor_system.keep("the boat is blue")
        actor_system.keep("the boat is red", supersedes=old.id)
        actor_system.embed()
        questions = ("tide kettle", "boat", "2", "the")
        before = [actor_system.recall(question, trace=True) for question in questions]
        vectors = actor_system.look(lambda snapshot: snapshot.vectors(snapshot.encoders()[0], 0).vectors.tobytes())
        actor_system.ask(Rebuild(meaning=meaning))
        actor_system.embed()
        assert [actor_system.recall(question, trace=True) for question in questions] == before
        assert (
            actor_system.look(lambda snapshot: snapshot.vectors(snapshot.encoders()[0], 0).vectors.tobytes()) == vectors
        )


# --- the rest --------------------------------------------------------------------------------------------------------


def test_memories_are_given_whole_and_in_the_order_asked_for(actor_system: ActorHarness) -> None:
    long = "a \ud800 text\0" * 10_000
    ids = [actor_system.keep(text).id for text in ("one", long, "three")]
    got = actor_system.ask(GetMemories(ids=(ids[2], ids[1], ids[2]))).memories
    assert [memory.data for memory in got] == [b"three", to_bytes(long), b"three"]
    assert actor_system.ask(GetMemories(ids=())).memories == ()
    with pytest.raises(NoSuchMemory):
        actor_system.ask(GetMemories(ids=(ids[0], bytes(16))))


def test_a_place_is_found_where_something_was_captured_there(actor_system: ActorHarness) -> None:
    project = ScopeRef(path="shelf", project="/src/shelf/.git", found="git")
    for place in (project, ScopeRef(path="shelf", project="/elsewhere/shelf", found="git"), named("notes")):
        assert actor_system.ask(FindScope(place=place)).path is None
    actor_system.keep("one", place=project)
    actor_system.keep("two", place=named("notes"))
    assert actor_system.ask(FindScope(place=project)).path == "shelf"
    assert (
        actor_system.ask(FindScope(place=ScopeRef(path="shelf", project="/elsewhere/shelf", found="git"))).path is None
    )
    assert actor_system.ask(FindScope(place=named("notes"))).path == "notes"
    assert actor_system.ask(FindScope(place=ScopeRef(path="x", project="/odd/\udc80", found="folder"))).path is None


def test_a_recall_in_a_place_looks_through_its_scope_and_nothing_where_nothing_is_known(
    actor_system: ActorHarness,
) -> None:
    project = ScopeRef(path="shelf", project="/src/shelf/.git", found="git")
    namesake = ScopeRef(path="shelf", project="/elsewhere/shelf", found="git")
    actor_system.keep("a kettle", place=project)
    actor_system.keep("a kettle below", place=named("shelf/board"))
    actor_system.keep("a kettle elsewhere", place=named("notes"))
    actor_system.embed()
    found = actor_system.recall("kettle", place=project, scope="notes")
    assert (set(said(found)), found.scope, found.scope_known) == ({"a kettle", "a kettle below"}, "shelf", True)
    assert found == actor_system.recall("kettle", scope="shelf")
    unknown = actor_system.recall("kettle", place=namesake)
    assert (unknown.hits, unknown.searched, unknown.scope, unknown.scope_known) == ((), 0, "shelf", False)


def test_a_hit_is_no_longer_than_asked_for_nor_than_the_setting_says(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, hit_bytes=200) as actor_system:
        actor_system.keep("a " * 100 + "kettle" + " b" * 200)
        for asked, given in ((64, 64), (150, 150), (500, 200), (None, 200)):
            (hit,) = actor_system.recall("kettle", hit_bytes=asked).hits
            assert (given - 2 < len(hit.data) <= given, b"kettle" in hit.data) == (True, True)


def test_a_hanging_embedder_does_not_keep_the_words_from_answering(
    actor_system: ActorHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.actors.index.query._TIMEOUT_S", 0.05)
    actor_system.keep("the kettle is on")
    actor_system.embed()
    actor_system.encoder = BagEncoder()
    hang = threading.Event()
    monkeypatch.setattr(BagEncoder, "encode", lambda *_: hang.wait(BOUND_S) or (_ for _ in ()).throw(ValueError()))
    recalled = actor_system.recall("kettle")
    hang.set()
    assert said(recalled) == ["the kettle is on"]
    assert recalled.degraded == ("meaning: embedder did not answer EmbedQuery within 0.05 s. Words alone answered.",)


def test_only_a_recall_by_meaning_foresees_that_its_question_is_embedded() -> None:
    assert RetrieverActor.foresees(Recall(query="kettle")) == (EmbedQuery(text="kettle"),)
    assert RetrieverActor.foresees(Recall(query="kettle", signals=("lexical",))) == ()
    assert RetrieverActor.foresees(Count()) == ()


def test_the_first_recall_tells_how_far_its_loading_is_and_later_ones_have_nothing_to_tell(
    actor_system: ActorHarness,
) -> None:
    actor_system.keep("an otter on the pier")
    told: list[tuple[int, int | None]] = []
    for expected in ([(0, 2), (1, 2), (2, 2)], []):
        told.clear()
        actor_system.ask(Recall(query="otter", observe=False), progress=lambda done, total: told.append((done, total)))
        assert told == expected
