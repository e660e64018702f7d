"""The stage that finds a profile: what the user says of themselves that is to last, and how often they said so.

Taken are statements in the first person with a verb of liking, or of where one lives and works; equal
ones are one, with how many conversations and projects they were said in. An item points to where it was said and keeps
no words. What a later statement replaced is not told.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec

from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.sleep.changes import PROFILE_STAGE, SourceSpan
from mnemic.actors.sleep.queries import PersonalStatement
from mnemic.actors.sleep.stages import Derivation

LASTING_VERBS = frozenset(
    (
        *("prefer", "like", "love", "enjoy", "hate", "dislike", "avoid"),
        *("live in", "work at", "work in", "work as", "work for", "speak", "play"),
    )
)
"""What a user says of themselves with one of these is to last."""
_EVIDENCE = 16  # places that an item points to: the newest of each scope, the newest first


class ProfileValue(msgspec.Struct, frozen=True, array_like=True):
    """How often something was said."""

    conversations: int
    """In so many conversations."""
    projects: int
    """In so many scopes."""
    first_at: int
    """World time it was said first, microseconds."""


_encode = msgspec.msgpack.Encoder().encode
decode_profile = msgspec.msgpack.Decoder(ProfileValue).decode


class Profile:
    """What holds of the person."""

    name: ClassVar[str] = PROFILE_STAGE
    version: ClassVar[int] = 1

    def __init__(self) -> None:
        self._said: Mapping[bytes, Sequence[PersonalStatement]] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All that was said so, once for each verb and value."""
        said: dict[bytes, list[PersonalStatement]] = defaultdict(list)
        for one in snapshot.personal_statements(LASTING_VERBS):
            digest = hashlib.sha256(f"{one.subject} {one.verb} {one.value_key}".encode()).digest()
            said[b"person:%d" % int.from_bytes(digest[:6], "big")].append(one)
        self._said = said
        return {
            key: hashlib.sha256(b",".join(b"%d" % one.row for one in some)).digest()[:16] for key, some in said.items()
        }

    def read(self, key: bytes, snapshot: Snapshot) -> Sequence[PersonalStatement]:
        """Where it was said, the oldest first."""
        return self._said[key]

    def plan(self, state: Sequence[PersonalStatement]) -> Derivation:
        """How often, and the newest places."""
        value = ProfileValue(
            conversations=len({one.session for one in state}),
            projects=len({one.scope for one in state}),
            first_at=state[0].said_at,
        )
        return Derivation(
            _encode(value), tuple(SourceSpan(one.row, *one.clause) for one in state[: -_EVIDENCE - 1 : -1])
        )
