"""What replaces by itself is scored against what the sets know of their slots."""

from __future__ import annotations

from mnemic.bench.quality.facts.change_sets import ChangeQuestion, ChangeSet, Told, made_lives
from mnemic.bench.quality.facts.replacement_scores import _row, _share, changes_of, graded_pairs, replacement_rows

SCOPE = "lives/0"
SAID = (
    ("lantern uses Jenkins", "ci", "lantern", Told("first", "Jenkins")),
    ("Mateo plays the ukulele", "instrument", "Mateo", Told("first", "ukulele")),
    ("the gate closes 10 minutes before departure", "", "", None),
    ("lantern left Jenkins for Buildkite", "ci", "lantern", Told("both", "Buildkite")),
    ("Mateo plays the cello now", "instrument", "Mateo", Told("change", "cello")),
    ("the gate closes 12 minutes before departure from now on", "", "", None),
    ("lantern no longer uses Buildkite", "ci", "lantern", Told("ended", "")),
    ("Mateo is said to sing on Sundays", "instrument", "Mateo", Told("change", "voice")),
)


def small_set() -> ChangeSet:
    """Four changes of two slots, of which three are told by words that replace, and small talk that seems to."""
    turns, slots, told = [], {}, {}
    for number, (text, attribute, subject, label) in enumerate(SAID):
        id = f"{SCOPE}/{number}"
        turns.append({"id": id, "session": f"{SCOPE}/{number}", "role": "user", "speaker": "ines", "scope": SCOPE})
        turns[-1] |= {"said_at": f"2026-03-0{number + 1}T10:00:00Z", "text": text}
        if label is not None:
            slots[id], told[id] = (SCOPE, attribute, subject), label
    nothing: frozenset[str] = frozenset()
    asked = ChangeQuestion("?", "now", nothing, nothing, nothing, (SCOPE, "ci", "lantern"), "lives")
    return ChangeSet(turns, slots, [asked], told)


def test_right_pairs_are_of_one_slot_and_assert_another_value_or_end_it() -> None:
    of = small_set()
    found = {(one.older[-1], one.newer[-1]): one for one in graded_pairs(of)}
    assert {pair: one.right for pair, one in found.items()} == {
        ("0", "3"): True,
        ("1", "4"): True,
        ("2", "5"): False,  # small talk
        ("3", "6"): True,
    }
    assert all(one.graded.verdict == "replaced" for one in found.values())


def test_changes_are_new_values_of_a_slot_and_ends_of_one() -> None:
    ci, instrument = (SCOPE, "ci", "lantern"), (SCOPE, "instrument", "Mateo")
    assert changes_of(small_set(), [SCOPE]) == {
        (ci, "Jenkins", "Buildkite"),
        (ci, "Buildkite", ""),
        (instrument, "ukulele", "cello"),
        (instrument, "cello", "voice"),
    }
    assert changes_of(small_set(), []) == set()


def test_a_row_tells_precision_and_coverage() -> None:
    of = small_set()
    row = _row(of, graded_pairs(of), changes_of(of, [SCOPE]), 8)
    assert (row["pairs"], row["precision"], row["changes"], row["coverage"]) == (4, 0.75, 4, 0.75)
    assert row["per_1000_memories"] == 500
    assert row["coverage_low"] <= 0.75 <= row["coverage_high"]
    assert "precision" not in _row(of, [], set(), 0)


def test_an_interval_is_drawn_over_attributes() -> None:
    share = _share("share", ["a"] * 10 + ["b"] * 10, ["a"] * 10)
    assert share == {"share": 0.5, "share_low": 0.0, "share_high": 1.0}


def test_made_lives_tell_what_each_statement_asserts() -> None:
    of = made_lives((1,))
    assert of.told.keys() == of.slots.keys()
    assert {"first", "change", "both", "ended", "past"} <= {one.kind for one in of.told.values()}


def test_a_set_is_scored_by_part_and_verdict() -> None:
    rows = {row["what"]: row for row in replacement_rows({"set": "small"}, small_set())}
    assert (rows["replaced"]["precision"], rows["replaced"]["part"]) == (0.75, "lives")
    assert rows["conflict"]["changes"] == 4
