"""One arm lives through a life: day by day, with nights, by a clock of its own, and is asked what all arms are asked.

The part of the life before the first night is the same for all arms: it is lived once, and each arm's mind is a copy of
what came of it. Nothing depends on the machine's clock, on chance or on which process an arm lives in, so that the same
arm and seed give the same answers anywhere; what they cost is told beside.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import shutil
import tarfile
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil

from mnemic.actors.capture.messages import CaptureTranscript
from mnemic.actors.kernel.errors import ModelError
from mnemic.actors.kernel.events import Event, MalformedLine
from mnemic.actors.kernel.times import FixedZone
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.log.messages import NoteDelivery
from mnemic.actors.meaning.messages import EmbedPending
from mnemic.actors.recall.messages import Recall, Recalled
from mnemic.actors.shape.messages import BindPending
from mnemic.actors.sleep.messages import Sleep
from mnemic.experiment.embeddings import VectorCache
from mnemic.experiment.jobs import TOLD, Answered, ArmJob, ArmResult, NightTaken
from mnemic.experiment.lives import Life, Question
from mnemic.experiment.measures import ranking_of
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.keys.keys import Secrets, derive_key, generate_key
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.minds.run_dir import process_start_time
from mnemic.runtime.version import __version__

MIND = "default"
"""What the mind of an arm is called."""
_DAY_US = 86_400_000_000
_ASK_S = 600.0
_NIGHT_S = 3_600.0  # of the machine's time: a consolidator that never ends is a failure
_OPENED = 10  # an answer among the first so many is opened
_PAUSE_S = 0.002
_HOMES = "mnemic-experiment-"
_CLOCK = SystemClock()


class VirtualClock(FixedZone):
    """The life's time, which only the replay moves, in UTC; how long things take is the machine's."""

    def __init__(self, now_us: int) -> None:
        super().__init__()
        self._now_us = now_us

    def now_us(self) -> int:
        """World time, microseconds since 1970 UTC."""
        return self._now_us

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        return _CLOCK.monotonic_s()

    def move_to(self, now_us: int) -> None:
        """Move it forward; never back."""
        self._now_us = max(self._now_us, now_us)


class _Events:
    """A day's events, read as a transcript is."""

    format = "jsonl"
    size_bytes: int | None = None
    position_bytes = 0

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        return iter(self._events)

    def close(self) -> None:
        """Nothing is open."""


def shared_events(life: Life, share: float) -> int:
    """How many of a life's events come before the first night: whole days, up to that share of them."""
    most, known = round(share * len(life.events)), 0
    for day in _days(life.events):
        if known + len(day) > most:
            break
        known += len(day)
    return known


def live_shared_part(life: Life, count: int, seed: int, cache: VectorCache) -> bytes:
    """Live the first events of a life, without nights, and pack what came of it; see `pack_home`.

    The mind's identities and chance follow from the seed, its key does not.
    """
    with _temporary_home() as home:
        clock = VirtualClock(life.events[0].said_at or 0)
        own = b"mnemic experiment %d" % seed
        identities, chance = (derive_key(hashlib.sha256(own).digest(), use) for use in (b"identities", b"chance"))
        create_mind(home, MIND, clock, secrets=Secrets(root=generate_key(), identities=identities, seed=chance))
        with _actors(home, Settings(), clock, cache, life.events) as actors:
            for day in _days(life.events[:count]):
                _live(actors, clock, day)
        return pack_home(home)


def pack_home(home: Path) -> bytes:
    """A home that nobody has open, as an archive."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        archive.add(home / "minds", "minds")
    return written.getvalue()


@contextmanager
def _temporary_home() -> Iterator[Path]:
    """A home that goes with its process, or by `remove_left_homes` where that was killed."""
    pid = os.getpid()
    with tempfile.TemporaryDirectory(prefix=f"{_HOMES}{pid}-{process_start_time(pid)}-") as folder:
        yield Path(folder)


def remove_left_homes() -> None:
    """Remove homes of arms whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_HOMES}*-*-*"):
        pid, started, _ = folder.name.removeprefix(_HOMES).split("-", 2)
        if pid.isdecimal() and process_start_time(int(pid)) != started:
            shutil.rmtree(folder, ignore_errors=True)  # somebody else's, or removed by another


def live_arm(job: ArmJob) -> ArmResult:
    """Live through all of it.

    Raises:
        MnemicError: an actor failed, or its store.
        TimeoutError: a night did not end.
        ValueError: a measure gave no number.
    """
    began = _CLOCK.monotonic_s()
    cache = VectorCache.from_bytes(job.vectors)
    events = job.life.events
    clock = VirtualClock(events[max(0, job.lived - 1)].said_at or 0)
    left = list(_days(events[job.lived :]))
    total = len(left) + job.after
    replay = _Replay(job)
    with _temporary_home() as home:
        with tarfile.open(fileobj=io.BytesIO(job.mind)) as archive:
            archive.extractall(home, filter="data")
        with _actors(home, Settings(job.settings), clock, cache, events) as actors:
            _settle(actors)  # by its own settings
            said = {one.source_id for one in events[: job.lived]}
            replay.ask_all(actors, 0, said)
            for number in range(1, total + 1):
                day = left[number - 1] if number <= len(left) else []
                if day:
                    _live(actors, clock, day)
                    said |= {one.source_id for one in day}
                clock.move_to(_end_of_day(clock.now_us()) if day else clock.now_us() + _DAY_US)
                replay.use(actors, number, total, said)
                if job.nights:
                    replay.sleep(actors, number)
                replay.ask_all(actors, number, said)
        store_bytes = sum(one.stat().st_size for one in (home / "minds" / MIND).glob("store.db*"))
    return ArmResult(
        arm=job.arm,
        seed=job.seed,
        answers=tuple(replay.answers),
        degraded=tuple(sorted(replay.degraded)),
        notes=tuple(replay.notes.values()),
        stage_failures=tuple(replay.stage_failures.values()),
        used=replay.used,
        opened=replay.opened,
        nights=tuple(replay.nights),
        took_s=_CLOCK.monotonic_s() - began,
        peak_mib=psutil.Process().memory_info().rss / 2**20,
        store_bytes=store_bytes,
    )


class _Replay:
    """What an arm is asked, and what it answers."""

    def __init__(self, job: ArmJob) -> None:
        self.answers: list[Answered] = []
        self.degraded: set[str] = set()
        self.nights: list[NightTaken] = []
        self.notes: dict[str, str] = {}
        self.stage_failures: dict[str, str] = {}
        self.used = self.opened = 0
        self._job = job
        self._measured = [one for one in job.life.questions if one.id not in job.used]
        self._to_use = [one for one in job.life.questions if one.id in job.used]

    def ask_all(self, actors: Supervisor, night: int, said: set[str | None]) -> None:
        """Ask all that can be answered by now, and leave no trace, where the spec asks after that night."""
        if night not in self._job.asked_at:
            return
        for one in self._measured:
            if not one.gold <= said:
                continue
            answer = actors.ask(one.ask or self._recall(one), _ASK_S)
            self.degraded.update(getattr(answer, "degraded", ()))
            measured = {name: measure(one, answer, self._job.settings) for name, measure in self._job.measures.items()}
            known = {name: float(value) for name, value in measured.items() if value is not None}
            for name, value in known.items():
                if not math.isfinite(value):
                    raise ValueError(f"the measure {name} gives {value} for the question {one.id}")
            self.answers.append(Answered(one.id, night, known, tuple(ranking_of(answer)[:TOLD])))

    def use(self, actors: Supervisor, night: int, nights: int, said: set[str | None]) -> None:
        """Have an assistant ask its share of this day's questions, and open what answers."""
        ready = [one for one in self._to_use if one.gold <= said]
        share = -(-len(self._job.used) // nights) if night < nights else len(ready)
        self._to_use = [one for one in self._to_use if one not in ready[:share]]
        planned = [one for one in self._measured for _ in range(one.used_at.count(night)) if one.gold <= said]
        for number, one in enumerate([*ready[:share], *planned]):
            asked = self._recall(one, observe=True, assistant="experiment", asking_session=f"night {night} {number}")
            answer: Recalled = actors.ask(asked, _ASK_S)
            self.used += 1
            found = next((hit for hit in answer.hits[:_OPENED] if hit.source_id in one.gold), None)
            if found is not None:
                part = DeliveredSpan(memory=found.id, start=0, stop=found.size_bytes, why="it answers")
                session = asked.asking_session
                self.opened += 1
                actors.tell(NoteDelivery(assistant="experiment", session=session, parts=(part,)))
            _settle(actors)

    def sleep(self, actors: Supervisor, number: int) -> None:
        """Have a night."""
        began = _CLOCK.monotonic_s()
        seed = hashlib.sha256(b"night %d %d" % (self._job.seed, number)).digest()
        asked = Sleep(run=f"night {number}", seed=seed, budget_s=1e9)
        while not (report := actors.ask(asked, _ASK_S)).finished:
            if _CLOCK.monotonic_s() - began > _NIGHT_S:
                raise TimeoutError(f"night {number} did not end within an hour")
        _settle(actors)
        for one in report.stages:
            said = f"night {number}, {one.stage}: {one.note}"
            if one.note:
                self.notes[one.stage] = said
            if one.state == "failed":
                self.stage_failures.setdefault(one.stage, said)
        self.nights.append(NightTaken(report.changes, _CLOCK.monotonic_s() - began))

    def _recall(self, one: Question, **fields: Any) -> Recall:
        given: dict[str, Any] = {"query": one.text, "k": self._job.depth, "scope": one.scope, "observe": False}
        return Recall(**(given | fields))


@contextmanager
def _actors(
    home: Path, settings: Settings, clock: VirtualClock, cache: VectorCache, events: Sequence[Event]
) -> Iterator[Supervisor]:
    days = {_name(day): day for day in _days(events)}
    folder, keys = open_mind(home, MIND)
    actors = start_actor_system(
        folder,
        keys,
        settings,
        clock,
        opener=lambda path, format: _Events(days[path]),
        code=__version__,
        load_encoder=cache.encoder_of,
    )
    try:
        yield actors
    finally:
        actors.stop()


def _live(actors: Supervisor, clock: VirtualClock, day: Sequence[Event]) -> None:
    """Take in a day's events, and have all be done that they give rise to."""
    clock.move_to(day[-1].said_at or 0)
    taken = 0
    while True:
        part = actors.ask(CaptureTranscript(path=_name(day), format="auto", scope=None, skip=taken), _ASK_S)
        taken = part.taken
        if part.done:
            break
    _settle(actors)


def _settle(actors: Supervisor) -> None:
    """Wait until nothing is left to do."""
    for pending in (EmbedPending(), BindPending()):
        try:
            while actors.ask(pending, _ASK_S).pending:
                pass
        except ModelError:
            continue  # without a model words answer, and every recall says so
    pause = threading.Event()
    while actors.is_busy():
        pause.wait(_PAUSE_S)


def _days(events: Sequence[Event]) -> Iterator[list[Event]]:
    """The events of each day on which something is said, in order."""
    for _, day in groupby(events, key=lambda one: (one.said_at or 0) // _DAY_US):
        yield list(day)


def _name(day: Sequence[Event]) -> str:
    return datetime.fromtimestamp((day[0].said_at or 0) / 1e6, UTC).date().isoformat()


def _end_of_day(at: int) -> int:
    return (at // _DAY_US + 1) * _DAY_US - 1
