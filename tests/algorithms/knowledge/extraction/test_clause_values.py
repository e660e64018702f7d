"""The values after a verb are what it names, without what only ties them to it or tells when."""

from __future__ import annotations

import pytest

from mnemic.algorithms.knowledge.extraction.clause_values import values
from mnemic.algorithms.knowledge.extraction.sentences import sentences
from mnemic.algorithms.knowledge.extraction.verb_groups import read_group


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it runs on Debian 12", ["on | debian 12"]),
        ("it gave up on GraphQL after May", ["up on | graphql"]),
        ("it has a view of the river", [" | view of the river"]),
        ("it talks gRPC to the ledger", [" | grpc"]),
        ("it answers tickets in French", ["tickets in | french"]),
        ("it takes about 40 minutes", [" | about 40 minutes"]),
        ("it moved the office from Bonn to Graz", ["from | bonn | the office", "to | graz | the office"]),
        ("it hung the mirror opposite the window", ["opposite | window | the mirror"]),
        ("it calls my car Betsy", [" | betsy | my car"]),
        ("it is better than running", ["better than | running"]),
        ("it is free on Wednesday afternoon", ["free on | wednesday afternoon"]),
        ("it is a swimmer at school", [" | swimmer"]),
        ("it is out", [" | out"]),
        ("it is tomorrow", [" | tomorrow"]),
        ("it spends every summer in Brittany", ["every summer in | brittany"]),
        ("it runs every hour", [" | every hour"]),
        ("it runs on it", []),
        ("it uses them", []),
        ("it sleeps now", []),
        ("it sits next to Omar", ["next to | omar"]),
        ("it got rid of the microwave", ["rid of | microwave"]),
    ],
)
def test_what_a_verb_names_is_cut_out(text: str, expected: list[str]) -> None:
    one = next(sentences(text))
    end = len(one.words)
    found, denied = values(one, read_group(one, 1, end), end)
    assert not denied
    told = [
        [value.tie, " ".join(one.words[value.start : value.end])]
        + ([" ".join(one.words[value.moved[0] : value.moved[1]])] if value.moved else [])
        for value in found
    ]
    assert [" | ".join(parts) for parts in told] == expected


def test_a_no_before_the_value_denies_it() -> None:
    one = next(sentences("it has no index"))
    found, denied = values(one, read_group(one, 1, 4), 4)
    assert denied
    assert (found[0].start, found[0].end) == (3, 4)
