"""What is there is listed page by page, shown whole and counted; what cannot be asked is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.protocol.changes import Part, Place
from mnemic.actors.protocol.errors import InvalidValue, NoSuchMemory, UnknownScope
from mnemic.actors.protocol.log_messages import (
    MOST_LISTED,
    CountUse,
    GivenListed,
    ListGiven,
    ListMemories,
    MemoriesListed,
    NoteGiven,
    ShowMemories,
    ShownMemories,
    UseCounted,
)
from mnemic.actors.protocol.messages import Count, Forget
from tests.faces import until
from tests.society import START_US, Society

SHELF, PIER = (Place(path=path, project=None, found="named") for path in ("work/shelf", "work/pier"))
DAY_US = 24 * 3600 * 1_000_000


@pytest.fixture
def society(tmp_path: Path) -> Iterator[Society]:
    with Society(tmp_path) as society:
        yield society


def listed(society: Society, **asked: Any) -> MemoriesListed:
    answer = society.ask(ListMemories(**asked))
    assert isinstance(answer, MemoriesListed)
    return answer


def texts(society: Society, **asked: Any) -> list[str]:
    return [one.text.decode() for one in listed(society, **asked).memories]


def recorded(society: Society, count: int, **asked: Any) -> GivenListed:
    """What was given, once so much is in the log: what is told is not waited for."""
    found: list[GivenListed] = []

    def there() -> bool:
        found.append(society.ask(ListGiven(**asked)))
        return len(found[-1].givings) >= count

    until(there)
    return found[-1]


# --- what was captured -----------------------------------------------------------------------------------------------


def test_the_newest_said_is_listed_first_whenever_it_was_kept(society: Society) -> None:
    for text, day in (("second", 2), ("first", 1), ("fourth", 4), ("third", 3)):
        society.keep(text, said_at=START_US + day * DAY_US)
    assert texts(society) == ["fourth", "third", "second", "first"]
    assert texts(society, since=START_US + 2 * DAY_US, until=START_US + 4 * DAY_US) == ["third", "second"]


def test_it_is_listed_by_scope_session_and_kind(society: Society) -> None:
    society.keep("on the shelf", place=SHELF, session="a")
    society.keep("at the pier", place=PIER, session="b", kind="decision")
    society.keep("nowhere", session="a", kind="note")
    assert texts(society, scope="work") == ["at the pier", "on the shelf"]
    assert texts(society, scope="work/shelf") == ["on the shelf"]
    assert texts(society, session="a") == ["nowhere", "on the shelf"]
    assert texts(society, session="none") == []
    assert texts(society, kinds=("decision", "note")) == ["nowhere", "at the pier"]
    assert texts(society, scope="work", session="a", kinds=("turn",)) == ["on the shelf"]
    (entry,) = listed(society, kinds=("decision",)).memories
    assert (entry.scope, entry.session, entry.assistant, entry.kind) == ("work/pier", "b", "direct", "decision")


def test_what_was_forgotten_is_listed_where_it_is_asked_for_and_only_there(society: Society) -> None:
    gone, kept = society.keep("it goes").id, society.keep("it stays")
    society.ask(Forget(ids=(gone,), reason="it was wrong"))
    assert texts(society) == ["it stays"]
    (entry,) = listed(society, forgotten=True).memories
    assert (entry.id, entry.retired_reason) == (gone, "it was wrong")
    assert entry.retired_at is not None
    assert not listed(society).memories[0].replaced
    society.keep("it corrects", supersedes=kept.id)
    assert [(one.text, one.replaced) for one in listed(society).memories] == [
        (b"it corrects", False),
        (b"it stays", True),
    ]


def test_of_a_long_text_the_start_is_given_cut_between_two_characters(society: Society) -> None:
    society.keep("ä" * 10_000)
    (entry,) = listed(society, text_bytes=7).memories
    assert (entry.text.decode(), entry.size_bytes) == ("äää", 20_000)
    assert listed(society, text_bytes=0).memories[0].text == b""


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"limit": 0}, "the number of entries"),
        ({"limit": MOST_LISTED + 1}, "the number of entries"),
        ({"after": "here"}, "the cursor"),
        ({"after": f"{1 << 63}-1"}, "the cursor"),
        ({"after": "1-2\n"}, "the cursor"),
        ({"kinds": ("turn", "tale")}, "a kind"),
        ({"text_bytes": -1}, "text_bytes"),
    ],
)
def test_what_cannot_be_listed_is_refused_in_a_sentence(society: Society, asked: dict[str, Any], why: str) -> None:
    society.keep("a memory")
    with pytest.raises(InvalidValue) as caught:
        listed(society, **asked)
    assert caught.value.operands["name"] == why


def test_an_unknown_scope_is_said_and_not_an_empty_page(society: Society) -> None:
    society.keep("a memory", place=SHELF)
    with pytest.raises(UnknownScope):
        listed(society, scope="work/shelve")


# --- what was given --------------------------------------------------------------------------------------------------


def test_what_an_assistant_asked_for_is_listed_word_for_word_with_the_reasons(society: Society) -> None:
    long = "The heron waits. " * 900
    kept = society.keep(long, place=SHELF).id
    society.embed()
    recalled = society.recall("heron", scope="work/shelf", observe=True, assistant="codex", asking="mcp-1")
    society.recall("my own question", observe=True)
    society.ask(ListMemories())
    giving = recorded(society, 1).givings[0]
    assert (giving.occasion, giving.assistant, giving.session) == ("recall", "codex", "mcp-1")
    assert (giving.scope, giving.query, giving.tokens) == ("work/shelf", "heron", recalled.used_tokens)
    (part,), (hit,) = giving.parts, recalled.hits
    assert (part.id, part.text, part.start_byte, part.size_bytes) == (kept, hit.text, hit.start_byte, len(long))
    assert 0 < len(hit.text) < len(long)
    assert part.why == ", ".join(f"{name} {share:.2f}" for name, share in hit.why.items())
    (own,) = recorded(society, 1, own=True).givings
    assert (own.assistant, own.query) == ("", "my own question")
    assert recorded(society, 1).givings == (giving,)


def test_what_an_assistant_named_is_noted(society: Society) -> None:
    kept = society.keep("the heron waits").id
    society.supervisor.tell(
        NoteGiven(assistant="a\ud800", session="mcp-1", parts=(Part(memory=kept, start=4, stop=9, why="by its id"),))
    )
    (giving,) = recorded(society, 1, session="mcp-1").givings
    assert (giving.occasion, giving.assistant, giving.tokens) == ("get", "a\\ud800", 2)
    assert [(part.text, part.why) for part in giving.parts] == [(b"heron", "by its id")]


def test_what_was_given_is_filtered_and_paged(society: Society) -> None:
    society.keep("the heron waits", place=SHELF)
    for number in range(5):
        society.clock.advance(1)
        scope = ("*", "work/shelf", "work")[number % 3]
        society.recall("heron", observe=True, assistant="codex", asking=f"s{number}", scope=scope)
        recorded(society, number + 1)  # before the clock goes on
    every = recorded(society, 5)
    assert [one.session for one in every.givings] == ["s4", "s3", "s2", "s1", "s0"]
    assert not every.more
    first = recorded(society, 2, limit=2)
    assert first.more
    rest = recorded(society, 3, after=first.givings[-1].cursor)
    assert (*first.givings, *rest.givings) == every.givings
    assert [one.session for one in recorded(society, 1, session="s2").givings] == ["s2"]
    assert [one.session for one in recorded(society, 3, scope="work").givings] == ["s4", "s2", "s1"]
    assert [one.session for one in recorded(society, 2, scope="work/shelf").givings] == ["s4", "s1"]
    assert society.ask(ListGiven(scope="wor")).givings == ()
    assert society.ask(ListGiven(session="\udcff", scope="\udcff")).givings == ()  # no store takes that
    at = every.givings[2].at
    assert [one.session for one in recorded(society, 1, since=at, until=at + 1).givings] == ["s2"]
    for asked in ({"after": "x"}, {"limit": 0}):
        with pytest.raises(InvalidValue):
            society.ask(ListGiven(**asked))


# --- one memory ------------------------------------------------------------------------------------------------------


def test_a_memory_is_shown_with_its_source_its_links_and_its_use(society: Society) -> None:
    before = society.keep("what came before", session="a")
    first = society.keep("the pier is 40 m", session="a", kind="decision", speaker="Ada")
    after = society.keep("what came after", session="a")
    second = society.keep("it is 38 m", session="b", supersedes=first.id)
    third = society.keep("it is 37 m", session="b", supersedes=second.id)
    society.recall("pier", observe=True, assistant="codex", k=1, session="a")
    society.recall("pier", observe=True, k=1, session="a")
    society.recall("pier", observe=True, k=1, session="a")
    recorded(society, 2, own=True)
    answer = society.ask(ShowMemories(ids=(first.id, third.id)))
    assert isinstance(answer, ShownMemories)
    old, new = answer.memories
    assert (old.memory.text, old.memory.speaker, old.memory.superseded_by) == (b"the pier is 40 m", "Ada", second.id)
    assert [link.id for link in old.newer] == [second.id, third.id]
    assert [link.text for link in old.newer] == [b"it is 38 m", b"it is 37 m"]
    assert all(link.since is not None for link in old.newer)
    assert [link.id for link in new.older] == [second.id]
    assert (old.older, new.newer) == ((), ())
    assert (old.previous, old.next) == (before.id, after.id)
    assert (new.previous, new.next) == (second.id, None)
    assert (old.author, old.scrubbed, old.original, old.mode) == ("capture", {}, False, "")
    assert old.seq is not None
    assert [(use.occasion, use.own, use.times) for use in sorted(old.uses, key=lambda use: use.own)] == [
        ("recall", False, 1),
        ("recall", True, 2),
    ]
    assert new.uses == ()


def test_of_equal_texts_each_is_shown_with_its_own_row_of_the_log(society: Society) -> None:
    ids = [society.keep("yes", session=session).id for session in ("a", "b", "c")]
    shown = society.ask(ShowMemories(ids=tuple(ids))).memories
    seqs = [one.seq for one in shown]
    assert seqs == sorted(set(seqs))
    assert [one.memory.session for one in shown] == ["a", "b", "c"]


def test_a_memory_that_is_not_there_is_not_shown(society: Society) -> None:
    kept = society.keep("a memory").id
    with pytest.raises(NoSuchMemory):
        society.ask(ShowMemories(ids=(kept, bytes(16))))


# --- use -------------------------------------------------------------------------------------------------------------


def test_use_is_counted_by_project_and_by_week(society: Society) -> None:
    now = society.clock.now_us()
    for weeks, place, text in (
        (0, SHELF, "this week"),
        (1, SHELF, "last week"),
        (1, PIER, "then too"),
        (60, PIER, "old"),
    ):
        society.keep(text, place=place, said_at=now - weeks * 7 * DAY_US)
    society.recall("week", scope="work/shelf", observe=True, assistant="codex", k=1)
    society.recall("week", scope="work/shelf", observe=True)
    tokens = recorded(society, 1).givings[0].tokens
    answer = society.ask(CountUse(weeks=3))
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
            society.ask(CountUse(weeks=weeks))


def test_seeing_writes_nothing(society: Society) -> None:
    kept = society.keep("a memory").id
    society.embed()
    society.bind()
    before = society.ask(Count()).seq
    for message in (ListMemories(), ListGiven(), ShowMemories(ids=(kept,)), CountUse()):
        society.ask(message)
    assert society.ask(Count()).seq == before
