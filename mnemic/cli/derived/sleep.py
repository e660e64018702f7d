"""The commands `mnemic sleep` and `nights`, and what nights made: `derived`, `digest`, `procedures` and `profile`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from mnemic.actors.sleep.messages import ListDigests, ListNights, ListProcedures, ShowProfile
from mnemic.cli.context import FOLDER_SCOPE, MANY_SCOPES, CommandContext, cli, common_options, verb_options
from mnemic.cli.terminal.output import local_day, local_minute, progress_bars, searched_scope, short_id
from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.api.sleep import NIGHT_S

_ENDS = {
    "finished": "finished",
    "time": "its time was used up",
    "woken": "woken",
    "": "broken off",
}
_MADE = {"session-digests": "digest", "topic-digests": "digest", "project-digests": "digest"}
_SAY_THEMSELVES = ("fingerprints", "duplicates", "uses", "strengths", "profile")
_CALLED = {"project": "project", "session": "conversation", "topic": "topic"}
_WHY_NONE = {
    "never": "no night was had yet, and `mnemic sleep` has one now",
    "undone": "the last night was taken back; `mnemic sleep --again` derives anew",
    "stands": "nights found none so far, or what it rested on was erased; `mnemic sleep` looks again",
}
_NOT_BY_ITSELF = "nights have the stage {0} where sleep.stages names it, and `mnemic sleep --stage {0}` has it once"
_REASONS = {"idle": "while nobody wanted anything", "asked": "asked for"}


@cli.command()
@click.argument("what", nargs=-1, metavar="[undo [NIGHT]]")
@click.option("--stage", "stages", multiple=True, metavar="S", help="This stage alone; may be given again.")
@click.option("--dry-run", is_flag=True, help="Say what it would change, and change nothing.")
@click.option("--again", is_flag=True, help="Derive anew what was taken back, though nothing was captured since.")
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(min=0.1),
    default=NIGHT_S,
    show_default=True,
    help="At most so long, seconds.",
)
@common_options
def sleep(
    chosen: CommandContext, what: tuple[str, ...], stages: tuple[str, ...], dry_run: bool, again: bool, seconds: float
) -> None:
    """Have a night now, or take nights back.

    It makes digests of what came or changed, and brings topics and facts up to date.
    `undo` takes back the newest night, `undo NIGHT` that one and every later one.
    """
    if what and (stages or dry_run or again):
        raise click.UsageError("--stage, --dry-run and --again are for a night; `undo` takes none of them")
    match what:
        case ():
            _sleep(chosen, stages, seconds, dry_run=dry_run, again=again)
        case ("undo",):
            _undo(chosen, None)
        case ("undo", number) if number.lstrip("#").isdecimal():
            _undo(chosen, int(number.lstrip("#")))
        case _:
            raise click.UsageError(f"{' '.join(what)!r} is nothing that sleep does: `undo` or `undo NIGHT`")


def _sleep(chosen: CommandContext, stages: tuple[str, ...], seconds: float, **how: bool) -> None:
    from mnemic.actors.kernel.message import to_json

    with chosen.open(create=False) as mind:
        with progress_bars(chosen.as_json) as progress:
            report = mind.sleep(stages=stages, budget_s=seconds, progress=progress, **how)
        view = to_json(report) | {"dry_run": how["dry_run"]}
        chosen.print_answer(view, night_lines)


def _undo(chosen: CommandContext, number: int | None) -> None:
    from mnemic.actors.kernel.message import to_json

    with chosen.open(create=False) as mind:
        view = to_json(mind.undo_nights(number))
        chosen.print_answer(view, undo_lines)


@cli.command()
@click.argument("what", nargs=-1, metavar="[[show] NIGHT]")
@verb_options(ListNights, "k", k={"default": None, "show_default": False, "more": "Default: 30 nights, 200 changes."})
@common_options
def nights(chosen: CommandContext, what: tuple[str, ...], k: int | None) -> None:
    """List the last nights, or show one.

    Those that changed something: when, why, and what. With a number, every change of that one.
    """
    from mnemic.actors.kernel.message import to_json

    number = what[-1].lstrip("#") if what else ""
    if what and (not number.isdecimal() or what[:-1] not in ((), ("show",))):
        raise click.UsageError(f"{' '.join(what)!r} is no number of a night")
    with chosen.open(create=False, asking=True) as mind:
        if number:
            shown = to_json(mind.night(int(number), k=200 if k is None else k))
            chosen.print_answer(shown, shown_lines)
        else:
            listed = to_json(mind.nights(k=30 if k is None else k))
            chosen.print_answer(listed, list_lines)


@cli.command()
@verb_options(ListDigests, "of", "k", "sentences", "scope", scope=FOLDER_SCOPE)
@common_options
def digest(chosen: CommandContext, scope: tuple[str, ...], **asked: Any) -> None:
    """Give what a project says again and again.

    That is the digest of the project, of its conversations or of its topics, as the last night made it.
    """
    from mnemic.runtime.api.views import knowledge_view

    with chosen.open(create=False, asking=True) as mind:
        looked, found = chosen.resolve_scope(mind, scope)
        view = knowledge_view(mind.digests(scope=looked, **asked), strict=False, scope=looked, found=found)
        view |= {"asked": asked["of"]}
        chosen.print_answer(view, digest_lines)


@cli.command()
@click.argument("stage")
@verb_options(ListProcedures, "k", "scope", scope=FOLDER_SCOPE)
@common_options
def derived(chosen: CommandContext, stage: str, scope: tuple[str, ...], k: int) -> None:
    """Give what nights derived by a stage.

    That is one of those that `mnemic sleep` lists, or one that an installed package offers.
    """
    _derived(chosen, stage, scope, k)


@cli.command()
@verb_options(ListProcedures, "k", "scope", scope=FOLDER_SCOPE)
@common_options
def procedures(chosen: CommandContext, scope: tuple[str, ...], k: int) -> None:
    """Give what a project does again and again.

    A stage of the package mnemic-more-stages finds it; the same as `mnemic derived procedures`.
    """
    _derived(chosen, "procedures", scope, k)


def _derived(chosen: CommandContext, stage: str, scope: tuple[str, ...], k: int) -> None:
    from mnemic.runtime.api.views import knowledge_view

    with chosen.open(create=False, asking=True) as mind:
        looked, found = chosen.resolve_scope(mind, scope)
        view = knowledge_view(mind.derived(stage, scope=looked, k=k), strict=False, scope=looked, found=found)
        chosen.print_answer(view, derived_lines)


@cli.command()
@verb_options(ShowProfile, "k", "scope", scope=MANY_SCOPES)
@common_options
def profile(chosen: CommandContext, scope: tuple[str, ...], k: int) -> None:
    """Give what you said of yourself that is to last.

    What you like and avoid, where you live and work: everywhere, unless a scope is named.
    """
    from mnemic.runtime.api.views import knowledge_view

    with chosen.open(create=False, asking=True) as mind:
        looked, found = chosen.resolve_scope(mind, scope or ("*",))
        view = knowledge_view(mind.profile(scope=looked, k=k), strict=False, scope=looked, found=found)
        chosen.print_answer(view, profile_lines)


def night_lines(view: dict[str, Any]) -> Iterator[str]:
    """What a night did, as it reports it."""
    changes = pluralize(view["changes"], "thing") if view["changes"] else "nothing"
    if view["dry_run"]:
        yield f"The night would change {changes} as things stand; what a stage changes may give later ones more to do"
    else:
        number = "" if view["number"] is None else f" #{view['number']}"
        yield f"The night{number} changed {changes}"
    for one in view["stages"]:
        yield _stage_line(one)
    if not view["finished"]:
        yield "its time was used up before all was done: the next night goes on"


def _stage_line(one: dict[str, Any]) -> str:
    said = [pluralize(one["changes"], "change")] if one["changes"] else []
    said += ["failed"] if one["state"] == "failed" else []
    said += [one["note"]] if one["note"] else []
    took = f", {one['took_us'] / 1e6:.1f} s" if one["took_us"] >= 50_000 else ""
    nothing = "nothing to do" if one["state"] else "not reached"
    return f"  {one['stage']}: {': '.join(said) or nothing}{took}"


def undo_lines(view: dict[str, Any]) -> Iterator[str]:
    """What was taken back."""
    numbers = ", ".join(f"#{one}" for one in view["nights"])
    yield f"taken back: {numbers}"
    yield "Nothing is derived again before something new is captured; `mnemic sleep --again` does so at once."


def list_lines(view: dict[str, Any]) -> Iterator[str]:
    """The nights."""
    if not view["nights"]:
        yield "no night has changed anything yet"
    for one in view["nights"]:
        yield night_line(one)


def shown_lines(view: dict[str, Any]) -> Iterator[str]:
    """A night with all that it changed."""
    yield night_line(view["night"])
    yield from (_stage_line(one) for one in view["night"]["stages"])
    if view["night"]["undone_at"]:
        yield "  what it changed went when it was taken back"
    for one in view["changes"]:
        of = "" if one["stage"] in _SAY_THEMSELVES else f"{_MADE.get(one['stage'], one['stage'])} of "
        yield f"  {one['did']}: {of}{one['what']}"
        yield from (f'    "{" ".join(quote.split())}"' for quote in one["quotes"])
        if one["sources"] > len(one["quotes"]) > 0:
            yield f"    and {one['sources'] - len(one['quotes'])} more"
    if view["total"] > len(view["changes"]):
        yield f"  and {pluralize(view['total'] - len(view['changes']), 'change')} more (-k)"


def night_line(one: dict[str, Any]) -> str:
    """A night in one line."""
    changes = pluralize(sum(stage["changes"] for stage in one["stages"]), "change")
    by = ", ".join(f"{stage['stage']} {stage['changes']}" for stage in one["stages"] if stage["changes"])
    undone = f", taken back {local_day(one['undone_at'])}" if one["undone_at"] else ""
    when = local_minute(one["at"])
    why = f"{_REASONS[one['reason']]}, {_ENDS[one['why']]}"
    return f"#{one['id']}  {when}  {why}{undone}: {changes}{f' ({by})' if by else ''}"


def digest_lines(view: dict[str, Any]) -> Iterator[str]:
    """Digests, each sentence with its day and who said it."""
    of = view["asked"]
    where = searched_scope(view["scope"], view["scope_found"])
    if not view["digests"]:
        none = _NOT_BY_ITSELF.format("topic-digests") if of == "topic" else _WHY_NONE[view["last_night"]]
        yield f"no digest of a {_CALLED[of]} in {where}: {none}"
    for one in view["digests"]:
        yield f"{one['of']}, {pluralize(one['memories'], 'memory')}, night #{one['night']}"
        for said in one["sentences"]:
            who = said["speaker"] or said["role"]
            mark = ", in part replaced since" if said["replaced"] else ""
            text = " ".join(said["text"].split())
            yield f"  {local_day(said['at'])}  {who}{mark}: {text}"


def derived_lines(view: dict[str, Any]) -> Iterator[str]:
    """Tell what a stage derived, each thing with the words that it rests on."""
    where = searched_scope(view["scope"], view["scope_found"])
    if not view["derived"]:
        yield f"the stage {view['stage']} derived nothing in {where}: {_NOT_BY_ITSELF.format(view['stage'])}"
    for one in view["derived"]:
        yield f"  {one['text']}  [{one['scope'] or 'no scope'}]" if one["text"] else f"  {one['of']}"
        yield from (f'    "{" ".join(quote.split())}"' for quote in one["quotes"])


def profile_lines(view: dict[str, Any]) -> Iterator[str]:
    """What users said of themselves."""
    where = searched_scope(view["scope"], view["scope_found"])
    if not view["entries"]:
        yield f"nothing that anybody says of themselves in {where}: {_WHY_NONE[view['last_night']]}"
    for one in view["entries"]:
        said = pluralize(one["conversations"], "conversation")
        if one["projects"] > 1:
            said += f" of {pluralize(one['projects'], 'project')}"
        who = f", {one['speaker']}" if one["speaker"] else ""
        text = " ".join(one["text"].split())
        where = f"{one['scope'] or 'no scope'}; {short_id(one['memory'])}"
        yield f"  {local_day(one['at'])}{who}: {text}  (in {said}; {where})"
