"""The commands `mnemic log` and `mnemic show`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.protocol.events import KINDS
from mnemic.actors.protocol.log_messages import ListMemories
from mnemic.cli.context import CommandContext, cli, common_options, verb_options

if TYPE_CHECKING:
    from mnemic.runtime.api.mind import Mind


_COLUMNS = 120
"""Of a table that is printed where there is no terminal."""
_JSON_TEXT_BYTES = 8192
"""Of a longer text so much is given to a program; `mnemic show` gives all of it."""


@cli.command()
@verb_options(
    ListMemories,
    *("scope", "session", "since", "until", "kinds", "forgotten"),
    since={"more": "Of what was given: given at or after."},
    until={"more": "Of what was given: given before."},
    kinds={"type": click.Choice(KINDS)},
)
@click.option("--injected", is_flag=True, help="What assistants were given, word for word, and why.")
@click.option("--recalls", is_flag=True, help="What your own recalls and shapes gave, word for word, and why.")
@verb_options(ListMemories, "limit", "after", limit={"flags": ("-n", "--limit")}, after={"metavar": "CURSOR"})
@common_options
def log(
    chosen: CommandContext, kinds: tuple[str, ...], forgotten: bool, injected: bool, recalls: bool, **asked: Any
) -> None:
    """What was captured, newest first; --injected: what assistants were given. --json: one object a line."""
    if injected and recalls:
        raise click.UsageError("--injected is of assistants, --recalls of yourself: name one of them")
    if (injected or recalls) and (kinds or forgotten):
        raise click.UsageError("--kind and --forgotten say which memories; they do not go with what was given")
    if injected or recalls:
        _log_deliveries(chosen, asked, own=recalls)
    else:
        _log(chosen, asked, kinds, forgotten)


@cli.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@common_options
def show(chosen: CommandContext, ids: tuple[str, ...]) -> None:
    """One memory whole: its text, source, links and use, and what superseded it."""
    from mnemic.cli.log_lines import memory_detail_lines
    from mnemic.runtime.api.views import memory_detail_view, parse_id

    wanted = [parse_id(one) for one in ids]
    with chosen.open(create=False, asking=True) as mind:
        memories = [memory_detail_view(one) for one in mind.show(wanted)]

    def lines() -> Iterator[str]:
        for place, one in enumerate(memories):
            yield from ("",) if place else ()
            yield from memory_detail_lines(one)

    chosen.print_answer({"memories": memories}, lines)


def _log(chosen: CommandContext, asked: dict[str, Any], kinds: tuple[str, ...], forgotten: bool) -> None:
    from mnemic.cli.log_lines import log_lines
    from mnemic.runtime.api.views import to_json

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
    from mnemic.cli.log_lines import delivery_lines
    from mnemic.runtime.api.views import delivery_view

    with chosen.open(create=False, asking=True) as mind:
        page = mind.log_given(own=own, **asked)
        if not page.deliveries and asked["scope"] not in ("*", ""):
            _require_scope(mind, asked["scope"])
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
