"""Parses structural queries such as `tool=pytest outcome=failed file=?` into roles and fillers. Pure.

``who=assistant tool=pytest outcome=failed file=?``: roles that are known, and roles that are asked for. Which roles are
asked tells which records are looked through: episodes, facts or steps. ``after`` and ``then`` are roles of steps that
only a question has: the steps before one, oldest first, and the step itself. So is ``community``, of any record: the
topic its memory is in (`mnemic.actors.shape.questions.community_role`). `mnemic.actors.shape.shape_recall` answers.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, get_args

import msgspec

from mnemic.actors.kernel.errors import InvalidValue, UnknownRole
from mnemic.actors.kernel.events import KINDS, Outcome
from mnemic.actors.kernel.times import Zone, local_day, parse_days, read_time
from mnemic.actors.shape.features import STEPS_BACK
from mnemic.actors.shape.messages import UNKNOWN
from mnemic.actors.shape.questions.community_role import COMMUNITY, parse_community
from mnemic.hd.codebook import MAX_NAME_CHARS
from mnemic.hd.encoders import canonical, match_kind
from mnemic.hd.records import Pair
from mnemic.hd.roles import ROLES, TIERS, Tier

AFTER, THEN, SESSION = "after", "then", "session"
STEP_ROLES: tuple[str, ...] = ("action", "target", "tool", "outcome")
"""What a step is told by, in this order."""
_STEP_SEPARATOR = re.compile(r"[;|>&]|\bthen\b")
"""What people write between steps, beside a comma."""
_MOST_WORDS = MAX_NAME_CHARS // 2
"""No name has more."""
_LONGEST = 60
"""Characters of a word that is told back."""
_STEPS_LIKE = 'after="edit, test failed"'


class PatternPair(NamedTuple):
    """One pair that the records sought have."""

    asked_role: str
    """The role it was asked by: its own, or ``after`` or ``then``."""
    pair: Pair
    """The pair."""


def parse_steps(name: str, filler: str, fillers: Callable[[str], Collection[str]] | None) -> list[PatternPair]:
    """The pairs that say which steps came before, or which step it is.

    Args:
        name: `AFTER` or `THEN`.
        filler: what was asked for by it.
        fillers: the fillers of a role that any memory has; ``None`` where nobody can tell: there are no pairs then.

    Raises:
        InvalidValue: they are no steps, or not told by words that steps here have.
    """
    told = [one.strip() for one in filler.split(",")]
    if name == THEN and len(told) > 1:
        raise InvalidValue(
            name="the role then",
            value=filler,
            why="it is one step, and a comma stands between two",
            expected=f"the words of one step; those before it go into after, as in {_STEPS_LIKE}",
        )
    if not all(told):
        raise InvalidValue(name=f"the role {name}", value=filler, why="a step is empty", expected="words for each step")
    if len(told) > STEPS_BACK:
        raise InvalidValue(
            name="the role after",
            value=filler,
            why=f"a step remembers {STEPS_BACK} steps before it, and these are {len(told)}",
            expected=f"the last {STEPS_BACK}",
        )
    return [
        PatternPair(name, pair._replace(shift=shift))
        for shift, step in zip(range(len(told), 0, -1) if name == AFTER else (0,), told, strict=True)
        for pair in (_resolve_step(name, step, fillers) if fillers is not None else ())
    ]


def _resolve_step(name: str, step: str, fillers: Callable[[str], Collection[str]]) -> list[Pair]:
    """What the words of a step say of it: the longest names first, each role once."""
    words, found, start = step.lower().split(), {}, 0
    while start < len(words):
        for end in range(min(len(words), start + _MOST_WORDS), start, -1):
            phrase = " ".join(words[start:end])
            role = next((one for one in STEP_ROLES if one not in found and phrase in fillers(one)), None)
            if role is not None:
                found[role], start = Pair(role, phrase), end
                break
        else:
            known = [filler for role in STEP_ROLES for filler in list(fillers(role))[:4]]
            word = words[start][:_LONGEST]
            again = next((role for role in found if word in fillers(role)), None)
            why = f"the step is told by {word!r} twice" if again else f"no step here is told by {word!r}"
            if again and found[again].filler != word:
                why = f"{word!r} and {str(found[again].filler)!r} are both a step's {again}"
            if name == AFTER and _STEP_SEPARATOR.search(step):
                expected = f"a comma between two steps, as in {_STEPS_LIKE}"
            elif known:
                expected = f"words that tell steps here: {', '.join(dict.fromkeys(known))}"
            else:
                expected = "another question: no step of a tool is bound yet"
            raise InvalidValue(name=f"the role {name}", value=step, why=why, expected=expected)
    return list(found.values())


_MIN_NAME_SIMILARITY = 0.65
"""How like a role a name is that may be meant for it: ``flie`` is 0.75 like ``file``, ``bogus`` 0.6 like ``about``."""
_CLOSED_FILLERS: dict[str, tuple[str, ...]] = {"kind": KINDS, "outcome": get_args(Outcome), "worked": ("yes", "no")}
"""Roles that nothing else can fill."""
_SYNONYMS = {"worked": {"true": "yes", "false": "no"}}
"""Other words for fillers."""
_FORMS = {
    "date": "a day, a month, or a range, such as 2026-05-01, 2026-05 or 2026-05-01..2026-05-07",
    "hour": "an hour, such as 14",
    "weekday": "a day of the week, such as monday",
    "size": "a number of words, such as 300",
}
"""How the fillers of roles look that are not names."""
_TIER_NOUNS: dict[Tier, str] = {"episode": "memories", "fact": "facts", "step": "steps"}


class PatternQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern, read."""

    tier: Tier
    """Which records are looked through."""
    exact: tuple[PatternPair, ...] = ()
    """What they have or have not."""
    near: tuple[PatternPair, ...] = ()
    """What they have the more of the nearer it is."""
    similar_texts: tuple[tuple[str, str], ...] = ()
    """Roles of meaning, and the texts that they are near to."""
    unknown: tuple[str, ...] = ()
    """Roles that are asked for, in order."""
    since: int | None = None
    """Said at or after, microseconds since 1970, each memory by its own clock."""
    until: int | None = None
    """Said before, likewise."""
    community: int | None = None
    """Number of the topic, or of the part of one, that the memories are in."""
    session: bool = False
    """Whether the conversations are asked for that had all of it, in whichever memories."""


def texts_to_embed(pattern: Mapping[str, str]) -> dict[str, str]:
    """The roles of a pattern whose fillers are texts that must be embedded, and the texts."""
    return {
        role: text
        for role, text in pattern.items()
        if role in ROLES and match_kind(role) == "meaning" and text.strip() not in ("", UNKNOWN)
    }


def parse_pattern(
    pattern: Mapping[str, str],
    bound: Collection[str],
    fillers: Callable[[str], Collection[str]] | None,
) -> PatternQuery:
    """Read a pattern.

    Args:
        bound: names of the roles that are bound.
        fillers: the fillers of a role that any memory has; ``None`` where nobody can tell, and words of steps are then
            not looked up.

    Raises:
        UnknownRole: there is no role of a name.
        InvalidValue: a filler is none for its role, a role cannot be asked for, or roles don't go together.
    """
    if not pattern:
        raise InvalidValue(name="the pattern", value="{}", why="it asks for nothing", expected="a role, such as file=?")
    whole, pattern = pattern, {role: filler for role, filler in pattern.items() if role != SESSION}
    for name, filler in pattern.items():
        _check(name, filler, bound)
    asks_session = SESSION in whole
    if asks_session:
        _check_session(whole)
    tier = "episode" if asks_session else _tier(pattern)
    exact: list[PatternPair] = []
    near: list[PatternPair] = []
    since = until = community = None
    for name, filler in pattern.items():
        if filler.strip() == UNKNOWN or (name in ROLES and match_kind(name) == "meaning"):
            continue
        if name == COMMUNITY:
            community = parse_community(filler)
        elif name in (AFTER, THEN):
            exact += parse_steps(name, filler, fillers)
        elif name == "date" and (span := parse_days("the role date", filler)) is not None:
            since, until = span
        else:
            pair = Pair(name, _canonical(name, filler))
            (exact if match_kind(name) == "exact" else near).append(PatternPair(name, pair))
    return PatternQuery(
        tier=tier,
        exact=tuple(exact),
        near=tuple(near),
        similar_texts=tuple(texts_to_embed(pattern).items()),
        unknown=tuple(name for name, filler in whole.items() if filler.strip() == UNKNOWN),
        session=asks_session,
        since=since,
        until=until,
        community=community,
    )


def with_local_date(pattern: Mapping[str, str], zone: Zone) -> Mapping[str, str]:
    """A pattern whose date is the day of a zone, where it names a moment in UTC: such moments stand in answers."""
    try:
        written = read_time(pattern["date"])
    except (KeyError, ValueError, OverflowError):
        return pattern
    if written.is_local or written.utc_offset_min is not None:
        return pattern
    return {**pattern, "date": local_day(written.at, zone).isoformat()}


def _check_session(pattern: Mapping[str, str]) -> None:
    """Refuse what is no question for a conversation.

    Raises:
        InvalidValue: it names one, says nothing of it, or asks for more.
    """
    others = {role: filler for role, filler in pattern.items() if role != SESSION}
    texts = texts_to_embed(others)
    unknown = [role for role, filler in others.items() if filler.strip() == UNKNOWN]
    wrong, why, expected = "", "", ""
    if pattern[SESSION].strip() != UNKNOWN:
        wrong, why = pattern[SESSION], "the role only asks which conversation had all of these"
        expected = "session=?, or the conversation by --session"
    elif not others:
        wrong, why, expected = UNKNOWN, "nothing is said of the conversation", "what was in it, such as tool=cargo"
    elif unknown:
        wrong, why = ", ".join(unknown), "another role is asked for beside it, and it asks for conversations alone"
        expected = "session=? with what was in the conversation"
    elif texts:
        wrong, why = ", ".join(texts), "which conversation had all of these is told by names, days and numbers"
        expected = "roles that have them"
    if why:
        raise InvalidValue(name=f"the role {SESSION}", value=wrong, why=why, expected=expected)


def _canonical(name: str, filler: str) -> str:
    """A filler as records hold it."""
    why = ""
    try:
        kept = canonical(name, filler)
    except ValueError as error:
        why = str(error)
    else:
        kept = _SYNONYMS.get(name, {}).get(kept, kept)
        if name in _CLOSED_FILLERS and kept not in _CLOSED_FILLERS[name]:
            why = "there is no such filler of it"
        elif name == "size" and kept.startswith("-"):
            why = "nothing is as short as that"
    if why:
        expected = f"one of {', '.join(_CLOSED_FILLERS[name])}" if name in _CLOSED_FILLERS else _FORMS.get(name)
        raise InvalidValue(
            name=f"the role {name}", value=filler, why=why, expected=expected or f"another filler of {name}"
        )
    return kept


def _check(name: str, filler: str, bound: Collection[str]) -> None:
    if name not in ROLES and name not in (AFTER, THEN, COMMUNITY):
        known = [*bound, AFTER, THEN, COMMUNITY, SESSION]
        near = difflib.get_close_matches(name.lower()[:_LONGEST], known, n=1, cutoff=_MIN_NAME_SIMILARITY)
        raise UnknownRole(role=name, known=", ".join(known), near=f"Did you mean {near[0]!r}? " if near else "")
    if name in ROLES and name not in bound:
        raise InvalidValue(
            name="a role",
            value=name,
            why="the setting binder.leave_out leaves it out of what is bound",
            expected=f"another role, or take {name} out of binder.leave_out in mnemic.toml",
        )
    if not filler.strip():
        raise InvalidValue(name=f"the role {name}", value=filler, why="it is empty", expected="a filler, or ?")
    if filler.strip() != UNKNOWN:
        if name in ROLES and match_kind(name) == "meaning" and not any(map(_is_meaningful, filler)):
            raise InvalidValue(
                name=f"the role {name}",
                value=filler,
                why="there is no word in it",
                expected=f'some words that it is near to, such as {name}="token rotation"',
            )
        return
    if name in ROLES and not ROLES[name].decodes:
        raise InvalidValue(
            name=f"the role {name}",
            value=UNKNOWN,
            why="what something is about has no name that could be told",
            expected=f'some words that it is near to, such as {name}="token rotation", or ask for topic=?',
        )
    if name == AFTER:
        raise InvalidValue(
            name="the role after",
            value=UNKNOWN,
            why="what came before is not asked for",
            expected='the steps before, oldest first, such as after="edit, test failed", and ask for then=?',
        )


def _tier(pattern: Mapping[str, str]) -> Tier:
    """Which records are asked for: those that all roles are roles of, where only some records have one."""
    telling: dict[Tier, list[str]] = {tier: [] for tier in TIERS}
    for name in pattern:
        if name in (AFTER, THEN):
            telling["step"].append(name)
        elif name == COMMUNITY:
            continue
        elif "episode" not in ROLES[name].tiers:
            telling[ROLES[name].tiers[0]].append(name)
    facts, steps = telling["fact"], telling["step"]
    if facts and steps:
        raise InvalidValue(
            name="the pattern",
            value=", ".join([*facts, *steps]),
            why=f"{facts[0]} is a role of facts and {steps[0]} one of steps",
            expected="roles of one of them",
        )
    tier: Tier = "step" if steps else "fact" if facts else "episode"
    for name in pattern:
        if name in ROLES and tier not in ROLES[name].tiers:
            has = [one.name for one in ROLES.values() if tier in one.tiers]
            raise InvalidValue(
                name="the pattern",
                value=name,
                why=f"{(facts or steps)[0]} asks for {_TIER_NOUNS[tier]}, which have no role {name}",
                expected=f"roles of {_TIER_NOUNS[tier]}: {', '.join(has)}",
            )
    return tier


def _is_meaningful(letter: str) -> bool:
    """Whether a letter can mean something: one of a word, a digit, or a picture."""
    return letter.isalnum() or unicodedata.category(letter) == "So"
