"""What is there is listed page by page, shown whole and counted; what cannot be asked is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.kernel.errors import InvalidValue, NoSuchMemory, UnknownScope
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.log.messages import (
    MOST_LISTED,
    CountUse,
    DeliveriesListed,
    ListDeliveries,
    ListMemories,
    MemoriesListed,
    MemoriesShown,
    NoteDelivery,
    ShowMemories,
    UseCounted,
)
from mnemic.actors.store.messages import Count
from tests.harness import START_US, ActorHarness
from tests.waiting import until

SHELF, PIER = (ScopeRef(path=path, project=None, found="named") for path in ("work/shelf", "work/pier"))
DAY_US = 24 * 3600 * 1_000_000


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as actor_system:
        yield actor_system


def listed(actor_system: ActorHarness, **asked: Any) -> MemoriesListed:
    answer = actor_system.ask(ListMemories(**asked))
    assert isinstance(answer, MemoriesListed)
    return answer


def texts(actor_system: ActorHarness, **asked: Any) -> list[str]:
    return [one.text for one in listed(actor_system, **asked).memories]


def recorded(actor_system: ActorHarness, count: int, **asked: Any) -> DeliveriesListed:
    """What was given, once so much is in the log: what is told is not waited for."""
    found: list[DeliveriesListed] = []

    def there() -> bool:
        found.append(actor_system.ask(ListDeliveries(**asked)))
        return len(found[-1].deliveries) >= count

    until(there)
    return found[-1]


# --- what was captured -----------------------------------------------------------------------------------------------


def test_the_newest_captured_is_listed_first_and_the_newest_said_where_that_is_asked_for(
    actor_system: ActorHarness,
) -> None:
    for text, day in (("second", 2), ("first", 1), ("fourth", 4), ("third", 3)):
        actor_system.keep(text, said_at=START_US + day * DAY_US)
    assert texts(actor_system) == ["third", "fourth", "first", "second"]
    assert texts(actor_system, by="said") == ["fourth", "third", "second", "first"]
    days = {"since": START_US + 2 * DAY_US, "until": START_US + 4 * DAY_US}
    assert texts(actor_system, by="said", **days) == ["third", "second"]
    assert texts(actor_system, **days) == []


def test_it_is_listed_by_scope_session_and_kind(actor_system: ActorHarness) -> None:
    actor_system.keep("on the shelf", place=SHELF, session="a")
    actor_system.keep("at the pier", place=PIER, session="b", kind="decision")
    actor_system.keep("nowhere", session="a", kind="note")
    assert texts(actor_system, scope="work") == ["at the pier", "on the shelf"]
    assert texts(actor_system, scope="work/shelf") == ["on the shelf"]
    assert texts(actor_system, session="a") == ["nowhere", "on the shelf"]
    assert texts(actor_system, session="none") == []
    assert texts(actor_system, kinds=("decision", "note")) == ["nowhere", "at the pier"]
    assert texts(actor_system, scope="work", session="a", kinds=("turn",)) == ["on the shelf"]
    (entry,) = listed(actor_system, kinds=("decision",)).memories
    assert (entry.scope, entry.session, entry.assistant, entry.kind) == ("work/pier", "b", "direct", "decision")


def test_what_was_forgotten_is_listed_where_it_is_asked_for_and_only_there(actor_system: ActorHarness) -> None:
    gone, kept = actor_system.keep("it goes").id, actor_system.keep("it stays")
    actor_system.ask(Forget(ids=(gone,), reason="it was wrong"))
    assert texts(actor_system) == ["it stays"]
    (entry,) = listed(actor_system, forgotten=True).memories
    assert (entry.id, entry.retired_reason) == (gone, "it was wrong")
    assert entry.retired_at is not None
    assert not listed(actor_system).memories[0].replaced
    actor_system.keep("it corrects", supersedes=kept.id)
    assert [(one.data, one.replaced) for one in listed(actor_system).memories] == [
        (b"it corrects", False),
        (b"it stays", True),
    ]


def test_of_a_long_text_the_start_is_given_cut_between_two_characters(actor_system: ActorHarness) -> None:
    actor_system.keep("ä" * 10_000)
    (entry,) = listed(actor_system, text_bytes=7).memories
    assert (entry.text, entry.size_bytes) == ("äää", 20_000)
    assert listed(actor_system, text_bytes=0).memories[0].data == b""


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"limit": 0}, "the number of entries"),
        ({"limit": MOST_LISTED + 1}, "the number of entries"),
        ({"after": "here"}, "the cursor"),
        ({"after": f"captured-{1 << 63}-1"}, "the cursor"),
        ({"after": "captured-1-2\n"}, "the cursor"),
        ({"after": "said-1-2"}, "the cursor"),
        ({"kinds": ("turn", "tale")}, "a kind"),
        ({"text_bytes": -1}, "text_bytes"),
    ],
)
def test_what_cannot_be_listed_is_refused_in_a_sentence(
    actor_system: ActorHarness, asked: dict[str, Any], why: str
) -> None:
    actor_system.keep("a memory")
    with pytest.raises(InvalidValue) as caught:
        listed(actor_system, **asked)
    assert caught.value.operands["name"] == why


def test_an_unknown_scope_is_said_and_not_an_empty_page(actor_system: ActorHarness) -> None:
    actor_system.keep("a memory", place=SHELF)
    with pytest.raises(UnknownScope):
        listed(actor_system, scope="work/shelve")


# --- what was given --------------------------------------------------------------------------------------------------


def test_what_an_assistant_asked_for_is_listed_word_for_word_with_the_reasons(actor_system: ActorHarness) -> None:
    long = "The heron waits. " * 900
    kept = actor_system.keep(long, place=SHELF).id
    actor_system.embed()
    recalled = actor_system.recall("heron", scope="work/shelf", observe=True, assistant="codex", asking_session="mcp-1")
    actor_system.recall("my own question", observe=True)
    actor_system.ask(ListMemories())
    delivery = recorded(actor_system, 1).deliveries[0]
    assert (delivery.occasion, delivery.assistant, delivery.session) == ("recall", "codex", "mcp-1")
    assert (delivery.scope, delivery.query, delivery.tokens) == (
        "work/shelf",
        "heron",
        sum(-(-len(hit.data) // 4) for hit in recalled.hits),
    )
    (part,), (hit,) = delivery.parts, recalled.hits
    assert (part.id, part.data, part.start_byte, part.size_bytes) == (kept, hit.data, hit.start_byte, len(long))
    assert 0 < len(hit.data) < len(long)
    assert part.why == ", ".join(f"{name} {share:.2f}" for name, share in hit.why.items())
    (own,) = recorded(actor_system, 1, own=True).deliveries
    assert (own.assistant, own.query) == ("", "my own question")
    assert recorded(actor_system, 1).deliveries == (delivery,)


def test_what_an_assistant_named_is_noted(actor_system: ActorHarness) -> None:
    kept = actor_system.keep("the heron waits").id
    actor_system.supervisor.tell(
        NoteDelivery(
            assistant="a\ud800", session="mcp-1", parts=(DeliveredSpan(memory=kept, start=4, stop=9, why="by its id"),)
        )
    )
    (delivery,) = recorded(actor_system, 1, session="mcp-1").deliveries
    assert (delivery.occasion, delivery.assistant, delivery.tokens) == ("get", "a\\ud800", 2)
    assert [(part.data, part.why) for part in delivery.parts] == [(b"heron", "by its id")]


def test_what_was_given_is_filtered_and_paged(actor_system: ActorHarness) -> None:
    actor_system.keep("the heron waits", place=SHELF)
    for number in range(5):
        actor_system.clock.advance(1)
        scope = ("*", "work/shelf", "work")[number % 3]
        actor_system.recall("heron", observe=True, assistant="codex", asking_session=f"s{number}", scope=scope)
        recorded(actor_system, number + 1)  # before the clock goes on
    every = recorded(actor_system, 5)
    assert [one.session for one in every.deliveries] == ["s4", "s3", "s2", "s1", "s0"]
    assert not every.more
    first = recorded(actor_system, 2, limit=2)
    assert first.more
    rest = recorded(actor_system, 3, after=first.deliveries[-1].cursor)
    assert (*first.deliveries, *rest.deliveries) == every.deliveries
    assert [one.session for one in recorded(actor_system, 1, session="s2").deliveries] == ["s2"]
    assert [one.session for one in recorded(actor_system, 3, scope="work").deliveries] == ["s4", "s2", "s1"]
    assert [one.session for one in recorded(actor_system, 2, scope="work/shelf").deliveries] == ["s4", "s1"]
    assert actor_system.ask(ListDeliveries(scope="wor")).deliveries == ()
    assert actor_system.ask(ListDeliveries(session="\udcff", scope="\udcff")).deliveries == ()  # no store takes that
    at = every.deliveries[2].at
    assert [one.session for one in recorded(actor_system, 1, since=at, until=at + 1).deliveries] == ["s2"]
    for asked in ({"after": "x"}, {"limit": 0}):
        with pytest.raises(InvalidValue):
            actor_system.ask(ListDeliveries(**asked))


# --- one memory ------------------------------------------------------------------------------------------------------


def test_a_memory_is_shown_with_its_source_its_links_and_its_use(actor_system: ActorHarness) -> None:
    before = actor_system.keep("what came before", session="a")
    first = actor_system.keep("the pier is 40 m", session="a", kind="decision", speaker="Ada")
    after = actor_system.keep("what came after", session="a")
    second = actor_system.keep("it is 38 m", session="b", supersedes=first.id)
    third = actor_system.keep("it is 37 m", session="b", supersedes=second.id)
    actor_system.recall("pier", observe=True, assistant="codex", k=1, session="a")
    actor_system.recall("pier", observe=True, k=1, session="a")
    actor_system.recall("pier", observe=True, k=1, session="a")
    recorded(actor_system, 2, own=True)
    answer = actor_system.ask(ShowMemories(ids=(first.id, third.id)))
    assert isinstance(answer, MemoriesShown)
    old, new = answer.memories
    assert (old.memory.data, old.memory.speaker, old.memory.superseded_by) == (b"the pier is 40 m", "Ada", second.id)
    assert [link.id for link in old.newer] == [second.id, third.id]
    assert [link.data for link in old.newer] == [b"it is 38 m", b"it is 37 m"]
    assert all(link.since is not None for link in old.newer)
    assert [link.id for link in new.older] == [second.id]
    assert (old.older, new.newer) == ((), ())
    assert (old.previous, old.next) == (before.id, after.id)
    assert (new.previous, new.next) == (second.id, None)
    assert (old.author, old.scrubbed, old.original, old.mode) == ("direct", {}, False, "")
    assert old.seq is not None
    assert [(use.occasion, use.own, use.times) for use in sorted(old.uses, key=lambda use: use.own)] == [
        ("recall", False, 1),
        ("recall", True, 2),
    ]
    assert new.uses == ()


def test_what_was_said_around_a_memory_is_shown_in_order_with_itself_among_it(actor_system: ActorHarness) -> None:
    kinds: list[dict[str, Any]] = [{}] * 3 + [{"kind": "tool_result"}, {"kind": "note"}, {"kind": "thinking"}, {}, {}]
    kept = [actor_system.keep(f"turn {n}", session="a", **kind) for n, kind in enumerate(kinds)]
    actor_system.keep("elsewhere", session="b")
    actor_system.ask(Forget(ids=(kept[2].id,)))

    def around(n: int, context: int) -> list[str]:
        (one,) = actor_system.ask(ShowMemories(ids=(kept[n].id,), context=context)).memories
        assert [entry.id for entry in one.around].count(kept[n].id) == min(1, context)
        return [entry.text[-1] for entry in one.around]

    assert around(4, 0) == []
    assert around(4, 1) == ["1", "4", "6"]  # no results, no thinking, nothing forgotten
    assert around(4, 2) == ["0", "1", "4", "6", "7"]
    assert around(4, 100) == around(4, 2)
    assert around(0, 1) == ["0", "1"]
    assert around(7, 1) == ["6", "7"]
    assert around(3, 1) == ["1", "3", "4"]  # itself, whatever it is
    assert around(2, 1) == ["1", "2", "4"]
    for count in (-1, 101):
        with pytest.raises(InvalidValue, match="the context"):
            around(4, count)


def test_of_a_long_text_around_a_memory_the_start_is_shown(actor_system: ActorHarness) -> None:
    actor_system.keep("ä" * 5000, session="a")
    kept = actor_system.keep("short", session="a")
    (shown,) = actor_system.ask(ShowMemories(ids=(kept.id,), context=1)).memories
    assert [(one.text, one.size_bytes) for one in shown.around] == [("ä" * 1000, 10_000), ("short", 5)]


def test_of_equal_texts_each_is_shown_with_its_own_row_of_the_log(actor_system: ActorHarness) -> None:
    ids = [actor_system.keep("yes", session=session).id for session in ("a", "b", "c")]
    shown = actor_system.ask(ShowMemories(ids=tuple(ids))).memories
    seqs = [one.seq for one in shown]
    assert seqs == sorted(set(seqs))
    assert [one.memory.session for one in shown] == ["a", "b", "c"]


def test_a_memory_that_is_not_there_is_not_shown(actor_system: ActorHarness) -> None:
    kept = actor_system.keep("a memory").id
    with pytest.raises(NoSuchMemory):
        actor_system.ask(ShowMemories(ids=(kept, bytes(16))))


# --- use -------------------------------------------------------------------------------------------------------------


def test_use_is_counted_by_project_and_by_week(actor_system: ActorHarness) -> None:
    now = actor_system.clock.now_us()
    for weeks, place, text in (
        (0, SHELF, "this week"),
        (1, SHELF, "last week"),
        (1, PIER, "then too"),
        (60, PIER, "old"),
    ):
        actor_system.keep(text, place=place, said_at=now - weeks * 7 * DAY_US)
    actor_system.recall("week", scope="work/shelf", observe=True, assistant="codex", k=1)
    actor_system.recall("week", scope="work/shelf", observe=True)
    tokens = recorded(actor_system, 1).deliveries[0].tokens
    answer = actor_system.ask(CountUse(weeks=3))
    assert isinstance(answer, UseCounted)
    assert [(at - 4 * DAY_US) % (7 * DAY_US) for at in answer.weeks] == [0, 0, 0], "Mondays"
    assert 0 <= now - answer.weeks[0] < 7 * DAY_US
    assert [(use.memories, use.text_bytes, use.given, use.tokens) for use in answer.all] == [
        (1, 9, 1, tokens),
        (2, 17, 0, 0),
        (0, 0, 0, 0),
    ]
    pier, shelf = answer.projects
    assert (pier.path, pier.total.memories, [use.memories for use in pier.weeks]) == ("work/pier", 2, [0, 1, 0])
    assert (shelf.path, shelf.total.memories, shelf.total.given, shelf.total.tokens) == ("work/shelf", 2, 1, tokens)
    for weeks in (0, 521):
        with pytest.raises(InvalidValue):
            actor_system.ask(CountUse(weeks=weeks))


def test_seeing_writes_nothing(actor_system: ActorHarness) -> None:
    kept = actor_system.keep("a memory").id
    actor_system.embed()
    actor_system.bind()
    before = actor_system.ask(Count()).seq
    for message in (ListMemories(), ListDeliveries(), ShowMemories(ids=(kept,)), CountUse()):
        actor_system.ask(message)
    assert actor_system.ask(Count()).seq == before
