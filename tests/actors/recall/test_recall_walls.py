"""What a recall gives, names and counts lies in what was asked for, and what lies outside changes nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.index.validate import SIGNALS
from mnemic.actors.kernel.errors import ModelMissing, UnknownScope, UnknownSession
from mnemic.actors.kernel.events import KINDS
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import FindSimilar, Recalled
from mnemic.actors.shape.messages import Shape
from tests.harness import START_US, ActorHarness
from tests.shaped import bind

DAY_US = 86_400_000_000
PATHS = ("", "a", "a/b", "a/b/c", "a/d", "ab", "b", "b/a")


class Said(NamedTuple):
    text: str
    scope: str
    session: str
    kind: str
    day: int
    corrects: int | None
    forgotten: bool


WORDS = ("crane", "kettle", "boat", "broken", "blue", "not", "the", "5432", "harbour", "Maud")
SAID = st.builds(
    Said,
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    scope=st.sampled_from(PATHS),
    session=st.sampled_from("xy"),
    kind=st.sampled_from(["turn", "note", "tool_result"]),
    day=st.integers(0, 3),
    corrects=st.none() | st.integers(0, 13),
    forgotten=st.sampled_from([False, False, False, True]),
)
MIND = st.lists(SAID, min_size=1, max_size=14, unique_by=lambda one: (one.text, one.session, one.kind))
"""What is said again in one conversation is known, and kept where it was said first."""
QUESTION = st.fixed_dictionaries(
    {
        "query": st.lists(st.sampled_from((*WORDS, "yesterday")), min_size=1, max_size=4).map(" ".join),
        "scope": st.lists(st.sampled_from(PATHS), min_size=1, max_size=3).map(tuple) | st.sampled_from(PATHS),
    },
    optional={
        "session": st.sampled_from(["x", "y", "z"]),
        "kinds": st.sampled_from([("turn",), ("note", "tool_result"), KINDS]),
        "since": st.integers(0, 3).map(lambda day: START_US + day * DAY_US),
        "until": st.integers(1, 4).map(lambda day: START_US + day * DAY_US),
        "as_of": st.integers(1, 16).map(lambda second: START_US + second * 1_000_000),
        "k": st.integers(1, 4),
        "budget_tokens": st.integers(1, 12),
        "signals": st.sampled_from([("lexical",), ("dense", "session"), ("dense", "lexical", "session", "structural")]),
    },
)


def lies_in(scope: str, asked: str | Sequence[str]) -> bool:
    paths = (asked,) if isinstance(asked, str) else asked
    return any(scope == path or (path and scope.startswith(f"{path}/")) for path in paths)


def no_model() -> Any:
    raise ModelMissing(path="/nowhere", why="it is gone")


def rounded(shares: dict[str, float]) -> dict[str, float]:
    return {name: round(share, 9) for name, share in shares.items()}


class World:
    """A mind of what was said, or of a part of it, a second apart; what is left out leaves its second empty."""

    def __init__(self, home: Path, said: Sequence[Said], part: Sequence[bool], *, embedded: bool) -> None:
        self.actors = ActorHarness(home, ports={"seed": bytes(32)})  # hypervectors of two minds are else two draws
        if not embedded:
            self.actors.load = no_model
        self.said: dict[bytes, Said] = {}
        ids: list[bytes | None] = []
        for one, is_in in zip(said, part, strict=True):
            if not is_in:
                self.actors.clock.advance(1)
                ids.append(None)
                continue
            corrected = None if one.corrects is None or one.corrects >= len(ids) else ids[one.corrects]
            ids.append(
                self.actors.keep(
                    one.text,
                    place=ScopeRef(path=one.scope, project=None, found="named"),
                    session=one.session,
                    kind=one.kind,
                    said_at=START_US + one.day * DAY_US,
                    supersedes=corrected,
                ).id
            )
            self.said.setdefault(ids[-1] or b"", one)
        if embedded:
            self.actors.embed()
        gone = tuple({id for id, one in zip(ids, said, strict=True) if id is not None and one.forgotten})
        self.actors.clock.advance(1)
        if gone:
            self.actors.ask(Forget(ids=gone))
        bind(self.actors)

    def recall(self, question: dict[str, Any]) -> Recalled | None:
        """The answer; ``None`` where a scope is not there, or nothing of a conversation in it."""
        try:
            return self.actors.recall(trace=True, **question)
        except (UnknownScope, UnknownSession):
            return None

    def told(self, recalled: Recalled) -> Any:
        """An answer with what was said in the place of ids, which are another mind's."""
        name = lambda id: None if id is None else self.said[id]  # noqa: E731
        hits = [
            (
                *(name(hit.id), hit.data, hit.start_byte, rounded(hit.why), name(hit.superseded_by)),
                [name(one) for one in hit.supersedes],
                [(name(one.id), one.said_at) for one in hit.same],
            )
            for hit in recalled.hits
        ]
        traced = [(name(one.id), rounded(one.raw)) for one in recalled.candidates]
        counts = (recalled.searched, recalled.used_tokens, recalled.left_out, recalled.nothing_fits, recalled.degraded)
        return hits, traced, counts


def without_crossing(said: Sequence[Said], inside: Sequence[bool]) -> list[Said]:
    """The same without corrections of what lies on the other side: that one of them says so is all that may differ."""
    return [
        one._replace(corrects=None)
        if one.corrects is not None and one.corrects < place and inside[one.corrects] != inside[place]
        else one
        for place, one in enumerate(said)
    ]


@settings(max_examples=12)
@given(
    said=MIND,
    questions=st.lists(QUESTION, min_size=1, max_size=6),
    embedded=st.booleans(),
)
def test_nothing_is_given_named_or_counted_that_lies_outside(
    said: list[Said], questions: list[dict[str, Any]], embedded: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = World(tmp_path_factory.mktemp("walls"), said, [True] * len(said), embedded=embedded)
    with world.actors:
        for question in questions:
            recalled = world.recall(question)
            paths = [question["scope"]] if isinstance(question["scope"], str) else question["scope"]
            there = {one.scope for one in world.said.values()}
            unknown = any(not any(lies_in(scope, path) for scope in there) for path in paths)
            inside = {one.session for one in world.said.values() if lies_in(one.scope, question["scope"])}
            assert (recalled is None) == (unknown or question.get("session", min(inside, default="")) not in inside)
            if recalled is None:
                continue
            may = {id for id, one in world.said.items() if lies_in(one.scope, question["scope"])}
            named = {one for hit in recalled.hits for one in (hit.superseded_by, *hit.supersedes)} - {None}
            given = {hit.id for hit in recalled.hits} | {one.id for hit in recalled.hits for one in hit.same}
            assert given | named | {one.id for one in recalled.candidates} <= may
            assert recalled.searched <= len(may)
            assert all(hit.superseded_by is None for hit in recalled.hits if hit.superseded_elsewhere)
            kinds = question.get("kinds", ("turn", "note"))
            for id in given:
                one = world.said[id]
                assert one.kind in kinds
                assert question.get("session", one.session) == one.session
                assert question.get("since", 0) <= START_US + one.day * DAY_US < question.get("until", 1 << 62)


@settings(max_examples=12)
@given(
    said=MIND,
    question=QUESTION,
    more=st.lists(QUESTION, max_size=3),
    embedded=st.booleans(),
)
def test_what_lies_outside_changes_nothing_of_an_answer(
    said: list[Said],
    question: dict[str, Any],
    more: list[dict[str, Any]],
    embedded: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    inside = [lies_in(one.scope, question["scope"]) for one in said]
    said = without_crossing(said, inside)
    whole = World(tmp_path_factory.mktemp("whole"), said, [True] * len(said), embedded=embedded)
    alone = World(tmp_path_factory.mktemp("alone"), said, inside, embedded=embedded)
    with whole.actors, alone.actors:
        for one in (question, *more):
            # A hypervector is bound with what stands beside its memory in a conversation, whatever the scope of that.
            signals = [name for name in one.get("signals", SIGNALS) if name != "structural"]
            asked = {**one, "scope": question["scope"], "signals": tuple(signals)}
            theirs, own = whole.recall(asked), alone.recall(asked)
            assert (theirs is None) == (own is None)
            if theirs is not None and own is not None:
                assert whole.told(theirs) == alone.told(own)


def test_what_replaces_a_memory_in_another_scope_is_told_and_not_named(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as actors:
        place = {path: ScopeRef(path=path, project=None, found="named") for path in ("a", "a/b", "b")}
        old = actors.keep("the port is 5432", place=place["a"])
        moved = actors.keep("the port is 5433 elsewhere", place=place["b"], supersedes=old.id)
        newest = actors.keep("the port is 5434 below", place=place["a/b"], supersedes=moved.id)
        actors.embed()
        bind(actors)

        def told(scope: Any) -> dict[bytes, tuple[bytes | None, bool, tuple[bytes, ...]]]:
            asked = [actors.recall("which port", scope=scope).hits]
            asked += [actors.ask(Shape(pattern={"kind": "turn"}, scope=scope, observe=False)).hits]
            found = [
                {hit.id: (hit.superseded_by, hit.superseded_elsewhere, hit.supersedes) for hit in hits}
                for hits in asked
            ]
            assert found[0] == found[1]
            return found[0]

        assert told("a") == {old.id: (None, True, ()), newest.id: (None, False, ())}
        assert told("b") == {moved.id: (None, True, ())}
        everything = {
            old.id: (moved.id, False, ()),
            moved.id: (newest.id, False, (old.id,)),
            newest.id: (None, False, (moved.id,)),
        }
        assert told("*") == told(("a", "b")) == everything
        assert told(("a/b", "b")) == {
            moved.id: (newest.id, False, ()),
            newest.id: (None, False, (moved.id,)),
        }
        (near,) = actors.ask(FindSimilar(text="the port is 5432", scope="a", limit=1)).similar
        assert (near.id, near.superseded_by, near.superseded_elsewhere) == (old.id, None, True)
