"""The commands `mnemic sleep`, `nights`, `digest`, `procedures` and `profile`: have nights, and see what they made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from mnemic.actors.protocol.sleep.messages import ListDigests, ListNights, ListProcedures, ShowProfile
from mnemic.cli.context import CLOCK, FOLDER_SCOPE, MANY_SCOPES, CommandContext, cli, common_options, verb_options
from mnemic.cli.output import escape_controls, progress_bars, searched_scope
from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.api.sleep import NIGHT_S

_ENDS = {
    "finished": "finished",
    "time": "its time was used up",
    "woken": "woken",
    "failed": "failed",
    "": "broken off",
}
_REASONS = {"idle": "while nobody wanted anything", "asked": "asked for"}


@cli.command()
@click.argument("what", nargs=-1, metavar="[undo [NIGHT]]")
@click.option("--stage", "stages", multiple=True, metavar="S", help="This stage alone; may be given again.")
@click.option("--dry-run", is_flag=True, help="Say what it would change, and change nothing.")
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
    chosen: CommandContext, what: tuple[str, ...], stages: tuple[str, ...], dry_run: bool, seconds: float
) -> None:
    """Have a night now, or take nights back.

    It makes digests of what came or changed, and brings topics and facts up to date.
    `undo` takes back the newest night, `undo NIGHT` that one and every later one.
    """
    match what:
        case ():
            _sleep(chosen, stages, dry_run, seconds)
        case ("undo",):
            _undo(chosen, 0)
        case ("undo", number) if number.lstrip("#").isdecimal():
            _undo(chosen, int(number.lstrip("#")))
        case _:
            raise click.UsageError(f"{' '.join(what)!r} is nothing that sleep does: `undo` or `undo NIGHT`")


def _sleep(chosen: CommandContext, stages: tuple[str, ...], dry_run: bool, seconds: float) -> None:
    from mnemic.actors.protocol.message import to_json

    with chosen.open(create=False) as mind:
        until_s = CLOCK.monotonic_s() + seconds
        with progress_bars(chosen.as_json) as progress:
            report = mind.sleep(
                stages=stages, dry_run=dry_run, more=lambda: CLOCK.monotonic_s() < until_s, progress=progress
            )
        view = to_json(report) | {"dry_run": dry_run}
        chosen.print_answer(view, lambda: night_lines(view))


def _undo(chosen: CommandContext, number: int) -> None:
    from mnemic.actors.protocol.message import to_json

    with chosen.open(create=False) as mind:
        view = to_json(mind.undo_nights(number))
        chosen.print_answer(view, lambda: undo_lines(view))


@cli.command()
@click.argument("what", nargs=-1, metavar="[[show] NIGHT]")
@verb_options(ListNights, "k")
@common_options
def nights(chosen: CommandContext, what: tuple[str, ...], k: int) -> None:
    """List the last nights, or show one.

    Those that changed something: when, why, and what. With a number, every change of that one.
    """
    from mnemic.actors.protocol.message import to_json

    number = what[-1].lstrip("#") if what else ""
    if what and (not number.isdecimal() or what[:-1] not in ((), ("show",))):
        raise click.UsageError(f"{' '.join(what)!r} is no number of a night")
    with chosen.open(create=False, asking=True) as mind:
        if number:
            shown = to_json(mind.night(int(number)))
            chosen.print_answer(shown, lambda: shown_lines(shown))
        else:
            listed = to_json(mind.nights(k=k))
            chosen.print_answer(listed, lambda: list_lines(listed))


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
        chosen.print_answer(view, lambda: digest_lines(view, asked["of"]))


@cli.command()
@verb_options(ListProcedures, "k", "scope", scope=FOLDER_SCOPE)
@common_options
def procedures(chosen: CommandContext, scope: tuple[str, ...], k: int) -> None:
    """Give what a project does again and again."""
    from mnemic.runtime.api.views import knowledge_view

    with chosen.open(create=False, asking=True) as mind:
        looked, found = chosen.resolve_scope(mind, scope)
        view = knowledge_view(mind.procedures(scope=looked, k=k), strict=False, scope=looked, found=found)
        chosen.print_answer(view, lambda: procedure_lines(view))


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
        chosen.print_answer(view, lambda: profile_lines(view))


# --- lines -----------------------------------------------------------------------------------------------------------


def night_lines(view: dict[str, Any]) -> Iterator[str]:
    """What a night did, as it reports it."""
    would = "would change" if view["dry_run"] else "changed"
    if view["changes"]:
        yield f"The night {would} {pluralize(view['changes'], 'thing')}"
    else:
        yield f"The night {would} nothing"
    for one in view["stages"]:
        yield _stage_line(one)
    if not view["finished"]:
        yield "its time was used up before all was done: the next night goes on"


def _stage_line(one: dict[str, Any]) -> str:
    said = [pluralize(one["changes"], "change")] if one["changes"] else []
    said += ["failed"] if one["state"] == "failed" else []
    said += [one["note"]] if one["note"] else []
    took = f", {one['took_us'] / 1e6:.1f} s" if one["took_us"] >= 50_000 else ""
    return escape_controls(f"  {one['stage']}: {': '.join(said) or 'nothing to do'}{took}")


def undo_lines(view: dict[str, Any]) -> Iterator[str]:
    """What was taken back."""
    numbers = ", ".join(f"#{one}" for one in view["nights"])
    yield f"taken back: {numbers}. What they made is not made again until its memories change."


def list_lines(view: dict[str, Any]) -> Iterator[str]:
    """The nights."""
    if not view["nights"]:
        yield "no night has changed anything yet"
    for one in view["nights"]:
        yield _night_line(one)


def shown_lines(view: dict[str, Any]) -> Iterator[str]:
    """A night with all that it changed."""
    yield _night_line(view["night"])
    yield from (_stage_line(one) for one in view["night"]["stages"])
    for one in view["changes"]:
        yield escape_controls(f"  {one['did']}: {one['stage']} of {one['what']}")
        yield from (escape_controls(f'    "{" ".join(quote.split())}"') for quote in one["quotes"])


def _night_line(one: dict[str, Any]) -> str:
    changes = pluralize(sum(stage["changes"] for stage in one["stages"]), "change")
    by = ", ".join(f"{stage['stage']} {stage['changes']}" for stage in one["stages"] if stage["changes"])
    undone = f", taken back {one['undone_at'][:10]}" if one["undone_at"] else ""
    when = one["at"][:16].replace("T", " ")
    why = f"{_REASONS[one['reason']]}, {_ENDS[one['why']]}"
    return escape_controls(f"#{one['id']}  {when}  {why}{undone}: {changes}{f' ({by})' if by else ''}")


def digest_lines(view: dict[str, Any], of: str) -> Iterator[str]:
    """Digests, each sentence with its day and who said it."""
    where = searched_scope(view["scope"], view["scope_found"])
    if not view["digests"]:
        yield f"no night has made a digest of a {of} in {where} yet: `mnemic sleep` has one now"
    for one in view["digests"]:
        yield escape_controls(f"{one['of']}, {pluralize(one['memories'], 'memory')}, night #{one['night']}")
        for said in one["sentences"]:
            who = said["speaker"] or said["role"]
            mark = ", in part replaced since" if said["replaced"] else ""
            text = " ".join(said["text"].split())
            yield escape_controls(f"  {said['at'][:10]}  {who}{mark}: {text}")


def procedure_lines(view: dict[str, Any]) -> Iterator[str]:
    """Which step follows which."""
    where = searched_scope(view["scope"], view["scope_found"])
    if not view["procedures"]:
        yield f"no night has found in {where} what is done again and again: `mnemic sleep` looks now"
    for one in view["procedures"]:
        after = f"after {one['before']}{' failed' if one['failed'] else ''}: {one['then']}"
        known = f"; it worked {one['worked']} of {pluralize(one['worked_of'], 'time')}" if one["worked_of"] else ""
        yield escape_controls(f"  {after}, {pluralize(one['times'], 'time')}{known}  [{one['scope'] or 'no scope'}]")


def profile_lines(view: dict[str, Any]) -> Iterator[str]:
    """What users said of themselves."""
    where = searched_scope(view["scope"], view["scope_found"])
    if not view["entries"]:
        yield f"no night has found in {where} what anybody says of themselves: `mnemic sleep` looks now"
    for one in view["entries"]:
        said = pluralize(one["conversations"], "conversation")
        if one["projects"] > 1:
            said += f" of {pluralize(one['projects'], 'project')}"
        who = f", {one['speaker']}" if one["speaker"] else ""
        text = " ".join(one["text"].split())
        yield escape_controls(f"  {one['at'][:10]}{who}: {text}  (in {said}; {one['scope'] or 'no scope'})")
