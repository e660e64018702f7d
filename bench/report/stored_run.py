"""Whole runs as files: the last one of each size, and a history of ratios, a line a run.

A run of some parts alone takes the place of these parts in the last run, so each figure tells its own commit. Scores of
single questions are kept of quick runs only, which later ones are compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mnemic.bench.harness.figures import Figure


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """The last figures of each part."""

    at: str
    """When the last of them were measured: a time in UTC, as ISO 8601 has it."""
    quick: bool
    """Whether sizes were small."""
    versions: dict[str, str]
    """Of Python, of packages and of peers."""
    figures: tuple[Figure, ...]
    """All of them."""


class HistoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as its ratios tell it."""

    at: str
    """When it was: a time in UTC, as ISO 8601 has it."""
    commit: str
    """What was measured."""
    machine: str
    """On what."""
    quick: bool
    """Whether sizes were small."""
    ratios: dict[str, tuple[float, float, float]]
    """Ours by each other one, by a name that says which, with what it may be as well."""


def run_path(folder: Path, quick: bool) -> Path:
    """Where the last run of a size is kept."""
    return folder / f"{'quick' if quick else 'full'}.json"


def read_run(path: Path) -> StoredRun:
    """Read a run.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds something else.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=StoredRun)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path} is no stored run: {error}") from error


def read_history(folder: Path) -> list[HistoryLine]:
    """All runs, the first one first. Raises as `read_run`."""
    path = folder / "history.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    try:
        return [msgspec.json.decode(line, type=HistoryLine) for line in lines]
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path} is no history: {error}") from error


def store_run(folder: Path, figures: Sequence[Figure], quick: bool, versions: dict[str, str]) -> StoredRun:
    """Keep a run: what other parts had before stays. Raises as `read_run`."""
    folder.mkdir(parents=True, exist_ok=True)
    path, parts = run_path(folder, quick), {one.part for one in figures}
    before = read_run(path).figures if path.exists() else ()
    kept = [one for one in before if one.part not in parts]
    new = figures if quick else [msgspec.structs.replace(one, scores=(), groups=()) for one in figures]
    at = datetime.now(UTC).isoformat(timespec="seconds")
    run = StoredRun(at=at, quick=quick, versions=versions, figures=(*kept, *new))
    head, tail = msgspec.json.encode(msgspec.structs.replace(run, figures=())).split(b'"figures":[]')
    lines = b",\n".join(msgspec.json.encode(one) for one in run.figures)  # so that a difference tells which changed
    path.write_bytes(head + b'"figures":[\n' + lines + b"\n]" + tail + b"\n")
    line = HistoryLine(
        at=at,
        commit=figures[0].commit,
        machine=figures[0].machine,
        quick=quick,
        ratios={one.name: one.ratio for one in figures if one.ratio is not None},
    )
    with (folder / "history.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")
    return run
