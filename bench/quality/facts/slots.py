"""The slots of a life, each one attribute of one subject, and what is to be said about them on which day.

Above stands `mnemic.bench.quality.facts.generate`, which words it; below it stand the phrases.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

from mnemic.bench.quality.facts.phrases import ATTRIBUTES, PERSONS, Attribute

DAYS = 150
"""How long a life is."""

_PEOPLE_PAIRS = (
    ("Mara", "Maro"),
    ("Jonas", "Jona"),
    ("Elin", "Elina"),
    ("Tobi", "Tobin"),
    ("Petra", "Pietra"),
    ("Karim", "Karin"),
    ("Sanne", "Sunniva"),
    ("Oskar", "Oksana"),
)
_PEOPLE = ("Bela", "Henrik", "Yusuf", "Ines", "Dario", "Wanda", "Lorenz", "Nuria")
MEN = frozenset(("Maro", "Jonas", "Tobi", "Tobin", "Karim", "Oskar", "Bela", "Henrik", "Yusuf", "Dario", "Lorenz"))
_SERVICE_PAIRS = (
    ("billing", "billing-eu"),
    ("search-api", "search-app"),
    ("ledger", "ledger-sync"),
    ("mailer", "mailer-bulk"),
    ("gatekeeper", "gatehouse"),
)
_SERVICES = ("atlas", "quokka", "invoice-bot", "pigeon", "harvester", "lantern")
_PLACE_PAIRS = (
    ("the lake house", "the lake hut"),
    ("the Linden flat", "the Lindau flat"),
    ("the north cabin", "the north barn"),
    ("the mill house", "the hill house"),
)
_PLACES = ("the garden house", "the town flat", "the coach house", "the farm", "the loft")


@dataclass
class Event:
    """Something to be said about a slot on a day."""

    slot: Slot
    day: int
    kind: str
    value: str
    old: str = ""
    days: int = 0
    id: str = ""


@dataclass
class Slot:
    """One attribute of one subject: held values with their first days, end day, and its events."""

    attribute: Attribute
    subject: str
    held: list[tuple[int, str]] = field(default_factory=list)
    end: int = DAYS
    ended: bool = False
    events: list[Event] = field(default_factory=list)
    windows: list[tuple[int, int]] = field(default_factory=list)


def draw_subjects(rng: random.Random) -> dict[str, list[str]]:
    """Eight people, four services and four places; near-equal pairs come first."""
    pairs = rng.sample(_PEOPLE_PAIRS, 2)
    return {
        "person": [name for pair in pairs for name in pair] + rng.sample(_PEOPLE, 4),
        "service": list(rng.choice(_SERVICE_PAIRS)) + rng.sample(_SERVICES, 2),
        "place": list(rng.choice(_PLACE_PAIRS)) + rng.sample(_PLACES, 2),
    }


def near_name(names: list[str], index: int, about: str) -> str:
    """The near-equal name of a subject, or an empty text."""
    paired = 4 if about == "person" else 2
    return names[index ^ 1] if index < paired else ""


def deal_slots(seed: int, rng: random.Random, subjects: dict[str, list[str]]) -> tuple[list[Slot], list[Slot]]:
    """Give each subject its attributes; the second list are the slots of distractors."""
    slots: list[Slot] = []
    lures: list[Slot] = []
    for about, many in (("service", 6), ("person", 6), ("place", 6)):
        pool = [a for i, a in enumerate(a for a in ATTRIBUTES if a.about == about) if i % 4 != seed % 4]
        rng.shuffle(pool)
        dealt: dict[str, list[Attribute]] = {}
        names = subjects[about]
        for index, name in enumerate(names):
            start = (index // 2) * max(1, len(pool) * 2 // len(names)) + (2 * (index % 2))
            dealt[name] = [pool[(start + step) % len(pool)] for step in range(min(many, len(pool)))]
            slots.extend(Slot(attribute, name) for attribute in dealt[name])
        for index, name in enumerate(names):
            other = near_name(names, index, about)
            for attribute in dealt.get(other, []):
                if attribute not in dealt[name] and rng.random() < 0.8:
                    lures.append(Slot(attribute, name))
    return slots, lures


def _gaps(rng: random.Random, start: int, count: int) -> list[int]:
    """Change days after `start`, at least 14 days apart and well before the end."""
    while True:
        days = sorted(rng.sample(range(start + 14, DAYS - 7), count))
        if all(b - a >= 14 for a, b in itertools.pairwise(days)):
            return days


def _free(slot: Slot, day: int) -> bool:
    """True when the slot says nothing on the day and no temporary state of it is near."""
    if any(abs(event.day - day) < 2 for event in slot.events):
        return False
    return not any(low - 1 <= day <= high for low, high in slot.windows)


def _place(slot: Slot, rng: random.Random, low: int, high: int) -> int | None:
    """A free day in [low, high), or None."""
    days = [day for day in range(low, high) if _free(slot, day)]
    return rng.choice(days) if days else None


def held_segments(slot: Slot) -> list[tuple[int, int, str]]:
    """Held values as (first day, day after the last, value)."""
    ends = [day for day, _ in slot.held[1:]] + [slot.end]
    return [(day, end, value) for (day, value), end in zip(slot.held, ends, strict=False)]


def plan_slot(slot: Slot, rng: random.Random, names: list[str]) -> None:
    """Fill one slot with its changes and with everything said around them."""
    attribute = slot.attribute
    values = [value for value in attribute.values if value != slot.subject]
    if attribute.values == PERSONS:
        values = [v for v in values if v in names] * 2 + [v for v in values if v not in names]
    rng.shuffle(values)
    values = list(dict.fromkeys(values))
    start = min(int(rng.triangular(0, 42, 4)), 41)
    changes = rng.choices((0, 1, 2, 3), weights=(22, 42, 26, 10))[0]
    days = [start, *_gaps(rng, start, changes)]
    slot.held = list(zip(days, values, strict=False))
    spare = values[len(days) :]
    slot.events.append(Event(slot, start, "first", values[0]))
    for (_, old), (day, value) in zip(slot.held, slot.held[1:], strict=False):
        kind = rng.choices(("change", "both", "in passing"), weights=(45, 25, 30))[0]
        slot.events.append(Event(slot, day, kind, value, old if kind == "both" else ""))
    if attribute.ended and days[-1] + 16 < DAYS - 4 and rng.random() < 0.12:
        slot.ended, slot.end = True, rng.randrange(days[-1] + 16, DAYS - 4)
        slot.events.append(Event(slot, slot.end, "ended", "", slot.held[-1][1]))
    if rng.random() < 0.32:
        _plan_temporary(slot, rng, spare.pop())
    for low, high, value in held_segments(slot):
        for chance in (0.32, 0.05):
            spot = _place(slot, rng, low + 3, high - 2) if rng.random() < chance else None
            if spot is not None:
                slot.events.append(Event(slot, spot, "restated", value))
    if rng.random() < 0.28:
        _aside(slot, rng, "past", rng.choice(spare))
    for _ in range(rng.choices((0, 1, 2), weights=(42, 42, 16))[0]):
        _aside(slot, rng, "not asserted", rng.choice(spare))


def _plan_temporary(slot: Slot, rng: random.Random, value: str) -> None:
    """Add a temporary state that begins and is over within one held value."""
    starts = [d for low, high, _ in held_segments(slot) for d in range(low + 3, high - 9) if _free(slot, d)]
    if starts:
        day = rng.choice(starts)
        slot.events.append(Event(slot, day, "temporary", value, days=rng.randint(2, 6)))
        slot.windows.append((day, day + 8))


def _aside(slot: Slot, rng: random.Random, kind: str, value: str) -> None:
    """Add a statement that asserts nothing for now."""
    day = _place(slot, rng, slot.held[0][0] + 2, DAYS)
    if day is not None:
        slot.events.append(Event(slot, day, kind, value))
