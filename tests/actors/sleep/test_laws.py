"""Whatever happened before: a night comes to rest, touches no memory, and is gone once it is taken back."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget, Recover
from mnemic.actors.kernel.errors import BadInput
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.scopes.changes import RenameScope
from mnemic.actors.scopes.messages import ChangeScopes
from mnemic.actors.sleep.messages import ListDigests, ListNights, NightReport, ShowProfile, Sleep, UndoNights
from mnemic.actors.sleep.registry import BUILT_IN_STAGES
from mnemic.actors.store.messages import Rebuild
from tests.actors.sleep.sleeping import ask_as, open_as, reply_as, whole_night
from tests.harness import ActorHarness

PLACES = tuple(ScopeRef(path=path, project=None, found="named") for path in ("boat", "shelf", "boat/oars"))
TEXTS = (
    "Lukas reviews the booking API on Thursdays before we deploy it to production.",
    "The booking API listens on port 8443 in production since Lukas moved it.",
    "I hate barrel files.",
    "Nadia wants the booking API reviewed by Lukas before each production deploy.",
    "ok",
    "The database is SQLite for now.",
    "From now on the database is Postgres, not SQLite.",
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, 6), st.sampled_from("ab"), st.sampled_from(PLACES)),
        st.tuples(st.just("say"), st.integers(0, 6), st.sampled_from("ab"), st.sampled_from(PLACES)),
        st.tuples(st.sampled_from(["forget", "recover", "correct"]), st.integers(0, 9)),
        st.tuples(st.sampled_from(["ask", "open", "answer"]), st.integers(0, 6)),
        st.tuples(st.sampled_from(["sleep", "part", "undo", "rename", "rebuild"])),
    ),
    min_size=3,
    max_size=14,
)
_runs = itertools.count()


def night(mind: ActorHarness, **fields: Any) -> NightReport:
    """A whole night; then all is bound."""
    report = whole_night(mind, **fields)
    mind.bind()
    return report


def live(mind: ActorHarness, steps: list[tuple[Any, ...]]) -> list[bytes]:
    """A history; returns the ids of what was kept. No night is held after it."""
    kept: list[bytes] = []
    for step in steps:
        try:
            carry_out(mind, step, kept)
        except BadInput:
            continue
    kept.append(mind.keep(TEXTS[0], session="last", place=PLACES[0]).id)
    return kept


def carry_out(mind: ActorHarness, step: tuple[Any, ...], kept: list[bytes]) -> None:
    """One step of a history; what cannot be is refused, and changes nothing."""
    match step:
        case ("say", number, session, place):
            kept.append(mind.keep(f"{TEXTS[number]} {len(kept)}", session=session, place=place).id)
        case ("correct", number) if kept:
            old = kept[number % len(kept)]
            kept.append(mind.keep(f"No, {TEXTS[number % len(TEXTS)]}", session="a", supersedes=old).id)
        case ("forget", number) if kept:
            mind.ask(Forget(ids=(kept[number % len(kept)],), reason="test"))
        case ("recover", number) if kept:
            mind.ask(Recover(ids=(kept[number % len(kept)],)))
        case ("ask", number):
            ask_as(mind, "b", TEXTS[number], k=3)
        case ("open", number) if kept:
            open_as(mind, "b", kept[number % len(kept)])
        case ("answer", number):
            kept.append(reply_as(mind, "b", f"{TEXTS[number]} {len(kept)}"))
        case ("sleep",):
            night(mind)
        case ("part",):  # and is broken off
            mind.ask(Sleep(run=f"part {next(_runs)}", budget_s=60.0))
        case ("undo",):
            mind.ask(UndoNights())
        case ("rename",):
            mind.ask(ChangeScopes(changes=(RenameScope(path="shelf", to="attic"),)))
        case ("rebuild",):
            mind.ask(Rebuild())


def derived(mind: ActorHarness) -> list[Any]:
    """What stands of nights, without when it was made."""

    def read(now: Any) -> list[Any]:
        return [(one.stage, one.key, one.value, one.sources) for stage in BUILT_IN_STAGES for one in now.derived(stage)]

    found = mind.look(read)
    assert isinstance(found, list)
    return found


def told(mind: ActorHarness) -> list[Any]:
    """What is told of it."""
    digests = [mind.ask(ListDigests(of=of, k=99)).digests for of in ("project", "session")]  # type: ignore[arg-type]
    return [[(one.scope, one.memories, one.sentences) for one in each] for each in digests] + [
        mind.ask(ShowProfile()).entries
    ]


@settings(max_examples=8)
@given(steps=STEPS)
def test_a_night_comes_to_rest_and_is_gone_once_taken_back(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    with ActorHarness(tmp_path_factory.mktemp("laws")) as mind:
        live(mind, steps)
        mind.embed()
        night(mind, stages=("meaning", "facts", "communities"))
        before, texts = derived(mind), mind.texts()
        standing = [one.id for one in mind.ask(ListNights()).nights if one.undone_at is None]
        night(mind)
        after, says = derived(mind), told(mind)

        seq = mind.look(lambda now: now.seq)
        assert night(mind).changes == 0, "it has come to rest"
        assert mind.look(lambda now: now.seq) == seq, "and writes nothing"

        rows = set(mind.look(lambda now: now.memory_columns(0).row.tolist()))
        assert {span.row for one in after for span in one[3]} <= rows
        mind.ask(Rebuild())
        night(mind, stages=("meaning", "facts", "communities"))
        assert derived(mind) == after, "a rebuild keeps it"
        assert told(mind)[0] == says[0]

        newest = [one.id for one in mind.ask(ListNights()).nights if one.undone_at is None]
        if newest != standing:
            mind.ask(UndoNights(id=min(set(newest) - set(standing))))
        assert derived(mind) == before, "as if it had never been"
        assert night(mind).changes == 0, "and it stays so"
        night(mind, again=True)
        assert [one[:2] for one in derived(mind)] == [one[:2] for one in after]
        assert mind.texts() == texts, "no memory is touched"


@settings(max_examples=3)
@given(steps=STEPS)
def test_nights_alone_change_no_ranking_from_the_second_on(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    with ActorHarness(tmp_path_factory.mktemp("laws")) as mind:
        live(mind, steps)
        night(mind)
        seq = mind.look(lambda now: now.seq)
        before = [[(hit.id, hit.same) for hit in mind.recall(text).hits] for text in TEXTS]
        for _ in range(30):
            mind.clock.advance(86_400)
            assert night(mind).changes == 0
        assert [[(hit.id, hit.same) for hit in mind.recall(text).hits] for text in TEXTS] == before
        assert mind.look(lambda now: now.seq) == seq


@settings(max_examples=4)
@given(steps=STEPS, number=st.integers(0, 6))
def test_a_memory_that_is_of_use_loses_no_rank_by_it(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]], number: int
) -> None:
    with ActorHarness(tmp_path_factory.mktemp("laws")) as mind:
        live(mind, steps)
        night(mind)
        before = [hit.id for hit in mind.recall(TEXTS[number]).hits]
        for _ in range(3):
            given_hits = ask_as(mind, "c", TEXTS[number]).hits
            open_as(mind, "c", given_hits[-1].id)
        night(mind)
        after = [hit.id for hit in mind.recall(TEXTS[number]).hits]
        assert after.index(given_hits[-1].id) <= before.index(given_hits[-1].id)
