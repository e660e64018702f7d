"""What the readers of chat programs' exports share: how a format is known and read, times, titles, names and documents.

`mnemic.hooks.imports.chatgpt` and `mnemic.hooks.imports.claude_export` stand above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from mnemic.actors.kernel.events import Author, Event, UnknownFields
from mnemic.hooks.read.lines import EventFactory, Json, nonblank_text
from mnemic.hooks.read.markdown import sections

_MOST_SECONDS = 1e11  # the year 5138
Group = Iterable[Event | UnknownFields]
"""The events of one message; where it raises, that message is told of, and the next group is read."""
ReadValue = Callable[[Json], Iterator[Group]]
"""Reads one value of a file's list, message by message. Raises `InvalidInput` where it has no messages."""


class ChatFormat(NamedTuple):
    """How one program's export is known and read."""

    name: str
    """The format's name."""
    key: str
    """The key of a conversation that no other program's has."""
    names: frozenset[str]
    """What lies beside its conversations, and beside no other's."""
    conversation: ReadValue
    """Reads a conversation."""
    others: dict[str, ReadValue]
    """Reads a value of another file, by what the file's name begins with."""


def seconds_to_us(value: object) -> int | None:
    """Seconds since 1970 as microseconds; ``None`` where it is no time."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MOST_SECONDS:
        return round(value * 1_000_000)
    return None


def title_events(make: EventFactory, title: object, untitled: tuple[str, ...]) -> Group:
    """A conversation's title, as a summary: with the others of its kind it is asked for by name, since a few words that
    stand for a whole conversation would stand before every answer in it. A title that is none is nothing.

    Args:
        untitled: what a conversation is called that nobody has given a title.
    """
    text = nonblank_text(title)
    if text is not None and text not in untitled:
        yield make("summary", "system", text, disambiguator="title")


def document_events(
    make: EventFactory, path: Iterable[str | None], text: object, role: Any = "user", author: Author | None = None
) -> Group:
    """A document as notes: what stands under one heading is one, with the headings before it, as of a Markdown file.

    Known again by its words: where a part of it has changed, that part alone is new.

    Args:
        author: whose words they are, where that is not the role's.
    """
    written = nonblank_text(text)
    if written is None:
        return
    above = [name for name in path if name and name.strip()]
    for section in sections(written):
        head = " > ".join([*above, *section.path])
        for part in section.parts:
            yield make("note", role, "\n\n".join(filter(None, (head, part))), author=author, disambiguator="document")


def file_names(value: object, name: str) -> tuple[str, ...]:
    """The names in a list of files, by the field that holds each."""
    listed = value if isinstance(value, list) else []
    return tuple(text for one in listed if isinstance(one, dict) and (text := nonblank_text(one.get(name))))
