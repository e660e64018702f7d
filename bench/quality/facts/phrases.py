"""The wordings that lives are told and asked in: one `Attribute` for each thing that can change.

They stand in ``phrases.json``. Marks of a template: ``{s}`` subject, ``{v}`` value, ``{o}`` old value, ``{until}``
end of a temporary state, ``{day}`` a day in words, ``{other}`` some other person, ``{he}`` ``{his}`` ``{him}`` its
pronouns, ``[third|first]`` two wordings: the left one when somebody else speaks, the right one in the first person.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import msgspec


class Attribute(msgspec.Struct, frozen=True):
    """One thing that can change, with all its wordings."""

    name: str
    """What it is called in reports."""
    theme: str
    """``work`` or ``home``."""
    about: str
    """What has it: a ``service``, a ``person`` or a ``place``."""
    values: tuple[str, ...]
    first: tuple[str, ...]
    change: tuple[str, ...]
    both: tuple[str, ...]
    passing: tuple[str, ...]
    restated: tuple[str, ...]
    ended: tuple[str, ...]
    past: tuple[str, ...]
    not_asserted: tuple[str, ...]
    """In this order: question, plan, wish, hypothetical, quote of somebody who is wrong, negation."""
    temporary: tuple[str, ...]
    now: tuple[str, ...]
    before: tuple[str, ...]
    at: tuple[str, ...]
    since: tuple[str, ...]


_TABLE: dict[str, Any] = json.loads(files("mnemic.bench.quality.facts").joinpath("phrases.json").read_text("utf-8"))
ATTRIBUTES: tuple[Attribute, ...] = msgspec.convert(_TABLE["attributes"], tuple[Attribute, ...])
"""All of them, half of work and half of home."""
PERSONS: tuple[str, ...] = tuple(_TABLE["persons"])
"""First names, of people and as values."""
WEEKDAYS: tuple[str, ...] = tuple(_TABLE["weekdays"])
"""From Monday."""
CHATTER: dict[str, tuple[str, ...]] = {name: tuple(of) for name, of in _TABLE["chatter"].items()}
"""Small talk: ``openers``, ``templates``, and what stands in these: ``foods``, ``moods``, ``things``."""
