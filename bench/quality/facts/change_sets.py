"""Questions about facts that change, with the statements that hold, held once, or never were meant to hold.

Two kinds of life: a file of quiet changes, mixed with LoCoMo's chatter, and lives that
`mnemic.bench.quality.facts.generate` makes. Above stands `mnemic.bench.quality.facts_bench`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mnemic.bench.quality.facts.generate import make_life
from mnemic.bench.quality.question_sets import changes_set

CHATTER = 200
"""Small talk that each made life is mixed with."""
Slot = tuple[str, str, str]
"""A scope, an attribute and a subject."""


class Told(NamedTuple):
    """What a statement tells of its slot."""

    kind: str
    """What kind it is of: `mnemic.bench.quality.facts.generate.ASSERTING` assert a value, ``ended`` ends one."""
    value: str
    """The value that it asserts, or names only; ``""`` where it names none."""


class ChangeQuestion(NamedTuple):
    """One question, and what becomes of an answer to it. Statements are known by their ids."""

    question: str
    kind: str
    """What is asked for: what holds ``now``, what held ``before``, ``at`` a day, ``since`` when it holds."""
    gold: frozenset[str]
    """They answer it."""
    stale: frozenset[str]
    """They tell what held at another time."""
    trap: frozenset[str]
    """They never asserted anything for good."""
    slot: Slot
    """What it is about."""
    part: str
    """What it is averaged over."""


class ChangeSet(NamedTuple):
    """Memories in which facts change, and what is asked of them."""

    turns: list[dict[str, Any]]
    """The memories, as `mnemic capture` takes them."""
    slots: dict[str, Slot]
    """What each statement is about, by its id; chatter is about nothing."""
    questions: list[ChangeQuestion]
    """What is asked."""
    told: Mapping[str, Told] = MappingProxyType({})
    """What each statement tells, by its id."""


def quiet_changes(path: Path, chatter: Path) -> ChangeSet:
    """A file of quiet changes. Raises as `mnemic.bench.quality.question_sets.changes_set`."""
    turns = list(changes_set(path, chatter).turns)
    slots: dict[str, Slot] = {}
    told: dict[str, Told] = {}
    questions = []
    for world in json.loads(path.read_bytes())["worlds"]:
        scope = f"changes/{world['world']}{'-dense' if world['dense'] else ''}"
        for one in world["statements"]:
            label = one["label"]
            slots[f"{scope}/{one['id']}"] = (scope, label["attribute"], label["subject"])
            told[f"{scope}/{one['id']}"] = Told(label["kind"], label.get("value") or "")
        for one in world["questions"]:
            gold, stale, trap = (frozenset(f"{scope}/{id}" for id in one[of]) for of in ("gold", "stale", "trap"))
            about = (scope, one["attribute"], one["subject"])
            half = f"half {world['half']}"
            questions.append(ChangeQuestion(one["question"], one["kind"], gold, stale, trap, about, half))
    return ChangeSet(turns, slots, questions, told)


def made_lives(seeds: Iterable[int]) -> ChangeSet:
    """Lives that are made from seeds, each in a scope of its own."""
    turns: list[dict[str, Any]] = []
    slots: dict[str, Slot] = {}
    told: dict[str, Told] = {}
    questions = []
    for seed in seeds:
        life, scope = make_life(seed, CHATTER), f"lives/{seed}"
        for one in life.statements:
            id = f"{scope}/{one.id}"
            turns.append({"id": id, "session": f"{scope}/{one.session}", "role": one.role, "scope": scope})
            turns[-1] |= {"speaker": one.speaker, "said_at": one.said_at, "text": one.text}
            if one.attribute:
                slots[id] = (scope, one.attribute, one.subject)
                told[id] = Told(one.kind, one.value)
        for asked in life.questions:
            gold, stale, trap = (
                frozenset(f"{scope}/{id}" for id in of) for of in (asked.gold, asked.stale, asked.trap)
            )
            about = (scope, asked.attribute, asked.subject)
            questions.append(ChangeQuestion(asked.question, asked.kind, gold, stale, trap, about, "lives"))
    return ChangeSet(turns, slots, questions, told)


def developers_talk() -> ChangeSet:
    """Sessions of a developer with an assistant in which forty facts change in passing, many of them two in one turn.

    Whoever wrote them had seen neither this code nor the other sets. A turn that is of two slots counts as of the later
    one where slots are told apart.
    """
    found = json.loads(Path(__file__).with_name("talk.json").read_bytes())
    scope = "talk"
    turns = [one | {"id": f"{scope}/{one['id']}", "scope": scope} for one in found["turns"]]
    slots: dict[str, Slot] = {}
    told: dict[str, Told] = {}
    questions = []
    for fact in found["facts"]:
        about, chain = (scope, fact["attribute"], ""), [f"{scope}/{one['turn']}" for one in fact["chain"]]
        for id, one in zip(chain, fact["chain"], strict=True):
            slots[id], told[id] = about, Told("plain", one["value"])
        trap = frozenset(f"{scope}/{id}" for id in fact["distractors"])
        for kind, gold in (("now", chain[-1]), ("before", chain[-2]), ("since", chain[-1])):
            stale = frozenset(chain) - {gold}
            questions.append(ChangeQuestion(fact[kind], kind, frozenset({gold}), stale, trap, about, "talk"))
    return ChangeSet(turns, slots, questions, told)


def by_slot(of: ChangeSet) -> dict[Slot, set[str]]:
    """The statements of each slot."""
    found: dict[Slot, set[str]] = defaultdict(set)
    for id, slot in of.slots.items():
        found[slot].add(id)
    return found
