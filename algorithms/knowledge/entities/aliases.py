"""Tells which names of one mind are of the same thing, from the names and the sessions that they stand in.

Four rules, each of which says nothing where more than one answer is possible: initials of a longer name, a first name
of the one full name, the name of a file of the one path that ends so, and a name with a version of the name without.
A wrong link mixes what is known of two persons, and a missing one only leaves two pages for one, so none is made on
likeness alone. What a person says goes before all rules.

Above it stands whoever keeps the entities of a mind; below it the keys of `mnemic.algorithms.knowledge.entities.keys`
and the kinds of `mnemic.algorithms.knowledge.entities.nouns`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mnemic.algorithms.knowledge.entities.keys import is_file, split_version
from mnemic.algorithms.knowledge.entities.nouns import CLASS_NOUNS
from mnemic.algorithms.knowledge.extraction.sentences import word_set

_LITTLE_WORDS = word_set("of the and de van von der da del di du la for in")
_VERSIONED: frozenset[str] = frozenset(("tool", "service", "thing"))
_MOST_FULL_NAME_WORDS = 4
_SAFE_INITIALS = 3  # so many letters are told from others without a session in common


class EntitySeen(NamedTuple):
    """What a mind's texts name under one key."""

    key: str
    """As `mnemic.algorithms.knowledge.entities.keys.entity_key` gives it; each stands once."""
    name: str
    """Its most frequent spelling."""
    kind: str
    """What it is, as most texts tell: one of `mnemic.algorithms.knowledge.entities.nouns.Kind`."""
    sessions: frozenset[int]
    """The sessions that name it."""


class AliasLink(NamedTuple):
    """That one key is of the same thing as another."""

    key: str
    """The shorter name, or the one that says more than the thing itself."""
    into: str
    """The key under which both are known."""
    why: str
    """The reason, a clause for a reader: ``the only full name with "nadia"``."""


def alias_links(entities: Sequence[EntitySeen]) -> list[AliasLink]:
    """The links that are told beyond doubt, by key; the order of the entities changes nothing. At most one a key.

    Takes a few microseconds an entity.
    """
    ordered = sorted(entities, key=lambda one: one.key)
    links: dict[str, AliasLink] = {}
    for rule in (_files, _versions, _initials, _first_names):
        for link in rule(ordered):
            links.setdefault(link.key, link)
    return sorted(links.values())


def resolve(links: Iterable[AliasLink], merges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each key that is linked or merged to the key under which it is known, which is mapped to itself.

    Merges go before links, and of two merges of one key the later one counts. What would close a circle is left out:
    of ``a`` into ``b`` and later ``b`` into ``a`` the later stays. A key merged into itself stays by itself.

    Args:
        links: what rules tell; of two of one key the first counts.
        merges: what a person said, the oldest first: a key, and the one into which it goes.
    """
    parents: dict[str, str] = {}
    keys: dict[str, None] = {}
    linked = [(link.key, link.into) for link in links]
    for key, into in [*reversed(list(merges)), *linked]:
        keys.setdefault(key)
        keys.setdefault(into)
        if key not in parents and (key == into or _root(parents, into) != key):
            parents[key] = into
    return {key: _root(parents, key) for key in keys}


def _root(parents: dict[str, str], key: str) -> str:
    """Where the way from a key ends; the ways on it are made shorter."""
    way = []
    while (into := parents.get(key, key)) != key:
        way.append(key)
        key = into
    for passed in way:
        parents[passed] = key
    return key


def _may_be_one(one: EntitySeen, other: EntitySeen) -> bool:
    """Whether no kind speaks against two being one."""
    return one.kind == other.kind or "thing" in (one.kind, other.kind)


def _files(entities: Sequence[EntitySeen]) -> Iterator[AliasLink]:
    """The end of a path into the one whole path; where several end so, into the longest only if it holds the others."""
    paths = [one.key for one in entities if "/" in one.key and is_file(one.key)]
    ending: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        rest = path
        while rest := rest.partition("/")[2]:
            ending[rest].append(path)
    for one in entities:
        candidates = ending.get(one.key, ()) if one.kind in ("file", "thing") and is_file(one.key) else ()
        if not candidates:
            continue
        longest = max(candidates, key=len)
        if all(longest == path or longest.endswith("/" + path) for path in candidates):
            yield AliasLink(one.key, longest, f'the only path that ends in "{one.name}"')


def _versions(entities: Sequence[EntitySeen]) -> Iterator[AliasLink]:
    """A name with a version into the name without it."""
    known = {one.key: one for one in entities if one.kind in _VERSIONED}
    for one in entities:
        plain, version = split_version(one.key)
        # "SLIP-44" is a ticket, and "server 2" is another one than "server 1"
        if not version or one.kind not in _VERSIONED or "-" in one.name or plain.split(" ")[-1] in CLASS_NOUNS:
            continue
        if (plain in known and known[plain].kind in (one.kind, "thing")) or (plain in known and one.kind == "thing"):
            yield AliasLink(one.key, plain, f"version {version} of it")


def _initials(entities: Sequence[EntitySeen]) -> Iterator[AliasLink]:
    """Initials into the one name of several words that has them."""
    named: defaultdict[str, set[int]] = defaultdict(set)
    for place, one in enumerate(entities):
        words = one.key.split(" ")
        if len(words) > 1 and all(word.isalpha() for word in words) and not is_file(one.key):
            named["".join(word[0] for word in words)].add(place)
            named["".join(word[0] for word in words if word not in _LITTLE_WORDS)].add(place)
    for one in entities:
        if not (len(one.name) > 1 and one.name.isalpha() and one.name.isupper() and one.key == one.name.lower()):
            continue
        candidates = named.get(one.key, ())
        if len(candidates) != 1:
            continue
        whole = entities[next(iter(candidates))]
        if not _may_be_one(one, whole):
            continue
        if len(one.key) >= _SAFE_INITIALS or one.sessions & whole.sessions:
            yield AliasLink(one.key, whole.key, f'initials of "{whole.name}" and of no other name')


def _first_names(entities: Sequence[EntitySeen]) -> Iterator[AliasLink]:
    """A first name into the one full name that begins with it, where a session has both."""
    full: defaultdict[str, list[EntitySeen]] = defaultdict(list)
    for one in entities:
        words = one.key.split(" ")
        if 1 < len(words) <= _MOST_FULL_NAME_WORDS and one.kind in ("person", "thing"):
            full[words[0]].append(one)
    for one in entities:
        others = full.get(one.key, ())
        if one.kind not in ("person", "thing") or len(others) != 1:
            continue
        whole = others[0]
        if "person" not in (one.kind, whole.kind) or not all(word.isalpha() for word in whole.key.split(" ")):
            continue
        if one.sessions & whole.sessions:
            yield AliasLink(one.key, whole.key, f'the only full name with "{one.name}"')
