"""The commands `mnemic facts`, `timeline`, `conflicts`, `entities` and `entity`: what holds, and what it is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import click

from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.knowledge.changes import Verdict
from mnemic.actors.knowledge.messages import ListConflicts, ListEntities, ListFacts, ShowEntity
from mnemic.cli.context import CLOCK, FOLDER_SCOPE, CommandContext, cli, common_options, verb_options
from mnemic.cli.terminal.output import Line, escape_controls, local_day, progress_bars, searched_scope, short_id
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.reports import pluralize

_UPDATE_S = 20.0  # whoever asks waits so long at most for what waits to be read first
_VERDICTS = get_args(Verdict)
_STATES = {
    "holds": "",
    "held": "held",
    "replaced": "replaced",
    "ended": "ended",
    "planned": "planned",
    "unsure": "unsure",
}


@contextmanager
def _asking(chosen: CommandContext, scope: tuple[str, ...]) -> Iterator[tuple[Mind, Scopes, str]]:
    """The mind, with all that waits read as far as there is time, and the scope that is looked through."""
    with chosen.open(create=False, asking=True) as mind:
        until_s = CLOCK.monotonic_s() + _UPDATE_S
        with progress_bars(chosen.as_json) as progress:
            degraded = mind.catch_up("facts", lambda: CLOCK.monotonic_s() < until_s, progress)
        for line in degraded:
            click.echo(escape_controls(f"mnemic: {line}"), err=True)
        yield mind, *chosen.resolve_scope(mind, scope)


def _view(answer: Any, looked: Scopes, found: str) -> dict[str, Any]:
    from mnemic.runtime.api.views import knowledge_view

    return knowledge_view(answer, strict=False, scope=looked, found=found)


@cli.command()
@click.argument("entity", nargs=-1, metavar="[ENTITY...]")
@verb_options(ListFacts, "relation", "at", "history", "k", "scope", scope=FOLDER_SCOPE)
@common_options
def facts(chosen: CommandContext, entity: tuple[str, ...], scope: tuple[str, ...], **asked: Any) -> None:
    """List what holds: of a thing, or of all, the newest first."""
    with _asking(chosen, scope) as (mind, looked, found):
        chosen.print_answer(_view(mind.facts(" ".join(entity), scope=looked, **asked), looked, found), fact_lines)


@cli.command()
@click.argument("entity", nargs=-1, required=True, metavar="ENTITY...")
@verb_options(ListFacts, "relation", "k", "scope", scope=FOLDER_SCOPE, k={"default": 100})
@common_options
def timeline(chosen: CommandContext, entity: tuple[str, ...], scope: tuple[str, ...], **asked: Any) -> None:
    """Tell what was said of a thing, and until when it held."""
    with _asking(chosen, scope) as (mind, looked, found):
        chosen.print_answer(
            _view(mind.facts(" ".join(entity), history=True, scope=looked, **asked), looked, found), timeline_lines
        )


@cli.command()
@click.argument("id", required=False)
@click.argument("verdict", required=False, type=click.Choice(_VERDICTS))
@verb_options(ListConflicts, "replaced", "k", "scope", scope=FOLDER_SCOPE)
@common_options
def conflicts(
    chosen: CommandContext, id: str | None, verdict: Verdict | None, scope: tuple[str, ...], **asked: Any
) -> None:
    """List what contradicts. With an ID and a VERDICT, settle it.

    newer: that one holds. older: that one does. both: they do not exclude each other. unrelated: they are not about the
    same. open: takes back what was said of it.
    """
    if id is not None and verdict is None:
        raise click.UsageError(f"say what {id} is: {', '.join(_VERDICTS)}")
    with _asking(chosen, scope) as (mind, looked, found):
        if id is None or verdict is None:
            chosen.print_answer(_view(mind.conflicts(scope=looked, **asked), looked, found), conflict_list_lines)
        else:
            # By its own name it is found wherever it is; the scope only narrows what is listed.
            where: Scopes = looked if scope else "*"
            chosen.print_answer(_view(mind.settle(id, verdict, scope=where), where, found), settled_lines)


@cli.command()
@verb_options(ListEntities, "kind", "k", "scope", scope=FOLDER_SCOPE)
@common_options
def entities(chosen: CommandContext, scope: tuple[str, ...], **asked: Any) -> None:
    """List the things that memories name, those named most first."""
    with _asking(chosen, scope) as (mind, looked, found):
        chosen.print_answer(_view(mind.entities(scope=looked, **asked), looked, found), entity_list_lines)


@cli.command()
@click.argument("name", nargs=-1, required=True, metavar="NAME | merge NAME INTO | split NAME")
@verb_options(ShowEntity, "k", "scope", scope=FOLDER_SCOPE)
@common_options
def entity(chosen: CommandContext, name: tuple[str, ...], scope: tuple[str, ...], k: int) -> None:
    """Show a thing: what holds, what held, what is beside it.

    `merge NAME INTO` says that two names are of one thing, `split NAME` takes that back.
    """
    with _asking(chosen, scope) as (mind, looked, found):
        match name:
            case ("merge", _, "") | ("merge", _):
                raise click.UsageError("name what it goes by: `mnemic entity split NAME` takes a merge back")
            case ("merge", one, other):
                chosen.print_answer(_view(mind.merge_entities(one, other), "*", found), merged_lines)
            case ("split", one):
                chosen.print_answer(_view(mind.merge_entities(one), "*", found), merged_lines)
            case _:
                shown = mind.entity(" ".join(name), scope=looked, k=k)
                chosen.print_answer(_view(shown, looked, found), entity_lines)


def fact_lines(view: dict[str, Any]) -> Iterator[Line]:
    """Facts, as `mnemic.runtime.api.views.knowledge_view` gives them."""
    yield _heading(view, "statement")
    for fact in view["facts"]:
        yield from _fact(fact)
    yield from _section("contradicting:", (line for one in view["conflicts"] for line in _conflict(one)))
    yield from _waiting(view)


def timeline_lines(view: dict[str, Any]) -> Iterator[str]:
    """The same, the oldest first, each with the time for which it held."""
    yield _heading(view, "statement")
    # Of one day in the order in which it was said: what holds "from now on" begins with its day.
    oldest_first = view["facts"][::-1]
    for fact in sorted(oldest_first, key=lambda one: (local_day(one["holds_from"]), one["said_at"])):
        until = local_day(fact["holds_to"]) if fact["holds_to"] else ""
        state = f"  [{_STATES[fact['state']]}]" if _STATES[fact["state"]] else ""
        yield f"  {local_day(fact['holds_from'])} – {until:<10}  {_one_line(fact['text'])}{state}"
    yield from _waiting(view)


def conflict_list_lines(view: dict[str, Any]) -> Iterator[str]:
    """Pairs, and how to settle one."""
    shown, total = view["conflicts"], pluralize(view["total"], "pair of statements", "pairs of statements")
    of = f"{len(shown)} of {total}" if len(shown) < view["total"] else total
    yield f"{of} in {searched_scope(view['scope'], view['scope_found'])}"
    for one in shown:
        yield from _conflict(one)
    if shown:
        yield f"`mnemic conflicts {shown[0]['id']} newer` (or {', '.join(_VERDICTS[1:])}) settles the first"
    yield from _waiting(view)


def settled_lines(view: dict[str, Any]) -> Iterator[str]:
    """A pair as it is settled now."""
    done = "settled" if view["conflict"]["verdict"] else "it is open again"
    yield done if view["changed"] else "it is so already"
    yield from _conflict(view["conflict"])


def entity_list_lines(view: dict[str, Any]) -> Iterator[str]:
    """Things."""
    shown, total = view["entities"], pluralize(view["total"], "thing")
    of = f"{len(shown)} of {total}" if len(shown) < view["total"] else total
    yield f"{of} named in {searched_scope(view['scope'], view['scope_found'])}"
    yield from (f"  {_entity(one)}" for one in shown)
    yield from _waiting(view)


def entity_lines(view: dict[str, Any]) -> Iterator[Line]:
    """One thing with all that is known of it."""
    yield _entity(view["entity"])
    yield from _section("names:", (f"  {one['name']}  ({one['why']})" for one in view["names"] if one["why"]))
    for heading, holds in (("holds:", True), ("held, planned or unsure:", False)):
        some = [one for one in view["facts"] if (one["state"] == "holds") == holds]
        yield from _section(heading, (line for one in some for line in _fact(one)))
    beside = (f"  {one['name']} ({one['kind']}), {pluralize(one['memories'], 'memory')}" for one in view["neighbours"])
    yield from _section("named beside:", beside)
    yield from _section("memories:", (f"  {short_id(one)}" for one in view["memories"]))


def merged_lines(view: dict[str, Any]) -> Iterator[str]:
    """What a name stands for."""
    yield f"{'' if view['changed'] else 'it is so already: '}{_entity(view['entity'])}"


def _heading(view: dict[str, Any], what: str) -> str:
    shown, total = view["facts"], pluralize(view["total"], what)
    of = f"{len(shown)} of {total}" if len(shown) < view["total"] else total
    names = f" about {view['entity']}" if view["entity"] else ""
    names += f" (also {', '.join(view['also_called'])})" if view["also_called"] else ""
    return f"{of}{names} in {searched_scope(view['scope'], view['scope_found'])}"


def _fact(fact: dict[str, Any]) -> Iterator[Line]:
    who = fact["speaker"] or fact["role"]
    until = f" to {local_day(fact['holds_to'])}" if fact["holds_to"] else ""
    state = f"  [{_STATES[fact['state']]}]" if _STATES[fact["state"]] else ""
    state += "  [in question]" if fact.get("in_question") else ""
    who += f", said {fact['times']} times" if fact["times"] > 1 else ""
    is_named = fact["subject"].casefold() in fact["text"].casefold()  # else the sentence names it earlier
    text = _one_line(fact["text"] if is_named else f"{fact['subject']} … {fact['text']}")
    yield f"  {local_day(fact['holds_from'])}{until}  {text}{state}  ({who})"
    if fact["replaced_by"]:
        by = fact["replaced_by"]
        why = "; ".join(filter(None, (by["why"], by["id"])))
        yield f"     replaced on {local_day(by['at'])} by: {_one_line(by['value'])}  ({why})"
    yield [("     ", ""), (short_id(fact["memory"]), "cyan")]


def _conflict(one: dict[str, Any]) -> Iterator[str]:
    graded = f"{100 * one['probability']:.0f} %, {one['why']}"
    said = f"{one['by']} said: {one['verdict']}" if one["verdict"] else graded
    state = "settled" if one["verdict"] else "replaced" if one["grade"] == "replaced" else "unsettled"
    yield f"  {one['id']}  {state}  ({said})"
    for name in ("older", "newer"):
        fact = one[name]
        who = fact["speaker"] or fact["role"]
        yield f"    {name}: {local_day(fact['said_at'])}  {_one_line(fact['text'])}  ({who})"


def _entity(one: dict[str, Any]) -> str:
    also = f", also {', '.join(one['also_called'])}" if one["also_called"] else ""
    last = f", last on {local_day(one['last_at'])}" if one["last_at"] else ""
    return f"{one['name']} ({one['kind']}{also}), {pluralize(one['memories'], 'memory')}{last}"


def _waiting(view: dict[str, Any]) -> Iterator[str]:
    if view["waiting"]:
        yield f"{pluralize(view['waiting'], 'memory is', 'memories are')} not read yet, in the whole mind"


def _section(heading: str, lines: Iterator[Line]) -> Iterator[Line]:
    for place, line in enumerate(lines):
        if not place:
            yield heading
        yield line


def _one_line(text: str) -> str:
    return " ".join(text.split())
