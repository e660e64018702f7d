"""Prints answers: colours and whole words on a terminal, plain lines in a pipe; what a memory holds never steers it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from mnemic.actors.kernel.errors import BadTime, MnemicError
from mnemic.actors.kernel.times import parse_time, to_local_minute
from mnemic.runtime.clock import SystemClock

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Line = str | Sequence[tuple[str, str]]
"""A line of an answer: a text, or parts of one, each with its style as `rich` names it (``bold``, ``dim``, ``red``)."""

# Claude Code: https://code.claude.com/docs/en/env-vars. Gemini CLI: https://geminicli.com/docs/tools/shell. The others
# document none, and were seen to set these; some tools set AI_AGENT, whoever they are.
ASSISTANT_VARIABLES = (
    *("AI_AGENT", "CLAUDECODE", "CODEX_CI", "CODEX_SANDBOX", "CODEX_THREAD_ID", "CURSOR_AGENT", "GEMINI_CLI"),
    "OPENCODE",
)
"""Variables that assistants set in the shells they run commands in."""
PIPE_COLUMNS = 80
"""What an answer is laid out for where there is no terminal, unless $COLUMNS says otherwise."""
SHORT_ID = 8
"""So many digits of an id are printed, its last: the first ones are its time, and alike."""
_OF_COLUMNS = 24  # of the words that a mark concerns, where a hit has three lines
_CLOCK = SystemClock()
_STEERING = ("Cc", "Cf", "Zl", "Zp")  # controls; what is unseen, or reorders what is seen; ends of lines


class OutputFailed(MnemicError):
    """Standard output is a file, and it takes no more."""

    sentence = "The answer cannot be written: {why}."
    remedy = "Write it somewhere else; what was captured is kept."


def print_lines(lines: Iterable[Line], *, marked: bool = False) -> None:
    """Print an answer. On a terminal what is longer than a line is continued below its own start, words whole.

    Args:
        marked: whether to put it between marks in an assistant's shell, by which capture leaves it out.

    Raises:
        OutputFailed: standard output cannot be written.
        BrokenPipeError: whoever reads has seen enough; click ends the command quietly.
    """
    show = _print_styled(_console(sys.stdout)) if sys.stdout.isatty() else lambda line: click.echo(plain(line))
    try:
        for line in _marked(lines) if marked and in_assistants_shell(os.environ) else lines:
            show(line)
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would fail again at exit
        raise OutputFailed(why=error.strerror) from error


def in_assistants_shell(environment: Mapping[str, str]) -> bool:
    """Whether an assistant runs the command and reads what it prints."""
    return any(environment.get(name) for name in ASSISTANT_VARIABLES)


def _marked(lines: Iterable[Line]) -> Iterator[Line]:
    """An answer between the marks of this memory's own words; no memory's text can end it."""
    from mnemic.actors.brief.page import FRAME_END, FRAME_START

    yield FRAME_START
    for line in lines:
        parts = [(line, "")] if isinstance(line, str) else line
        yield [(part.replace("mnemic-memory>", "mnemic-memory›"), style) for part, style in parts]
    yield FRAME_END


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def _print_styled(console: Console) -> Callable[[Line], None]:
    from rich.text import Text

    def show(line: Line) -> None:
        text = Text()
        for part, style in [(line, "")] if isinstance(line, str) else line:
            text.append(escape_controls(part), style)
        for one in _wrapped(text, console):
            console.print(one, soft_wrap=True)

    return show


def _wrapped(text: Text, console: Console) -> Iterator[Text]:
    """A text in as many lines as it needs, the later ones as far in as the first."""
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    if text.cell_len <= console.width or indent > console.width // 2:
        yield text
        return
    for line in text[indent:].wrap(console, console.width - indent):
        line.rstrip()
        line.pad_left(indent)
        yield line


def plain(line: Line) -> str:
    """A line without its styles, safe to print."""
    return escape_controls(line if isinstance(line, str) else "".join(part for part, _ in line))


def print_error(view: dict[str, str], as_json: bool) -> None:
    """Print an error: as JSON where answers go, or as a line for a person."""
    if as_json:
        click.echo(json.dumps(view))
    else:
        said = f"mnemic: {view['error']} {view['remedy']}"
        if sys.stderr.isatty():
            _print_styled(_console(sys.stderr))([("mnemic: ", "red"), (said.removeprefix("mnemic: "), "")])
        else:
            click.echo(escape_controls(said), err=True)


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


def columns() -> int:
    """How many columns an answer is laid out for."""
    return max(40, shutil.get_terminal_size((PIPE_COLUMNS, 24)).columns)


def short_id(memory: str) -> str:
    """What of a memory's id is printed; `mnemic.cli.terminal.ids` takes it back."""
    return memory[-SHORT_ID:]


def local_minute(at: str | None, unknown: str = "undated") -> str:
    """A time of an answer for a person, local and to the minute: ``2026-09-21 18:17``."""
    if at is None:
        return unknown
    try:
        return to_local_minute(parse_time(at, _CLOCK), _CLOCK)
    except (BadTime, OverflowError):  # a time that no calendar holds is written as its number
        return at


def local_day(at: str | None, unknown: str = "undated") -> str:
    """The same to the day."""
    return local_minute(at, unknown)[:10] if at is not None else unknown


def cut(text: str, width: int) -> str:
    """As much of a text as fits into so many columns, an ellipsis at its end where that is not all: whole words, of a
    path whole names.
    """
    from rich.cells import cell_len, set_cell_size

    text = escape_controls(text)
    if cell_len(text) <= width:
        return text
    kept = set_cell_size(text, max(0, width - 1)).rstrip()
    words = kept if text[len(kept) : len(kept) + 1].isspace() else kept.rpartition(" ")[0]
    names = kept[: kept.rfind("/") + 1]
    return f"{next((one for one in (words, names) if len(one) > len(kept) // 2), kept)}…"


def cut_front(text: str, width: int) -> str:
    """The end of a text, where that is what tells: as much as fits, an ellipsis before it where that is not all."""
    from rich.cells import cell_len, set_cell_size

    text = escape_controls(text)
    if cell_len(text) <= width:
        return text
    return "…" + set_cell_size(text[::-1], max(0, width - 1)).rstrip()[::-1]


def padded(text: str, width: int, cut_to: Callable[[str, int], str] = cut) -> str:
    """A text in exactly so many columns."""
    from rich.cells import set_cell_size

    return set_cell_size(cut_to(text, width), width)


def text_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(escape_controls(text))


def filled(text: str, width: int, lines: int) -> list[str]:
    """A text as one paragraph in so many lines at most, whole words, an ellipsis at the end of what is cut."""
    words = escape_controls(" ".join(text.split()))
    rows: list[str] = []
    while words and len(rows) < lines - 1 and text_width(words) > width:
        row = cut(words, width + 1).removesuffix("…").rstrip()
        rows.append(row)
        words = words[len(row) :].lstrip()
    return [*rows, cut(words, width)]


def who_label(memory: Mapping[str, Any]) -> str:
    """Who a memory comes from: by name where there is one."""
    return other_author_label(memory) or str(memory["speaker"] or memory["role"])


def other_author_label(memory: Mapping[str, Any]) -> str:
    """Whose words a memory in the user's place holds, where they are not the user's; else empty."""
    author = memory.get("author")
    if memory["role"] != "user" or author not in ("other", "unknown"):
        return ""
    return f"other: {memory['speaker']}" if author == "other" and memory["speaker"] else str(author)


def hit_lines(number: int, hit: dict[str, Any], *, full: bool = False) -> Iterator[Line]:
    """A hit, as `mnemic.runtime.api.views.hit_view` gives it: in three lines, or whole with all that is known of it."""
    who = who_label(hit)
    marks = [(f"  {what}", style) for what, style in _standing(hit)]
    yield [
        (f"{number:>2}  ", "bold"),
        (f"{hit['score']:.2f}", _fit_style(hit["score"])),
        (f"  {cut(who, 16)}", "bold"),
        (f"  {local_minute(hit['said_at'])}", ""),
        (f"  {cut_front(hit['scope'] or 'no scope', 20)}", "dim"),
        *([] if hit["kind"] == "turn" else [(f"  {hit['kind']}", "dim")]),
        (f"  {short_id(hit['id'])}", "cyan"),
        *marks,
    ]
    width = columns() - 4
    notes = list(_notes(hit, width if full else _OF_COLUMNS))
    if full:
        yield from (f"    {line}" for line in hit["text"].splitlines() or [""])
        if hit.get("why"):
            yield [("    why: " + ", ".join(f"{name} {share:.2f}" for name, share in hit["why"].items()), "dim")]
        yield from ([(f"    {note}", "dim")] for note in notes)
        return
    shown = new_text(hit["text"]) if hit["kind"] == "tool_call" else hit["text"]
    yield from (f"    {line}" for line in filled(shown, width, 1 if notes else 2))
    if notes:
        more = f" (+{len(notes) - 1}: --full)" if len(notes) > 1 else ""
        yield [(f"    {cut(notes[0], width - len(more))}{more}", "dim")]


def new_text(call: str) -> str:
    """A call of a tool as a line or two tell it: of one that replaces a text, the tool, the file and the new text."""
    for old, new in (("old_string", "new_string"), ("oldString", "newString")):
        before, is_edit, rest = call.partition(f"\n{old}: ")
        _, has_new, put = rest.partition(f"\n{new}: ")
        if is_edit and has_new:
            tool, *arguments = before.split("\n")
            named = (one.partition(": ") for one in arguments)
            return " ".join([tool, *(value for name, _, value in named if name.lower().endswith("path")), "->", put])
    return call


def _fit_style(score: float) -> str:
    """The colour of how well something fits."""
    return "bold green" if score >= 0.3 else "green" if score >= 0.02 else "dim"


def _standing(hit: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How a hit stands to others that say something about the same."""
    if hit["superseded_by"]:
        yield f"superseded by {short_id(hit['superseded_by'])}", "yellow"
    elif "superseded_elsewhere" in hit:
        yield "superseded, in another scope", "yellow"
    elif hit.get("newest"):
        yield "newest", "green"


def _notes(hit: dict[str, Any], width: int) -> Iterator[str]:
    """Tell what else is known of a hit, the most telling first; of the words that it concerns so many columns."""

    def words(one: dict[str, Any]) -> str:
        return f'"{cut(" ".join(one["of"].split()), width)}" ' if one.get("of") else ""

    for one in hit.get("replaced", ()):
        said = " ".join(one["value"].split())
        yield f"{words(one)}replaced since {local_day(one['at'])} by: {said} ({short_id(one['memory'])})"
    for one in hit.get("contradicts", ()):
        said = " ".join(one["value"].split())
        settles = f"`mnemic conflicts {one['id']}` settles it"
        yield f"{words(one)}contradicted on {local_day(one['at'])} by: {said} ({settles})"
    if "differs" in hit:
        own = (f"{role} is {filler}" if filler else f"no {role}" for role, filler in hit["differs"].items())
        yield f"differs: {', '.join(own)}"
    if hit.get("same"):
        alike = (f"{short_id(one['id'])} ({local_day(one['said_at'])})" for one in hit["same"])
        yield f"said so too: {', '.join(alike)}"
    if hit.get("supersedes"):
        yield f"supersedes: {', '.join(map(short_id, hit['supersedes']))}"
    if "size_bytes" in hit:
        yield f"the stretch from byte {hit['start_byte']} of {hit['size_bytes']}"


def searched_scope(scope: str | Sequence[str], found: str) -> str:
    """Where was looked, how that was found, and how to look further."""
    paths = [scope] if isinstance(scope, str) else scope
    if scope == "*":
        return "everything"
    where = ", ".join(path or "what belongs to no project" for path in paths)
    more = "" if found == "named" else "; --scope '*' looks through everything"
    return f"{where} ({found}{more})"


def degraded_lines(degraded: Sequence[str]) -> Iterator[Line]:
    """What did not work as it should, as answers say it."""
    yield from ([("degraded: ", "yellow"), (line, "")] for line in degraded)


def memory_line(memory: dict[str, Any]) -> str:
    """A memory in one line, as a view gives it: the first line of its text will do."""
    first = next(iter(memory["text"].splitlines()), "")
    whole = len(first.encode("utf-8", "surrogatepass")) == memory["size_bytes"]
    lead = f"{short_id(memory['id'])} ({memory['kind']}, {memory['scope'] or 'no scope'}) "
    return lead + cut(first if whole else f"{first} …", max(20, columns() - len(lead) - 4))


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    """A progress bar on standard error for each thing that is done; none where nobody looks.

    What is taken up again starts where it stands: what was done before counts for no speed.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bars = Progress(
        TextColumn("{task.description:>8}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        redirect_stdout=False,
        redirect_stderr=False,
    )
    tasks: dict[str, Any] = {}

    def show(what: str, done: int, total: int | None) -> None:
        if not tasks:
            bars.start()
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total, completed=done)
        bars.update(tasks[what], total=total, completed=done)

    try:
        yield show
    finally:
        bars.stop()
