"""The Consolidator actor: has nights, stage by stage, while nobody wants anything.

A night derives what its stages make of memories that came or changed (`mnemic.actors.sleep.stages`), and has other
actors go on with their own work. Each request does a bounded while of it, so that whoever wakes the mind waits for that
alone; what is kept is kept step by step, and a night that was broken off goes on where it was, since only what differs
from what stands is derived. A night that changes nothing leaves nothing. A stage that fails does not keep others from
their work; one that has failed in three nights is quarantined until somebody clears it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec

from mnemic.actors.kernel.contract import CONTRACT, Context, Setting, raise_location
from mnemic.actors.kernel.errors import DeadlineExceeded, MnemicError
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.sleep.changes import (
    BeginNight,
    DerivedItem,
    EndNight,
    KeepDerived,
    KeepVerdict,
    NightEnd,
    StageReport,
)
from mnemic.actors.sleep.exam import Exam, due_exams
from mnemic.actors.sleep.messages import NightReport, Preempt, Sleep
from mnemic.actors.sleep.registry import BUILT_IN_STAGES, MissingStage, find_stage, settings_of_stages
from mnemic.actors.sleep.stages import (
    AskingStage,
    DerivingStage,
    LoggedStage,
    Stage,
    check_effect,
    effect_of,
    settings_of,
    sources_stamp,
)
from mnemic.actors.store.messages import Apply

FAILURES_ALLOWED = 3
"""A stage that failed in so many nights, one after the other, is quarantined."""
_SLICE_S = 0.1  # of work for one request: who wakes the mind waits so long
_ITEMS_AT_ONCE = 32  # kept in one transaction
_HELD = "the last nights were taken back, and nothing was captured since"
_QUARANTINED = f"set aside: it failed in {FAILURES_ALLOWED} nights; `mnemic doctor --repair` has it tried again"
_SHARE_USED = "half of the time that was left is used up: the next night goes on"
_log = logging.getLogger("mnemic.nights")


class ConsolidatorActor:
    """Sleeps."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Sleep, Preempt)
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting(
            "sleep.stages",
            " ".join(BUILT_IN_STAGES),
            "-",
            "What a night does, in this order: names of stages, or module:Class of somebody's own (docs/sleep.md).",
        ),
        *settings_of_stages(()),
    )

    def __init__(self, ports: Ports) -> None:
        """Open the store for reading."""
        self._settings: Mapping[str, Any] = ports.settings
        self._source = ports.open_snapshots()
        self._night: _Night | None = None

    @classmethod
    def make(cls, ports: Ports) -> Self:
        """Open the store for reading."""
        return cls(ports)

    def handle(self, message: Any, context: Context) -> NightReport | None:
        """Do a bounded while of a night, and report all that it did so far; or have the one that is on end.

        Raises:
            InvalidValue: a stage that is asked for is not there.
        """
        if isinstance(message, Preempt):
            if self._night is not None and self._night.run == message.run:
                in_time = context.clock.monotonic_s() < self._night.until_s
                self._night.end("woken" if in_time else "time", context)
                self._night = None
            return None
        assert isinstance(message, Sleep)
        if self._night is None or (self._night.run, self._night.asked) != (message.run, _asked(message)):
            stages: list[Any] = [self._make_stage(name) for name in message.stages]
            if self._night is not None:
                self._night.end("woken", context)
            until_s = context.clock.monotonic_s() + message.budget_s
            self._night = _Night(message, stages or self._stages(), self._settings, self._source, until_s)
        report = self._night.work(context)
        if self._night.is_over:  # who asks for it by the same name again has another look taken
            self._night = None
        return report

    def stage_names(self) -> Sequence[str]:
        """What a night does, in order; one of somebody's own may name others than the settings do."""
        names: str = self._settings["sleep.stages"]
        return names.split()

    def _stages(self) -> list[Any]:
        """The stages of a night; one that is not there fails by itself."""
        made: list[Any] = []
        for name in self.stage_names():
            try:
                made.append(self._make_stage(name))
            except Exception as error:  # a stranger's may do anything when it is made
                made.append(MissingStage(name, error))
        return made

    def _make_stage(self, name: str) -> Stage:
        kind = find_stage(name)
        return kind.make({one.name: one.default for one in settings_of(kind)} | dict(self._settings))

    def close(self) -> None:
        """Let go of the store."""
        self._source.close()


def _asked(message: Sleep) -> tuple[Any, ...]:
    return message.stages, message.dry_run, message.again


def _cause(error: Exception) -> str:
    """What went wrong and where, without words of memories."""
    return f"{error.code if isinstance(error, MnemicError) else type(error).__name__} in {raise_location(error)}"


class _Night:
    """One night, as far as it is."""

    def __init__(
        self, message: Sleep, stages: list[Any], settings: Mapping[str, Any], source: Any, until_s: float
    ) -> None:
        self.run = message.run
        self.asked = _asked(message)
        self.until_s = until_s
        """Monotonic time at which its time is used up."""
        self.is_over = False
        self._why: NightEnd | None = None
        self._message = message
        self._source = source
        self._stages = stages
        self._settings = settings
        self._at = 0  # which of them it is in
        self._is_begun = False  # whether it has taken a step in that one
        self._stage_until_s = until_s  # half of what is left of the night when it begins: no stage starves the others
        self._is_cut = False  # whether a stage has used its time up
        self._todo: list[tuple[bytes, bytes]] = []  # keys, and the state of their sources
        self._ended: list[bytes] = []  # keys of what has no sources any more
        self._listed: tuple[int, int] | None = None  # generation and line of the log that these are as of
        self._key_error: Exception | None = None  # the first that a key of this stage failed with
        self._exams: list[Exam] | None = None  # that are left, the next one last, once all stages are had
        self._behind = 0
        self._asking = {one.name for one in stages if not isinstance(one, DerivingStage | LoggedStage)}
        self._done = {one.name: StageReport(stage=one.name) for one in stages}
        self._failures: Mapping[str, tuple[int, str]] = {}  # of nights before

    def work(self, context: Context) -> NightReport:
        """Do a bounded while of it."""
        clock = context.clock
        started_s = clock.monotonic_s()
        while not self.is_over and not context.cancelled():
            if clock.monotonic_s() >= self.until_s:
                self.end("time", context)
                break
            changes = self._take_step(context)
            if changes or clock.monotonic_s() - started_s >= _SLICE_S:
                break
        reports = tuple(self._done.values())
        with self._source.snapshot() as snapshot:
            night = snapshot.night(self.run)
        return NightReport(
            run=self.run,
            steps=tuple(one.stage for one in reports if one.changes),
            changes=sum(one.changes for one in reports),
            finished=self._why == "finished",
            stages=reports,
            behind=self._behind,
            ended=self._why in ("time", "woken"),
            number=None if night is None else night.number,
        )

    def end(self, why: NightEnd, context: Context) -> None:
        """Have the store know how it ended, where it derived something or a stage failed."""
        self.is_over, self._why = True, why
        if self._message.dry_run:
            return
        for one in self._exams or ():
            if one.has_told:  # what is asked by now tells enough
                self._keep(one.verdict(self.run), context)
        reports = tuple(self._done.values())
        told = any(one.state == "failed" or (one.state == "done" and one.stage in self._failures) for one in reports)
        with self._source.snapshot() as snapshot:
            night = snapshot.night(self.run)
        changes = sum(one.changes for one in reports if one.stage not in self._asking)
        if told or (night is not None and (changes or night.ended_at is None)):
            self._apply((EndNight(run=self.run, why=why, stages=reports),), context)

    def _take_step(self, context: Context) -> int:
        """Take a bounded step; returns how many changes it made."""
        if self._at == len(self._stages):
            if self._examine(context):
                self.end("time" if self._is_cut else "finished", context)
            return 0
        stage = self._stages[self._at]
        started_s = context.clock.monotonic_s()
        if not self._is_begun:
            self._stage_until_s = started_s + (self.until_s - started_s) / 2
        changes, note, is_done, state = 0, "", True, "done"
        failed: Exception | None = None
        try:
            if self._is_quarantined(stage):
                note, state = _QUARANTINED, ""
            elif isinstance(stage, DerivingStage):
                changes, is_done, note = self._derive(stage, context)
                failed = self._key_error if is_done else None
            else:
                changes, is_done, note = self._ask(stage, context)
        except DeadlineExceeded:  # what it asked for goes on by itself, and the next night finds what came of it
            note, state = "its time was used up", ""
        except Exception as error:  # a stage may be a stranger's: the others go on, and it is told, without its words
            failed = error
        if failed is not None:
            note, state = str(failed) if isinstance(stage, MissingStage) else _cause(failed), "failed"
            _log.warning("a night's stage %s failed: %s", stage.name, note, extra={"trace": self.run})
        now_s = context.clock.monotonic_s()
        is_cut = not is_done and now_s >= self._stage_until_s
        if is_cut:
            note, self._is_cut = _SHARE_USED, True
        took_us = round(1e6 * (now_s - started_s))
        before = self._done[stage.name]
        self._done[stage.name] = StageReport(
            stage=stage.name,
            changes=before.changes + changes,
            took_us=before.took_us + took_us,
            note=note,
            state=state if is_done else "",
        )
        self._is_begun = not (is_done or is_cut)
        if not self._is_begun:
            self._at += 1
            self._behind = 0
        return changes

    def _is_quarantined(self, stage: Stage) -> bool:
        if self._is_begun:
            return False
        with self._source.snapshot() as snapshot:
            self._failures = snapshot.stage_failures()
        return self._failures.get(stage.name, (0, ""))[0] >= FAILURES_ALLOWED

    def _ask(self, stage: AskingStage, context: Context) -> tuple[int, bool, str]:
        if not self._is_begun and isinstance(stage, LoggedStage):
            stage.begin(self.run, self._message.reason, again=self._message.again)
        if self._message.dry_run:
            with self._source.snapshot() as snapshot:
                waiting = stage.waiting(snapshot)
            return 0, True, f"{waiting} to look at" if waiting else ""
        left_s = max(0.1, self.until_s - context.clock.monotonic_s())
        asked = stage.ask(context, left_s, is_first=not self._is_begun)
        self._behind = asked.pending
        return asked.changes, not asked.pending, asked.note

    def _derive(self, stage: DerivingStage, context: Context) -> tuple[int, bool, str]:
        """Find what is to be derived; then derive some of it, until all is. What came or changed meanwhile is seen."""
        with self._source.snapshot() as snapshot:
            as_of = snapshot.generation, snapshot.log_row
            if snapshot.are_nights_held() and not self._message.again:
                return 0, True, _HELD
            if not self._is_begun or as_of != self._listed:
                self._list(stage, snapshot)
        if not self._is_begun:
            self._key_error = None
        self._listed = as_of
        items: list[DerivedItem] = []
        told = 0  # of these that tell anything, or told before
        restamped: list[tuple[bytes, bytes]] = []
        until_s = context.clock.monotonic_s() + _SLICE_S
        while self._todo and len(items) < _ITEMS_AT_ONCE and self._may_go_on(until_s, context):
            key, stamp = self._todo.pop()
            try:
                with self._source.snapshot() as snapshot:
                    state = stage.read(key, snapshot)
                    standing = snapshot.derived(stage.name, [key])
                derived = stage.plan(state)
                check_effect(stage, derived)
            except Exception as error:  # told once the others are derived
                self._key_error = self._key_error or error
                continue
            if standing and (standing[0].value, standing[0].sources) == derived:
                restamped.append((key, stamp))
            else:
                items.append(DerivedItem(key=key, stamp=stamp, value=derived.value, sources=derived.sources))
                told += bool(derived.sources or (standing and standing[0].sources))
        ended, self._ended = ([], self._ended) if self._todo else (self._ended, [])
        self._behind = len(self._todo)
        changes = told + len(ended)
        if (items or ended or restamped) and not self._message.dry_run:
            kept = KeepDerived(
                generation=as_of[0],
                run=self.run,
                stage=stage.name,
                items=tuple(items),
                ended=tuple(ended),
                restamped=tuple(restamped),
            )
            begun = (BeginNight(run=self.run, reason=self._message.reason),) if items or ended else ()
            if not self._apply((*begun, kept), context):  # made anew or taken back meanwhile: look again
                self._listed = None
                return 0, False, ""
        return changes, not self._todo, ""

    @staticmethod
    def _may_go_on(until_s: float, context: Context) -> bool:
        """Whether nobody waits, neither for the end of this slice nor for that of the night."""
        return context.clock.monotonic_s() < until_s and not context.cancelled()

    def _examine(self, context: Context) -> bool:
        """Examine what recalls are to go by, once all stages are had, for a bounded while; says whether it is over."""
        if self._message.dry_run:
            return True
        if self._exams is None:
            self._exams = self._choose_exams(context)
        until_s = context.clock.monotonic_s() + _SLICE_S
        while self._exams and self._may_go_on(until_s, context):
            try:
                if self._exams[-1].left:
                    self._exams[-1].ask_one(context)
                    continue
                verdict = self._exams.pop().verdict(self.run)
            except Exception as error:  # recalls go on as before, and the stage is told as one that failed
                self._fail(self._exams.pop().stage, error)
            else:
                self._keep(verdict, context)
        self._behind = sum(one.left for one in self._exams)
        return not self._exams

    def _choose_exams(self, context: Context) -> list[Exam]:
        """Exams of the stages whose items changed since their last one, or that had none for want of questions."""
        with self._source.snapshot() as snapshot:
            if snapshot.are_nights_held() and not self._message.again:
                return []
            verdicts = snapshot.verdicts()
            had = [(one.name, effect_of(one)) for one in self._stages if self._done[one.name].state == "done"]
            exams = due_exams(had, verdicts, snapshot)
        if not self._message.stages:
            for name in sorted(verdicts.keys() - self._done.keys()):
                one = verdicts[name]
                if one.passed:
                    why = "it is no stage of nights any more: recalls go on without it"
                    kept = KeepVerdict(
                        run=self.run, stage=name, effect=one.effect, night=one.night, questions=0, passed=False, why=why
                    )
                    self._keep(kept, context)
        return exams

    def _fail(self, stage: str, error: Exception) -> None:
        """Tell that a stage's exam could not be had."""
        note = f"its exam failed: {_cause(error)}"
        _log.warning("a night's stage %s failed: %s", stage, note, extra={"trace": self.run})
        self._done[stage] = msgspec.structs.replace(self._done[stage], note=note, state="failed")

    def _keep(self, verdict: KeepVerdict, context: Context) -> None:
        """Keep what an exam said, and tell it with its stage."""
        self._apply((BeginNight(run=self.run, reason=self._message.reason), verdict), context)
        told = self._done.get(verdict.stage, StageReport(stage=verdict.stage, state="done"))
        self._done[verdict.stage] = msgspec.structs.replace(told, note=verdict.why)

    def _list(self, stage: DerivingStage, snapshot: Any) -> None:
        """Find what is to be derived."""
        wanted = {key: sources_stamp(stage, self._settings, state) for key, state in stage.sources(snapshot).items()}
        have = snapshot.derived_stamps(stage.name)
        self._todo = [(key, stamp) for key, stamp in sorted(wanted.items(), reverse=True) if have.get(key) != stamp]
        self._ended = sorted(have.keys() - wanted.keys())

    def _apply(self, changes: tuple[Any, ...], context: Context) -> bool:
        """Have the store carry out changes; says whether the last one did anything."""
        digest = hashlib.sha256(msgspec.msgpack.encode(changes)).digest()
        with self._source.snapshot() as snapshot:
            seq = snapshot.seq
        key = b"night/" + digest + seq.to_bytes(8, "little")
        return context.ask(Apply(changes=changes, key=key, author="consolidator", run=self.run)).changed[-1]
