"""Tells prompts that say something from those that only say goodbye. Pure, in English and a little in German."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mnemic.actors.brief.messages import Quote
from mnemic.actors.kernel.events import to_text
from mnemic.algorithms.text.terms import telling_terms

_MOST_CHARS = 160
"""A longer prompt says more than goodbye."""
_LEAST_TERMS = 2
_TASK = re.compile(
    r"\b(?:switch|rename|deploy|add|fix|change|use|make|run|write|update|remove|delete|create|set|move|please|merge|check|put"
    r"|build|test|look|show|no|never|always|don['’]?t)\b",
    re.IGNORECASE,
)
"""Words of one who wants something yet: ``thanks, now rename the flag``."""
_FAREWELL = re.compile(
    r"\b(?:bye|goodbye|good ?night|night|see (?:you|ya)|cheers|thanks|thank you|thx|that['’]?s (?:it|all)"
    r"|done for (?:today|now)|(?:until|till) (?:tomorrow|monday|next)|have a (?:nice|good)|enjoy (?:the|your)"
    r"|close the laptop|good work|well done|off to|stopping here|end of (?:the )?day|weekend|tschüss|danke"
    r"|bis (?:dann|bald|morgen|später|\w+tag)|ciao|feierabend|schönes? \w+)\b",
    re.IGNORECASE,
)


def is_farewell(text: str) -> bool:
    """Say whether a prompt says little more than goodbye, or yes."""
    if len(text) > _MOST_CHARS or text.rstrip().endswith("?"):
        return False
    rest = _FAREWELL.sub(" ", text)
    return len(telling_terms(text)) < _LEAST_TERMS or (rest != text and _TASK.search(rest) is None)


def informative_prompt(prompts: Sequence[Quote]) -> Quote | None:
    """The first of some prompts that says something; the first of all where none does."""
    informative = (one for one in prompts if not is_farewell(to_text(one.text)))
    return next(informative, prompts[0] if prompts else None)
