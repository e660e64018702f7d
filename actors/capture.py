"""The Capture actor: turns what happened into memories, each once, by the identity rule.

A transcript is taken in parts, so that nobody waits for a whole one and a kill loses nothing acknowledged. The rule
(docs/decisions/0001-identity.md): the key of an event is a keyed hash of assistant, session, kind and role with the
host's own id of it; where there is none, with its bytes and the number of times they occurred in the session so far.
White space around the bytes does not count: one host's hook trims it, and its transcript does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import msgspec

from mnemic.actors.changes import AddMemory, Change, Place, Supersede, named_once
from mnemic.actors.contract import CONTRACT, Context, Setting
from mnemic.actors.errors import BadInput, InvalidValue, SourceUnreadable
from mnemic.actors.events import KINDS, ROLES, Event, Malformed, printable, to_bytes, to_text
from mnemic.actors.forgetting import forget
from mnemic.actors.messages import (
    Applied,
    Apply,
    CaptureText,
    Forget,
    Forgotten,
    Kept,
    Recover,
    Take,
    Taken,
    TextCaptured,
)
from mnemic.actors.ports import Digest, Locate, Ports, Source, TranscriptOpener

__all__ = ["CaptureActor", "identity_of", "new_id"]


class CaptureActor:
    """Takes in transcripts and single texts, and takes back what is to be forgotten."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Take, CaptureText, Forget, Recover)
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("capture.batch_events", 256, "events", "How many events of a transcript one transaction keeps.", 1),
        Setting("capture.batch_bytes", 4 << 20, "bytes", "A transaction is closed once its texts are this long.", 1),
    )
    pinned: ClassVar[bool] = True

    def __init__(
        self, opener: TranscriptOpener, locate: Locate, identity: Digest, batch_events: int, batch_bytes: int
    ) -> None:
        self._open = opener
        self._locate = locate
        self._identity = identity
        self._batch_events = batch_events
        self._batch_bytes = batch_bytes
        self._readings: dict[tuple[str, str, str | None], _Reading] = {}

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Take what reads transcripts and what tells events apart."""
        settings = ports.settings
        return cls(
            ports.open_transcript,
            ports.locate,
            ports.identity,
            settings["capture.batch_events"],
            settings["capture.batch_bytes"],
        )

    def handle(self, message: Any, context: Context) -> Taken | TextCaptured | Forgotten:
        """Take in a part of a transcript, or one text; forget memories, or take that back.

        Raises:
            SourceUnreadable, AmbiguousFormat: nothing of this part was kept; earlier parts are.
            StoreError: this part was not kept; earlier ones are.
            NoSuchMemory, InvalidValue: nothing was changed.
        """
        if isinstance(message, Forget | Recover):
            return forget(message, context)
        if isinstance(message, CaptureText):
            return self._capture_text(message, context)
        return self._take(message, context)

    def close(self) -> None:
        """Let go of the transcripts that are half read."""
        for reading in self._readings.values():
            reading.source.close()
        self._readings.clear()

    def _take(self, message: Take, context: Context) -> Taken:
        name = (message.path, message.format, message.scope)
        reading = self._readings.pop(name, None)
        if reading is None or reading.taken != message.skip:
            if reading is not None:
                reading.source.close()
            reading = _Reading(self._open(message.path, message.format), self._identity)
            if message.skip and reading.source.size_bytes is None:
                reading.source.close()
                raise SourceUnreadable(path=message.path, why="the reading broke off, and a pipe cannot be read again")
        try:
            for _ in reading.items(message.skip):
                pass  # counts what earlier parts have taken; their memories are kept
            taken = self._part(reading, message, context)
        except BaseException:
            reading.source.close()
            raise
        if taken.done:
            reading.source.close()
        else:
            self._readings[name] = reading
        return taken

    def _part(self, reading: _Reading, message: Take, context: Context) -> Taken:
        changes: list[AddMemory] = []
        named: list[str] = []
        by_id: list[bool] = []  # whether the host gave the event an id
        malformed: list[tuple[int, str]] = []
        size, done = 0, True
        for item, identity in reading.items(None):
            if isinstance(item, Malformed):
                malformed.append((item.line, item.why))
            elif isinstance(place := self._place(item, message.scope), str):
                malformed.append((reading.taken, place))
            else:
                changes.append(_memory(item, identity, place, context))
                by_id.append(item.host_id is not None)
                named.append(place.path)
                size += len(item.text)
            if len(changes) + len(malformed) >= self._batch_events or size >= self._batch_bytes:
                done = False
                break
        kept: tuple[Kept, ...] = ()
        if changes:
            key = named_once("take", context.trace, *(change.identity for change in changes))
            kept = self._apply(tuple(changes), key, context).kept
        return Taken(
            format=reading.source.format,
            taken=reading.taken,
            done=done,
            position_bytes=reading.source.position_bytes,
            size_bytes=reading.source.size_bytes,
            new=sum(one.created for one in kept),
            known=sum(not one.created for one in kept),
            differing=sum(named and not one.same_text for named, one in zip(by_id, kept, strict=True)),
            elsewhere=0
            if message.scope is None
            else sum(not one.created and one.scope != asked for one, asked in zip(kept, named, strict=True)),
            retired=sum(one.retired_at is not None for one in kept),
            malformed=tuple(malformed),
            scopes=tuple(sorted({one.scope for one in kept if one.created})),
        )

    def _place(self, event: Event, scope: str | None) -> Place | str:
        """Where an event belongs; or why that cannot be told: it is left for a later capture, and the rest goes on."""
        try:
            return self._locate(printable(event.scope if scope is None else scope), event.cwd)
        except BadInput as error:
            if scope is not None:
                raise
            return f"item not kept: {error}"

    def _capture_text(self, message: CaptureText, context: Context) -> TextCaptured:
        _check(message)
        event = Event(
            assistant=message.assistant,
            session=message.session,
            kind=message.kind,
            role=message.role,
            text=message.text,
            speaker=message.speaker,
            said_at=context.now if message.said_at is None else message.said_at,
        )
        identity = identity_of(event, 1, self._identity)
        if message.supersedes is not None:  # who goes back to an earlier word says something new
            identity = self._identity(b"supersedes", message.supersedes, identity)
        memory = _memory(event, identity, message.place, context)
        changes: tuple[Change, ...] = (memory,)
        if message.supersedes is not None:
            changes = (memory, Supersede(old=message.supersedes, new=memory.id))
        kept = self._apply(changes, named_once("text", context.trace, identity), context).kept[0]
        return TextCaptured(
            id=kept.id,
            created=kept.created,
            scope=kept.scope,
            superseded_by=kept.superseded_by,
            retired_at=kept.retired_at,
        )

    def _apply(self, changes: tuple[Change, ...], key: bytes, context: Context) -> Applied:
        answer = context.ask(Apply(changes=changes, key=key, author="capture", run=context.trace))
        assert isinstance(answer, Applied)
        return answer


class _Reading:
    """A transcript that is being read, and how often each text occurred in it."""

    def __init__(self, source: Source, identity: Digest) -> None:
        self.source = source
        self.taken = 0
        self._items = iter(source)
        self._identity = identity
        self._occurred: Counter[bytes] = Counter()

    def items(self, up_to: int | None) -> Iterator[tuple[Event | Malformed, bytes]]:
        """The next items with their identities: up to the item of that number, or to the end."""
        while up_to is None or self.taken < up_to:
            item = next(self._items, None)
            if item is None:
                return
            self.taken += 1
            identity = b""
            if isinstance(item, Event):
                first = identity_of(item, 1, self._identity)
                self._occurred[first] += item.host_id is None
                occurred = self._occurred[first]
                identity = first if occurred <= 1 else identity_of(item, occurred, self._identity)
            yield item, identity


def identity_of(event: Event, occurrence: int, identity: Digest) -> bytes:
    """The key of an event, 32 bytes: what makes capturing it twice store it once.

    Args:
        occurrence: how often these bytes were said in the session so far, this time included; it counts only
            where the host gives no id.
    """
    who = (event.assistant, event.session, event.kind, event.role)
    parts = [part.encode("utf-8", "surrogatepass") for part in who]
    if event.host_id is not None:
        return identity(b"event", *parts, b"id", event.host_id.encode("utf-8", "surrogatepass"))
    parts.append(b"bytes" if event.occasion is None else b"bytes at " + to_bytes(event.occasion))
    return identity(b"event", *parts, to_bytes(to_text(event.text).strip()), str(occurrence).encode())


def new_id(context: Context, identity: bytes) -> bytes:
    """A UUIDv7 (RFC 9562) of the request's time whose other bits follow from the mind's seed and the identity."""
    drawn = context.random(identity).getrandbits(74)
    value = (context.now // 1000) << 80 | 7 << 76 | (drawn >> 62) << 64 | 2 << 62 | drawn & ((1 << 62) - 1)
    return value.to_bytes(16, "big")


def _check(message: CaptureText) -> None:
    if not message.text.strip():
        raise InvalidValue(name="text", value="", why="there is nothing to keep", expected="some words")
    for name, given, known in (("kind", message.kind, KINDS), ("role", message.role, ROLES)):
        if given not in known:
            raise InvalidValue(name=name, value=given, why="it is not known", expected=f"one of {', '.join(known)}")
    if message.said_at is not None and not 0 <= abs(message.said_at) < 1 << 62:
        raise InvalidValue(
            name="said_at", value=message.said_at, why="no calendar holds it", expected="microseconds since 1970"
        )
    try:
        msgspec.convert(msgspec.structs.asdict(message), CaptureText)
    except msgspec.ValidationError as error:
        raise InvalidValue(
            name="an argument", value="", why=str(error), expected="the types of `CaptureText`"
        ) from None


def _memory(event: Event, identity: bytes, place: Place, context: Context) -> AddMemory:
    return AddMemory(
        id=new_id(context, identity),
        identity=identity,
        assistant=printable(event.assistant),
        session=printable(event.session),
        place=Place(path=printable(place.path), project=printable(place.project), found=place.found),
        kind=event.kind,
        role=event.role,
        text=event.text,
        source_id=printable(event.source_id),
        speaker=printable(event.speaker),
        said_at=event.said_at,
        branch=printable(event.branch),
        tool=printable(event.tool),
        outcome=event.outcome,
        files=tuple(printable(file) for file in event.files),
    )
