"""Reads Markdown notes: each section, with the headings it stands under, is a note; a file is one session.

A section's text begins with a line of its headings (``Boats > Repairs``), so that a recall finds it by them; below it
stand its words as they are. A long section is cut between paragraphs. Front matter (YAML between ``---``, TOML between
``+++``) gives the title, the tags and the day; else the day is that in the file's name, else when the file was written.
What this memory put into the file itself is left out. A note names its file and those that its words link to
(`mnemic.hooks.read.note_links`). `mnemic.hooks.read.formats` opens one file, `mnemic.hooks.imports.vault` a folder.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import PurePath
from typing import Any, NamedTuple

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine, to_bytes
from mnemic.actors.kernel.times import WrittenTime
from mnemic.hooks.read.generic import ASSISTANT
from mnemic.hooks.read.lines import RawLines, parse_written_time, time_fields
from mnemic.hooks.read.note_links import Link, ResolveLink, linked_files, relative_resolver
from mnemic.hooks.read.own_text import remove_block
from mnemic.runtime.files.foreign import parse_toml

FORMAT = "markdown"
SUFFIXES = (".md", ".markdown")
_SECTION_BYTES = 4000  # a hit is given whole up to `recall.hit_bytes`, 8192, and all of it has its meaning
_MOST_BARE = 16
"""More headings in a row under which nothing stands are an outline: one note, and not one each."""
_MOST_FRONT_LETTERS = 1 << 16
_SEPARATOR = " > "
_YAML = re.compile(r"---[ \t]*\r?\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
_TOML = re.compile(r"\+\+\+[ \t]*\r?\n((?:.*\n)*?)\+\+\+[ \t]*(?:\r?\n|\Z)")
_FIELD = re.compile(r"[\w-]+[ \t]*:")
_SOURCES = ("source", "url", "source_url", "source-url")
"""Where clippers of web pages write the page's address."""
_EMPTY = re.compile(r"[\w-]+[ \t]*:\s*(?:\"\"|''|\[\]|\{\}|null|~)?\s*")
_DATES = ("date", "created", "updated")
_OFFSET = re.compile(r"[ \t]+(?=[+-]\d\d:?\d\d$)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Section(NamedTuple):
    """What stands under one heading, up to the next."""

    path: tuple[str, ...]
    """The headings it is under, its own last."""
    parts: tuple[str, ...]
    """Its words, in one piece or several; none where only headings follow."""
    end: int
    """The first line after it."""


class FrontMatter(NamedTuple):
    """What a file says of itself before it begins."""

    title: str = ""
    """Its title."""
    tags: tuple[str, ...] = ()
    """Its tags."""
    aliases: tuple[str, ...] = ()
    """What else it is called."""
    permalink: str = ""
    """The name by which notes of basic-memory are linked."""
    is_clipping: bool = False
    """Whether it was clipped from the web: its words are not its owner's."""
    author: str = ""
    """Whose words it says that they are."""
    written: WrittenTime | None = None
    """When it was written."""
    others: tuple[str, ...] = ()
    """Lines of its other properties, as they stand."""
    why: str = ""
    """What of it cannot be understood, in a clause."""


class MarkdownSource:
    """An opened Markdown file; fulfils `mnemic.actors.kernel.ports.Source`. It is read whole first."""

    format = FORMAT

    def __init__(self, raw: RawLines) -> None:
        self._raw = raw
        self.size_bytes = raw.size_bytes
        self.position_bytes = 0

    def __iter__(self) -> Iterator[Event | MalformedLine]:
        data = self._raw.read()
        resolve = _no_file if self._raw.path == "-" else relative_resolver(self._raw.path)
        for item in read_notes(self._raw, data, resolve):
            if isinstance(item, Event):
                self.position_bytes = min(self.position_bytes + len(item.text), len(data))
            yield item
        self.position_bytes = len(data)

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


def read_notes(raw: RawLines, data: bytes, resolve: ResolveLink) -> Iterator[Event | MalformedLine]:
    """The notes of one Markdown file.

    Args:
        raw: the file, which names it.
        data: all of it.
        resolve: finds the files that its links lead to.

    Raises:
        SourceUnreadable: it is no UTF-8.
    """
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise SourceUnreadable(path=raw.path, why=f"byte {error.start} is no UTF-8") from None
    file = None if raw.path == "-" else PurePath(raw.path)
    session = str(file) if file else f"stdin-{hashlib.sha256(data).hexdigest()[:16]}"
    text = remove_block(text.removeprefix("\ufeff"))
    front, body = split_front_matter(text)
    if front.why:
        yield MalformedLine(line=1, why=f"its front matter: {front.why}")
    whose: dict[str, Any] = {"author": None, "speaker": None}
    if front.is_clipping:
        name = front.author.replace("[[", "").replace("]]", "")
        whose = {"author": "other", "speaker": name} if name else {"author": "unknown", "speaker": None}
    when, seen = time_fields(_written_time(front, file, raw.changed_at)), Counter[str]()
    about = [
        f"{name}: {', '.join(words)}" for name, words in (("tags", front.tags), ("aliases", front.aliases)) if words
    ] + [*front.others]
    beside = text[: len(text) - len(body)]  # its links are the first note's
    only_properties = [Section((), ("",), 0)] if front.others else []
    for section in list(sections(body)) or only_properties:
        path = _SEPARATOR.join(_titled(section.path, front.title, file.stem if file else ""))
        seen[path] += 1
        name = path if seen[path] == 1 else f"{path} ({seen[path]})"
        for number, part in enumerate(section.parts, start=1):
            head = "\n".join(filter(None, (path, *about)))
            yield Event(
                assistant=ASSISTANT,
                session=session,
                kind="note",
                role="user",
                text=to_bytes("\n\n".join(filter(None, (head, part)))),
                source_id=name if number == 1 else f"{name} #{number}",
                **whose,
                **when,
                cwd=str(file.parent) if file else None,
                files=linked_files(session, (beside, part), resolve) if file else (),
            )
            about, beside = [], ""


def _no_file(link: Link) -> None:
    return None


def _titled(path: Sequence[str], title: str, name: str) -> Sequence[str]:
    """The headings of a section with what the whole file is called: its title, else, before any heading, its name."""
    root = title or ("" if path else name)
    return path if not root or path[:1] == (root,) else (root, *path)


def _written_time(front: FrontMatter, file: PurePath | None, changed_at: int | None) -> WrittenTime | None:
    if front.written is not None:
        return front.written
    day = _DAY.match(file.stem) if file else None
    named = parse_written_time(day[0]) if day else None
    return WrittenTime(changed_at, None, is_local=False) if named is None and changed_at is not None else named


def sections(text: str) -> Iterator[Section]:
    """Cut a text at its headings; what stands in a fence, a list or a quotation is no heading of its own.

    Words stay as they are but for the blank lines around them. A heading under which only other headings stand has no
    section; one under which nothing stands is its own, and more than `_MOST_BARE` of these in a row are one together,
    as they are written. A heading without words has none.
    """
    from markdown_it import MarkdownIt  # 70 ms

    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)  # as the parser counts them
    tokens = MarkdownIt("commonmark").disable(["inline", "text_join"]).parse(text)
    heads: list[tuple[int, int, int, str]] = [(0, 0, 0, "")]
    cuts: list[int] = []
    for place, token in enumerate(tokens):
        if token.level == 0 and token.type == "heading_open" and token.map:
            start, end = token.map
            heads.append((int(token.tag[1:]), start, end, " ".join(tokens[place + 1].content.split())))
        elif token.map and (token.level == 0 or (token.level == 1 and token.type == "list_item_open")):
            cuts.append(token.map[0])
    cuts = sorted(set(cuts))  # a list begins where its first item does
    path: list[tuple[int, str]] = []
    bare: list[tuple[int, bool, Section]] = []
    for (level, start, begin, title), after in zip(heads, [*heads[1:], (0, len(lines), 0, "")], strict=True):
        path = [one for one in path if one[0] < level] + ([(level, title)] if title else [])
        section = Section(tuple(name for _, name in path), _cut(lines, begin, after[1], cuts), after[1])
        if section.parts:
            yield from _bare_sections(lines, bare)
            bare = []
            yield section
        elif title:
            bare.append((start, after[0] <= level, section))
    yield from _bare_sections(lines, bare)


def _bare_sections(lines: list[str], bare: Sequence[tuple[int, bool, Section]]) -> Iterator[Section]:
    """The sections of headings in a row under which nothing stands.

    Args:
        bare: of each the line at which it begins, whether no heading is under it, and its section without words.
    """
    if len(bare) > _MOST_BARE:
        starts, (path, _, _), end = [start for start, _, _ in bare], bare[0][2], bare[-1][2].end
        yield Section(path[:-1], _cut(lines, starts[0], end, starts), end)
    else:
        yield from (section._replace(parts=("",)) for _, is_leaf, section in bare if is_leaf)


def _cut(lines: list[str], begin: int, end: int, cuts: Sequence[int]) -> tuple[str, ...]:
    """The words of some lines in pieces of so many bytes, cut where a block begins; a block is never cut.

    Args:
        cuts: the lines at which blocks begin, ascending.
    """
    parts, size = [""], 0
    inside = cuts[bisect_right(cuts, begin) : bisect_left(cuts, end)]
    for start, stop in pairwise([begin, *inside, end]):
        block = "".join(lines[start:stop])
        length = len(to_bytes(block))
        if size and size + length > _SECTION_BYTES:
            parts.append("")
            size = 0
        parts[-1] += block
        size += length
    whole = (re.sub(r"\A(?:[ \t]*(?:\r\n|\r|\n))+", "", part).rstrip() for part in parts)
    return tuple(part for part in whole if part.strip())


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """What a file says of itself, and the rest; what only looks like front matter is part of the rest."""
    toml, found = _TOML.match(text, 0, _MOST_FRONT_LETTERS), _YAML.match(text, 0, _MOST_FRONT_LETTERS)
    if toml is not None:
        try:
            values = parse_toml(to_bytes(toml[1].replace("\r\n", "\n")))
        except ValueError as error:
            return FrontMatter(why=str(error), others=_full_lines(toml[1])), text[toml.end() :]
        front = _front_matter(values)
        others = {
            name: value for name, value in values.items() if value not in ("", [], {}) and name not in _used(front)
        }
        lines = (f"{name}: {_as_line(value)}" for name, value in others.items())
        return front._replace(others=tuple(lines)), text[toml.end() :]
    if found is None:
        return FrontMatter(), text
    import yaml  # as needed: 30 ms

    rest = text[found.end() :]
    loader = yaml.BaseLoader(found[1])  # it makes strings, lists and maps alone
    try:
        node = loader.get_single_node()
        values = {} if node is None else loader.construct_document(node)
    except (yaml.YAMLError, RecursionError) as error:
        if not _FIELD.match(found[1]):
            return FrontMatter(), text
        why = getattr(error, "problem", None) or type(error).__name__
        return FrontMatter(why=f"it is no YAML ({why})", others=_full_lines(found[1])), rest
    finally:
        loader.dispose()
    if not isinstance(values, dict):
        return FrontMatter(), text
    front = _front_matter(values)
    pairs = (
        [] if node is None else [(key.value, key.start_mark.index, value.end_mark.index) for key, value in node.value]
    )
    return front._replace(others=_other_lines(found[1], pairs, _used(front))), rest


def _other_lines(text: str, pairs: Iterable[tuple[Any, int, int]], used: Container[str]) -> tuple[str, ...]:
    """Lines of YAML but those that hold nothing beside used and empty properties; comments and repeated names stay.

    Args:
        pairs: the name of each property, and where it begins and ends.
        used: names of properties that stand elsewhere in what is kept of the file.
    """
    lines = re.findall(r".*\n", text)
    starts = [0, *accumulate(map(len, lines))]
    left: dict[bool, set[int]] = {True: set(), False: set()}
    for name, start, end in pairs:
        while end > start + 1 and text[end - 1].isspace():  # a block ends where the next one begins
            end -= 1
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1)
        is_told = (isinstance(name, str) and name in used) or _EMPTY.fullmatch("".join(lines[first:last])) is not None
        left[is_told].update(range(first, last))
    return _full_lines("".join(line for number, line in enumerate(lines) if number not in left[True] - left[False]))


def _full_lines(text: str) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in text.split("\n") if line.strip())


def _used(front: FrontMatter) -> frozenset[str]:
    """Names of the properties that stand elsewhere in what is kept of the file."""
    fields = {"title": front.title, "tags": front.tags, "aliases": front.aliases, "permalink": front.permalink}
    return frozenset(name for name, value in fields.items() if value).union(_DATES if front.written is not None else ())


def _as_line(value: Any) -> str:
    """A value of TOML on one line."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _front_matter(values: dict[Any, Any]) -> FrontMatter:
    title, link = values.get("title"), values.get("permalink")
    name, date = next(((name, values[name]) for name in _DATES if values.get(name)), ("", None))
    written = date.isoformat() if isinstance(date, datetime.date) else date  # as TOML has it; a datetime is one
    when = parse_written_time(_OFFSET.sub("", written.strip())) if isinstance(written, str) else None
    return FrontMatter(
        title=" ".join(title.split()) if isinstance(title, str) else "",
        tags=tuple(one.lstrip("#") for one in _words(values.get("tags"), r"[,\s]+")),
        aliases=_words(values.get("aliases"), ","),
        permalink=link.strip() if isinstance(link, str) else "",
        is_clipping=any(_is_address(values.get(one)) for one in _SOURCES),
        author=", ".join(_words(values.get("author"), ",")),
        written=when,
        why=f"its {name} is no ISO 8601 time" if name and when is None else "",
    )


def _is_address(value: object) -> bool:
    return isinstance(value, str) and value.strip().startswith(("http://", "https://"))


def _words(value: Any, between: str) -> tuple[str, ...]:
    """The words of a list, or of a string with something between them."""
    given = re.split(between, value) if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(" ".join(one.split()) for one in given if isinstance(one, str) and one.strip())
