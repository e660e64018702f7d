"""The commands `mnemic log` and `mnemic show`."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.protocol.events import KINDS
from mnemic.actors.protocol.log_messages import ListMemories
from mnemic.actors.protocol.scopes import asked_scopes
from mnemic.cli.context import MANY_SCOPES, CommandContext, cli, common_options, verb_options
from mnemic.cli.output import escape_controls
from mnemic.runtime.api.reports import pluralize

if TYPE_CHECKING:
    from mnemic.runtime.api.mind import Mind


_COLUMNS = 120
"""Of a table that is printed where there is no terminal."""
_JSON_TEXT_BYTES = 8192
"""Of a longer text so much is given to a program; `mnemic show` gives all of it."""
_TABLE_FROM = 112
"""From so many columns on, an entry of the log has one line; else two, the text in the second."""
_OCCASIONS = {
    "session-start": "at the start of its session",
    "prompt": "beside a prompt",
    "recall": "as it asked",
    "shape": "as it asked by structure",
    "get": "as it named them",
    "read": "as it read what is made of them",
}
_LET_IN_BY = {
    "hook": "a hook of its host",
    "transcript": "a transcript",
    "mcp": "an assistant over MCP",
    "direct": "its owner",
}
_KINDS = {"tool_call": "call", "tool_result": "result"}
_HEADINGS = ("WHEN (UTC)", "WHAT", "SCOPE", "TEXT", "ID")


@cli.command()
@verb_options(
    ListMemories,
    *("scope", "session", "since", "until", "kinds", "forgotten"),
    scope=MANY_SCOPES,
    since={"more": "Of what was given: given at or after."},
    until={"more": "Of what was given: given before."},
    kinds={"type": click.Choice(KINDS)},
)
@click.option("--injected", is_flag=True, help="What assistants were given, word for word, and why.")
@click.option("--recalls", is_flag=True, help="What your own recalls and shapes gave, word for word, and why.")
@verb_options(ListMemories, "limit", "after", limit={"flags": ("-n", "--limit")}, after={"metavar": "CURSOR"})
@common_options
def log(
    chosen: CommandContext,
    scope: tuple[str, ...],
    kinds: tuple[str, ...],
    forgotten: bool,
    injected: bool,
    recalls: bool,
    **asked: Any,
) -> None:
    """What was captured, or given to assistants, newest first. --json prints one object a line."""
    if injected and recalls:
        raise click.UsageError("--injected is of assistants, --recalls of yourself: name one of them")
    if (injected or recalls) and (kinds or forgotten):
        raise click.UsageError("--kind and --forgotten say which memories; they do not go with what was given")
    asked["scope"] = scope or "*"
    if injected or recalls:
        _log_deliveries(chosen, asked, own=recalls)
    else:
        _log(chosen, asked, kinds, forgotten)


@cli.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@common_options
def show(chosen: CommandContext, ids: tuple[str, ...]) -> None:
    """One memory whole: its text, source, links and use."""
    from mnemic.actors.protocol.message import parse_id
    from mnemic.runtime.api.views import memory_detail_view

    wanted = [parse_id(one) for one in ids]
    with chosen.open(create=False, asking=True) as mind:
        memories = [memory_detail_view(one) for one in mind.show(wanted)]

    def lines() -> Iterator[str]:
        for place, one in enumerate(memories):
            yield from ("",) if place else ()
            yield from memory_detail_lines(one)

    chosen.print_answer({"memories": memories}, lines)


def _log(chosen: CommandContext, asked: dict[str, Any], kinds: tuple[str, ...], forgotten: bool) -> None:
    from mnemic.actors.protocol.message import to_json

    width = shutil.get_terminal_size((_COLUMNS, 24)).columns
    size = _JSON_TEXT_BYTES if chosen.as_json else 4 * width
    with chosen.open(create=False, asking=True) as mind:
        page = mind.log(kinds=kinds, forgotten=forgotten, text_bytes=size, **asked)
    entries = [to_json(one) for one in page.memories]

    def lines() -> Iterator[str]:
        yield from log_lines(entries, width)
        yield from _closing_lines(entries, page.more, "no memory", asked)

    chosen.print_entries(entries, lines)


def _log_deliveries(chosen: CommandContext, asked: dict[str, Any], *, own: bool) -> None:
    from mnemic.runtime.api.views import delivery_view

    with chosen.open(create=False, asking=True) as mind:
        page = mind.log_given(own=own, **asked)
        if not page.deliveries:
            for scope in filter(None, asked_scopes(asked["scope"]) or ()):
                _require_scope(mind, scope)
    entries = [delivery_view(one) for one in page.deliveries]

    def lines() -> Iterator[str]:
        for place, one in enumerate(entries):
            yield from ("",) if place else ()
            yield from delivery_lines(one)
        yield from _closing_lines(entries, page.more, "nothing that was given", asked)

    chosen.print_entries(entries, lines)


def _require_scope(mind: Mind, scope: str) -> None:
    """Refuse a scope for which nothing was given, and that is none of those that are there, as the log refuses it.

    Raises:
        UnknownScope: it is none.
    """
    from mnemic.actors.capture.rescope import scopes_under
    from mnemic.actors.protocol.scopes import normalize_scope_path

    scopes_under(mind.scopes().scopes, normalize_scope_path(scope))


def _closing_lines(entries: list[dict[str, Any]], more: bool, what: str, asked: dict[str, Any]) -> Iterator[str]:
    if more:
        yield f"there are more: the same with --after {entries[-1]['cursor']}"
    elif not entries:
        filtered = any(asked[name] is not None for name in ("session", "since", "until", "after"))
        yield (
            f"{what} is here" if not filtered and asked["scope"] == "*" else f"{what} is here that fits what was asked"
        )


# --- the log ---------------------------------------------------------------------------------------------------------


def log_lines(entries: Sequence[dict[str, Any]], width: int) -> Iterator[str]:
    """A table as wide as the terminal; the texts are cut.

    Args:
        entries: views of them.
        width: columns of the terminal.
    """
    if not entries:
        return
    rows = [
        (_format_minute(one["at"]), _kind_label(one), one["scope"] or "-", _summary(one), one["id"]) for one in entries
    ]
    is_wide = width >= _TABLE_FROM
    longest = (16, 20, width // 6) if is_wide else (16, 12, max(8, width - 16 - 12 - 36 - 3 * 2))
    when, what, scope = (
        max(_text_width(_HEADINGS[at]), *(min(_text_width(row[at]), longest[at]) for row in rows)) for at in range(3)
    )
    text = width - (when + what + scope + 36 + 4 * 2) if is_wide else width - 4
    for row in (_HEADINGS, *rows):
        head = f"{_padded(row[0], when)}  {_padded(row[1], what)}  {_padded(row[2], scope, _cut_front)}"
        if is_wide:
            yield f"{head}  {_padded(row[3], text)}  {row[4]}"
        else:
            yield f"{head}  {row[4]}"
            if row is not _HEADINGS:
                yield f"    {_cut(row[3], text)}"


def _format_minute(at: str) -> str:
    return at[:16].replace("T", " ")


def _kind_label(entry: dict[str, Any]) -> str:
    if entry["kind"] == "turn":
        return str(entry["speaker"] or entry["role"])
    return " ".join(filter(None, (_KINDS.get(entry["kind"], entry["kind"]), entry["tool"])))


def _summary(entry: dict[str, Any]) -> str:
    """The start of a text on one line, and how it stands."""
    text = " ".join(entry["text"].split())
    if len(entry["text"].encode("utf-8", "surrogatepass")) < entry["size_bytes"]:
        text += " …"
    if entry["retired_at"] is not None:
        why = f": {entry['retired_reason']}" if entry["retired_reason"] else ""
        return f"(forgotten{why}) {text}"
    return f"(replaced) {text}" if entry["replaced"] else text


def _text_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_char_width(letter) for letter in escape_controls(text))


def _char_width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _cut(text: str, columns: int) -> str:
    """As much of a text as fits, an ellipsis at its end where that is not all."""
    text = escape_controls(text)
    if _text_width(text) <= columns:
        return text
    room, kept = columns - 1, []
    for letter in text:
        room -= _char_width(letter)
        if room < 0:
            break
        kept.append(letter)
    return "".join(kept) + "…"


def _cut_front(text: str, columns: int) -> str:
    """The end of a text, where that is what tells: as much as fits, an ellipsis before it where that is not all."""
    return _cut(escape_controls(text)[::-1], columns)[::-1]


def _padded(text: str, columns: int, cut_to: Callable[[str, int], str] = _cut) -> str:
    cut = cut_to(text, columns)
    return cut + " " * (columns - _text_width(cut))


# --- what was given --------------------------------------------------------------------------------------------------


def delivery_lines(giving: dict[str, Any]) -> Iterator[str]:
    """What was given at one time, as `mnemic.runtime.api.views.delivery_view` gives it: word for word, each line of it
    behind a bar.
    """
    who = f"to {giving['assistant']}" if giving["assistant"] else "to you"
    session = f", session {giving['session']}" if giving["session"] else ""
    occasion = _OCCASIONS.get(giving["occasion"], giving["occasion"]) if giving["assistant"] else giving["occasion"]
    scope = giving["scope"] if isinstance(giving["scope"], str) else ", ".join(giving["scope"])
    where = {"*": ", of everything", "": ""}.get(scope, f", in {scope}")
    yield f"{giving['at']}  {who}{session}: {occasion}{where}, {pluralize(giving['tokens'], 'token')}"
    if giving["query"]:
        yield from _barred("  asked: ", giving["query"])
    for one in giving["memories"]:
        yield f"  {one['id']}: {one['why']}"
        if one["text"]:
            size = len(one["text"].encode("utf-8", "surrogatepass"))
            if size < one["size_bytes"]:
                yield f"    bytes {one['start_byte']} to {one['start_byte'] + size} of {one['size_bytes']}"
            yield from (f"    | {line}" for line in one["text"].split("\n"))
    if giving["erased"]:
        yield f"  {'the rest of it' if giving['memories'] else 'what was given'} was erased since"
    elif not giving["memories"]:
        yield "  nothing was found"


def _barred(lead: str, text: str) -> Iterator[str]:
    first, *rest = text.split("\n")
    yield lead + first
    yield from (" " * len(lead) + line for line in rest)


# --- one memory ------------------------------------------------------------------------------------------------------


def memory_detail_lines(shown: dict[str, Any]) -> Iterator[str]:
    """A memory whole, as `mnemic.runtime.api.views.memory_detail_view` gives it."""
    yield f"{shown['id']}: {_kind_label(shown)}, in {shown['scope'] or 'no scope'} ({shown['found']})"
    yield f"  said: {shown['said_at'] or 'at a time that its source does not tell'}"
    yield f"  from: {', '.join(_source(shown))}"
    yield f"  kept: {', '.join(_provenance(shown))}"
    if shown["scrubbed"]:
        kinds = ", ".join(f"{kind} {count}" for kind, count in shown["scrubbed"].items())
        yield f"  secrets taken out: {kinds}{'; its text from before is kept too' if shown['original_kept'] else ''}"
    until = f" to {shown['valid_to']}" if shown["valid_to"] else ""
    yield f"  holds: from {shown['valid_from']}{until}"
    if shown["retired_at"]:
        why = f": {shown['retired_reason']}" if shown["retired_reason"] else ""
        yield f"  forgotten: {shown['retired_at']}{why}"
    for lead, links in (("superseded by", shown["newer"]), ("supersedes", shown["older"])):
        for link in links:
            forgotten = ", forgotten" if link["retired_at"] else ""
            start = _cut(" ".join(link["text"].split()), 60)
            yield f"  {lead}: {link['id']} (since {link['since']}{forgotten}) {start}"
    for lead, name in (("before it in the session", "previous"), ("after it in the session", "next")):
        if shown[name]:
            yield f"  {lead}: {shown[name]}"
    yield f"  used: {'; '.join(map(_usage_text, shown['uses'])) or 'never given to anybody'}"
    yield f"  text, {pluralize(shown['size_bytes'], 'byte')}:"
    yield from (f"    {line}" for line in shown["text"].split("\n"))


def _source(shown: dict[str, Any]) -> Iterator[str]:
    yield shown["assistant"]
    mode = f" ({shown['mode']})" if shown["mode"] else ""
    yield f"session {shown['session'] or '-'}{mode}"
    for name in ("speaker", "branch", "tool", "outcome"):
        if shown[name]:
            yield f"{name} {shown[name]}"
    if shown["files"]:
        yield f"files {' '.join(shown['files'])}"
    if shown["source_id"]:
        yield f"source id {shown['source_id']}"


def _provenance(shown: dict[str, Any]) -> Iterator[str]:
    by = shown["kept_by"]
    yield str(shown["recorded_at"])
    if by["seq"] is not None:
        yield f"let in by {_LET_IN_BY.get(by['author'], by['author'])} in transaction {by['seq']}"
        if by["code"]:
            yield f"Mnemic {by['code']}"
        if by["machine"]:
            yield f"on {by['machine']}"


def _usage_text(use: dict[str, Any]) -> str:
    who = "its owner" if use["own"] else "an assistant"
    return f"given to {who} ({use['occasion']}) {pluralize(use['times'], 'time')}, last at {use['last_at']}"
