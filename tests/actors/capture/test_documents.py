"""An edited section of a document replaces the one it was, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.capture.messages import CaptureTranscript
from mnemic.actors.kernel.events import Event, to_bytes
from mnemic.actors.log.messages import ListMemories
from tests.harness import ActorHarness, ListSource


class DocumentSource(ListSource):
    format = "markdown"


def sections(**texts: str) -> list[Event]:
    return [
        Event(
            assistant="generic",
            session="/notes/a.md",
            kind="note",
            role="user",
            text=to_bytes(text.strip()),
            source_id=name.removesuffix("_"),
        )
        for name, text in texts.items()
    ]


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path, batch_events=2) as actor_system:
        yield actor_system


def take(actor_system: ActorHarness, **texts: str) -> tuple[int, int]:
    """Take a document in; says how many of its sections are new and how many known."""
    actor_system.open_source = lambda path, format: DocumentSource(sections(**texts))
    parts = actor_system.take("/notes/a.md")
    return sum(part.new for part in parts), sum(part.known for part in parts)


def kept(actor_system: ActorHarness) -> list[tuple[str, bool]]:
    """What is kept, oldest first, and whether it was replaced."""
    page = actor_system.ask(ListMemories())
    return [(one.text, one.replaced) for one in reversed(page.memories)]


def test_twice_is_once_and_what_was_edited_is_replaced(actor_system: ActorHarness) -> None:
    before = {"intro": "hello", "pier": "it costs 40", "log": "rain"}
    assert take(actor_system, **before) == (3, 0)
    assert take(actor_system, **before) == (0, 3)
    assert take(actor_system, **before | {"pier": "it costs 45"}) == (1, 2)
    after = [("hello", False), ("it costs 40", True), ("rain", False), ("it costs 45", False)]
    assert kept(actor_system) == after
    assert take(actor_system, **before | {"pier": "it costs 45"}) == (0, 3)
    assert kept(actor_system) == after


def test_what_is_put_back_holds_again(actor_system: ActorHarness) -> None:
    for text in ("open", "closed", "open", "closed", "open"):
        assert take(actor_system, state=text) == (1, 0)
        assert take(actor_system, state=text) == (0, 1)
    assert kept(actor_system) == [(text, True) for text in ("open", "closed", "open", "closed")] + [("open", False)]


def test_a_section_that_only_moved_replaces_nothing(actor_system: ActorHarness) -> None:
    take(actor_system, note="first", note_2="second")
    assert take(actor_system, note="new", note_2="first", note_3="second") == (1, 2)
    assert [replaced for _, replaced in kept(actor_system)] == [False] * 3


def test_what_was_taken_out_stays_and_what_was_forgotten_stays_so(actor_system: ActorHarness) -> None:
    take(actor_system, a="one", b="two")
    assert take(actor_system, a="one") == (0, 1)
    assert kept(actor_system) == [("one", False), ("two", False)]
    gone = next(one.id for one in actor_system.ask(ListMemories()).memories if one.text == "one")
    actor_system.ask(Forget(ids=(gone,)))
    assert take(actor_system, a="one", b="two") == (0, 2)
    assert take(actor_system, a="other", b="two") == (1, 1)
    assert kept(actor_system) == [("two", False), ("other", False)]


def test_the_same_words_in_two_sections_are_two_edited_or_not(actor_system: ActorHarness) -> None:
    take(actor_system, a="same", b="same ")
    take(actor_system, a="other", b="same ")
    assert take(actor_system, a="same", b="same ") == (1, 1)
    assert take(actor_system, a="same", b="same ") == (0, 2)
    assert sum(not replaced for _, replaced in kept(actor_system)) == 2


def test_of_several_sessions_in_one_document_each_replaces_its_own(actor_system: ActorHarness) -> None:
    def take_both(first: str, second: str) -> int:
        events = [
            msgspec.structs.replace(section, session=session)
            for session, text in (("one", first), ("two", second))
            for section in sections(a=text, b="the same")
        ]
        actor_system.open_source = lambda path, format: DocumentSource(events)
        return sum(part.new for part in actor_system.take("/store"))

    assert take_both("hello", "hello") == 4
    assert take_both("hello", "goodbye") == 1
    assert take_both("hello", "goodbye") == 0
    replaced = [(one.session, one.text) for one in actor_system.ask(ListMemories()).memories if one.replaced]
    assert replaced == [("two", "hello")]


def test_a_document_in_no_project_belongs_to_the_folder_that_was_named(
    actor_system: ActorHarness, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "repository" / ".git").mkdir(parents=True)
    for name in ("HEAD", "objects", "refs"):
        (folder / "repository" / ".git" / name).touch()
    scopes = []
    for place in ("deep", "repository"):
        event = Event(
            assistant="generic", session=place, kind="note", role="user", text=b"words", cwd=str(folder / place)
        )
        actor_system.open_source = lambda path, format, event=event: DocumentSource([event])
        for named in (str(folder), None):
            asked = CaptureTranscript(path=f"{place} {named}", format="markdown", scope=None, skip=0, folder=named)
            actor_system.ask(asked)
        scopes.append({one.scope for one in actor_system.ask(ListMemories(session=place)).memories})
    assert scopes == [{"notes"}, {"repository"}]
