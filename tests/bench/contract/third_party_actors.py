"""Consolidators that somebody else might write: a good one, and many that are wrong in one way."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from mnemic.actors.capture.prepare import new_id
from mnemic.actors.kernel.contract import CONTRACT, Setting
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import AddMemory, RecordDelivery
from mnemic.actors.sleep.messages import NightReport, Preempt, Sleep
from mnemic.actors.store.messages import Applied, Apply


class Bare:
    """What the contract asks of a consolidator, and nothing else."""

    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Sleep, Preempt)
    settings: ClassVar[tuple[Setting, ...]] = ()

    @classmethod
    def make(cls, ports: Ports) -> Any:
        return cls()

    def handle(self, message: Any, context: Any) -> Any:
        return report(message)


class Again(msgspec.Struct, frozen=True):
    """To itself: take the next step of a night."""

    run: str
    left: int


class Steady(Bare):
    """Writes a summary a step, in as many steps as it is set to, and stops when it is woken."""

    takes = (Sleep, Preempt, Again)
    settings = (Setting("steady.steps", 3, "steps", "How many steps a night has.", 1),)

    def __init__(self, identity: Any, steps: int) -> None:
        self._identity = identity
        self._steps = steps
        self._awake = ""

    @classmethod
    def make(cls, ports: Ports) -> Any:
        return cls(ports.identity, ports.settings["steady.steps"])

    def handle(self, message: Any, context: Any) -> NightReport | None:
        if isinstance(message, Preempt):
            self._awake = message.run
            return None
        if isinstance(message, Sleep):
            context.tell(Again(message.run, self._steps))
            return NightReport(run=message.run, steps=(), changes=0, finished=False)
        if message.left and message.run != self._awake:
            text = f"step {message.left}".encode()
            identity = self._identity(b"steady", text)
            memory = AddMemory(
                id=new_id(context, identity),
                identity=identity,
                assistant="steady",
                session="nights",
                place=ScopeRef(path="", project=None, found="none"),
                kind="summary",
                role="system",
                text=text,
            )
            context.ask(Apply(changes=(memory,), key=b"steady/" + identity, author="consolidator", run=message.run))
            context.tell(Again(message.run, message.left - 1))
        return None


def report(message: Any, *steps: str) -> NightReport | None:
    return NightReport(run=message.run, steps=steps, changes=0, finished=True) if isinstance(message, Sleep) else None


class LooksAtTheClock(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        return report(message, str(time.time()))


class LooksAtTheDay(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        return report(message, str(int(time.time() // 86400)))


class DrawsUnseeded(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        if isinstance(message, Sleep):
            asked = RecordDelivery(query=str(random.random()), scope="*", parts=(), tokens=0)
            context.ask(Apply(changes=(asked,), key=message.run.encode(), author="a", run=message.run))
        return report(message)


class CountsOnTheOrderOfASet(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        return report(message, *{f"step {number}" for number in range(20)})


class WritesEachTime(Bare):
    """Its key says how much there is, and so is another one each time."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    @classmethod
    def make(cls, ports: Ports) -> Any:
        return cls(ports)

    def handle(self, message: Any, context: Any) -> Any:
        if isinstance(message, Sleep):
            source = self._ports.open_snapshots()
            with source.snapshot() as snapshot:
                key = f"night/{snapshot.seq}".encode()
            source.close()
            asked = RecordDelivery(query="what is new?", scope="*", parts=(), tokens=0)
            answer = context.ask(Apply(changes=(asked,), key=key, author="a", run=message.run))
            assert isinstance(answer, Applied)
        return report(message)


class FailsAtSleep(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        return {}[message]


class AnswersWithADict(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        return {"run": message.run}


class AnswersWithAWrongField(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        many: Any = "many"
        return NightReport(run=message.run, steps=(), changes=many, finished=True)


class AnswersForAnother(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        return NightReport(run="my own", steps=(), changes=0, finished=True)


class AnswersWithCode(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        steps: Any = lambda: ()  # noqa: E731
        return NightReport(run=message.run, steps=steps, changes=0, finished=True)


class ErrorWithTwoWords(MnemicError):
    """Cannot be made again from its operands."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(both=one + two)


class AnswersWithAnErrorThatStays(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        raise ErrorWithTwoWords("a", "b")


class FailsWhereNothingIsLeft(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        if isinstance(message, Sleep):
            assert 1 / message.budget_s
        return report(message)


class HoldsOn(Bare):
    """Works on, whatever its budget is."""

    def handle(self, message: Any, context: Any) -> Any:
        if isinstance(message, Sleep):
            began = context.clock.monotonic_s()
            while context.clock.monotonic_s() - began < message.budget_s + 3.2:
                pass
        return report(message)


class WakesWithAWord(Bare):
    takes = (Sleep, Preempt)

    def handle(self, message: Any, context: Any) -> Any:
        return report(message) or _Woken(message.run)


class _Woken(msgspec.Struct, frozen=True):
    run: str


class NeedsItsPast(Bare):
    takes = (Sleep, Preempt)

    def __init__(self) -> None:
        self.nights: list[str] = []

    def handle(self, message: Any, context: Any) -> Any:
        if isinstance(message, Sleep):
            if message.run == "night-2" and not self.nights:
                raise KeyError("night-1")
            self.nights.append(message.run)
        return report(message)


class NeverEnds(Bare):
    takes = (Sleep, Preempt, Again)

    def handle(self, message: Any, context: Any) -> Any:
        if not isinstance(message, Preempt):
            context.tell(Again(message.run, 1))
        return report(message)


class TakesItsProcessAlong(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        os._exit(3)


class Hangs(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        while True:
            pass


class IsMadeOnlyHere(Bare):
    @classmethod
    def make(cls, ports: Ports) -> Any:
        Path("/nowhere/at/all").read_bytes()


class CannotBeClosed(Bare):
    def close(self) -> None:
        raise OSError("it is gone")


class AsksForWhatNobodyTakes(Bare):
    def handle(self, message: Any, context: Any) -> Any:
        return report(message, str(context.ask(Again("r", 1))))


class ForeseesInVain(Bare):
    @staticmethod
    def foresees(message: Any) -> tuple[Any, ...]:
        return (Again("r", 1),)


class ForeseesALine(Bare):
    @staticmethod
    def foresees(message: Any) -> Any:
        return "a line"


class OfAnotherContract(Bare):
    contract = 7
