"""An arm lives a life day by day by a clock of its own, and answers the same wherever and however often it lives."""

from __future__ import annotations

import io
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemic.experiment.embeddings import VectorCache
from mnemic.experiment.jobs import ArmJob
from mnemic.experiment.measures import load_measures
from mnemic.experiment.replay import VirtualClock, live_arm, live_shared_part, shared_events
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.reader import open_reader
from tests.mnemic.experiment import made
from tests.mnemic.experiment.made import START_US, THINGS, life, spec

LEXICAL = {"embedder.model": "/nowhere"}
LIFE = life({}, 1)


def job(lived: int = 0, **fields: Any) -> ArmJob:
    """An arm that goes by words."""
    cache = VectorCache()
    given: dict[str, Any] = {
        "arm": "ours",
        "seed": 1,
        "settings": Settings(LEXICAL | {"sleep.stages": "fingerprints duplicates uses strengths"}).values(),
        "nights": True,
        "after": 1,
        "life": LIFE,
        "lived": lived,
        "asked_at": (0, 2, 5),
        "used": frozenset(),
        "depth": 5,
        "measures": load_measures(spec(("seeds = [1]", 'seeds = [1]\nmeasures = ["mrr", "hit@1", "probability"]'))),
        "mind": live_shared_part(LIFE, lived, 1, cache),
        "vectors": cache.to_bytes(),
    }
    return ArmJob(**(given | fields))


@pytest.fixture(scope="module")
def lived() -> Any:
    return live_arm(job())


def test_a_question_is_asked_once_what_answers_it_was_said(lived: Any) -> None:
    asked = {night: [one.question for one in lived.answers if one.nights == night] for night in (0, 2, 5)}
    assert asked == {0: [], 2: list(THINGS[:4]), 5: list(THINGS)}
    assert len(lived.nights) == 5
    assert any("Words alone answered." in said for said in lived.degraded)
    assert all(one.hits[0].startswith(one.question) for one in lived.answers)
    assert lived.store_bytes > 0
    assert all(0.0 < one.measured["probability"] < 1.0 for one in lived.answers)


def test_the_same_arm_answers_the_same_again(lived: Any) -> None:
    again = live_arm(job())
    assert again.answers == lived.answers
    assert [one.changes for one in again.nights] == [one.changes for one in lived.nights]


def test_what_is_shared_is_lived_once_and_makes_no_difference(lived: Any) -> None:
    count = shared_events(LIFE, 0.5)
    assert 0 < count <= len(LIFE.events) / 2
    assert LIFE.events[count].said_at // 86_400_000_000 > LIFE.events[count - 1].said_at // 86_400_000_000  # type: ignore[operator]
    nights = len({(one.said_at or 0) // 86_400_000_000 for one in LIFE.events[count:]}) + 1
    shared = live_arm(job(count, asked_at=(nights,)))
    assert [one.hits for one in shared.answers] == [one.hits for one in lived.answers if one.nights == 5]
    assert shared_events(LIFE, 0.0) == 0
    assert shared_events(LIFE, 1.0) == len(LIFE.events)


def test_what_an_assistant_used_is_weighed_by_the_nights_after() -> None:
    used = frozenset(THINGS[:4])
    with_use = live_arm(job(used=used, after=3))
    assert {one.question for one in with_use.answers} == set(THINGS[4:])
    assert (with_use.used, with_use.opened) == (4, 4)
    without = live_arm(job(after=3))
    assert (without.used, without.opened) == (0, 0)
    assert sum(one.changes for one in with_use.nights) > sum(one.changes for one in without.nights)


def test_an_arm_without_nights_has_none() -> None:
    assert live_arm(job(nights=False)).nights == ()


def test_a_stage_that_fails_is_told_with_the_night_and_the_reason() -> None:
    settings = Settings(LEXICAL | {"sleep.stages": "tests.mnemic.experiment.made:Broken uses"}).values()
    failed = live_arm(job(settings=settings))
    place = f"sources (made.py:{_line_of_failure()})"
    assert failed.stage_failures == (f"night 1, broken: ZeroDivisionError in {place}",)
    assert failed.answers


def _line_of_failure() -> int:
    lines = Path(made.__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if "raise ZeroDivisionError(" in line)


def test_its_clock_goes_forward_alone() -> None:
    clock = VirtualClock(START_US)
    clock.move_to(START_US - 1)
    assert clock.now_us() == START_US
    clock.move_to(START_US + 5)
    assert clock.now_us() == START_US + 5
    assert clock.monotonic_s() <= clock.monotonic_s()


def test_a_result_is_kept_as_it_is(lived: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(lived), type=type(lived)) == lived


def test_other_seeds_make_other_minds_and_the_same_seed_the_same_ids(tmp_path: Path) -> None:
    kept = [live_shared_part(LIFE, len(LIFE.events), seed, VectorCache()) for seed in (1, 1, 2)]
    ids = [_ids(one, tmp_path / str(number)) for number, one in enumerate(kept)]
    assert ids[0] == ids[1] != ids[2]


def _ids(packed: bytes, home: Path) -> list[bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(home, filter="data")
    folder, keys = open_mind(home, "default")
    with closing(open_reader(folder.store, keys)) as reader, reader.snapshot() as snapshot:
        return [one.id for one in snapshot.load_memories(snapshot.memory_columns(0).row.tolist())]
