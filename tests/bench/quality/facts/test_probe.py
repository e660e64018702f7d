"""A change that is told of a subject in other words is found where it is near, and judged as others are."""

from __future__ import annotations

from pathlib import Path

from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.facts.change_sets import ChangeQuestion, ChangeSet, Told
from mnemic.bench.quality.facts.probe import LEVELS, probe_rows

SCOPE = "lives/0"
SAID = (
    ("The backup server uses Restic", "backup", Told("first", "Restic")),
    ("The rehearsal starts at 8", "rehearsal", Told("first", "8")),
    ("The backups server uses Borg now", "backup", Told("change", "Borg")),
)


def test_what_is_near_is_graded_and_each_level_finds_no_more_than_the_one_below(tmp_path: Path) -> None:
    turns, slots, told = [], {}, {}
    for number, (text, attribute, label) in enumerate(SAID):
        id = f"{SCOPE}/{number}"
        turns.append({"id": id, "session": id, "role": "user", "speaker": "ines", "scope": SCOPE})
        turns[-1] |= {"said_at": f"2026-03-0{number + 1}T10:00:00Z", "text": text}
        slots[id], told[id] = (SCOPE, attribute, "x"), label
    nothing: frozenset[str] = frozenset()
    asked = ChangeQuestion("?", "now", nothing, nothing, nothing, (SCOPE, "backup", "x"), "lives")
    home, note = tmp_path / "home", tmp_path / "note.txt"
    home.mkdir(mode=0o700)
    note.write_text("a note", "utf-8")
    run_mnemic(home, "capture", note)
    with actors_of(home) as actors:
        rows = list(probe_rows({"set": "small"}, ChangeSet(turns, slots, [asked], told), actors))
    assert len(rows) == 3 * len(LEVELS)
    assert {(row["pairs"], row["right"], row["changes"]) for row in rows if row["level"] == LEVELS[0]} == {(1, 1, 1)}
    by = {(row["by"], row["level"]): row["pairs"] for row in rows}
    for name in {name for name, _ in by}:
        assert [by[name, level] for level in LEVELS] == sorted((by[name, level] for level in LEVELS), reverse=True)
