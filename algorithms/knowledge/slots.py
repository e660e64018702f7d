"""Tells which statements fill a place that holds one value at a time, and whether two values are of one sort.

A short table of nouns ("port", "database", "cutoff") and a short table of well-known names by kind ("Postgres" and
"MySQL" are databases) tell plain contradictions that grammar alone cannot: "our database is slow" and "our database is
MySQL" are built alike. Where the tables know nothing, nothing is claimed. English. Above stands
`mnemic.algorithms.knowledge.replacement`; below it the keys of `mnemic.algorithms.knowledge.entities.keys`.
"""

from __future__ import annotations

import re
from fractions import Fraction

from mnemic.algorithms.knowledge.entities.keys import entity_key, split_version
from mnemic.algorithms.knowledge.extraction.sentences import CLOCK_WORDS, word_set

SLOT_NOUNS = word_set("""
address backend birthday branch broker budget bundler cache capital ceiling channel ci codename cutoff database deadline
domain editor email endpoint fee formatter framework frontend hash host hostname image indentation interval ip language
licence
license limit linter lead leader maintainer manager model name nickname orm owner password phone pin port price
provider quota rate region registry release renderer retention root rent runner runtime salary schedule scheduler
server-port size storage store subnet supplier threshold timeout timezone toolchain ttl url username vendor version wage
window zone
""")
"""The last word of a subject that has one value at a time: ``rate limit``, ``order cutoff``, ``package manager``."""
_FAVOURITE = word_set("favourite favorite main primary default current")
"""Words that make any noun after them one that has one value: ``my favourite editor``."""
_SPOKEN = "english german french spanish italian portuguese dutch polish danish swedish russian japanese chinese arabic"
_NAMES = [
    (noun, names.split())
    for noun, names in re.findall(
        r"([\w ]+): (.+)",
        f"""
language: {_SPOKEN}
locale: {_SPOKEN}
database: postgres postgresql mysql mariadb sqlite mongo mongodb dynamodb cockroachdb cassandra duckdb firestore oracle
cache: redis valkey memcached dragonfly keydb
queue: redis rabbitmq kafka nats sqs celery sidekiq bullmq pulsar activemq
package manager: npm pnpm yarn bun
package manager: pip poetry uv pipenv conda
linter: eslint biome oxlint tslint standardjs
linter: ruff flake8 pylint
formatter: prettier biome dprint
formatter: ruff yapf
test runner: jest vitest mocha jasmine
test runner: pytest unittest
ci: circleci jenkins github_actions gitlab_ci travis_ci buildkite teamcity bitrise woodpecker forgejo_actions
host: heroku fly fly.io render vercel netlify railway aws gcp azure hetzner digitalocean linode gcore scaleway
framework: react vue svelte angular preact
framework: django flask fastapi starlette
framework: express fastify hono
bundler: webpack vite rollup esbuild parcel turbopack
editor: vim neovim helix emacs vscode zed sublime
indentation: tabs spaces
language: python rust typescript javascript java kotlin ruby php swift scala elixir
""",
    )
]
"""Well-known names by the noun of their kind. Two rows of one noun do not take each other's place: npm is for one
language, and uv for another. One name under two nouns says of itself neither: "it's German" may be of a car."""
_KINDS_OF_NAMES: dict[str, frozenset[int]] = {}
for _kind, (_, _listed) in enumerate(_NAMES):
    for _key in (entity_key(one.replace("_", " ")) for one in _listed):
        _KINDS_OF_NAMES[_key] = _KINDS_OF_NAMES.get(_key, frozenset()) | {_kind}
_NOUNS = frozenset(noun for noun, _ in _NAMES)
_UNITS = {
    **dict.fromkeys(
        ("second", "sec", "s", "ms", "minute", "min", "hour", "hr", "h", "day", "week", "month", "year"), "time"
    ),
    **dict.fromkeys(("kb", "mb", "gb", "tb", "kib", "mib", "gib", "byte"), "size"),
    **dict.fromkeys(("euro", "eur", "dollar", "usd", "pound", "gbp"), "money"),
    **dict.fromkeys(("port", "pm", "am", "o'clock", "about", "around"), ""),
}
"""Units by what they measure: ``24 hours`` and ``30 minutes`` are of one sort. ``""``: not a unit of its own."""
_AMOUNT = re.compile(r"(\d[\d,]{0,30}(?:\.\d{1,30})?)\s*([a-z]*)")
_SCALES: dict[str, tuple[str, Fraction]] = {
    unit: ("time" if seconds else "size", Fraction(seconds or kib))
    for unit, seconds, kib in re.findall(
        r"(\w+) (?:([\d.]+)s|(\d+)kib)",
        "ms 0.001s millisecond 0.001s s 1s sec 1s second 1s m 60s min 60s minute 60s h 3600s hr 3600s hour 3600s"
        " d 86400s day 86400s week 604800s"
        " kb 1kib mb 1024kib gb 1048576kib tb 1073741824kib",
    )
}
"""What a unit measures, and how much it is."""
_RANGES = [
    word_set("europe asia africa america antarctica oceania"),
    word_set("""
australia austria belgium brazil bulgaria canada chile china colombia croatia denmark egypt england estonia finland
france germany greece hungary iceland india indonesia ireland israel italy japan kenya latvia lithuania malaysia mexico
netherlands nigeria norway pakistan peru philippines poland portugal romania russia scotland serbia singapore slovakia
slovenia spain sweden switzerland taiwan thailand turkey uk ukraine us usa vietnam wales
"""),
    word_set("""
bavaria saxony hesse thuringia brandenburg tyrol catalonia andalusia provence brittany tuscany lombardy sicily cornwall
california texas oregon florida colorado arizona nevada utah ohio michigan illinois massachusetts ontario quebec
"""),
]
"""Places that others lie in, by how wide they are; all others are as wide as a town."""
QUALIFIERS = word_set("""
staging production prod dev development test testing tests ci local locally preview demo beta qa sandbox canary
weekday weekdays weekend weekends holiday holidays summer winter
europe asia us eu uk windows linux macos android ios web mobile desktop
admin admins guest guests member members free paid
""") | (CLOCK_WORDS - word_set("week weeks month months year years day days moment sprint quarter"))
"""Words that say for which of several things, places or times a statement holds."""
_BARE_NAME = re.compile(r"[a-z]{3,}(?<!ed)(?<!ing)(?<!ly)(?<!able)(?<!ible)(?<!ful)(?<!ous)(?<!ive)")
_STATES = word_set("""
slow fast down dead full empty broken fine okay ready new old back gone green red busy big small cheap expensive wrong
right bad good better stable missing unknown here there done open closed online offline high low short long late early
same different important useless free safe clean dirty hot cold public private empty alive
""")
"""What is said of a thing and names none."""
_IDENTIFIER = re.compile(r"[^\W\d]\S*[\d@/_]\S*|[^\W\d]+\.\w\S*")
"""Written as no word is: ``web1``, ``eu-west-1``, ``ines@example.org``, ``pier.example``."""
_NUMBERED = re.compile(r"([a-z]+)\s\d+(?:\s[a-z]+)*")
_TIED = re.compile(r"\s(?:of|at|in|on|from|for|with)\s")
_GLUED = re.compile(r"(\d)([a-z])")  # "30min"
_WORD = re.compile(r"\w+(?:[-./:_'’&+#]\w+)*[+#%]*")


def kinds_of_name(value: str) -> frozenset[int]:
    """The kinds of a well-known name, as places in the table; empty for other values.

    >>> kinds_of_name("Postgres 17") == kinds_of_name("mysql"), kinds_of_name("a red bike")
    (True, frozenset())
    """
    return _KINDS_OF_NAMES.get(split_version(entity_key(value))[0], frozenset())


def noun_of_name(value: str) -> str:
    """The key of what a well-known name is one of; ``""`` for other values, and for what is of several kinds.

    >>> noun_of_name("SQLite"), noun_of_name("Redis"), noun_of_name("Nadia")
    ('database', '', '')
    """
    nouns = {_NAMES[kind][0] for kind in kinds_of_name(value)}
    return nouns.pop() if len(nouns) == 1 else ""


def is_slot(subject: str) -> bool:
    """Say whether the key of a subject names what has one value at a time.

    >>> is_slot("order cutoff"), is_slot("@ines's favourite editor"), is_slot("build")
    (True, True, False)
    """
    words = subject.partition(" of ")[0].split()
    if not words:
        return False
    named = words[-1] in SLOT_NOUNS or " ".join(words[-2:]) in _NOUNS or words[-1] in _NOUNS
    return named or not _FAVOURITE.isdisjoint(words[:-1])


def sort_of(value: str) -> str:
    """Return what sort of thing a value is: a name, or a number of something; ``""`` for what can be told neither way.

    >>> sort_of("Bologna"), sort_of("24 hours") == sort_of("30 minutes"), sort_of("port 3000"), sort_of("part 12")
    ('name', True, 'number', '')
    """
    if value[:1].isupper() or value[:1] in ("#", "`") or kinds_of_name(value) or _IDENTIFIER.fullmatch(value):
        return "name"
    if not any(map(str.isdigit, value)):
        return ""
    value = _TIED.split(value, maxsplit=1)[0]  # "30 minutes of idling"
    if (label := _NUMBERED.fullmatch(value)) and label[1] not in SLOT_NOUNS and label[1] not in _UNITS:
        return ""  # "part 12" and "part 13" are two things
    words = [one for one in _WORD.findall(_GLUED.sub(r"\1 \2", value.lower())) if not any(map(str.isdigit, one))]
    units = [_UNITS.get(one, _UNITS.get(one.rstrip("s"), one)) for one in words]
    return " ".join(["number", *filter(None, units)])


def are_alike(value: str, other: str) -> bool:
    """Say whether two values are of one sort: of two well-known names, of one kind."""
    kinds, others = kinds_of_name(value), kinds_of_name(other)
    if kinds and others:
        return not kinds.isdisjoint(others)
    return sort_of(value) == sort_of(other) != ""


def are_equal_amounts(value: str, other: str) -> bool:
    """Say whether two values are one amount in other units or digits.

    >>> are_equal_amounts("60 seconds", "1 minute"), are_equal_amounts("1000", "1,000")
    (True, True)
    """
    found = [_AMOUNT.fullmatch(one.strip().lower()) for one in (value, other)]
    if not all(found):
        return False
    amounts = set()
    for number, unit in (one.groups() for one in found if one):
        unit = unit if unit in _SCALES else unit.rstrip("s")
        sort, scale = _SCALES.get(unit, (unit, Fraction(1)))
        amounts.add((sort, Fraction(number.replace(",", "")) * scale))
    return len(amounts) == 1


def are_of_two_ranges(value: str, other: str) -> bool:
    """Say whether one of two places may lie in the other, as the one is a town and the other a country.

    >>> are_of_two_ranges("Berlin", "Germany"), are_of_two_ranges("France", "Germany")
    (True, False)
    """
    first, second = (
        next((width for width, names in enumerate(_RANGES) if one.lower() in names), len(_RANGES))
        for one in (value, other)
    )
    return first != second


def are_bare_names(value: str, other: str) -> bool:
    """Say whether two values of a place that holds one may be names that nobody wrote with a capital.

    >>> are_bare_names("fern", "heron"), are_bare_names("fern", "down")
    (True, False)
    """
    return all(_BARE_NAME.fullmatch(one) and one not in _STATES for one in (value, other))


def are_of_two_kinds(value: str, other: str) -> bool:
    """Say whether two values are well-known names of two kinds: a database and a queue."""
    nouns, others = ({_NAMES[kind][0] for kind in kinds_of_name(one)} for one in (value, other))
    return bool(nouns and others) and nouns.isdisjoint(others)


def are_versions(value: str, other: str) -> bool:
    """Say whether two values are two versions of one thing: ``Node 18`` and ``Node 20``."""
    (name, version), (second, another) = (split_version(entity_key(one)) for one in (value, other))
    return name == second != "" and "" != version != another != ""
