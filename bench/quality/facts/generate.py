"""Makes lives: dated statements about attributes that change unannounced, and questions about them.

`make_life` follows from its seed alone; of chatter more or less leaves everything else as it is. Each life leaves out
every fourth attribute (by seed % 4), so that four seeds in a row cover all. Above stands
`mnemic.bench.quality.facts_bench`; below it stand the slots, the phrases and how a sentence is made of them.

What the lists of a question mean:

* gold: of "now" and "at" the statement that asserted the asked value, and restatements while it held; of "before" the
  same for the value just before, and a "both" statement that names it as the old one; of "since" only the statement
  that brought the value (a restatement does not tell since when);
* stale: statements of any asserting kind of values that held at another time;
* trap: statements of the slot that never asserted a value for good: past, not asserted, temporary.

In neither are "ended", of "since" restatements of the held value, and of "at" a "both" statement whose old value is the
asked one. A "distractor" is the only statement of a slot of its own, of a subject with a near-equal name. The day of
"now", "before" and "since" is the day after the life, which no temporary state reaches; no day of "at" lies within one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from mnemic.bench.quality.facts.phrases import CHATTER, WEEKDAYS
from mnemic.bench.quality.facts.render import day_words, fill, is_impersonal, style, thirds, until_words
from mnemic.bench.quality.facts.slots import (
    DAYS,
    MEN,
    Event,
    Slot,
    deal_slots,
    draw_subjects,
    held_segments,
    near_name,
    plan_slot,
)

ASSERTING = ("first", "change", "both", "in passing", "restated")
TRAPS = ("past", "not asserted", "temporary")

_ASSISTANT = ("to recap: ", "for the record, ", "as I have it, ", "from my notes: ")


@dataclass(frozen=True)
class Statement:
    """One short dated message; attribute, subject and value are empty for chatter."""

    id: str
    session: str
    role: str
    speaker: str
    said_at: str
    text: str
    attribute: str
    subject: str
    kind: str
    value: str
    old: str


@dataclass(frozen=True)
class Question:
    """One question with the ids that answer it, that are out of date, and that never held."""

    kind: str
    question: str
    gold: tuple[str, ...]
    stale: tuple[str, ...]
    trap: tuple[str, ...]
    attribute: str
    subject: str
    day: str


@dataclass(frozen=True)
class Life:
    """Statements in order of time, and questions."""

    seed: int
    statements: tuple[Statement, ...]
    questions: tuple[Question, ...]


class _Writer:
    """Words the events of a life, keeping texts unique."""

    def __init__(self, rng: random.Random, names: list[str], services: list[str], start: date) -> None:
        """Remember who can speak and what has been said."""
        self.rng = rng
        self.names = names
        self.keep = tuple(services)
        self.start = start
        self.said: set[str] = set()
        self.used: dict[tuple[str, str], list[str]] = {}

    def templates(self, event: Event) -> list[str]:
        """The templates for an event, least used in this life first."""
        attribute = event.slot.attribute
        table = {
            "first": attribute.first,
            "distractor": attribute.first,
            "change": attribute.change,
            "both": attribute.both,
            "in passing": attribute.passing,
            "restated": attribute.restated,
            "ended": attribute.ended,
            "past": attribute.past,
            "not asserted": attribute.not_asserted,
            "temporary": attribute.temporary,
        }[event.kind]
        shuffled = self.rng.sample(table, len(table))
        used = self.used.setdefault((attribute.name, event.kind), [])
        shuffled.sort(key=used.count)
        return shuffled

    def value_of(self, event: Event, template: str) -> str:
        """Quotes and negations sometimes name a value that held before."""
        table = event.slot.attribute.not_asserted
        if event.kind == "not asserted" and table.index(template) >= 4 and self.rng.random() < 0.35:
            gone = [value for _, end, value in held_segments(event.slot) if end <= event.day]
            if gone:
                return gone[-1]
        return event.value

    def word(self, event: Event, speaker: str) -> tuple[str, str, str]:
        """Text, role and value of an event as told by the speaker."""
        rng, slot = self.rng, event.slot
        own = slot.subject == speaker
        gender = "m" if slot.subject in MEN else "f"
        said = self.start + timedelta(days=event.day)
        for turn in range(40):
            for template in self.templates(event):
                value = self.value_of(event, template)
                if value == speaker:
                    value = event.value
                others = [n for n in self.names if n not in (speaker, slot.subject, value, event.old)]
                fields = {
                    "s": slot.subject,
                    "v": value,
                    "o": event.old,
                    "other": rng.choice(others),
                    "until": until_words(said, event.days, slot.attribute.values != WEEKDAYS, rng),
                }
                plain = fill(template, fields, own, gender)
                role = "user"
                if turn > 3:
                    plain = rng.choice(("well, ", "news from here: ", "hey, ", "a small thing: ")) + plain
                if event.kind == "restated" and not own and is_impersonal(template) and rng.random() < 0.2:
                    role, plain = "assistant", rng.choice(_ASSISTANT) + plain
                text = style(plain, rng, self.keep, role == "user" and event.kind not in ("not asserted", "ended"))
                if text.lower().rstrip(".") not in self.said:
                    self.said.add(text.lower().rstrip("."))
                    self.used[(slot.attribute.name, event.kind)].append(template)
                    return text, role, value
        raise ValueError(f"no unused wording for {slot.attribute.name} of {slot.subject}")


def _stamp(day: date, minute: int) -> str:
    """ISO 8601 time in UTC."""
    return (datetime(day.year, day.month, day.day) + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _speaker(events: list[Event], names: list[str], rng: random.Random) -> str:
    """Who speaks in a session: often a subject of it, never somebody named as a value."""
    named = {event.value for event in events} | {event.old for event in events}
    able = [name for name in names if name not in named]
    subjects = [event.slot.subject for event in events if event.slot.subject in able]
    if subjects and rng.random() < 0.65:
        return rng.choice(subjects)
    return rng.choice(able or names)


def _tell(slots: list[Slot], rng: random.Random, writer: _Writer) -> list[Statement]:
    """Group the events into sessions of one to four statements and word them."""
    days: dict[int, list[Event]] = {}
    for slot in slots:
        for event in slot.events:
            days.setdefault(event.day, []).append(event)
    told: list[Statement] = []
    for day in sorted(days):
        events = days[day]
        rng.shuffle(events)
        sessions = -(-len(events) // 4)
        for index in range(sessions):
            part = events[index::sessions]
            speaker = _speaker(part, writer.names, rng)
            minute = rng.randrange(420, 540) + index * (840 // max(sessions, 3))
            for event in part:
                minute += rng.randrange(1, 5)
                text, role, value = writer.word(event, speaker)
                event.id = f"s{len(told) + 1:04d}"
                told.append(
                    Statement(
                        event.id,
                        f"d{day:03d}-{index + 1}",
                        role,
                        speaker if role == "user" else "assistant",
                        _stamp(writer.start + timedelta(days=day), minute),
                        text,
                        event.slot.attribute.name,
                        event.slot.subject,
                        event.kind,
                        value,
                        event.old,
                    )
                )
    return told


def _small_talk(seed: int, count: int, told: list[Statement], start: date, names: list[str]) -> list[Statement]:
    """Chatter on random days, in sessions with room or in sessions of its own; no text more than twice."""
    rng, openers = random.Random(f"chatter {seed}"), CHATTER["openers"]
    sizes: dict[str, int] = {}
    last: dict[str, Statement] = {}
    for statement in told:
        sizes[statement.session] = sizes.get(statement.session, 0) + 1
        if statement.role == "user" or statement.session not in last:
            last[statement.session] = statement
    heard: dict[str, int] = {}
    talk: list[Statement] = []
    while len(talk) < count:
        plain = rng.choice(openers if len(talk) > 400 else openers[:1] * 6 + openers)
        plain += rng.choice(CHATTER["templates"]).format(
            food=rng.choice(CHATTER["foods"]), mood=rng.choice(CHATTER["moods"]), thing=rng.choice(CHATTER["things"])
        )
        text = style(plain, rng, opener=False)
        if heard.get(text.lower().rstrip("."), 0) >= 2:
            continue
        heard[text.lower().rstrip(".")] = heard.get(text.lower().rstrip("."), 0) + 1
        day = rng.randrange(DAYS)
        open_ones = [f"d{day:03d}-{i}" for i in (1, 2, 3) if 0 < sizes.get(f"d{day:03d}-{i}", 4) < 4]
        session = open_ones[0] if open_ones else f"d{day:03d}-t{len(talk) + 1}"
        sizes[session] = sizes.get(session, 0) + 1
        minute, speaker = rng.randrange(1100, 1430), rng.choice(names)
        if session in last:
            known = last[session]
            minute = int(known.said_at[11:13]) * 60 + int(known.said_at[14:16]) + rng.randrange(5, 12)
            speaker = known.speaker if known.role == "user" else speaker
        talk.append(
            Statement(
                f"c{len(talk) + 1:04d}",
                session,
                "user",
                speaker,
                _stamp(start + timedelta(days=day), minute),
                text,
                "",
                "",
                "chatter",
                "",
                "",
            )
        )
        last[session] = talk[-1]
    return talk


class _Asker:
    """Makes the questions of one slot."""

    def __init__(self, slot: Slot, start: date, rng: random.Random) -> None:
        """Take a slot whose events have their ids."""
        self.slot = slot
        self.start = start
        self.rng = rng
        self.gender = "m" if slot.subject in MEN else "f"
        self.changed = len(slot.held) > 1

    def _make(self, kind: str, template: str, value: str, day: date, words: str = "") -> Question:
        """One question about the value; see the module docstring for the lists."""
        events = self.slot.events
        telling = [e for e in events if e.kind in ASSERTING]
        naming = [e for e in telling if e.kind == "both" and e.old == value]
        gold = [e for e in telling if e.value == value and (kind != "since" or e.kind != "restated")]
        if kind == "before":
            gold += naming
        spared = naming if kind in ("at", "before") else []
        stale = [e for e in telling if e.value != value and e not in spared]
        trap = [e for e in events if e.kind in TRAPS]
        text = fill(template, {"s": self.slot.subject, "day": words}, gender=self.gender)
        ids = [tuple(sorted(event.id for event in part)) for part in (gold, stale, trap)]
        return Question(
            kind,
            text,
            ids[0],
            ids[1],
            ids[2],
            self.slot.attribute.name,
            self.slot.subject,
            day.isoformat(),
        )

    def ask(self) -> list[Question]:
        """All questions about the slot."""
        rng, slot = self.rng, self.slot
        after = self.start + timedelta(days=DAYS)
        made: list[Question] = []
        if not slot.ended:
            value = slot.held[-1][1]
            for template in rng.sample(slot.attribute.now, 2 if rng.random() < 0.2 else 1):
                made.append(self._make("now", template, value, after))
            if self.changed and rng.random() < 0.8:
                made.append(self._make("before", rng.choice(slot.attribute.before), slot.held[-2][1], after))
            if self.changed and rng.random() < 0.55:
                made.append(self._make("since", rng.choice(slot.attribute.since), value, after))
        if rng.random() < (0.75 if self.changed else 0.35):
            made.extend(self._at())
        return made

    def _at(self) -> list[Question]:
        """A question about a day or a third of a month, away from changes and temporary states."""
        rng, slot = self.rng, self.slot
        spans = held_segments(slot)
        if self.changed and rng.random() < 0.75:
            spans = spans[:-1]
        low, high, value = rng.choice(spans)
        clear = [d for d in range(low + 3, high - 3) if not any(a <= d <= b for a, b in slot.windows)]
        if not clear:
            return []
        template = rng.choice(slot.attribute.at)
        whole = [
            span
            for span in thirds(self.start + timedelta(days=low + 1), self.start + timedelta(days=high - 1))
            if not any(
                self.start + timedelta(days=a) <= span[1] and span[0] <= self.start + timedelta(days=b)
                for a, b in slot.windows
            )
        ]
        if whole and rng.random() < 0.4:
            first, last, words = rng.choice(whole)
            return [self._make("at", template, value, first + (last - first) // 2, words)]
        day = self.start + timedelta(days=rng.choice(clear))
        return [self._make("at", template, value, day, day_words(day, rng))]


def make_life(seed: int, chatter: int = 0) -> Life:
    """A life for the seed; `chatter` adds small talk and leaves everything else as it is."""
    rng = random.Random(f"life {seed}")
    subjects = draw_subjects(rng)
    start = date(2024, 1, 8) + timedelta(days=rng.randrange(400))
    slots, lures = deal_slots(seed, rng, subjects)
    for slot in slots:
        plan_slot(slot, rng, subjects["person"])
    pairs = {name: near_name(names, i, about) for about, names in subjects.items() for i, name in enumerate(names)}
    for lure in lures:
        other = next(s for s in slots if s.subject == pairs[lure.subject] and s.attribute is lure.attribute)
        taken = {value for _, value in other.held} | {lure.subject}
        value = rng.choice([v for v in lure.attribute.values if v not in taken])
        lure.events.append(Event(lure, rng.randrange(10, DAYS - 5), "distractor", value))
    writer = _Writer(rng, subjects["person"], subjects["service"], start)
    told = _tell(slots + lures, rng, writer)
    questions = [question for slot in slots for question in _Asker(slot, start, rng).ask()]
    rng.shuffle(questions)
    talk = _small_talk(seed, chatter, told, start, subjects["person"])
    return Life(seed, tuple(sorted(told + talk, key=lambda s: (s.said_at, s.id))), tuple(questions))
