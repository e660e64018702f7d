"""Deduplication keys of events (keyed hashes) and time-ordered memory ids (UUIDv7).

The key of an event is a keyed hash of assistant, session, kind and role with the host's own id of it; where there is
none, with its bytes and the number of times they occurred in the session so far. White space around the bytes does not
count: one host's hook trims it, and its transcript does not.
"""

from __future__ import annotations

from mnemic.actors.protocol.contract import Context
from mnemic.actors.protocol.events import Event, to_bytes, to_text
from mnemic.actors.protocol.ports import Digest

__all__ = ["identity_of", "new_id"]


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
    parts.append(b"bytes" if event.disambiguator is None else b"bytes at " + to_bytes(event.disambiguator))
    return identity(b"event", *parts, to_bytes(to_text(event.text).strip()), str(occurrence).encode())


def new_id(context: Context, identity: bytes) -> bytes:
    """A UUIDv7 (RFC 9562) of the request's time whose other bits follow from the mind's seed and the identity."""
    drawn = context.random(identity).getrandbits(74)
    value = (context.now // 1000) << 80 | 7 << 76 | (drawn >> 62) << 64 | 2 << 62 | drawn & ((1 << 62) - 1)
    return value.to_bytes(16, "big")
