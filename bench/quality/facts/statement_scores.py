"""Scores what is found in hand-labelled turns: how much of what they state, and with what status.

Beside `mnemic.algorithms.knowledge.extraction.statements` stands what the older `triples` finds in the same turns,
whose values are compared alike. Turns whose number is odd were looked at while the rules were made; the even ones were
only counted. A statement is found where the words of its value and of the labelled one overlap by at least half of the
longer one's; each label is found once, the largest overlap first. Offsets decide, so that equal words elsewhere do not
count; `triples` tells none, so its objects are sought in the text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from mnemic.algorithms.knowledge.extraction.modality import MODALITIES
from mnemic.algorithms.knowledge.extraction.statements import statements
from mnemic.algorithms.knowledge.triples import triples
from mnemic.bench.harness.measure import Row, goal

_WORD = re.compile(r"\w+(?:[-./,:_'’&+]\w+)*")
_OVERLAP = 0.5  # of the words of the longer value
_GOALS = {"f1": 0.70, "modality": 0.85, "asserted_precision": 0.90}  # of the half that was not looked at


class _Said(NamedTuple):
    """A statement, labelled or found, as far as it is compared."""

    start: int
    end: int
    value: str
    modality: str
    negative: bool
    holds: tuple[date | None, date | None]
    subject: str


class _Turn(NamedTuple):
    id: str
    text: str
    said_on: date
    labels: list[_Said]


class _Score(NamedTuple):
    """What was found in some turns."""

    labels: list[_Said]
    found: list[_Said]
    pairs: list[tuple[_Said, _Said]]  # label and what was found of it


def measure_statements(path: Path) -> list[Row]:
    """Score both halves of a file of labelled turns, ours and `triples`.

    Raises:
        OSError: the file cannot be read.
    """
    turns = [_turn(json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    rows: list[Row] = []
    for half, rest in (("odd", 1), ("even", 0)):
        some = [one for one in turns if int(one.id[1:]) % 2 == rest]
        about: Row = {"what": "statements", "half": half, "turns": len(some)}
        ours = _score((one, _ours(one)) for one in some)
        totals = _totals(ours)
        rows.append(about | {"of": "statements"} | totals)
        rows.append(about | {"of": "competitor: triples"} | _totals(_score((one, _theirs(one)) for one in some)))
        about["what"] = "statements, by modality"
        rows += [about | {"of": "statements"} | one for one in _by_modality(ours)]
        if half == "even":
            about["what"] = "statements, goals"
            for name, least in _GOALS.items():  # goals are passed from above: what is missing from 1 is held to them
                missed: Row = {f"missed_{name}": 1 - totals[name]}
                rows.append(
                    about
                    | {"of": "statements"}
                    | missed
                    | goal(f"missed_{name}", missed[f"missed_{name}"], round(1 - least, 2))
                )
    return rows


def _turn(line: dict[str, Any]) -> _Turn:
    text = line["text"]
    labels = []
    after: dict[str, int] = {}
    for one in line["statements"]:
        start = _place(text, one["value"], after.get(one["value"], 0))
        after[one["value"]] = start + 1
        days = one["holds"] or {}
        holds = tuple(date.fromisoformat(days[side]) if days.get(side) else None for side in ("from", "to"))
        labels.append(
            _Said(
                start,
                start + len(one["value"]),
                one["value"],
                one["modality"],
                one["polarity"] == "negative",
                (holds[0], holds[1]),
                one["subject"],
            )
        )
    return _Turn(line["id"], text, date.fromisoformat(line["said_at"][:10]), labels)


def _place(text: str, value: str, after: int) -> int:
    """Where a value stands as a whole word, else anywhere."""
    whole = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE).search(text, after)
    return whole.start() if whole else max(0, text.lower().find(value.lower()))


def _ours(turn: _Turn) -> list[_Said]:
    return [
        _Said(one.start, one.end, one.value, one.modality, one.negative, (one.holds_from, one.holds_to), one.subject)
        for one in statements(turn.text, None, turn.said_on)
    ]


def _theirs(turn: _Turn) -> list[_Said]:
    found = []
    for one in triples(turn.text, "I"):
        start = turn.text.lower().find(one.object.lower())
        if start < 0:  # of the object the first word alone is as it was written
            start = turn.text.lower().find(one.object.split()[0].lower()) if one.object else -1
        end = start + len(one.object)
        denied = "not" in one.relation.split()
        found.append(_Said(max(0, start), max(0, end), one.object, "asserted", denied, (None, None), one.subject))
    return found


def _score(turns: Iterable[tuple[_Turn, list[_Said]]]) -> _Score:
    score = _Score([], [], [])
    for turn, found in turns:
        score.labels.extend(turn.labels)
        score.found.extend(found)
        score.pairs.extend(_matched(turn.labels, found, turn.text))
    return score


def _matched(labels: Sequence[_Said], found: Sequence[_Said], text: str) -> Iterator[tuple[_Said, _Said]]:
    """Labels with what was found of them, one to one, the largest overlap first."""
    words = [match.span() for match in _WORD.finditer(text)]

    def covered(one: _Said) -> set[int]:
        return {place for place, (start, end) in enumerate(words) if start < one.end and one.start < end}

    theirs, ours = [covered(one) for one in labels], [covered(one) for one in found]
    overlaps = [
        (len(a & b) / max(len(a), len(b), 1), -place, -other)
        for place, a in enumerate(theirs)
        for other, b in enumerate(ours)
    ]
    taken: tuple[set[int], set[int]] = (set(), set())
    for overlap, place, other in sorted(overlaps, reverse=True):
        if overlap >= _OVERLAP and place not in taken[0] and other not in taken[1]:
            taken[0].add(place)
            taken[1].add(other)
            yield labels[-place], found[-other]


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _totals(score: _Score) -> Row:
    pairs = len(score.pairs)
    precision, recall = _ratio(pairs, len(score.found)), _ratio(pairs, len(score.labels))
    exact = sum(_plain(label.value) == _plain(found.value) for label, found in score.pairs)
    row: Row = {"labels": len(score.labels), "found": len(score.found), "matched": pairs}
    row |= {"precision": precision, "recall": recall, "f1": _ratio_f1(precision, recall)}
    row["exact_value_f1"] = _ratio_f1(_ratio(exact, len(score.found)), _ratio(exact, len(score.labels)))
    row["modality"] = _ratio(sum(a.modality == b.modality for a, b in score.pairs), pairs)
    row["polarity"] = _ratio(sum(a.negative == b.negative for a, b in score.pairs), pairs)
    row["holds"] = _ratio(sum(a.holds == b.holds for a, b in score.pairs), pairs)
    told = [(a, b) for a, b in score.pairs if a.holds != (None, None)]
    row["holds_where_told"] = _ratio(sum(a.holds == b.holds for a, b in told), len(told))
    row["told"] = len(told)
    row["subject"] = _ratio(sum(_plain(a.subject) == _plain(b.subject) for a, b in score.pairs), pairs)
    asserted = [a for a, b in score.pairs if b.modality == "asserted"]
    right = sum(one.modality == "asserted" for one in asserted)
    row["asserted_precision"] = _ratio(right, len(asserted))
    # what matches no label counts as wrong here
    row["asserted_precision_of_all"] = _ratio(right, sum(one.modality == "asserted" for one in score.found))
    return row


def _ratio_f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _plain(value: str) -> str:
    return value.lower().strip("`\"' ")


def _by_modality(score: _Score) -> Iterator[Row]:
    """Of the matched: of those that are given a status how many have it, and of those that have it how many get it."""
    right = Counter(label.modality for label, found in score.pairs if label.modality == found.modality)
    given = Counter(found.modality for _, found in score.pairs)
    real = Counter(label.modality for label, _ in score.pairs)
    labelled = Counter(label.modality for label in score.labels)
    for one in MODALITIES:
        yield {
            "modality": one,
            "labels": labelled[one],
            "matched": real[one],
            "precision": _ratio(right[one], given[one]),
            "recall": _ratio(right[one], real[one]),
        }
