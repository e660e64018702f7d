"""Finds what Markdown links to: ``[[Note]]``, ``![[embed]]`` and ``[words](other.md)``, and the files they lead to.

Plain Markdown links are resolved here, from the folder of the file that holds them. What ``[[Note]]`` means depends on
all other notes; `mnemic.hooks.imports.vault` knows those.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

MOST_LINKS = 64
"""How many files one section names at most, itself included."""
_LINK = re.compile(r"\[\[([^\[\]\n|#^]++)[^\[\]\n]*+\]\]|\]\([ \t]*(?:<([^<>\n]+)>|([^\s()<>]+))")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")

ResolveLink = Callable[["Link"], str | None]
"""The path of the file that a link leads to, absolute; ``None`` where it leads to none."""


class Link(NamedTuple):
    """What a text links to."""

    target: str
    """A name, or a path; never empty, without a heading."""
    is_wiki: bool
    """Whether it stands in double brackets, where a name is enough."""


def find_links(text: str) -> Iterator[Link]:
    """All links of a text to what may be a file, in order; those in code too, since that seldom names a file."""
    for wiki, pointed, plain in _LINK.findall(text):
        if wiki:
            target = wiki.rstrip("\\").strip()  # in a table, the line before an alias is written \|
        else:
            target = pointed or plain
            target = "" if _SCHEME.match(target) else unquote(re.split("[#?]", target, maxsplit=1)[0])
        if target and "\0" not in target:
            yield Link(target, bool(wiki))


def linked_files(own: str, texts: tuple[str, ...], resolve: ResolveLink) -> tuple[str, ...]:
    """A file, and after it those that some of its words link to, each once."""
    found = {own: None}
    for text in texts:
        for link in find_links(text):
            if (path := resolve(link)) is not None:
                found[path] = None
            if len(found) >= MOST_LINKS:
                return tuple(found)
    return tuple(found)


def relative_resolver(own: str) -> ResolveLink:
    """Resolves the plain links of one file, to files that are there. Nothing of them is read."""
    folder = os.path.dirname(own)

    def resolve(link: Link) -> str | None:
        if link.is_wiki or os.path.isabs(link.target):
            return None
        path = os.path.normpath(os.path.join(folder, link.target))
        return path if os.path.isfile(path) else None

    return resolve
