"""Scores which later statement takes the place of an earlier one by itself, and which two are a conflict.

Every memory of a set is read, and its statements are graded against the earlier ones of the same subject; those that
name a value as ended, against all earlier ones that hold its first word, or are of it. Of two memories the most
probable verdict counts. It is right where both are of one slot, the older one's clause asserts a value, and the newer
one's another, or ends it; so a pair with what was planned, quoted, past or small talk is wrong. A change is found where
some right pair names its old value and its new one. No attribute is held back: the errors in quiet changes and in lives
1 to 40 were read while the rules were made, and other lives have the same wordings (docs/benches.md). Above stands
`mnemic.bench.quality.facts_bench`, below it `mnemic.algorithms.knowledge.replacement`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from mnemic.algorithms.knowledge.entities.keys import subject_key
from mnemic.algorithms.knowledge.extraction.statements import statements
from mnemic.algorithms.knowledge.replacement import Graded, ended_value, grade
from mnemic.algorithms.knowledge.said import Said, normal_value, read_said
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.statistics import mean_interval
from mnemic.bench.quality.facts.change_sets import ChangeSet, Slot
from mnemic.bench.quality.facts.generate import ASSERTING


class GradedPair(NamedTuple):
    """Two memories, by their ids, and what the newer one makes of the older one."""

    older: str
    newer: str
    graded: Graded
    right: bool


def replacement_rows(about: Row, of: ChangeSet) -> Iterator[Row]:
    """For each part of a set that is captured in a home what is replaced, and what is a conflict."""
    parts = {asked.slot[0]: asked.part for asked in of.questions}
    for part, rows in _by_part(of, parts, graded_pairs(of)).items():
        changes = changes_of(of, [scope for scope, one in parts.items() if one == part])
        memories = sum(parts.get(turn["scope"]) == part for turn in of.turns)
        for verdict in ("replaced", "conflict"):
            some = [one for one in rows if one.graded.verdict == verdict]
            yield about | {"part": part, "what": verdict} | _row(of, some, changes, memories)


def graded_pairs(of: ChangeSet) -> list[GradedPair]:
    """Each pair of memories of which the newer one takes the place of the older one, or contradicts it."""
    read = sorted(((turn, said) for turn in of.turns for said in read_turn(turn)), key=lambda one: one[1].said_at)
    by_subject: dict[tuple[str, str], list[tuple[str, Said]]] = defaultdict(list)
    by_word: dict[tuple[str, str], list[tuple[str, Said]]] = defaultdict(list)
    by_name: dict[tuple[str, str], list[tuple[str, Said]]] = defaultdict(list)
    found: dict[tuple[str, str], GradedPair] = {}
    for turn, newer in read:
        scope, id = turn["scope"], turn["id"]
        beside = by_subject[scope, newer.subject] if newer.subject else []
        if over := ended_value(newer):
            beside = by_word[scope, over.split()[0]] + by_name[scope, over]
        for older_id, older in beside:
            graded = grade(older, newer)
            if graded is not None:
                best = found.get((older_id, id))
                if best is None or graded.probability > best.graded.probability:
                    right = is_right(of, older_id, older, id, newer)
                    found[older_id, id] = GradedPair(older_id, id, graded, right)
        if newer.subject:
            by_subject[scope, newer.subject].append((id, newer))
        by_name[scope, normal_value(newer.statement.subject)].append((id, newer))
        for word in set(normal_value(newer.statement.value).split()):
            by_word[scope, word].append((id, newer))
    return list(found.values())


def read_turn(turn: dict[str, Any]) -> list[Said]:
    at, speaker, text = datetime.fromisoformat(str(turn["said_at"])), turn.get("speaker"), turn["text"]
    found = statements(text, speaker, at.date())
    keys = [subject_key(one.subject, speaker, turn.get("role", "user")) for one in found]
    return read_said(text, round(at.timestamp() * 1_000_000), found, keys)


def is_right(of: ChangeSet, older_id: str, older: Said, newer_id: str, newer: Said) -> bool:
    """Whether the newer statement tells that what the older one asserts holds no more."""
    slot = of.slots.get(older_id)
    if slot is None or of.slots.get(newer_id) != slot or of.told[older_id].kind not in ASSERTING:
        return False
    kind, value = of.told[newer_id]
    was = normal_value(of.told[older_id].value)
    if not _names(older, was) or kind not in (*ASSERTING, "ended"):
        return False
    return kind == "ended" or (
        normal_value(value) != was and (_names(newer, normal_value(value)) or _names(newer, was))
    )


def _names(said: Said, value: str) -> bool:
    """Whether the clause of a statement names a value."""
    one = said.statement
    return f" {value} " in f" {normal_value(said.text[one.clause_start : one.clause_end])} "


def _by_part(of: ChangeSet, parts: dict[str, str], pairs: Sequence[GradedPair]) -> dict[str, list[GradedPair]]:
    scopes = {turn["id"]: turn["scope"] for turn in of.turns}
    found: dict[str, list[GradedPair]] = {part: [] for part in sorted(set(parts.values()))}
    for one in pairs:
        found[parts[scopes[one.newer]]].append(one)
    return found


def changes_of(of: ChangeSet, scopes: Sequence[str]) -> set[tuple[Slot, str, str]]:
    """Every change: its slot, the old value, and the new one; ``""`` where what held only ended."""
    held: dict[Slot, str] = {}
    found = set()
    wanted = set(scopes)
    for turn in sorted(of.turns, key=lambda one: str(one["said_at"])):
        slot = of.slots.get(turn["id"])
        if slot is None or slot[0] not in wanted:
            continue
        kind, value = of.told[turn["id"]]
        if kind in ASSERTING or kind == "ended":
            new = "" if kind == "ended" else value
            if held.get(slot, new) != new and held[slot]:
                found.add((slot, held[slot], new))
            held[slot] = new
    return found


def _row(of: ChangeSet, pairs: Sequence[GradedPair], changes: set[tuple[Slot, str, str]], memories: int) -> Row:
    right = [one for one in pairs if one.right]
    told = {id: "" if one.kind == "ended" else one.value for id, one in of.told.items()}
    found = {(of.slots[one.older], told[one.older], told[one.newer]) for one in right} & changes
    row: Row = {"pairs": len(pairs), "per_1000_memories": 1000 * len(pairs) / max(1, memories)}
    attributes = [of.slots.get(one.newer, ("", "", ""))[1] for one in pairs]
    row |= _share("precision", attributes, [of.slots[one.newer][1] for one in right])
    row |= {"changes": len(changes)}
    return row | _share("coverage", [one[0][1] for one in changes], [one[0][1] for one in found])


def _share(name: str, whole: Sequence[str], part: Sequence[str]) -> Row:
    """A share, with 95 % of those of attributes drawn with replacement (Efron 1979); nothing of nothing.

    Args:
        whole: of each that is counted its attribute.
        part: of each that is right or found its attribute.
    """
    if not whole:
        return {}
    counts, hits = Counter(whole), Counter(part)
    names = sorted(counts)
    totals, parts = np.array([counts[one] for one in names]), np.array([hits[one] for one in names])
    low, high = mean_interval(parts / totals, weights=totals)
    return {name: len(part) / len(whole), f"{name}_low": low, f"{name}_high": high}
