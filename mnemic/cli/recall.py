"""The commands `mnemic recall` and `mnemic shape`: questions by meaning and words, or by structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.events import KINDS
from mnemic.actors.protocol.recall.messages import Recall
from mnemic.actors.protocol.shape.messages import Shape
from mnemic.cli.context import CLOCK, FOLDER_SCOPE, CommandContext, cli, common_options, verb_options
from mnemic.cli.output import hit_lines, searched_scope
from mnemic.runtime.api.reports import pluralize

_BIND_S = 2.0  # whoever asks waits so long at most for what is to be bound first
_NOTHING_ASKED = (
    "Nothing is asked for: give a role, such as file=?, --like ID, --here, or --analogy A B C."
    " Roles: mnemic shape --roles"
)
_EXPECTED = "ROLE=FILLER, or ROLE=? to ask for it; `mnemic shape --roles` lists the roles"


@cli.command()
@click.argument("query")
@verb_options(
    Recall,
    *("k", "scope", "budget_tokens", "hit_bytes", "at", "as_of", "since", "until", "session", "kinds"),
    scope=FOLDER_SCOPE,
    kinds={"type": click.Choice(KINDS), "show_default": True},
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show what each signal adds to the log-odds of an answer: dense (meaning), lexical (its words), session (what "
    "stands around it), structural (the day named), validity (whether it holds), use (what it was of use for), base; "
    "prior is what a correction takes over from what it replaces.",
)
@common_options
def recall(chosen: CommandContext, query: str, scope: tuple[str, ...], explain: bool, **asked: Any) -> None:
    """Find the memories that matter."""
    from mnemic.runtime.api.views import recall_view

    started = CLOCK.monotonic_s()
    with chosen.open(create=False, asking=True) as mind:
        looked, found = chosen.resolve_scope(mind, scope)
        recalled = mind.recall(query, scope=looked, **asked)
        took_ms = 1e3 * (CLOCK.monotonic_s() - started)
        view = recall_view(recalled, strict=False, found=found, took_ms=took_ms, explain=explain)

        def lines() -> Iterator[str]:
            shown = f"{pluralize(len(view['hits']), 'memory')} of {recalled.searched}"
            if recalled.nothing_fits:
                yield "nothing here is likely to answer that" + ("; the nearest:" if recalled.hits else "")
            yield f"{shown} in {searched_scope(looked, found)}, {took_ms:.0f} ms"
            for number, hit in enumerate(view["hits"], start=1):
                yield from hit_lines(number, hit)
            if recalled.left_out:
                yield f"{recalled.left_out} more did not fit into the budget"
            yield from (f"degraded: {line}" for line in recalled.degraded)

        # Before the mind is closed, which may have to wait for another process's writing.
        chosen.print_answer(view, lines)


@cli.command()
@click.argument("pairs", nargs=-1, metavar="ROLE=FILLER|ROLE=?...")
@click.option("--analogy", is_flag=True, help="Of three names A B C: A is to B as C is to what?")
@click.option("--roles", is_flag=True, help="List what can be asked for.")
@click.option("--but", multiple=True, metavar="ROLE=FILLER", help="With --like: only those that have this instead.")
@verb_options(
    Shape,
    *("like", "here", "k", "scope", "session", "since", "until", "strict"),
    like={"type": str, "metavar": "ID"},
    scope=FOLDER_SCOPE,
)
@common_options
def shape(
    chosen: CommandContext,
    pairs: tuple[str, ...],
    analogy: bool,
    roles: bool,
    like: tuple[str, ...],
    but: tuple[str, ...],
    here: bool,
    strict: bool,
    scope: tuple[str, ...],
    **asked: Any,
) -> None:
    """Find memories by their structure. That is who said or did what, with which tool, how it ended, what came before.

    ROLE=? asks what fills a role. Quote what your shell would read: 'file=?'.
    """
    from mnemic.actors.protocol.message import parse_id
    from mnemic.runtime.api.views import shape_view

    if roles and (pairs or analogy or like or but or here or strict or scope or {*asked.values()} != {None}):
        raise click.UsageError("--roles lists what can be asked for, and asks for nothing: give it alone")
    if roles:
        _list_roles(chosen)
        return
    if analogy:
        _check_analogy(pairs)
    elif but and not like:
        raise click.UsageError("--but says what is otherwise than in --like ID: name that memory, too")
    elif not (pairs or like or here):
        raise click.UsageError(_NOTHING_ASKED)
    pattern = {} if analogy else read_pattern((*pairs, *but))
    probes = [parse_id(one) for one in like]
    started = CLOCK.monotonic_s()
    with chosen.open(create=False, asking=True) as mind:
        until_s = CLOCK.monotonic_s() + _BIND_S
        mind.bind_before_question(lambda: CLOCK.monotonic_s() < until_s)
        within, found = chosen.resolve_scope(mind, scope)
        shaped = mind.shape(
            pattern, scope=within, analogy=pairs if analogy else (), like=probes, here=here, strict=strict, **asked
        )
        took_ms = 1e3 * (CLOCK.monotonic_s() - started)
        view = shape_view(shaped, strict=False, found=found, took_ms=took_ms)

        def lines() -> Iterator[str]:
            looked = f"{pluralize(shaped.searched, 'record')} looked through in {searched_scope(within, found)}"
            yield f"{pluralize(len(view['hits']), 'memory')}, {looked}, {took_ms:.0f} ms"
            asked = [role for role, filler in pattern.items() if filler == "?"]
            yield from answer_lines(view["answers"], asked, [hit["id"] for hit in view["hits"]])
            for number, hit in enumerate(view["hits"], start=1):
                yield from hit_lines(number, hit)
            yield from (f"degraded: {line}" for line in shaped.degraded)

        # Before the mind is closed, which may have to wait for another process's writing.
        chosen.print_answer(view, lines)


def _check_analogy(names: Sequence[str]) -> None:
    """Refuse what is no analogy.

    Raises:
        UsageError: these are not three names.
    """
    if len(names) == 3:
        return
    pairs = [name for name in names if "=" in name]
    if len(names) - len(pairs) == 3:
        raise click.UsageError(f"a pattern ({' '.join(pairs)[:60]}) and --analogy are two questions: ask one of them")
    got = f"these are {len(names)}: {', '.join(names)[:60]}" if names else "none is given"
    raise click.UsageError(f"--analogy takes three names, A is to B as C is to what?, and {got}")


def read_pattern(pairs: Sequence[str]) -> dict[str, str]:
    """A pattern as it is typed: each role with what fills it.

    Raises:
        InvalidValue: one is none, says nothing, or names a role a second time.
    """
    pattern: dict[str, str] = {}
    for pair in pairs:
        role, equals, filler = pair.partition("=")
        role, filler = role.strip(), filler.strip()
        why = ""
        if not equals:
            why = "there is no = in it"
        elif not role:
            why = "it has no role before the ="
        elif not filler:
            why = f"nothing stands after the = of {role}"
        elif role in pattern:
            why = f"{role} is in it twice"
        if why:
            raise InvalidValue(name="the pattern", value=pair, why=why, expected=_EXPECTED)
        pattern[role] = filler
    return pattern


def answer_lines(
    answers: Sequence[dict[str, Any]], asked: Sequence[str] = (), shown: Sequence[str] = ()
) -> Iterator[str]:
    """What fills each role, as `mnemic.runtime.api.views.answer_view` gives it.

    Args:
        asked: the roles that were asked for; of one that nothing was found for, that is said.
        shown: ids of the memories that are shown below, in order: those of them that an answer was read from are named
            by their number. Each role is answered for itself, and the numbers tell what goes together.
    """
    numbers = {memory: number for number, memory in enumerate(shown, start=1)}
    roles = list(dict.fromkeys([*asked, *(one["role"] for one in answers)]))
    for role in roles:
        found = [one for one in answers if one["role"] == role]
        yield f"{role}:" if found else f"{role}: nothing was found that fills it"
        for one in found:
            below = sorted(numbers[memory] for memory in one["memories"] if memory in numbers)
            if role == "here":
                yield f"  {one['filler']}  (memory {one['memories'][0]})"
                continue
            if role == "helped":
                of = f"{round(one['worked'] * one['worked_of'])} of {one['worked_of']}"
                yield f"  {one['confidence']:.2f}  {one['filler']}  (its like helped {of}; memory {one['memories'][0]})"
                continue
            which = f": {', '.join(map(str, below))}{' …' if len(below) < one['support'] else ''}" if below else ""
            read = f"read from {pluralize(one['support'], 'memory')}{which}"
            well = "" if "worked" not in one else f", things were well after it in {100 * one['worked']:.0f} %"
            if well and one["worked_of"] < one["support"]:
                well += f", known of {one['worked_of']}"
            yield f"  {one['confidence']:.2f}  {one['filler']}  ({read}{well})"


def _list_roles(chosen: CommandContext) -> None:
    from mnemic.actors.protocol.message import to_json

    with chosen.open(create=False, asking=True) as mind:
        listed = mind.roles()

    def lines() -> Iterator[str]:
        wide = max((len(role.name) for role in listed.roles), default=0)
        for role in listed.roles:
            asks = "" if role.decodes else ", not asked for with ?"
            yield f"{role.name:<{wide}}  {role.help}  [{role.match}{asks}]"
            if role.samples:
                rest = " …" if role.fillers > len(role.samples) else ""
                yield f"{'':<{wide}}  {role.fillers} known: {', '.join(role.samples)}{rest}"
        waits = f", {pluralize(listed.pending, 'memory waits', 'memories wait')} for theirs" if listed.pending else ""
        yield f"{pluralize(listed.bound, 'memory has its', 'memories have their')} hypervector{waits}"

    chosen.print_answer(to_json(listed), lines)
