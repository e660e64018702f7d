"""Lives, measures and a stage of the specs that ship; each follows something known from the literature.

Capacity: how long hypervectors must be for what is bundled in them to be told from chance (Kanerva 2009; counted
exactly by `mnemic.bench.speed.hd_bench`). Practice: that testing, and testing at intervals, keeps a memory (Pavlik and
Anderson 2005). Interference: that a second answer to a cue stands in the way of the first (Ellenbogen et al. 2006).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar, Self

from mnemic.actors.kernel.events import Event
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.shape.messages import Shape
from mnemic.actors.sleep.changes import SourceSpan
from mnemic.actors.sleep.effects import MemoryWeight, RecallEffect, encode_effect
from mnemic.actors.sleep.stages import Derivation
from mnemic.actors.sleep.uses import Strengths
from mnemic.algorithms.sleep.activation import DAY_US, HALF_LIKELY_DAYS
from mnemic.experiment.lives import Life, Question
from mnemic.hd.evidence import bit_agreement
from mnemic.hd.letters import letter_grams

_START_US = 1_760_000_000_000_000
_FIRST = ("amber", "brick", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "kiosk", "larch")
_SECOND = ("anvil", "basin", "crane", "depot", "easel", "ferry", "gauge", "hinge", "ingot", "joist", "kayak", "ladle")
_THIRD = ("north", "south", "east", "west", "upper", "lower", "old", "new", "inner", "outer", "left", "right")


def _names(count: int, seed: int) -> list[str]:
    """So many things that share words with each other, and none all of them."""
    names = [f"{c} {a} {b}" for a in _FIRST for b in _SECOND for c in _THIRD]
    random.Random(seed).shuffle(names)
    return names[:count]


def _event(text: str, id: str, day: int, place: int, **more: Any) -> Event:
    about: dict[str, Any] = {"assistant": "generic", "kind": "turn", "role": "user", "scope": "study"}
    about |= {"session": f"{day} {id}", "said_at": _START_US + day * DAY_US + place * 1_000_000}
    return Event(text=text.encode(), source_id=id, **(about | more))


_SYLLABLES = ("ba", "co", "du", "fe", "gi", "ho", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vu", "za")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NAME_SYLLABLES, _WRONG = 4, 2
_SIGMAS, _STEPS = 4.0, 20  # of the integral over the noise of a likeness


def records(options: Mapping[str, Any], seed: int) -> Life:
    """Calls of a tool, each with a file of its own; each is asked for by that name with two letters wrong. How names
    are spelt stands in no table, so the hypervectors of their letters alone tell which is meant.

    Args:
        options: ``records``, 300.
    """
    names = _file_names(options.get("records", 300), seed)
    drawn = random.Random(seed)
    events: list[Event] = []
    questions: list[Question] = []
    for number, name in enumerate(names):
        id, wrong = f"{seed} r{number}", _misspelt(name, names, drawn)
        more: dict[str, Any] = {"kind": "tool_call", "role": "assistant", "tool": "Edit", "files": (name,)}
        events.append(_event(f"Edit {number}", id, 0, number, session=id, **more))
        asked = Shape(pattern={"file": wrong}, k=3, scope="study", observe=False)
        text = f"{wrong} {name} {seed} {len(names)}"
        questions.append(Question(id=id, text=text, gold=frozenset({id}), scope="study", kind="file", ask=asked))
    return Life(events=tuple(events), questions=tuple(questions))


@lru_cache(maxsize=8)
def _file_names(count: int, seed: int) -> tuple[str, ...]:
    drawn = random.Random(f"names {seed}")
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(drawn.choice(_SYLLABLES) for _ in range(_NAME_SYLLABLES))] = None
    return tuple(found)


def _misspelt(name: str, names: Sequence[str], drawn: random.Random) -> str:
    while True:
        letters = list(name)
        for place in drawn.sample(range(len(letters)), _WRONG):
            letters[place] = drawn.choice(_LETTERS.replace(letters[place], ""))
        if "".join(letters) not in names:
            return "".join(letters)


def record_found(question: Question, answer: Any, settings: Mapping[str, Any]) -> float:
    """Whether the record is the first of those that are found."""
    return float(bool(answer.hits) and answer.hits[0].source_id in question.gold)


def record_expected(question: Question, answer: Any, settings: Mapping[str, Any]) -> float:
    """How often the name should be nearer than each other one, by the binomial law: two bundles of K and L n-grams that
    share m are alike by m c(K) c(L), with c(K) = 2 p(K) - 1 of `mnemic.hd.evidence`, give or take 1 / sqrt(dimensions).
    """
    wrong, name, seed, count = question.text.split()
    return _expected(settings["binder.dimensions"], wrong, name, int(count), int(seed))


@cache
def _expected(dimensions: int, wrong: str, name: str, count: int, seed: int) -> float:
    asked = Counter(letter_grams(wrong))
    kept = 2 * bit_agreement(asked.total()) - 1

    def alike(other: str) -> float:
        grams = Counter(letter_grams(other))
        return (asked & grams).total() * kept * (2 * bit_agreement(grams.total()) - 1)

    own = alike(name)
    apart = [(own - alike(other)) * math.sqrt(dimensions) for other in _file_names(count, seed) if other != name]
    near = [one for one in apart if one < 2 * _SIGMAS]
    # whatever the noise of the right name's likeness is, it is the same beside all others
    found = weights = 0.0
    for place in range(-_STEPS, _STEPS + 1):
        noise = _SIGMAS * place / _STEPS
        weight = math.exp(-noise * noise / 2)
        weights += weight
        found += weight * math.prod(0.5 * math.erfc(-(one + noise) / math.sqrt(2)) for one in near)
    return found / weights


PRACTICE_NIGHTS = (5, 12, 19)
"""Before these nights what is practised at intervals is asked; what is massed before the last alone, as often."""
_KINDS = ("spaced", "massed", "once", "restudied", "never")


def practice(options: Mapping[str, Any], seed: int) -> Life:
    """Facts that are practised at intervals, massed, once, read again, or not at all; and days to forget in.

    Args:
        options: ``items`` of each kind, 10; ``days``, 45.
    """
    items, days = options.get("items", 10), options.get("days", 45)
    last = PRACTICE_NIGHTS[-1]
    used = {"spaced": PRACTICE_NIGHTS, "massed": (last, last, last), "once": (last,)}
    names = iter(_names(items * (len(_KINDS) + 1), seed))
    events: list[Event] = []
    questions: list[Question] = []
    for number in range(items):
        for kind in _KINDS:
            name, id = next(names), f"{seed} {kind}{number}"
            text = f"The {name} is kept in room {number * 7 % 90 + 10}."
            events.append(_event(text, id, 0, len(events)))
            if kind == "restudied":
                events += [_event(text, f"{id} again {day}", day, number) for day in PRACTICE_NIGHTS]
            planned = used.get(kind, ())
            gold = frozenset({id})
            questions.append(
                Question(id=id, text=f"tell me of the {name}", gold=gold, scope="study", kind=kind, used_at=planned)
            )
    for day in range(1, days):  # others are used every day, so that time passes in which things are forgotten
        events.append(_event(f"Day {day} has passed.", f"day{day}", day, 999))
    name = next(names)
    events.append(_event(f"The {name} is looked at every day.", "daily", 0, 998))
    questions.append(
        Question(
            id=f"{seed} daily",
            text=f"tell me of the {name}",
            gold=frozenset({"daily"}),
            scope="study",
            kind="daily",
            used_at=tuple(range(1, days + 1)),
        )
    )
    events.sort(key=lambda one: one.said_at or 0)
    return Life(events=tuple(events), questions=tuple(questions))


def _gain(question: Question, answer: Any, kind: str) -> float | None:
    if question.kind != kind:
        return None
    found = next((hit for hit in answer.hits if hit.source_id in question.gold), None)
    return 0.0 if found is None else float(found.why.get("use", 0.0))


def gain_spaced(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """What practice at intervals adds, log-odds."""
    return _gain(question, answer, "spaced")


def gain_massed(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """What massed practice adds, log-odds."""
    return _gain(question, answer, "massed")


def gain_once(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """What one use adds, log-odds."""
    return _gain(question, answer, "once")


def gain_restudied(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """What reading it again adds, log-odds."""
    return _gain(question, answer, "restudied")


class PavlikAnderson:
    """Strengths by Pavlik and Anderson's model: the decay of each use grows with the activation it was made at.

    ``m_n = ln(sum t_i ** -d_i)``, ``d_i = c exp(m_{i-1}) + a`` with their c = .217 and a = .177 ("Practice and
    forgetting effects on vocabulary memory", 2005, equations 5 and 6); times in days, as everywhere in nights.
    Activations are those of the newest use in the mind, and become weights by the same curve as Mnemic's own.
    """

    name: ClassVar[str] = "pavlik-anderson"
    version: ClassVar[int] = 1
    effect: ClassVar[RecallEffect] = "weigh"
    _SCALE, _INTERCEPT, _MOST = 0.217, 0.177, 0.25

    def __init__(self) -> None:
        self._strengths = Strengths()
        self._newest = 0

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make one."""
        return cls()

    def sources(self, snapshot: Snapshot) -> Mapping[bytes, bytes]:
        """Blocks of memories of which any was of use; all change with the newest use."""
        found = self._strengths.sources(snapshot)
        times = [one for key in found for of in self._strengths.read(key, snapshot).values() for one in of]
        self._newest = max(times, default=0)
        return {key: stamp + b"%d" % self._newest for key, stamp in found.items()}

    def read(self, key: bytes, snapshot: Snapshot) -> tuple[Mapping[int, Sequence[int]], int]:
        """When memories of a block were of use, by row, and the newest use of all."""
        return self._strengths.read(key, snapshot), self._newest

    def plan(self, state: tuple[Mapping[int, Sequence[int]], int]) -> Derivation:
        """What each gains."""
        uses, newest = state
        rows = sorted(uses)
        weights = tuple(MemoryWeight(weight=self._weight(sorted(uses[row]), newest)) for row in rows)
        return Derivation(encode_effect(weights), tuple(SourceSpan(row, 0, 0) for row in rows))

    def _weight(self, times: Sequence[int], at: int) -> float:
        decays: list[float] = []
        for place, time in enumerate(times):
            before = self._total(times[:place], decays, time)
            decays.append(self._SCALE * before + self._INTERCEPT)
        level = math.log(self._total(times, decays, at))
        middle = -0.5 * math.log(HALF_LIKELY_DAYS)
        return self._MOST / (1.0 + math.exp(middle - level))

    @staticmethod
    def _total(times: Sequence[int], decays: Sequence[float], at: int) -> float:
        return math.fsum(max(1.0, (at - one) / DAY_US) ** -decay for one, decay in zip(times, decays, strict=True))


def interference(options: Mapping[str, Any], seed: int) -> Life:
    """Cues with a first answer, and for half of them a second one later that contradicts nothing; asked is the first.

    Args:
        options: ``cues``, 60; ``lures``, so many second answers of each, 12, said again and again.
    """
    cues, lures = options.get("cues", 60), options.get("lures", 12)
    events: list[Event] = []
    questions: list[Question] = []
    for number, name in enumerate(_names(cues, seed)):
        id, again = f"{seed} first{number}", lures if number % 2 else 0
        seconds = [f"{seed} second{number}.{one}" for one in range(again)]
        events.append(_event(f"With the {name} goes the {_SECOND[number % 12]}, says Ines.", id, 0, number))
        other = f"With the {name} goes the {_FIRST[number % 12]}, says Bela."
        events += [_event(other, second, 1, place) for place, second in enumerate(seconds)]
        questions.append(
            Question(
                id=id,
                text=f"what goes with the {name}, by Ines?",
                gold=frozenset({id}),
                stale=frozenset(seconds),
                scope="study",
                kind="interfered" if seconds else "alone",
                used_at=(1,) if number % 4 < 2 else (),
            )
        )
    events.sort(key=lambda one: one.said_at or 0)
    return Life(events=tuple(events), questions=tuple(questions))


def rank_alone(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """The reciprocal rank of what nothing interferes with."""
    return _reciprocal(question, answer, "alone")


def rank_interfered(question: Question, answer: Any, settings: Mapping[str, Any]) -> float | None:
    """The reciprocal rank of what second answers interfere with."""
    return _reciprocal(question, answer, "interfered")


def _reciprocal(question: Question, answer: Any, kind: str) -> float | None:
    if question.kind != kind:
        return None
    places = (1.0 / place for place, hit in enumerate(answer.hits, 1) if hit.source_id in question.gold)
    return next(places, 0.0)


def no_statements(text: str, *given: Any, **named: Any) -> list[Any]:
    """Reads nothing: of an arm that does not know what replaced what."""
    return []
