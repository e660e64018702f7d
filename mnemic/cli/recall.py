"""The commands `mnemic recall` and `mnemic shape`: questions by meaning and words, or by structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import click

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.events import KINDS
from mnemic.actors.recall.messages import Recall
from mnemic.actors.shape.messages import Shape
from mnemic.cli.context import CLOCK, FOLDER_SCOPE, CommandContext, cli, common_options, verb_options
from mnemic.cli.terminal.output import Line, degraded_lines, hit_lines, searched_scope, short_id
from mnemic.runtime.api.reports import pluralize

_BIND_S = 2.0  # whoever asks waits so long at most for what is to be bound first
_NOTHING_ASKED = (
    "Nothing is asked for: give a role, such as file=?, --like ID, --here, or --analogy A B C."
    " Roles: mnemic shape --roles"
)
_EXPECTED = "ROLE=FILLER, or ROLE=? to ask for it; `mnemic shape --roles` lists the roles"


_full = click.option("--full", is_flag=True, help="Print each hit whole, with all that is known of it.")


@cli.command()
@click.argument("question", nargs=-1, required=True, metavar="QUESTION...")
@verb_options(
    Recall,
    *("k", "scope", "budget_tokens", "hit_bytes", "at", "as_of", "since", "until", "session", "kinds"),
    *("roles", "speakers", "assistants", "files", "branches", "tools"),
    scope=FOLDER_SCOPE,
    kinds={"type": click.Choice(KINDS), "show_default": True},
    branches={"flags": ("--branch",)},
)
@_full
@click.option(
    "--explain",
    is_flag=True,
    help="Show what each signal adds to the log-odds of an answer: dense (meaning), lexical (its words), session (what "
    "stands around it), structural (the day named), validity (whether it holds), use (what it was of use for), base; "
    "prior is what a correction takes over from what it replaces, and what worked from the failure it mended.",
)
@common_options
def recall(
    chosen: CommandContext, question: tuple[str, ...], scope: tuple[str, ...], full: bool, explain: bool, **asked: Any
) -> None:
    """Find the memories that matter. The question needs no quotes."""
    from mnemic.runtime.api.views import recall_view

    started = CLOCK.monotonic_s()
    with chosen.open(create=False, asking=True, asked_only=True) as mind:
        looked, found = chosen.resolve_scope(mind, scope)
        recalled = mind.recall(" ".join(question), scope=looked, **asked)
        took_ms = 1e3 * (CLOCK.monotonic_s() - started)
        view = recall_view(recalled, strict=False, found=found, took_ms=took_ms, explain=explain)
        # Before the mind is closed, which may have to wait for another process's writing.
        chosen.print_answer(view, partial(recall_lines, full=full or explain))
        chosen.keep_list(view["hits"])


def recall_lines(view: dict[str, Any], *, full: bool = False) -> Iterator[Line]:
    """An answer to a recall, as `mnemic.runtime.api.views.recall_view` gives it."""
    if view["nothing_fits"]:
        yield [("nothing fits well" + ("; the nearest:" if view["hits"] else ""), "yellow")]
    shown = f"{pluralize(len(view['hits']), 'memory')} of {view['searched']}"
    where = searched_scope(view["scope"], view["scope_found"])
    yield [(f"{shown} in {where}, {view['took_ms']:.0f} ms", "dim")]
    if "held_on" in view:
        yield [(f"what held on {view['held_on']}", "dim")]
    if "said_near" in view:
        yield [(f"what was said near {', '.join(view['said_near'])} counts more", "dim")]
    for number, hit in enumerate(view["hits"], start=1):
        yield from hit_lines(number, hit, full=full)
    if view["left_out"]:
        yield f"{view['left_out']}{' more' if view['hits'] else ''} did not fit into the budget"
    yield from degraded_lines(view["degraded"])


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
@_full
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
    full: bool,
    **asked: Any,
) -> None:
    """Find memories by their structure. That is who said or did what, with which tool, how it ended, what came before.

    ROLE=? asks what fills a role. Quote what your shell would read: 'file=?'.
    """
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
    started = CLOCK.monotonic_s()
    with chosen.open(create=False, asking=True) as mind:
        until_s = CLOCK.monotonic_s() + _BIND_S
        mind.catch_up("shape", lambda: CLOCK.monotonic_s() < until_s)
        probes = chosen.resolve_ids(mind, like)
        within, found = chosen.resolve_scope(mind, scope)
        shaped = mind.shape(
            pattern, scope=within, analogy=pairs if analogy else (), like=probes, here=here, strict=strict, **asked
        )
        took_ms = 1e3 * (CLOCK.monotonic_s() - started)
        view = shape_view(shaped, strict=False, found=found, took_ms=took_ms) | {"asked": pattern}
        # Before the mind is closed, which may have to wait for another process's writing.
        chosen.print_answer(view, partial(shape_lines, full=full))
        chosen.keep_list(view["hits"])


def shape_lines(view: dict[str, Any], *, full: bool = False) -> Iterator[Line]:
    """An answer to a question by structure, as `mnemic.runtime.api.views.shape_view` gives it, and what was asked."""
    where = searched_scope(view["scope"], view["scope_found"])
    looked = f"{pluralize(view['searched'], 'record')} looked through in {where}"
    yield [(f"{pluralize(len(view['hits']), 'memory')}, {looked}, {view['took_ms']:.0f} ms", "dim")]
    asked = [role for role, filler in view["asked"].items() if filler == "?"]
    yield from answer_lines(view["answers"], asked, [hit["id"] for hit in view["hits"]])
    for number, hit in enumerate(view["hits"], start=1):
        yield from hit_lines(number, hit, full=full)
    yield from degraded_lines(view["degraded"])


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
                yield f"  {one['filler']}  (memory {short_id(one['memories'][0])})"
                continue
            if role == "helped":
                of = f"{round(one['worked'] * one['worked_of'])} of {one['worked_of']}"
                how = f"its like helped {of}; memory {short_id(one['memories'][0])}"
                yield f"  {one['confidence']:.2f}  {one['filler']}  ({how})"
                continue
            which = f": {', '.join(map(str, below))}{' …' if len(below) < one['support'] else ''}" if below else ""
            read = f"read from {pluralize(one['support'], 'memory')}{which}"
            well = "" if "worked" not in one else f", things were well after it in {100 * one['worked']:.0f} %"
            if well and one["worked_of"] < one["support"]:
                well += f", known of {one['worked_of']}"
            yield f"  {one['confidence']:.2f}  {one['filler']}  ({read}{well})"


def _list_roles(chosen: CommandContext) -> None:
    from mnemic.actors.kernel.message import to_json

    with chosen.open(create=False, asking=True) as mind:
        listed = mind.roles()

    chosen.print_answer(to_json(listed), role_lines)


def role_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What can be asked for by structure."""
    wide = max((len(role["name"]) for role in view["roles"]), default=0)
    for role in view["roles"]:
        asks = "" if role["decodes"] else ", not asked for with ?"
        yield [(f"{role['name']:<{wide}}", "bold"), (f"  {role['help']}  [{role['match']}{asks}]", "")]
        if role["samples"]:
            rest = " …" if role["fillers"] > len(role["samples"]) else ""
            yield [(f"{'':<{wide}}  {role['fillers']} known: {', '.join(role['samples'])}{rest}", "dim")]
    pending = view["pending"]
    waits = f", {pluralize(pending, 'memory waits', 'memories wait')} for theirs" if pending else ""
    yield f"{pluralize(view['bound'], 'memory has its', 'memories have their')} hypervector{waits}"
