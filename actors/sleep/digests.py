"""The stages that make digests: of each conversation, and of each project from its conversations'.

A digest is a list of sentences of its memories, by place; `mnemic.algorithms.sleep.digest` chooses them. A project's is
chosen among the sentences of its conversations' digests, so a night reads those conversations alone that have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from mnemic.actors.kernel.contract import Setting
from mnemic.actors.kernel.events import to_text
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.sleep.changes import DIGEST_STAGES, SourceSpan
from mnemic.actors.sleep.queries import Grouping, GroupState
from mnemic.actors.sleep.stages import Derivation, grouped_keys, items_of_project, project_keys
from mnemic.algorithms.sleep.digest import Sentence, covering_sentences, digest_sentences
from mnemic.algorithms.text.terms import telling_terms

_READ_BYTES = 8_192  # of a longer text no more is read
_MOST_SENTENCES = 2_000  # of the digests of a project's conversations, the newest
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
    memories: int
    """How many memories they were chosen from."""


encode_value = msgspec.msgpack.Encoder().encode
decode_digest = msgspec.msgpack.Decoder(DigestValue).decode


def _length(of: str, default: int) -> Setting:
    what = f"The sentences of a digest of a {of} are so long at most, together."
    return Setting(f"sleep.{of}_digest_bytes", default, "bytes", what, 100, maximum=_MOST_BYTES)


def _plan(state: DigestState, budget_bytes: int, *, are_chosen: bool = False) -> Derivation:
    places = covering_sentences(state.sentences, budget_bytes, are_chosen=are_chosen)
    chosen = [state.sentences[place] for place in places]
    sources = tuple(SourceSpan(state.rows[one.text], one.start, one.stop) for one in chosen)
    return Derivation(encode_value(DigestValue(memories=state.memories)), sources)


class GroupDigests:
    """Digests of groups of memories within a scope; a stage of them says which, and its setting how long they are."""

    version: ClassVar[int] = 1
    settings: ClassVar[tuple[Setting, ...]]
    grouping: ClassVar[Grouping]

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._groups: Mapping[bytes, GroupState] = {}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls(settings[cls.settings[0].name])

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All groups."""
        self._groups = grouped_keys(snapshot, self.grouping)
        return {key: one.stamp for key, one in self._groups.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> DigestState:
        """The sentences of a group."""
        of = self._groups[key]
        rows = snapshot.group_rows(self.grouping, of.group, of.scope)
        newest = rows[-_MOST_ROWS:]
        texts = snapshot.text_prefixes(newest, _READ_BYTES)
        first = len(newest) - sum(read <= _MOST_BYTES for read in accumulate(map(len, reversed(texts))))
        return DigestState(newest[first:], digest_sentences(map(to_text, texts[first:])), len(rows))

    def plan(self, state: DigestState) -> Derivation:
        """The digest."""
        return _plan(state, self._most_bytes)


class SessionDigests(GroupDigests):
    """Digests of conversations."""

    name: ClassVar[str] = DIGEST_STAGES["session"]
    settings: ClassVar[tuple[Setting, ...]] = (_length("session", 1600),)
    grouping: ClassVar[Grouping] = "session"


class ProjectDigests:
    """Digests of scopes."""

    name: ClassVar[str] = DIGEST_STAGES["project"]
    version: ClassVar[int] = 1
    settings: ClassVar[tuple[Setting, ...]] = (_length("project", 4800),)

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls(settings[cls.settings[0].name])

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """All scopes that hold a conversation with a digest."""
        return project_keys(snapshot, SessionDigests.name)

    def read(self, key: bytes, snapshot: Snapshot) -> DigestState:
        """The sentences of the digests of its conversations, of very many those of the newest."""
        items = items_of_project(key, snapshot, SessionDigests.name)
        memories = sum(decode_digest(item.value).memories for item in items)
        spans = sorted({(one.row, one.start, one.stop) for item in items for one in item.sources})[-_MOST_SENTENCES:]
        rows = sorted({row for row, _, _ in spans})
        place = {row: number for number, row in enumerate(rows)}
        texts = snapshot.text_prefixes(rows, _READ_BYTES)
        found: dict[bytes, Sentence] = {}
        for row, start, stop in spans:
            said = texts[place[row]][start:stop]
            if said not in found:  # of equal sentences the first
                terms = frozenset(telling_terms(to_text(said)))
                found[said] = Sentence(place[row], start, stop, terms)
        return DigestState(rows, list(found.values()), memories)

    def plan(self, state: DigestState) -> Derivation:
        """The digest."""
        return _plan(state, self._most_bytes, are_chosen=True)
