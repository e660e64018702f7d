"""The command `mnemic communities`: groups of memories that belong together, and one of them with all that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from mnemic.actors.communities.messages import ListCommunities
from mnemic.cli.context import CLOCK, FOLDER_SCOPE, CommandContext, cli, common_options, verb_options
from mnemic.cli.terminal.output import Line, degraded_lines, hit_lines, local_day, progress_bars, searched_scope
from mnemic.runtime.api.reports import pluralize

_UPDATE_S = 20.0  # whoever asks waits so long at most for communities to be brought up to date first


def _number(context: click.Context, parameter: click.Parameter, given: str | None) -> int | None:
    """The number of a community, as it is printed: ``12`` or ``#12``."""
    try:
        return None if given is None else int(given.removeprefix("#"))
    except ValueError:
        raise click.BadParameter(f"{given!r} is no number of a community") from None


@cli.command()
@click.argument("number", callback=_number, required=False, metavar="[ID]")
@verb_options(
    ListCommunities,
    "k",
    "scope",
    scope=FOLDER_SCOPE,
    k={"default": None, "show_default": False, "more": "Default: 20 communities; of one, 10 of whatever is shown."},
)
@common_options
def communities(chosen: CommandContext, number: int | None, scope: tuple[str, ...], k: int | None) -> None:
    """List what belongs together. With the number of a community, show that one."""
    from mnemic.runtime.api.views import communities_view, community_view

    asked = {} if k is None else {"k": k}
    with chosen.open(create=False, asking=True) as mind:
        until_s = CLOCK.monotonic_s() + _UPDATE_S
        with progress_bars(chosen.as_json) as progress:
            mind.catch_up("communities", lambda: CLOCK.monotonic_s() < until_s, progress)
        looked, found = chosen.resolve_scope(mind, scope)
        # Printed before the mind is closed, which may have to wait for another process's writing.
        if number is None:
            listed = communities_view(mind.communities(scope=looked, **asked), strict=False, scope=looked, found=found)
            chosen.print_answer(listed, list_lines)
        else:
            shown = community_view(mind.community(number, scope=looked, **asked), strict=False)
            chosen.print_answer(shown, community_lines)
            chosen.keep_list(shown["members"])


def list_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The list, as `mnemic.runtime.api.views.communities_view` gives it."""
    shown, total = view["communities"], pluralize(view["total"], "community")
    of = f"{len(shown)} of {total}" if len(shown) < view["total"] else total
    where = searched_scope(view["scope"], view["scope_found"])
    yield f"{of}, {pluralize(view['memories'], 'memory')} in them, in {where}"
    yield from map(_line, shown)
    if view["waiting"]:
        waits = pluralize(view["waiting"], "memory came or changed", "memories came or changed")
        yield f"{waits} since the last boundary, in the whole mind"
    yield from degraded_lines(view["degraded"])


def community_lines(view: dict[str, Any]) -> Iterator[Line]:
    """One community, as `mnemic.runtime.api.views.community_view` gives it."""
    community = view["community"]
    number = community["id"]
    yield _line(community)
    if view["parent"]:
        yield f"a part of #{view['parent']}"
    if view["died_at"] is not None:
        yield f"it is no more since {local_day(view['died_at'])}"
    for place, hit in enumerate(view["members"], start=1):
        yield from hit_lines(place, hit)
    yield from _section("its parts:", map(_line, view["parts"]))
    yield from _section("what became of it:", (_event_line(number, event) for event in view["lineage"]))
    neighbours = (f"{_line(one['community'])}  {100 * one['share']:.0f} %" for one in view["neighbours"])
    yield from _section("joined with:", neighbours)
    roles = (f"  {one['role']}={one['filler']}  {100 * one['share']:.0f} %" for one in view["roles"])
    yield from _section("what most of its members have:", roles)


def _section(heading: str, lines: Iterator[str]) -> Iterator[str]:
    """Lines below a heading; nothing where there are none."""
    for place, line in enumerate(lines):
        if not place:
            yield heading
        yield line


def _line(community: dict[str, Any]) -> str:
    phrases = ", ".join(community["phrases"]) or "(no phrase is common to it)"
    more = f" (+{community['placed']})" if community["placed"] else ""
    days = list(dict.fromkeys(local_day(community[name]) for name in ("first_at", "last_at") if community[name]))
    when = f", {' to '.join(days)}" if days else ""
    size = pluralize(community["size"], "memory")
    return f"  #{community['id']}  {phrases}  [{size}{more}{when}, {community['scope'] or 'no scope'}]"


def _event_line(number: int, event: dict[str, Any]) -> str:
    """What became of a community, in words, as seen from it."""
    others = [one for one in event["others"] if one != number]
    of, named = event["community"], _numbers(others)
    if event["kind"] == "split":
        stays = " and went on" if number in event["others"] else ""
        what = f"fell apart into {named}{stays}" if of == number else f"came out of #{of}"
    elif event["kind"] == "merged":
        what = f"took in {named}" if of == number else f"went into #{of}"
    else:
        what = "was found first" if event["kind"] == "born" else "was no more"
    return f"  {local_day(event['at'])}  {what}"


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(f"#{one}" for one in numbers) or "others that are not told of"
