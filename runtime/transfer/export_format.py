"""The export format: one struct for each kind of JSON line (docs/export.md).

Each line of a file is one of the structs below. Times are microseconds since 1970 UTC, ids are UUIDs, hashes are
hexadecimal. A field that holds its default is left out, and one that is not known is passed over when it is read, so
that a later version may add some. `mnemic.runtime.transfer.export` writes it, `mnemic.runtime.transfer.export_source`
reads it.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal

import msgspec

from mnemic.actors.kernel.events import Author, Kind, Outcome, Role, to_text

FORMAT = "mnemic-export"
VERSION = 1
MANIFEST = "manifest.json"


StoreInteger = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""A number that the store can hold."""


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    pass


class _WithText(_Line, frozen=True, kw_only=True):
    text: str = ""
    """A text, byte for byte, where it is UTF-8."""
    text_base64: str = ""
    """Its bytes, where it is not: it holds halves of surrogate pairs, as they came."""


class IdentityBasis(_Line, frozen=True, kw_only=True):
    """What the identity of a memory was made from, beside assistant, session, kind and role.

    With it, another mind, which hashes with another key, finds that it is the same event.
    """

    rule: str
    """``id``: its `source_id`. ``text``: its text without the white space around it, and what follows. ``other``:
    something that was not kept (see docs/export.md)."""
    occurrence: StoreInteger = 0
    """Which occurrence of the text in the session it is, from 1."""
    occasion: str | None = None
    """The time that the source named, as it was written there, where that tells equal texts apart."""
    kind: Kind | None = None
    """The kind it was made from, where the memory has another one by now."""
    role: Role | None = None
    """The role it was made from, likewise."""


class ExportedScope(_Line, frozen=True, kw_only=True):
    """A line of ``scopes.jsonl``."""

    path: str
    """The scope's path; ``""`` for what belongs to no project."""
    found: str
    """How it was found: ``named``, ``.mnemic.toml``, ``git``, ``folder`` or ``none``."""
    project: str | None = None
    """What makes the project itself, on the machine of the export: a git directory or a folder."""
    also: tuple[str, ...] = ()
    """Other projects whose memories belong here, because their scopes were merged into this one."""


class ExportedSession(_Line, frozen=True, kw_only=True):
    """A line of ``sessions.jsonl``."""

    assistant: str
    """The host."""
    session: str
    """The conversation."""
    mode: str = ""
    """``headless``, ``subagent``, or nothing."""


class ExportedMemory(_WithText, frozen=True, kw_only=True):
    """A line of ``memories.jsonl``; in the order in which they were kept."""

    id: str
    """The memory."""
    identity: str
    """The keyed hash by which it is kept once; the key's name is in the manifest."""
    known_by: IdentityBasis
    """What that was made from."""
    assistant: str
    """The host."""
    session: str
    """The conversation."""
    scope: str
    """Path of its scope, a line of ``scopes.jsonl``."""
    kind: Kind
    """What it is."""
    role: Role
    """Who it comes from."""
    recorded_at: StoreInteger
    """When it was kept."""
    said_at: StoreInteger | None = None
    """When it was said, where that is known."""
    source_id: str | None = None
    """The input's own id."""
    speaker: str | None = None
    """Name of who spoke."""
    branch: str | None = None
    """Git branch."""
    tool: str | None = None
    """Tool name."""
    outcome: Outcome | None = None
    """How the tool call ended."""
    author: Author | None = None
    """Whose words it holds; where it is left out, those of its role."""
    utc_offset_min: StoreInteger | None = None
    """Minutes east of UTC of the clock it was said by."""
    files: tuple[str, ...] = ()
    """Files touched."""
    scrubbed: tuple[tuple[str, StoreInteger], ...] = ()
    """Types of secrets that were taken out of the text, and how many of each."""
    superseded_by: str | None = None
    """The memory that replaced it."""
    superseded_at: StoreInteger | None = None
    """When that was said."""
    retired_at: StoreInteger | None = None
    """When it was forgotten (hidden from recall)."""
    retired_reason: str = ""
    """Why."""


class ExportedOriginal(_WithText, frozen=True, kw_only=True):
    """A line of ``originals.jsonl``: a memory's words before secrets were taken out, where the setting keeps them."""

    memory: str
    """The memory."""


class ExportedOccurrences(_Line, frozen=True, kw_only=True):
    """A line of ``occurrences.jsonl``: how often a text without an id of its host's has occurred in its session."""

    identity: str
    """Of the first occurrence."""
    hooks: StoreInteger = 0
    """So often hooks reported it."""
    missed: StoreInteger = 0
    """So much more often its transcript told it."""
    read_at: StoreInteger = 0
    """When the transcript was read that told more."""


class ExportedQuarantined(_WithText, frozen=True, kw_only=True):
    """A line of ``aside.jsonl``: what a hook kept and nobody has understood yet; without a text once somebody has."""

    record: str
    """Its id."""
    assistant: str
    """The host."""
    event: str
    """What the adapter calls it."""
    why: str
    """What is wrong with it."""
    recorded_at: StoreInteger
    """When it was quarantined."""
    at: StoreInteger = 0
    """When it was written."""
    cwd: str | None = None
    """The folder the host worked in."""
    branch: str | None = None
    """The git branch."""
    readmitted_at: StoreInteger | None = None
    """When it was understood after all; of one that lost its words to an erase `recorded_at`: it waits no more."""


class ExportedPart(_Line, frozen=True, kw_only=True):
    """What was given of one memory."""

    memory: str
    """The memory."""
    start: StoreInteger
    """Where in the text it starts, in bytes."""
    stop: StoreInteger
    """Where it ends."""
    why: str = ""
    """Why it was chosen."""


class ExportedDelivery(_Line, frozen=True, kw_only=True):
    """A line of ``givings.jsonl``: what was given once, asked or unasked."""

    at: StoreInteger
    """When."""
    occasion: str
    """What was asked by (a recall's own word for it), or ``session-start`` or ``prompt``."""
    assistant: str = ""
    """To whom; empty where the owner asked."""
    session: str = ""
    """In which conversation."""
    scope: str = ""
    """For which scope."""
    query: str = ""
    """What was asked."""
    tokens: StoreInteger = 0
    """How long it was."""
    parts: tuple[ExportedPart, ...] = ()
    """Of which memories, in order."""


class ExportedIgnoredSession(_Line, frozen=True, kw_only=True):
    """A line of ``silenced.jsonl``: a conversation that is left alone."""

    assistant: str
    """The host."""
    session: str
    """The conversation."""


class ExportedVerdict(_Line, frozen=True, kw_only=True):
    """A line of ``verdicts.jsonl``: what somebody said that two statements are to each other."""

    older: str
    """The memory of the one said earlier."""
    older_start: StoreInteger
    """The byte at which its value begins."""
    newer: str
    """The memory of the other."""
    newer_start: StoreInteger
    """The byte at which its value begins."""
    verdict: Literal["newer", "older", "both", "unrelated"]
    """What they are; see docs/cli.md."""
    by: str
    """Who said so."""


class ExportedMerge(_Line, frozen=True, kw_only=True):
    """A line of ``merges.jsonl``: a name that goes by another one, as a person said."""

    mark: str
    """The keyed hash of the name, as `identity` of a memory."""
    into_mark: str
    """That of the other."""
    name: str = ""
    """Its normal form, where a memory names it."""
    into: str = ""
    """That of the other."""


class ExportedErased(_Line, frozen=True, kw_only=True):
    """A line of ``erased.jsonl``: a memory that was removed for good, and is not kept again."""

    identity: str
    """Its keyed hash."""


class ExportedBackup(_Line, frozen=True, kw_only=True):
    """A line of ``backups.jsonl``: a backup or an export that was made before."""

    path: str
    """Where."""
    what: str
    """``backup`` or ``export``."""
    size_bytes: StoreInteger
    """How long it was."""
    at: StoreInteger
    """When."""


FILES: dict[str, type[_Line]] = {
    "scopes.jsonl": ExportedScope,
    "sessions.jsonl": ExportedSession,
    "memories.jsonl": ExportedMemory,
    "originals.jsonl": ExportedOriginal,
    "occurrences.jsonl": ExportedOccurrences,
    "aside.jsonl": ExportedQuarantined,
    "givings.jsonl": ExportedDelivery,
    "silenced.jsonl": ExportedIgnoredSession,
    "verdicts.jsonl": ExportedVerdict,
    "merges.jsonl": ExportedMerge,
    "erased.jsonl": ExportedErased,
    "backups.jsonl": ExportedBackup,
}
"""Every file of an export, and what each of its lines is."""


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the manifest says of one file."""

    lines: int
    """How many it has."""
    size_bytes: int
    """How long it is."""
    sha256: str
    """Of its bytes, hexadecimal."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``manifest.json``: written last."""

    format: str
    """``mnemic-export``."""
    version: int
    """Of the form; a version that a program does not know is not read by it."""
    mnemic: str
    """Version of the program that wrote it."""
    made_at: int
    """When."""
    mind: str
    """Name of the mind."""
    identities: str
    """Names the key that identities are hashed with; tells nothing of it."""
    files: dict[str, FileEntry]
    """All files beside this one."""


def text_fields(data: bytes) -> dict[str, Any]:
    """Stored text as the fields of a line."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"text_base64": base64.b64encode(data).decode()}


def text_bytes(line: _WithText) -> bytes:
    """The text of a line as it is stored.

    Raises:
        ValueError: it is no base64, or no UTF-8 that lets surrogates pass.
    """
    if not line.text_base64:
        return line.text.encode("utf-8")
    try:
        data = base64.b64decode(line.text_base64, validate=True)
        to_text(data)
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("a text cannot be read") from None
    return data
