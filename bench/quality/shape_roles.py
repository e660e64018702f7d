"""Ablation of roles in structural search: each role alone, and each left out.

Below `mnemic.bench.quality.shape_bench`. What a person could know of a memory is asked for all at once: who said it,
when, where, what it and the turns beside it are about (in the words of a claim, see
`mnemic.bench.quality.shape_questions`). Then each role is asked for alone, beside ``about`` alone, and left out of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.protocol.messages import Memory
from mnemic.actors.protocol.snapshot import Snapshot
from mnemic.actors.recall.recall_index import RecallIndex
from mnemic.actors.shape.shape_index import ShapeIndex
from mnemic.algorithms.text.keyphrases import key_phrases
from mnemic.bench.harness.metrics import paired_test, reciprocal_rank
from mnemic.bench.quality.shape_ablation import embed_texts
from mnemic.bench.quality.shape_questions import Claim
from mnemic.hd.encoders import match_kind
from mnemic.hd.query import StructuralQuery as Pattern
from mnemic.hd.query import find_matches
from mnemic.hd.records import Filler, Pair
from mnemic.hd.roles import ROLES

__all__ = ["known_fillers", "measure_roles"]

_MAIN = "about"
_CLAIMS = 300  # at most so many memories are asked for
_PHRASES = 5  # of a memory are bound, unless a setting says otherwise


class _Pair(NamedTuple):
    """One thing known of a memory."""

    vector: NDArray[np.uint64]
    """Role and filler, bound."""
    prior: float
    """Which part of the memories has it."""
    match: Literal["exact", "near", "meaning"]
    """How it matches."""


def measure_roles(snapshot: Snapshot, seed: bytes, claims: Sequence[Claim], name: str) -> Iterator[dict[str, Any]]:
    """A row for all roles together, and one for each.

    Args:
        snapshot: of a mind whose memories are bound.
        seed: the mind's.
        claims: what is asked for; of many an even sample.
        name: of the mind, for the rows.
    """
    claims = claims[:: max(1, round(len(claims) / _CLAIMS))]
    index, memory = ShapeIndex(seed), RecallIndex()
    memory.sync(snapshot, None)
    index.sync(snapshot, memory.columns)
    records = snapshot.load_memories([int(row) for row in memory.columns.row])
    known = known_fillers(claims, records)
    patterns = _patterns(index, snapshot, known)
    places = index.visible("episode", np.ones(len(records), np.bool_))
    rows = {record.id: row for record, row in zip(records, memory.columns.row.tolist(), strict=True)}

    def found(place: int, asked: Mapping[str, Sequence[_Pair]]) -> float:
        pairs = [pair for of_role in asked.values() for pair in of_role]
        return _reciprocal_rank(index, places, rows[claims[place].memory.id], pairs)

    everything = np.array([found(place, pattern) for place, pattern in enumerate(patterns)])
    main = np.array([found(place, {_MAIN: pattern.get(_MAIN, [])}) for place, pattern in enumerate(patterns)])
    yield {"what": "roles", "of": name, "asked": "all", "memories": len(claims), "mrr": float(everything.mean())}
    for role in (one for one in ROLES if any(one in pattern for pattern in patterns)):
        having = [place for place, pattern in enumerate(patterns) if role in pattern]
        alone = np.array([found(place, {role: patterns[place][role]}) for place in having])
        both = [
            {other: pairs for other, pairs in patterns[place].items() if other in (role, _MAIN)} for place in having
        ]
        beside = np.array([found(place, pattern) for place, pattern in zip(having, both, strict=True)])
        without = np.array(
            [
                found(place, {other: pairs for other, pairs in patterns[place].items() if other != role})
                for place in having
            ]
        )
        to_main = paired_test(beside, main[having], seed=1, rounds=2000)
        to_all = paired_test(everything[having], without, seed=1, rounds=2000)
        yield {
            "what": "roles",
            "of": name,
            "asked": role,
            "memories": len(having),
            "alone_mrr": float(alone.mean()),
            f"with_{_MAIN}_mrr": float(beside.mean()),
            f"adds_to_{_MAIN}": to_main.difference,
            "p": to_main.p,
            "adds_to_all": to_all.difference,
            "p_all": to_all.p,
        }


def known_fillers(claims: Sequence[Claim], records: Sequence[Memory]) -> list[dict[str, list[str]]]:
    """What a person could know of each claim's memory: fillers by role, words where the role is of meaning."""
    claimed = {claim.memory.id: claim.text for claim in reversed(claims)}
    turns = sorted(
        (one for one in records if one.kind == "turn" and one.said_at is not None),
        key=lambda one: (one.session, one.said_at, one.id),
    )
    place = {one.id: number for number, one in enumerate(turns)}
    speakers: dict[str, set[str]] = {}
    for one in records:
        speakers.setdefault(one.session, set()).update([one.speaker] if one.speaker else [])
    return [dict(_known(claim, turns, place.get(claim.memory.id), claimed, speakers)) for claim in claims]


def _known(
    claim: Claim,
    turns: Sequence[Memory],
    number: int | None,
    claimed: Mapping[bytes, str],
    speakers: Mapping[str, set[str]],
) -> Iterator[tuple[str, list[str]]]:
    memory = claim.memory
    yield "about", [claim.text]
    yield "who", [memory.speaker or memory.role]
    others = sorted(speakers[memory.session] - {memory.speaker})
    yield "to", others or [{"user": "assistant", "assistant": "user"}.get(memory.role, "")]
    if memory.said_at is not None:
        moment = datetime.fromtimestamp(memory.said_at / 1e6, UTC)
        yield "date", [moment.date().isoformat()]
        yield "hour", [str(moment.hour)]
        yield "weekday", [f"{moment:%A}".lower()]
    yield "workspace", [memory.scope.partition("/")[0]]
    yield "project", [memory.scope]
    yield "branch", [memory.branch or ""]
    yield "kind", [memory.kind]
    said = set(key_phrases(memory.text, _PHRASES))
    yield "topic", [phrase for phrase in key_phrases(claim.text, _PHRASES) if phrase in said]
    yield "size", [str(len(memory.text.split()))]
    if number is not None:
        for role, step in (("previous", -1), ("next", 1)):
            beside = turns[number + step] if 0 <= number + step < len(turns) else memory
            if beside.session == memory.session and beside.id in claimed and beside is not memory:
                yield role, [claimed[beside.id]]


def _patterns(
    index: ShapeIndex, snapshot: Snapshot, known: Sequence[Mapping[str, list[str]]]
) -> list[dict[str, list[_Pair]]]:
    """The same as bound pairs; what nobody has, and so cannot be asked for, is left out."""
    encoders = index.encoders
    if encoders is None:
        raise ValueError("nothing is bound")
    texts = sorted({text for one in known for role, texts in one.items() if _meant(role) for text in texts})
    meanings = dict(zip(texts, embed_texts(texts)[1], strict=True)) if texts else {}
    counts = {role: dict(snapshot.fillers(role)) for role in ROLES}
    total = max(1, len(index.rows("episode")))
    patterns = []
    for one in known:
        pattern: dict[str, list[_Pair]] = {}
        for role, written in ((role, text) for role, texts in one.items() for text in texts if text):
            if role not in encoders.space.roles:
                continue
            filler: Filler = meanings[written] if _meant(role) else encoders.canonical(role, written)
            count = total if isinstance(filler, np.ndarray) else counts[role].get(filler, 0)
            if count:
                pair = _Pair(encoders.encode_pairs([Pair(role, filler)])[0], count / total, match_kind(role))
                pattern.setdefault(role, []).append(pair)
        patterns.append(pattern)
    return patterns


def _meant(role: str) -> bool:
    return match_kind(role) == "meaning"


def _reciprocal_rank(index: ShapeIndex, places: NDArray[np.int64], wanted: int, pairs: Sequence[_Pair]) -> float:
    """1 / the place of the memory of a row among those that match."""
    exact = [pair for pair in pairs if pair.match == "exact"]
    near = [pair for pair in pairs if pair.match != "exact"]
    words = index.codes("episode").dimensions // 64
    asked = Pattern(
        exact_pairs=np.array([pair.vector for pair in exact], np.uint64).reshape(-1, words),
        priors=np.array([pair.prior for pair in exact], np.float64),
        near_pairs=np.array([pair.vector for pair in near], np.uint64).reshape(-1, words),
        angular=np.array([pair.match == "meaning" for pair in near], np.bool_),
    )
    matches = find_matches(index.codes("episode"), places, asked, index.algebra)
    return reciprocal_rank(index.rows("episode")[matches.row].tolist(), {wanted})
