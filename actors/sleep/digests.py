"""The stages that make digests: of each conversation, of each topic, and of each project from its conversations'.

A digest is a list of sentences of its memories, by place; `mnemic.algorithms.sleep.digest` chooses them. A project's is
chosen among the sentences of its conversations' digests, so a night reads those conversations alone that have changed.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from mnemic.actors.protocol.events import to_text
from mnemic.actors.protocol.sleep.changes import DIGEST_STAGES, SourceSpan
from mnemic.actors.protocol.sleep.snapshot import Grouping
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.sleep.stages import Derivation
from mnemic.algorithms.sleep.digest import Sentence, covering_sentences, digest_sentences
from mnemic.algorithms.text.terms import telling_terms

SESSION_BYTES, TOPIC_BYTES, PROJECT_BYTES = 1600, 1200, 4800
"""What the sentences of a digest may cost together; a project's is cut to what there is room for."""
_READ_BYTES = 8_192  # of a longer text no more is read
_MOST_ROWS, _MOST_BYTES = (
    2_000,
    256 << 10,
)  # of a group, the newest: more would take too long at once


class DigestValue(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a digest beside its sentences, which are its sources, the most telling first."""

    memories: int
    """How many memories it is of."""


class DigestState(NamedTuple):
    """What a digest is chosen from."""

    rows: Sequence[int]
    """Rows of the memories."""
    sentences: Sequence[Sentence]
    """Their sentences; `text` of each is a place in `rows`."""


encode_value = msgspec.msgpack.Encoder().encode
decode_digest = msgspec.msgpack.Decoder(DigestValue).decode


def _plan(state: DigestState, budget_bytes: int, *, are_chosen: bool = False) -> Derivation:
    places = covering_sentences(state.sentences, budget_bytes, are_chosen=are_chosen)
    chosen = [state.sentences[place] for place in places]
    sources = tuple(SourceSpan(state.rows[one.text], one.start, one.stop) for one in chosen)
    return Derivation(encode_value(DigestValue(memories=len(state.rows))), sources)


class _GroupDigests:
    """Digests of groups of memories within a scope."""

    version: ClassVar[int] = 1
    _grouping: ClassVar[Grouping]
    _bytes: ClassVar[int]

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All groups."""
        return {
            f"{self._grouping}:{one.group}:{one.scope}".encode(): one.stamp
            for one in snapshot.group_states(self._grouping)
        }

    def read(self, key: bytes, snapshot: Snapshot) -> DigestState:
        """The sentences of a group."""
        _, group, scope = key.split(b":")
        rows = snapshot.group_rows(self._grouping, int(group), int(scope))[-_MOST_ROWS:]
        texts = snapshot.text_prefixes(rows, _READ_BYTES)
        first = len(rows) - sum(read <= _MOST_BYTES for read in accumulate(map(len, reversed(texts))))
        return DigestState(rows[first:], digest_sentences(map(to_text, texts[first:])))

    def plan(self, state: DigestState) -> Derivation:
        """The digest."""
        return _plan(state, self._bytes)


class SessionDigests(_GroupDigests):
    """Digests of conversations."""

    name: ClassVar[str] = DIGEST_STAGES["session"]
    _grouping: ClassVar[Grouping] = "session"
    _bytes: ClassVar[int] = SESSION_BYTES


class TopicDigests(_GroupDigests):
    """Digests of communities."""

    name: ClassVar[str] = DIGEST_STAGES["topic"]
    _grouping: ClassVar[Grouping] = "topic"
    _bytes: ClassVar[int] = TOPIC_BYTES


class ProjectDigests:
    """Digests of scopes."""

    name: ClassVar[str] = DIGEST_STAGES["project"]
    version: ClassVar[int] = 1

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All scopes that hold a conversation with a digest."""
        parts: dict[bytes, list[bytes]] = defaultdict(list)
        for key, stamp in sorted(snapshot.derived_stamps(SessionDigests.name).items()):
            parts[key.rpartition(b":")[2]].append(key + b"=" + stamp)
        return {b"project:" + scope: hashlib.sha256(b",".join(of)).digest()[:16] for scope, of in parts.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> DigestState:
        """The sentences of the digests of its conversations."""
        scope = key.partition(b":")[2]
        keys = [one for one in snapshot.derived_stamps(SessionDigests.name) if one.rpartition(b":")[2] == scope]
        items = snapshot.derived(SessionDigests.name, keys)
        spans = sorted({(one.row, one.start, one.stop) for item in items for one in item.sources})
        rows = sorted({row for row, _, _ in spans})
        place = {row: number for number, row in enumerate(rows)}
        texts = snapshot.text_prefixes(rows, _READ_BYTES)
        found: dict[bytes, Sentence] = {}
        for row, start, stop in spans:
            said = texts[place[row]][start:stop]
            if said not in found:  # of equal sentences the first
                terms = frozenset(telling_terms(to_text(said)))
                found[said] = Sentence(place[row], start, stop, terms)
        return DigestState(rows, list(found.values()))

    def plan(self, state: DigestState) -> Derivation:
        """The digest."""
        return _plan(state, PROJECT_BYTES, are_chosen=True)
