"""Terminal output of `mnemic log`, `mnemic show` and the usage section of `mnemic status`.

Of views, as `mnemic.runtime.api.views` gives them. `mnemic.cli.log` and the status print them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mnemic.cli.output import escape_controls
from mnemic.runtime.api.reports import pluralize

__all__ = ["delivery_lines", "log_lines", "memory_detail_lines"]

_TABLE_FROM = 112
"""From so many columns on, an entry of the log has one line; else two, the text in the second."""
_OCCASIONS = {
    "session-start": "at the start of its session",
    "prompt": "beside a prompt",
    "recall": "as it asked",
    "shape": "as it asked by structure",
    "get": "as it named them",
}
_KINDS = {"tool_call": "call", "tool_result": "result"}
_HEADINGS = ("WHEN (UTC)", "WHAT", "SCOPE", "TEXT", "ID")


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
    return _cut(text[::-1], columns)[::-1] if _text_width(text) > columns else escape_controls(text)


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
    where = {"*": ", of everything", "": ""}.get(giving["scope"], f", in {giving['scope']}")
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
        yield f"by the actor {by['author']} in transaction {by['seq']}"
        if by["code"]:
            yield f"Mnemic {by['code']}"
        if by["machine"]:
            yield f"on {by['machine']}"


def _usage_text(use: dict[str, Any]) -> str:
    who = "its owner" if use["own"] else "an assistant"
    return f"given to {who} ({use['occasion']}) {pluralize(use['times'], 'time')}, last at {use['last_at']}"
