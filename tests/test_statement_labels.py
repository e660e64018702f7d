"""Hand-labelled statements fit the sentences that they are of, so that whoever finds statements can be held to them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, datetime

from tests.paths import FIXTURES

LABELS = FIXTURES / "statements" / "statements.jsonl"
MODALITIES = ("asserted", "planned", "wished", "hypothetical", "asked", "quoted", "temporary", "ended", "past")


def test_labels_are_spans_of_their_sentence_and_of_known_kinds() -> None:
    turns = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    assert len({turn["id"] for turn in turns}) == len({turn["text"] for turn in turns}) == len(turns) == 300
    kinds: Counter[str] = Counter()
    for turn in turns:
        datetime.fromisoformat(turn["said_at"])
        for one in turn["statements"]:
            assert one["subject"] in turn["text"], turn["id"]
            assert one["value"] in turn["text"], turn["id"]
            assert one["polarity"] in ("positive", "negative"), turn["id"]
            days = [date.fromisoformat(day) for day in (one["holds"] or {}).values() if day]
            assert days == sorted(days), turn["id"]
            kinds[one["modality"]] += 1
    assert set(kinds) == set(MODALITIES)
    assert min(kinds.values()) >= 20
    assert sum(not turn["statements"] for turn in turns) >= 40
