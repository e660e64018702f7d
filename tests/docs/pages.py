"""What stands in the pages for people: blocks of code, the commands in them and what they show, links and headings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.paths import ROOT

DOCS = ROOT / "docs"
PAGES = {path.name: path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")))}
"""Pages by their names; decisions and kept runs of benches are none."""

_FENCE = re.compile(r"(?P<indent> *)```(?P<language>[\w-]*)")
_FILE_NAME = re.compile(r"`(?P<name>[\w./-]+)`:")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)|!\[[^\]]*\]\((?P<picture>[^)\s]+)\)")
_EXITS = re.compile(r"\bexits with (\d+)")
_TYPED = re.compile(
    r"(?:\S.* \| )?(?:mnemic|make|git|pip|pipx|uv|curl|python|source|cd|export|echo|cat|claude|codex|gemini|opencode)"
    r" \S.*|mnemic"
)
"""A line of a block that somebody may type; what else stands in blocks is shown, or belongs to a file."""


@dataclass(frozen=True)
class Block:
    """A block of code."""

    line: int
    """Number of its first line, from 1."""
    lines: tuple[str, ...]
    """Without the indentation of the block."""
    language: str
    """What the fence says; empty where it says none, or there is none."""
    file: str
    """The file it is, where the line before says so: a name alone, as code, and a colon."""
    indent: str
    """What stands before each of its lines."""

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(frozen=True)
class Command:
    """A line that somebody may type."""

    line: int
    """Number of its first line in the page, from 1."""
    text: str
    """As it is typed, on one line, without a comment."""
    exit_code: int
    """How it ends: 0, or what its comment says (``exits with 1``)."""
    indent: str
    """What stands before each line of its block."""
    shown: tuple[str, ...] | None = None
    """What the page shows that it prints; ``None`` where it shows nothing."""

    @property
    def words(self) -> list[str]:
        """The words of it, as a shell gives them; of several commands in a pipe, of the last."""
        return shlex.split(self.text.rpartition(" | ")[2])

    @property
    def piped_from(self) -> str:
        """What gives it its standard input; empty where nothing does."""
        return self.text.rpartition(" | ")[0]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of code of a page: fenced, or indented by four after a blank line or a comment."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at])
        if fence is not None:
            indent = fence["indent"]
            end = lines.index(f"{indent}```", at + 1)
            code = [line.removeprefix(indent) for line in lines[at + 1 : end]]
            named = _FILE_NAME.fullmatch(lines[at - 2].strip()) if at > 1 and not lines[at - 1] else None
            yield Block(at + 2, tuple(code), fence["language"], named["name"] if named else "", indent)
            at = end + 1
        elif lines[at].startswith("    ") and at > 0 and (not lines[at - 1] or lines[at - 1].startswith("<!--")):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
                end += 1
            while not lines[end - 1]:
                end -= 1
            yield Block(at + 1, tuple(line.removeprefix("    ") for line in lines[at:end]), "", "", "    ")
            at = end
        else:
            at += 1


def commands(text: str) -> Iterator[Command]:
    """The lines of a page that somebody may type, in its order.

    A block in which a line begins with ``$`` is what a terminal shows: commands, each with what it prints below it. In
    any other block lines that begin with a program's name are commands. A command goes on in the next line where it
    ends with a backslash, and, where nothing is shown, in lines that are indented.
    """
    for block in blocks(text):
        if block.language in ("", "console", "sh"):
            yield from map(_without_comment, _commands(block))


def _commands(block: Block) -> list[Command]:
    found: list[Command] = []
    transcript = any(line.startswith("$ ") for line in block.lines)
    continues = False
    for number, line in enumerate(block.lines, start=block.line):
        begins = line.startswith("$ ") if transcript else _TYPED.fullmatch(line) is not None
        if continues or (line.startswith(" ") and found and not transcript):
            found[-1] = replace(found[-1], text=f"{found[-1].text.removesuffix(chr(92))} {line.strip()}")
        elif begins:
            shown = () if transcript else None
            found.append(Command(number, line.removeprefix("$ "), 0, block.indent, shown))
        elif found and found[-1].shown is not None:
            found[-1] = replace(found[-1], shown=(*found[-1].shown, line))
        continues = line.endswith(chr(92)) and (begins or continues)
    return found


def _without_comment(command: Command) -> Command:
    """The command without its comment, ending as that says, and what it shows without blank lines at the end."""
    typed, _, comment = command.text.partition(" # ")
    exits = _EXITS.search(comment)
    shown = command.shown
    while shown and not shown[-1]:
        shown = shown[:-1]
    return replace(command, text=typed.strip(), exit_code=int(exits[1]) if exits else 0, shown=shown)


def with_shown(text: str, command: Command, printed: list[str]) -> str:
    """A page in which below a command stands what it printed."""
    lines = text.split("\n")
    first = command.line
    while lines[first - 1].endswith(chr(92)):
        first += 1
    assert command.shown is not None
    made = [f"{command.indent}{line}".rstrip() for line in printed]
    return "\n".join([*lines[:first], *made, *lines[first + len(command.shown) :]])


def links(path: Path) -> Iterator[str]:
    """Where a page's links and pictures lead, but for those to other hosts; code holds none."""
    text = re.sub(r"^( *)```.*?^\1```$|`[^`\n]*`", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in _LINK.finditer(text):
        target = link["target"] or link["picture"]
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(path: Path) -> set[str]:
    """What a page's headings are called in links, as GitHub does it: small, hyphens for blanks, no other signs."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
