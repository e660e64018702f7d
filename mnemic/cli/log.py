"""The commands `mnemic log` and `mnemic show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.kernel.events import KINDS
from mnemic.actors.kernel.scope_paths import asked_scopes
from mnemic.actors.log.changes import MEMORY_FIELDS
from mnemic.actors.log.messages import ListMemories, ShowMemories
from mnemic.cli.context import MANY_SCOPES, CommandContext, cli, common_options, verb_options
from mnemic.cli.terminal.output import (
    SHORT_ID,
    Line,
    columns,
    cut,
    cut_front,
    filled,
    local_minute,
    other_author_label,
    padded,
    short_id,
    text_width,
    who_label,
)
from mnemic.runtime.api.reports import pluralize

if TYPE_CHECKING:
    from mnemic.runtime.api.mind import Mind


_JSON_TEXT_BYTES = 8192
"""Of a longer text so much is given to a program; `mnemic show` gives all of it."""
_TABLE_FROM = 100
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
_TOLD_APART = ("source_id", "kind", "role", "said_at", "author", "utc_offset_min")
_KINDS = {"tool_call": "call", "tool_result": "result"}
_HEADINGS = ("WHAT", "SCOPE", "TEXT", "ID")


@cli.command()
@verb_options(
    ListMemories,
    *("scope", "session", "since", "until", "by", "kinds", "forgotten"),
    scope=MANY_SCOPES,
    since={"more": "Of what was given: given at or after."},
    until={"more": "Of what was given: given before."},
    kinds={"type": click.Choice(KINDS)},
)
@click.option("--injected", is_flag=True, help="What assistants were given, word for word, and why.")
@click.option("--recalls", is_flag=True, help="What your own recalls and shapes gave, word for word, and why.")
@verb_options(ListMemories, "limit", "after", after={"metavar": "CURSOR"})
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
    if (injected or recalls) and (kinds or forgotten or asked["by"] == "said"):
        raise click.UsageError("--kind, --forgotten and --by said are of memories; they do not go with what was given")
    asked["scope"] = scope or "*"
    if injected or recalls:
        del asked["by"]  # what was given has one time
        _log_deliveries(chosen, asked, own=recalls)
    else:
        _log(chosen, asked, kinds, forgotten)


@cli.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID|@N...")
@verb_options(ShowMemories, "context")
@common_options
def show(chosen: CommandContext, ids: tuple[str, ...], context: int) -> None:
    """One memory whole: its text, source, links and use."""
    from mnemic.runtime.api.views import memory_detail_view

    with chosen.open(create=False, asking=True, asked_only=True) as mind:
        memories = [memory_detail_view(one) for one in mind.show(chosen.resolve_ids(mind, ids), context)]
    chosen.print_answer({"memories": memories}, show_lines)


def show_lines(view: dict[str, Any]) -> Iterator[Line]:
    """Memories whole, below each other."""
    for place, one in enumerate(view["memories"]):
        yield from ("",) if place else ()
        yield from memory_detail_lines(one)


def _log(chosen: CommandContext, asked: dict[str, Any], kinds: tuple[str, ...], forgotten: bool) -> None:
    from mnemic.actors.kernel.message import to_json

    size = _JSON_TEXT_BYTES if chosen.as_json else 4 * columns()
    with chosen.open(create=False, asking=True, asked_only=True) as mind:
        page = mind.log(kinds=kinds, forgotten=forgotten, text_bytes=size, **asked)
    entries = [to_json(one) for one in page.memories]
    view = {"entries": entries, "more": page.more, "filtered": _is_filtered(asked), "by": asked["by"]}
    chosen.print_entries(view, "entries", log_lines)
    chosen.keep_list(entries)


def _log_deliveries(chosen: CommandContext, asked: dict[str, Any], *, own: bool) -> None:
    from mnemic.runtime.api.views import delivery_view

    with chosen.open(create=False, asking=True, asked_only=True) as mind:
        page = mind.log_given(own=own, **asked)
        if not page.deliveries:
            for scope in filter(None, asked_scopes(asked["scope"]) or ()):
                _require_scope(mind, scope)
    entries = [delivery_view(one) for one in page.deliveries]
    view = {"entries": entries, "more": page.more, "filtered": _is_filtered(asked)}
    chosen.print_entries(view, "entries", deliveries_lines)


def _is_filtered(asked: dict[str, Any]) -> bool:
    return asked["scope"] != "*" or any(asked[name] is not None for name in ("session", "since", "until", "after"))


def _require_scope(mind: Mind, scope: str) -> None:
    """Refuse a scope for which nothing was given, and that is none of those that are there, as the log refuses it.

    Raises:
        UnknownScope: it is none.
    """
    from mnemic.actors.kernel.scope_paths import normalize_scope_path
    from mnemic.actors.scopes.rescope import scopes_under

    scopes_under(mind.scopes().scopes, normalize_scope_path(scope))


def _closing_lines(view: dict[str, Any], what: str) -> Iterator[Line]:
    if view["more"]:
        yield [(f"there are more: the same with --after {view['entries'][-1]['cursor']}", "dim")]
    elif not view["entries"]:
        yield f"{what} is here{' that fits what was asked' if view['filtered'] else ''}"


def log_lines(view: dict[str, Any]) -> Iterator[Line]:
    """A table as wide as the terminal; the texts are cut."""
    entries, width, headings = view["entries"], columns(), (view["by"].upper(), *_HEADINGS)
    rows = [
        (local_minute(one["at"]), _kind_label(one), one["scope"] or "-", _summary(one), short_id(one["id"]))
        for one in entries
    ]
    is_wide, number = width >= _TABLE_FROM, len(str(len(rows))) + 1
    longest = (16, 14, width // 6 if is_wide else 20)
    when, what, scope = (
        max(text_width(headings[at]), *(min(text_width(row[at]), longest[at]) for row in rows), 0) for at in range(3)
    )
    room = width - (number + when + what + scope + SHORT_ID + 5 * 2) if is_wide else width - number - 2
    if rows:
        heads = f"{padded(headings[1], what)}  {padded(headings[2], scope)}"
        text = f"  {padded(headings[3], room)}" if is_wide else ""
        yield [(f"{'':<{number}}  {padded(headings[0], when)}  {heads}{text}  {headings[4]}", "dim")]
    for place, row in enumerate(rows, start=1):
        yield [
            (f"{f'@{place}':>{number}}  {padded(row[0], when)}  ", "dim"),
            (padded(row[1], what), "bold"),
            (f"  {padded(row[2], scope, cut_front)}", "dim"),
            *([(f"  {padded(row[3], room)}", "")] if is_wide else []),
            (f"  {row[4]}", "cyan"),
        ]
        if not is_wide:
            yield f"{'':<{number}}  {cut(row[3], room)}"
    yield from _closing_lines(view, "no memory")


def _kind_label(entry: dict[str, Any]) -> str:
    if entry["kind"] == "turn":
        return who_label(entry)
    what = " ".join(filter(None, (_KINDS.get(entry["kind"], entry["kind"]), entry["tool"])))
    if (whose := other_author_label(entry)) and entry["author"] == "other" and entry["speaker"]:
        return f"{what} by {entry['speaker']}"
    return ", ".join(filter(None, (what, whose)))


def _summary(entry: dict[str, Any]) -> str:
    """The start of a text on one line, and how it stands."""
    text = " ".join(entry["text"].split())
    if len(entry["text"].encode("utf-8", "surrogatepass")) < entry["size_bytes"]:
        text += " …"
    if entry["retired_at"] is not None:
        why = f": {entry['retired_reason']}" if entry["retired_reason"] else ""
        return f"(forgotten{why}) {text}"
    said_on = local_minute(entry["said_at"])[:10] if entry["said_at"] else None
    if said_on and entry["at"] == entry["recorded_at"] and said_on != local_minute(entry["at"])[:10]:
        text = f"(said {said_on}) {text}"
    return f"(replaced) {text}" if entry["replaced"] else text


def deliveries_lines(view: dict[str, Any]) -> Iterator[Line]:
    """A page of what was given."""
    for place, one in enumerate(view["entries"]):
        yield from ("",) if place else ()
        yield from delivery_lines(one)
    yield from _closing_lines(view, "nothing that was given")


def delivery_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was given at one time, as `mnemic.runtime.api.views.delivery_view` gives it: word for word, each line of it
    behind a bar.
    """
    who = f"to {view['assistant']}" if view["assistant"] else "to you"
    session = f", session {view['session']}" if view["session"] else ""
    occasion = _OCCASIONS.get(view["occasion"], view["occasion"]) if view["assistant"] else view["occasion"]
    scope = view["scope"] if isinstance(view["scope"], str) else ", ".join(view["scope"])
    where = {"*": ", of everything", "": ""}.get(scope, f", in {scope}")
    yield f"{local_minute(view['at'])}  {who}{session}: {occasion}{where}, {pluralize(view['tokens'], 'token')}"
    if view["query"]:
        yield from _indented("  asked: ", view["query"])
    for one in view["memories"]:
        yield [("  ", ""), (short_id(one["id"]), "cyan"), (f"  {one['why']}", "")]
        if one["text"]:
            size = len(one["text"].encode("utf-8", "surrogatepass"))
            if size < one["size_bytes"]:
                yield f"    bytes {one['start_byte']} to {one['start_byte'] + size} of {one['size_bytes']}"
            yield from (f"    | {line}" for line in one["text"].split("\n"))
    if view["erased"]:
        yield f"  {'the rest of it' if view['memories'] else 'what was given'} was erased since"
    elif not view["memories"]:
        yield "  nothing was found"


def _indented(lead: str, text: str) -> Iterator[str]:
    first, *rest = text.split("\n")
    yield lead + first
    yield from (" " * len(lead) + line for line in rest)


def memory_detail_lines(shown: dict[str, Any]) -> Iterator[Line]:
    """A memory whole, as `mnemic.runtime.api.views.memory_detail_view` gives it."""
    yield [
        (shown["id"], "cyan"),
        (f"  {_kind_label(shown)}", "bold"),
        (f", in {shown['scope'] or 'no scope'} ({shown['found']})", ""),
    ]
    yield f"  said: {local_minute(shown['said_at'], 'at a time that its source does not tell')}"
    yield f"  from: {', '.join(_source(shown))}"
    yield f"  kept: {', '.join(_provenance(shown))}"
    if shown["scrubbed"]:
        kinds = ", ".join(f"{kind} {count}" for kind, count in shown["scrubbed"].items())
        yield f"  secrets taken out: {kinds}{'; its text from before is kept too' if shown['original_kept'] else ''}"
    until = f" to {local_minute(shown['valid_to'])}" if shown["valid_to"] else ""
    yield f"  holds: from {local_minute(shown['valid_from'])}{until}"
    if shown["retired_at"]:
        why = f": {shown['retired_reason']}" if shown["retired_reason"] else ""
        yield f"  forgotten: {local_minute(shown['retired_at'])}{why}"
    for lead, links in (("superseded by", shown["newer"]), ("supersedes", shown["older"])):
        for link in links:
            forgotten = ", forgotten" if link["retired_at"] else ""
            since = f"(since {local_minute(link['since'])}{forgotten})"
            yield f"  {lead}: {short_id(link['id'])} {since} {cut(' '.join(link['text'].split()), 60)}"
    for lead, name in (("before it in the session", "previous"), ("after it in the session", "next")):
        if shown[name]:
            yield f"  {lead}: {short_id(shown[name])}"
    yield f"  used: {'; '.join(map(_usage_text, shown['uses'])) or 'never given to anybody'}"
    yield f"  text, {pluralize(shown['size_bytes'], 'byte')}:"
    yield from (f"    {line}" for line in shown["text"].split("\n"))
    if "around" in shown:
        yield "  said around it:"
        for one in shown["around"]:
            yield from _around_lines(one)


def _around_lines(one: dict[str, Any]) -> Iterator[Line]:
    """One of those that were said around a memory, or itself, which is marked."""
    mark, style = (">", "bold") if one["itself"] else (" ", "")
    head = f"  {mark} {local_minute(one['at'])}  {_kind_label(one)}"
    yield [(head, style), (f"  {short_id(one['id'])}", "cyan")]
    yield from ([(f"  {mark}   {line}", style)] for line in filled(_summary(one), columns() - 6, 3))


def _source(shown: dict[str, Any]) -> Iterator[str]:
    yield shown["assistant"]
    mode = f" ({shown['mode']})" if shown["mode"] else ""
    yield f"session {shown['session'] or '-'}{mode}"
    for name in MEMORY_FIELDS:
        if name not in _TOLD_APART and shown[name]:
            yield f"{name.replace('_', ' ')} {shown[name]}"
    if shown["files"]:
        yield f"files {' '.join(shown['files'])}"
    if shown["source_id"]:
        yield f"source id {shown['source_id']}"


def _provenance(shown: dict[str, Any]) -> Iterator[str]:
    by = shown["kept_by"]
    yield local_minute(shown["recorded_at"])
    if by["seq"] is not None:
        yield f"let in by {_LET_IN_BY.get(by['author'], by['author'])} in transaction {by['seq']}"
        if by["code"]:
            yield f"Mnemic {by['code']}"
        if by["machine"]:
            yield f"on {by['machine']}"


def _usage_text(use: dict[str, Any]) -> str:
    who = "its owner" if use["own"] else "an assistant"
    return (
        f"given to {who} ({use['occasion']}) {pluralize(use['times'], 'time')}, last at {local_minute(use['last_at'])}"
    )
