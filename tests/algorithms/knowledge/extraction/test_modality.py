"""The status of a sentence is that of its strongest cue."""

from __future__ import annotations

import json
import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.extraction.modality import MAX_SENTENCE_CHARS, MODALITIES, Modality, status_of
from tests.paths import FIXTURES

LABELS = FIXTURES / "statements" / "statements.jsonl"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Is the port 8080?", "asked"),
        ("does the tram stop here", "asked"),
        ("So, did Ann book the seat", "asked"),
        ("Has Björn merged it", "asked"),
        ("where is the key", "asked"),
        ("What's the code", "asked"),
        ("I wonder if the shop is open", "asked"),
        ("Do you know whether it rains?", "asked"),
        ("Tom says the shop is closed", "quoted"),
        ("The docs claim that it is fast", "quoted"),
        ("According to Ann, it will rain", "quoted"),
        ("Apparently we no longer use it", "quoted"),
        ("You told me the rent is 900", "quoted"),
        ("The spec reads: clients retry", "quoted"),
        ("We should pin numpy", "wished"),
        ("I'd love a balcony", "wished"),
        ("I’d rather walk", "wished"),
        ("She wants a dog", "wished"),
        ("If only it were open", "wished"),
        ("It would be nice if it rained", "wished"),
        ("I need to renew the passport", "wished"),
        ("What if it rains?", "hypothetical"),
        ("If it rains, we take the bus", "hypothetical"),
        ("We might move", "hypothetical"),
        ("It may fail", "hypothetical"),
        ("Suppose the disk is full", "hypothetical"),
        ("Otherwise we'd lose it", "hypothetical"),
        ("We'll move to Bern", "planned"),
        ("It won't ship", "planned"),
        ("I'm going to paint it", "planned"),
        ("We move next week", "planned"),
        ("The plumber is coming on Tuesday", "planned"),
        ("I'm on call this week", "temporary"),
        ("For now it is a copy", "temporary"),
        ("The gym is closed until 3 May", "temporary"),
        ("At the moment I drive his car", "temporary"),
        ("We no longer use Slack", "ended"),
        ("I don't smoke any more", "ended"),
        ("We cancelled the gym", "ended"),
        ("The trip is cancelled.", "ended"),
        ("I gave up coffee", "ended"),
        ("I used to smoke", "past"),
        ("Back then we ran a dyno", "past"),
        ("The office was in Linz", "past"),
        ("The office was in Linz until 2019", "past"),
        ("My old flat had a stove", "past"),
        ("The port is 8080", "asserted"),
        ("The house was built in 1932", "asserted"),
        ("It expires on 3 May", "asserted"),
        ("I may 3", "asserted"),
        ("Ich wohne in Graz", "asserted"),
        ("", "asserted"),
        ("🙏", "asserted"),
    ],
)
def test_the_first_cue_in_order_decides(sentence: str, expected: Modality) -> None:
    assert status_of(sentence) == expected


def test_the_order_names_every_status_once() -> None:
    assert sorted(MODALITIES) == sorted(get_args(Modality))
    assert MODALITIES[-1] == "asserted"


def test_no_more_than_the_first_characters_are_looked_at() -> None:
    assert status_of("a " * MAX_SENTENCE_CHARS + "will be") == "asserted"


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_any_text_has_a_status(sentence: str) -> None:
    assert status_of(sentence) in MODALITIES


@pytest.mark.parametrize(
    "piece", ["a", " ", "'", "used ", "until ", "was 1 ", "is x", "do ", "?", "to ", "\n", "'d ", "was"]
)
def test_a_hostile_sentence_ends_soon(piece: str) -> None:
    began = time.perf_counter()
    status_of(piece * 8_000)
    assert time.perf_counter() - began < 1


def test_labelled_turns_of_one_status_are_told_as_well_as_they_were() -> None:
    right: dict[int, list[bool]] = {0: [], 1: []}
    for line in LABELS.read_text("utf-8").splitlines():
        turn = json.loads(line)
        statuses = {one["modality"] for one in turn["statements"]}
        if len(statuses) == 1:
            right[int(turn["id"][1:]) % 2].append(status_of(turn["text"]) in statuses)
    shares = {half: sum(found) / len(found) for half, found in right.items()}
    assert shares[1] >= 0.98
    assert shares[0] >= 0.88
