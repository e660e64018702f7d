"""Safe printing to a terminal, lines of memories and hits, and progress bars."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.protocol.errors import MnemicError

if TYPE_CHECKING:
    from mnemic.actors.protocol.recall.messages import Scopes

_MOST_SAME = 3  # memories that say the same as a hit are named in its line
_STEERING = ("Cc", "Cf", "Zl", "Zp")  # controls; what is unseen, or reorders what is seen; ends of lines


class OutputFailed(MnemicError):
    """Standard output is a file, and it takes no more."""

    sentence = "The answer cannot be written: {why}."
    remedy = "Write it somewhere else; what was captured is kept."


def print_lines(lines: Iterable[str]) -> None:
    """Print an answer.

    Raises:
        OutputFailed: standard output cannot be written.
        BrokenPipeError: whoever reads has seen enough; click ends the command quietly.
    """
    try:
        for line in lines:
            click.echo(line)
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would fail again at exit
        raise OutputFailed(why=error.strerror) from error


def print_error(view: dict[str, str], as_json: bool) -> None:
    """Print an error: as JSON where answers go, or as a line for a person."""
    if as_json:
        click.echo(json.dumps(view))
    else:
        click.echo(escape_controls(f"mnemic: {view['error']} {view['remedy']}"), err=True)


def escape_controls(line: str) -> str:
    """A line for a terminal: what a memory holds shall not steer it, nor be there and not be seen.

    Written out, as Python writes them, are Unicode's categories Cc (but the tab), Cf, Zl and Zp. None of them comes
    through: letters that a joiner holds together stand apart.
    """
    if line.isprintable():
        return line
    return "".join(_written_out(letter) if unicodedata.category(letter) in _STEERING else letter for letter in line)


def _written_out(letter: str) -> str:
    code = ord(letter)
    if letter == "\t":
        return letter
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def hit_lines(number: int, hit: dict[str, Any]) -> Iterator[str]:
    """A hit, as `mnemic.runtime.api.views.hit_view` gives it."""
    who = hit["speaker"] or hit["role"]
    old = f"  [superseded by {hit['superseded_by']}]" if hit["superseded_by"] else ""
    old = "  [superseded, in another scope]" if "superseded_elsewhere" in hit else old
    if "supersedes" in hit:
        old += f"  [supersedes {', '.join(hit['supersedes'])}]"
    what = f"{hit['kind']}, {hit['scope'] or 'no scope'}"
    yield f"{number:>3}. {hit['said_at'] or '-'}  {who} ({what})  {hit['score']:.2f}{old}"
    yield from (f"     {line}" for line in hit["text"].splitlines() or [""])
    if "size_bytes" in hit:
        yield f"     … from byte {hit['start_byte']} of {hit['size_bytes']}"
    for one in hit.get("replaced", ()):
        yield f"     replaced since {one['at'][:10]} by: {' '.join(one['value'].split())}  ({one['memory']})"
    for one in hit.get("contradicts", ()):
        said = " ".join(one["value"].split())
        yield f"     contradicted on {one['at'][:10]} by: {said}  (`mnemic conflicts {one['id']}` settles it)"
    if "differs" in hit:
        own = (f"{role} is {filler}" if filler else f"no {role}" for role, filler in hit["differs"].items())
        yield f"     differs: {', '.join(own)}"
    same = hit.get("same", [])
    if same:
        named = ", ".join(f"{one['id']} ({one['said_at'][:10]})" for one in same[:_MOST_SAME])
        rest = f" and {len(same) - _MOST_SAME} more (--json names them)" if len(same) > _MOST_SAME else ""
        yield f"     said so too: {named}{rest}"
    why = ", ".join(f"{name} {share:.2f}" for name, share in hit.get("why", {}).items())
    yield f"     {hit['id']}{f'  why: {why}' if why else ''}"


def searched_scope(scope: Scopes, found: str) -> str:
    """Where was looked, how that was found, and how to look further."""
    paths = [scope] if isinstance(scope, str) else scope
    where = "everything" if scope == "*" else ", ".join(path or "what belongs to no project" for path in paths)
    more = "" if found in ("named", "asked for") or scope == "*" else "; --scope '*' looks through everything"
    return f"{where} ({found}{more})"


def memory_line(memory: dict[str, Any]) -> str:
    """A memory in one line, as a view gives it: the first line of its text will do."""
    first = next(iter(memory["text"].splitlines()), "")
    whole = len(first.encode("utf-8", "surrogatepass")) == memory["size_bytes"]
    return f"{memory['id']} ({memory['kind']}, {memory['scope'] or 'no scope'}) {first}{'' if whole else ' …'}"


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    """A progress bar on standard error for each thing that is done; none where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    bars: dict[str, Any] = {}
    current = ""

    def end() -> None:
        """Leave the line of what was done last: once, and where one was drawn, since it writes the end of a line."""
        if current and bars[current].pos:
            bars[current].render_finish()

    def show(what: str, done: int, total: int | None) -> None:
        nonlocal current
        if what != current:
            end()
            current = what
        if what not in bars:
            bars[what] = click.progressbar(length=total or 0, label=f"{what:>8}", file=sys.stderr)
        bar = bars[what]
        bar.length = total
        bar.update(done - bar.pos)

    try:
        yield show
    finally:
        end()
