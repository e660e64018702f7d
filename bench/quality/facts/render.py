"""Turns a template into a sentence: wordings by speaker, pronouns, articles, days in words, chat style."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta

_EITHER = re.compile(r"\[([^|\[\]]*)\|([^|\[\]]*)\]")
_ARTICLE = re.compile(r"\b(a) (\{[vo]\})")
_SELF = re.compile(r"\b(I|I'll|I'm|I've|my|me|mine|we|our|us)\b")
_OPENERS = ("btw ", "oh, ", "fyi, ", "by the way, ", "so, ", "also, ")

PRONOUNS: dict[str, tuple[str, str, str]] = {"f": ("she", "her", "her"), "m": ("he", "his", "him")}
"""Nominative, possessive and object form by gender."""

MONTHS: tuple[str, ...] = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
"""Month names."""

DAYNAMES: tuple[str, ...] = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""Weekday names, Monday first as in date.weekday()."""


def is_impersonal(template: str) -> bool:
    """True when nothing in the third-person wording speaks of I or we, so that an assistant may say it."""
    return _SELF.search(_EITHER.sub(lambda m: m.group(1), template)) is None


def _article(template: str, value: str, old: str) -> str:
    """Write 'an' before a value that begins with a vowel sound."""

    def fix(match: re.Match[str]) -> str:
        """The article that suits the value."""
        word = value if match.group(2) == "{v}" else old
        vowel = word[:1] in "AEIOaeio8" or word.startswith("HP")
        return ("an " if vowel and word else "a ") + match.group(2)

    return _ARTICLE.sub(fix, template)


def fill(template: str, fields: dict[str, str], own: bool = False, gender: str = "f") -> str:
    """Fill a template; `own` takes the first-person wordings."""
    text = _EITHER.sub(lambda m: m.group(2 if own else 1), template)
    text = _article(text, fields.get("v", ""), fields.get("o", ""))
    he, his, him = PRONOUNS[gender]
    return text.format(**{**fields, "he": he, "his": his, "him": him})


def style(text: str, rng: random.Random, keep: tuple[str, ...] = (), opener: bool = True) -> str:
    """Casual chat style: all lower, plain, or with capital and full stop; `keep` starts stay as they are."""
    pick = rng.random()
    if pick < 0.62 and opener and rng.random() < 0.16:
        text = rng.choice(_OPENERS) + text
    if pick < 0.3:
        return text.lower()
    if pick < 0.62:
        return text
    if not text.startswith(keep):
        text = text[0].upper() + text[1:]
    return text if text.endswith(("?", "!", ".")) else text + "."


def _ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 11th ..."""
    if 10 < number < 14:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def until_words(said: date, days: int, weekday_ok: bool, rng: random.Random) -> str:
    """The end of a temporary state, 2 to 6 days off, in words."""
    end = said + timedelta(days=days)
    words = [f"the {_ordinal(end.day)}", f"{end.day} {MONTHS[end.month - 1]}"]
    if weekday_ok:
        words += [DAYNAMES[end.weekday()]] * 2
        if end.weekday() == 6:
            words += ["the end of the week"] * 2
    return rng.choice(words)


def day_words(day: date, rng: random.Random) -> str:
    """A single day in words, with its preposition."""
    month = MONTHS[day.month - 1]
    return rng.choice(
        (f"on {day.day} {month}", f"on {month} {_ordinal(day.day)}", f"on the {_ordinal(day.day)} of {month}")
    )


def thirds(first: date, last: date) -> list[tuple[date, date, str]]:
    """All early / mid / late thirds of months that lie wholly between two days, with their words."""
    found: list[tuple[date, date, str]] = []
    day = date(first.year, first.month, 1)
    while day <= last:
        following = (day + timedelta(days=32)).replace(day=1)
        month = MONTHS[day.month - 1]
        spans = (
            (day, day.replace(day=10), f"in early {month}"),
            (day.replace(day=11), day.replace(day=20), f"in the middle of {month}"),
            (day.replace(day=21), following - timedelta(days=1), f"in late {month}"),
        )
        found.extend(span for span in spans if span[0] >= first and span[1] <= last)
        day = following
    return found
