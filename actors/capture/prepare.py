"""Turns an event into the changes that store it: resolves its scope, scrubs secrets, rejects the unstorable.

Transcripts (`mnemic.actors.capture.transcripts`), hooks (`mnemic.actors.capture.drain`) and single texts
(`mnemic.actors.capture.capture`) all come through here, so that none of them keeps a secret that the others would not.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from mnemic.actors.capture.changes import KeepOriginal
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import BadInput
from mnemic.actors.kernel.events import MCP_PREFIX, Event, author_of, escape_surrogates, to_bytes, to_text
from mnemic.actors.kernel.ports import Digest, ResolveScope, Scrub
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.kernel.typed import convert
from mnemic.actors.log.changes import MEMORY_FIELDS, AddMemory
from mnemic.actors.store.messages import Applied, Apply
from mnemic.algorithms.secrets import private

_log = logging.getLogger("mnemic.capture")

_APPLY_TIMEOUT_S = 600.0  # to index a text of 100 MB takes half a minute; whoever asked may be less patient
_MAX_TIME_US = 1 << 62
"""No calendar holds a time beyond this, before or after 1970."""


class ChangeBuilder:
    """Turns events into changes."""

    def __init__(self, locate: ResolveScope, identity: Digest, scrub: Scrub, *, originals: bool) -> None:
        """Keep nothing yet.

        Args:
            locate: finds scopes.
            identity: the mind's keyed hash.
            scrub: takes out of a text what must not be kept.
            originals: whether the words from which secrets were taken are kept too, where no recall looks.
        """
        self._locate = locate
        self._scope_cache: dict[tuple[str | None, str | None], ScopeRef] = {}
        self._folder_scope_cache: dict[str | None, ScopeRef] = {}
        self.digest = identity
        """The mind's keyed hash."""
        self.scrub = scrub
        """Takes out of a text what must not be kept."""
        self._keep_originals = originals

    def clear_cache(self) -> None:
        """Forget where folders belong, at the start of each message: a repository may have been made since."""
        self._scope_cache.clear()
        self._folder_scope_cache.clear()

    def former_identity(self, event: Event, occurrence: int) -> bytes | None:
        """The key that an earlier version gave an event, where it is another one: by its own kind, or a longer text."""
        if event.reported_as is None and event.formerly_text is None:
            return None
        text = event.text if event.formerly_text is None else event.formerly_text
        return identity_of(msgspec.structs.replace(event, reported_as=None, text=text), occurrence, self.digest)

    def identity(self, event: Event, occurrence: int) -> bytes:
        """The key of an event; see `identity_of`."""
        return identity_of(event, occurrence, self.digest)

    def resolve_scope(self, event: Event, scope: str | None, *, anyway: bool) -> ScopeRef | str:
        """Where an event belongs; or why that cannot be told.

        Args:
            scope: where somebody says that it belongs; ``None`` leaves it to the event and its folder.
            anyway: whether it belongs to the folder itself where a file there is half written: where nobody looks on
                who could mend that, it must keep no words back.

        Raises:
            BadInput: the scope that somebody names is none.
        """
        named = escape_surrogates(event.scope if scope is None else scope)
        place = self._scope_cache.get((named, event.cwd))
        if place is not None:
            return place
        try:
            place = self._locate(named, event.cwd)
        except BadInput as error:
            if scope is not None:
                raise
            if named is not None or not anyway:
                return str(error)
            place = self._locate(None, event.cwd, anyway=True)
            _log.warning("kept by its folder alone, or in no scope: %s", error)
        self._scope_cache[named, event.cwd] = place
        return place

    def folder_scope(self, folder: str | None) -> ScopeRef:
        """Where a folder itself belongs, whatever a file there says."""
        place = self._folder_scope_cache.get(folder)
        if place is None:
            place = self._folder_scope_cache[folder] = self._locate(None, folder, anyway=True)
        return place

    def changes(
        self, event: Event, identity: bytes, place: ScopeRef, context: Context, formerly: bytes | None = None
    ) -> tuple[Change, ...]:
        """What keeps an event: a memory, first; nothing where nothing of its text may be kept, nor where it is blank
        and the event tells nothing else.

        Args:
            formerly: the identity that an earlier version gave the event.
        """
        scrubbed = self.scrub(event.text)
        if (scrubbed.found or not tells_without_text(event)) and _is_blank(scrubbed.text):
            return ()
        fields = {name: escape_surrogates(getattr(event, name)) for name in MEMORY_FIELDS}
        if not event.author:
            is_agents = event.subagent and event.role == "user"
            fields["author"] = "assistant" if is_agents else author_of(event.role)
        if event.utc_offset_min is None:
            said_at = context.now if event.said_at is None else event.said_at
            fields["utc_offset_min"] = context.clock.utc_offset_min(said_at)
        memory = AddMemory(
            id=new_id(context, identity),
            identity=identity,
            assistant=escape_surrogates(event.assistant),
            session=escape_surrogates(event.session),
            place=ScopeRef(
                path=escape_surrogates(place.path), project=escape_surrogates(place.project), found=place.found
            ),
            text=scrubbed.text,
            files=tuple(escape_surrogates(file) for file in event.files),
            scrubbed=scrubbed.found,
            formerly=formerly,
            part_of=None if event.formerly_text is None else self.scrub(event.formerly_text).text,
            **fields,
        )
        if not self._keep_originals or {kind for kind, _ in scrubbed.found} <= {"private"}:
            return (memory,)
        return (
            memory,
            KeepOriginal(memory=memory.id, text=private.drop_private(event.text)[0]),
        )  # that is kept nowhere


def _is_blank(text: bytes) -> bool:
    """Whether there is nothing but white space; what is no UTF-8 is something, which the Store refuses."""
    return not text.decode("utf-8", "replace").strip()


def tells_without_text(event: Event) -> bool:
    """Whether something is known once its text is not: that a tool ran, how it ended, or which files it touched."""
    return event.tool is not None or event.outcome is not None or bool(event.files)


def unstorable_reason(event: Event) -> str | None:
    """Why no store can keep an event, in a clause that does not quote it; ``None`` where one can.

    A store that meets such a thing fails; whoever makes events out of what strangers wrote makes one now and then.
    """
    try:
        convert(msgspec.structs.asdict(event), Event)
        to_text(event.text)
    except UnicodeDecodeError as error:
        return f"its text is no UTF-8 at byte {error.start}"
    except msgspec.ValidationError as error:
        return f"it is no event ({error})"
    if event.said_at is not None and abs(event.said_at) >= _MAX_TIME_US:
        return "no calendar holds its time"
    return None


def apply_changes(
    changes: Sequence[Change], key: bytes, context: Context, author: str = "capture", run: str | None = None
) -> Applied:
    """Have the Store carry out changes, on behalf of Capture.

    Args:
        author: of memories, what let them in: ``hook``, ``transcript``, ``mcp`` or ``direct``.
        run: the night that they belong to, if any.

    Raises: what the Store answers with; nothing was changed then.
    """
    apply = Apply(changes=tuple(changes), key=key, author=author, run=run or context.trace)
    return context.ask(apply, _APPLY_TIMEOUT_S)


def identity_of(event: Event, occurrence: int, identity: Digest) -> bytes:
    """The key of an event, 32 bytes: what makes capturing it twice store it once.

    A keyed hash of assistant, session, kind and role with the host's own id of it; where there is none, with its bytes
    and the number of times they occurred in the session so far. White space around the bytes does not count: one host's
    hook trims it, and its transcript does not.

    Args:
        occurrence: how often these bytes were said in the session so far, this time included; it counts only
            where the host gives no id.
    """
    # What it calls itself does not count where it calls a tool: over HTTP nobody knows it.
    assistant = MCP_PREFIX if event.assistant.startswith(MCP_PREFIX) else event.assistant
    who = (assistant, event.session, *(event.reported_as or (event.kind, event.role)))
    parts = [part.encode("utf-8", "surrogatepass") for part in who]
    if event.host_id is not None:
        return identity(b"event", *parts, b"id", event.host_id.encode("utf-8", "surrogatepass"))
    parts.append(b"bytes" if event.disambiguator is None else b"bytes at " + to_bytes(event.disambiguator))
    return identity(b"event", *parts, to_bytes(to_text(event.text).strip()), str(occurrence).encode())


def new_id(context: Context, identity: bytes) -> bytes:
    """A UUIDv7 (RFC 9562) of the request's time whose other bits follow from the mind's seed and the identity."""
    drawn = context.random(identity).getrandbits(74)
    value = (context.now // 1000) << 80 | 7 << 76 | (drawn >> 62) << 64 | 2 << 62 | drawn & ((1 << 62) - 1)
    return value.to_bytes(16, "big")
