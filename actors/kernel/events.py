"""Input types: one thing said or done in a session, and the other reports an assistant's hook can make.

The adapters of `mnemic.hooks` make them; `mnemic.actors.capture.capture` turns them into memories. Text is bytes, UTF-8
with surrogates passed through, because most libraries refuse the lone surrogate that a real transcript holds now and
then.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from mnemic.actors.kernel.times import Zone, from_local

Role = Literal["user", "assistant", "tool", "system"]
Kind = Literal["turn", "tool_call", "tool_result", "decision", "note", "summary", "thinking", "injected"]
Outcome = Literal["ok", "failed"]
Author = Literal["owner", "assistant", "other", "unknown"]
"""Whose words a memory holds: those of the mind's owner, of an assistant, of another person, or of nobody known."""

ROLES: tuple[str, ...] = get_args(Role)
KINDS: tuple[str, ...] = get_args(Kind)
AUTHORS: tuple[str, ...] = get_args(Author)
DEFAULT_KINDS: tuple[str, ...] = ("turn", "tool_call", "decision", "note")
"""What recall looks through unless asked otherwise: bulk tool output, a compaction's summary, a model's thinking and
what a host injected stay out."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing said or done in a session."""

    assistant: str
    """The host it comes from: ``claude-code``, ``codex``, or ``generic`` for imports."""
    session: str
    """The host's id of the conversation; a subagent's is ``<session>/<agent id>``."""
    kind: Kind
    """What it is; `DEFAULT_KINDS` are recalled unless asked otherwise."""
    role: Role
    """Who it comes from."""
    text: bytes
    """What was said or done, whole: UTF-8 with ``surrogatepass``."""
    host_id: str | None = None
    """The host's own id of the turn or tool call, as both its hooks and its transcript give it; else ``None``."""
    source_id: str | None = None
    """The input's own id of this line, kept for whoever made it; no part of the identity unless it is `host_id`."""
    disambiguator: str | None = None
    """What else tells equal texts of a session apart, for sources that no second channel reports: the time that a
    generic line names. Without it only their count does."""
    speaker: str | None = None
    """The name of who spoke, where the source gives one."""
    said_at: int | None = None
    """World time, microseconds since 1970 UTC."""
    cwd: str | None = None
    """The folder the session worked in."""
    branch: str | None = None
    """The git branch it worked on, as the host wrote it."""
    scope: str | None = None
    """The scope the source itself names; ``None`` lets the folder decide."""
    tool: str | None = None
    """Name of the tool, for tool calls and results."""
    outcome: Outcome | None = None
    """How a tool call ended."""
    files: tuple[str, ...] = ()
    """Files the call touched, as the host names them."""
    headless: bool = False
    """Whether its host says that nobody sits in front of the session: a program started it."""
    subagent: bool = False
    """Whether an agent asked for the session."""
    author: Author | None = None
    """Whose words these are; ``None`` where `author_of` its role is right."""
    utc_offset_min: int | None = None
    """Minutes east of UTC of the clock it was said by, where the source tells them."""
    is_local: bool = False
    """Whether `said_at` is as a clock on the wall showed it, since the source names no offset; see `in_world_time`."""
    reported_as: tuple[Kind, Role] | None = None
    """Kind and role under which a hook reports the same text; they make the identity, in place of `kind` and `role`."""
    formerly_text: bytes | None = None
    """The longer text that an earlier version kept as one turn of the user's, where `text` is a part of it."""
    undelivered: bool = False
    """Whether it waited in the host's queue when this was read: its hook may still tell of the same occurrence."""


def author_of(role: str) -> Author:
    """Whose words a role's are, unless the source says otherwise."""
    return "owner" if role == "user" else "assistant" if role == "assistant" else "unknown"


def in_world_time(event: Event, zone: Zone) -> Event:
    """An event whose `said_at` is world time: what is local is read by the clocks of a zone."""
    if not event.is_local or event.said_at is None:
        return event
    return msgspec.structs.replace(event, said_at=from_local(event.said_at, zone), is_local=False)


class MalformedLine(msgspec.Struct, frozen=True):
    """A line that could not be read; it is counted and shown, and the rest goes on."""

    line: int
    """Number of the line, from 1."""
    why: str
    """What is wrong with it, without its text."""


DOCUMENT_FORMATS = ("markdown", "obsidian", "basic-memory", "mem0", "mempalace")
"""Formats of what is edited: what stood under a source's own id, and is there no more, was replaced."""


class UnknownFields(msgspec.Struct, frozen=True):
    """Fields of a line that mean nothing to whoever reads it; what the others say is kept."""

    names: tuple[str, ...]
    """Their names, each once."""


SourceItem = Event | MalformedLine | UnknownFields
"""What a transcript is read as."""


class HookRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of a hook kept: the bytes that the host gave it, as they came, and what it saw itself."""

    id: bytes
    """Of this record alone, 16 bytes."""
    assistant: str
    """The host whose adapter wired the hook."""
    event: str
    """What the adapter calls this event (``session-start``, ``prompt``, ``reply``, ``tool``, …)."""
    at: int
    """World time, microseconds since 1970 UTC, by the clock of the machine at that moment."""
    cwd: str | None
    """The folder the host worked in: what it says itself, else the hook's own."""
    branch: str | None
    """The git branch checked out there then; ``None`` outside of a repository, and where no branch is."""
    main_folder: str | None = None
    """The main folder of the repository whose worktree `cwd` lay in then; ``None`` where it lay in none."""
    entry: str | None = None
    """How the host told its hooks that it was started, in its own word; ``None`` where it does not."""
    payload: bytes
    """What the host wrote on the hook's standard input, byte for byte."""


class TranscriptRef(msgspec.Struct, frozen=True, kw_only=True):
    """Where the host keeps the transcript of a session: the safety net for what its hooks miss."""

    path: str
    """The file."""
    format: str
    """The name it is read by, as in `mnemic.hooks.read.formats`."""
    ended: bool
    """Whether the session is over: taken at once; else only when the session has been silent for long."""


class SelfTestEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A trial event: somebody looks whether what this host's hooks keep arrives."""

    assistant: str
    """The host."""
    nonce: str
    """What tells this trial from others."""


class IgnoredSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that its user wants left alone: its transcript is not to be read either."""

    assistant: str
    """The host."""
    session: str
    """The conversation."""


COMMITS = "git"
"""The assistant that commits of a repository are kept under: their author is a name and an address that anybody can
write."""
MCP_PREFIX = "mcp:"
"""What the name of who let a memory in starts with, where that was an assistant that called a tool."""
IGNORED_SESSION = "silenced"
"""What a hook calls the record that only says this."""
HookEvent = Event | TranscriptRef | SelfTestEvent | IgnoredSession
"""What a record stands for."""


def to_bytes(text: str) -> bytes:
    """Encode text as it is stored; lone surrogates pass."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """Decode stored text; lone surrogates come back."""
    return data.decode("utf-8", "surrogatepass")


def escape_surrogates(name: Any) -> Any:
    """A name as it can be kept: a lone surrogate is written out, since SQLite's text cannot hold it; ``None`` stays."""
    if not isinstance(name, str) or name.isascii():
        return name
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
