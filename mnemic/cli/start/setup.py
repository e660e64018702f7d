"""The command `mnemic setup`: makes the mind, wires the assistants that are here, offers what they kept from before."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mnemic.cli.context import CLOCK, CommandContext, cli, common_options
from mnemic.cli.hooks.commands import ALLOW, BACKFILL, allowed, ask_backfill, run_backfill, wiring_view
from mnemic.cli.hooks.lines import (
    backfill_lines,
    minutes,
    other_home_lines,
    short_path,
    size_and_days,
    unread_lines,
    untried_lines,
)
from mnemic.cli.keys import init_lines, make_mind, told_lines, warn_made
from mnemic.cli.start.completions import as_view, install_completions
from mnemic.cli.start.overview import assistants_here, command_line, next_lines, worth_trying
from mnemic.cli.start.shell_link import install_link
from mnemic.cli.terminal.endings import describe_end
from mnemic.cli.terminal.interrupts import Terminated, ask
from mnemic.cli.terminal.output import Line, columns, filled
from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.minds.homes import mind_folder

if TYPE_CHECKING:
    from mnemic.cli.hooks.wiring import WiringResult

_NOTE_LINES = 2
"""So much is told of what somebody has to know of an assistant; `mnemic hooks install` tells all."""


@cli.command()
@click.option(
    "--yes", is_flag=True, help="Wire them without asking; without, and without a terminal, all of it is only shown."
)
@ALLOW
@BACKFILL
@common_options
def setup(chosen: CommandContext, yes: bool, allow: tuple[str, ...], backfill: bool | None) -> None:
    """Make the mind and wire the assistants that are here. Asks once; what is there already stays as it is."""
    from mnemic.cli.hooks.wiring import install
    from mnemic.runtime.doctor.summary import summarize_mind

    def wire(*, write: bool) -> WiringResult:
        names, rights = ["all"], allowed(allow)
        return install(chosen.home, names, os.environ, CLOCK, mind=chosen.mind, allow=rights, keep=True, write=write)

    def say(stage: str, **more: Any) -> None:
        if not chosen.as_json:
            chosen.print_answer(view | more | {"stage": stage}, stage_lines)

    def complete(*, write: bool) -> dict[str, Any] | None:
        return as_view(install_completions(chosen.home, os.environ, write=write))

    def link(*, write: bool) -> dict[str, Any] | None:
        made = install_link(chosen.home, os.environ, write=write)
        return None if made is None else dict(msgspec.to_builtins(made))

    asks = not yes and not chosen.as_json and sys.stdin.isatty()
    wired = wire(write=False)
    known = summarize_mind(chosen.home, chosen.mind, CLOCK)
    folder = mind_folder(chosen.home, chosen.mind).path
    mind: dict[str, Any] = {"mind": chosen.mind, "folder": str(folder), "is_new": known is None}
    mind["memories"] = known.memories if known is not None else 0
    if (home_scope := None if known is None else known.home_scope) is not None:
        mind |= {
            "home_scope": home_scope,
            "home_scope_move": command_line(chosen, "scope", "move", home_scope, "FOLDER"),
        }
    mind["has_recovery"] = None if known is None else known.has_recovery
    mind["rekey"] = command_line(chosen, "rekey", "--recovery")
    view = wiring_view(wired, chosen.home) | {"mind": mind, "backfill": None, "completions": complete(write=False)}
    fresh = [name for name, host in view["hosts"].items() if _changes(host)]
    view["wired"] = [name for name, host in view["hosts"].items() if not host["failed"] and name not in fresh]
    view["link"] = link(write=False)
    if not (yes or asks):
        chosen.print_answer(view | {"stage": "shown"}, stage_lines)
        sys.exit(1 if wired.has_failed else 0)
    opened_to_others = None
    try:
        if known is None:
            made, opened_to_others = make_mind(chosen)
            view["mind"] |= made
            say("mind")
            if not chosen.as_json:
                warn_made(opened_to_others)
        else:
            say("mind")
        say("plan")
        agreed = not fresh or not asks or _is_wanted()
        if agreed:
            view["completions"] = complete(write=True)
        if agreed and (fresh or view["executables"]):
            wired = wire(write=True)
            view |= {**wiring_view(wired, chosen.home), "applied": True}
            view["wired"] = [name for name, host in view["hosts"].items() if not host["failed"]]
        if agreed and view["link"] and (not asks or _is_wanted(f"Put a link to it at {view['link']['path']}?")):
            view["link"] = link(write=True)
            say("link")
        if agreed:
            say("wired", fresh=fresh)
        else:
            again = command_line(chosen, "setup")
            say("told", told=f"nothing was written to their settings; `{again}` asks again")
            fresh = []
        offered = {*fresh, *(name for name, host in view["hosts"].items() if host["failed"] and agreed)}
        kept = {name: one for name, one in wired.transcripts.items() if name in offered or backfill}
        if kept:
            say("offer", transcripts={name: view["transcripts"][name] for name in kept})
            if backfill is None and asks:
                backfill = ask_backfill()
            view["backfill"] = run_backfill(chosen, kept, backfill is True)
            say("backfill", again=command_line(chosen, "setup", "--backfill"))
        view |= {"applied": True, "model": _model_missing(chosen), "next": worth_trying(chosen, view)}
    except BaseException as error:
        if chosen.as_json and "recovery" in view["mind"]:
            code = _print_ended(chosen, view, error)
            warn_made(opened_to_others)
            if code is not None:
                sys.exit(code)
        if isinstance(error, (KeyboardInterrupt, click.Abort, Terminated)):
            if asks:
                click.echo()  # after what was typed
            say("told", told=_reached(chosen, is_new=known is None))
        raise
    chosen.print_answer(view | {"stage": "next"}, stage_lines)
    if chosen.as_json and "recovery" in view["mind"]:
        warn_made(opened_to_others)
    left = any((view[name] or {}).get("failed") for name in ("completions", "link"))
    sys.exit(1 if wired.has_failed or left else 0)


def _is_wanted(question: str = "Wire them?") -> bool:
    return bool(ask(lambda: click.confirm(question, default=True)))


def _changes(host: dict[str, Any]) -> bool:
    return host["allow"] is not None or any(file["change"] != "unchanged" for file in host["files"])


def _model_missing(chosen: CommandContext) -> str | None:
    """Why nothing is found by its meaning, and what to do; ``None`` where the model is there."""
    from mnemic.runtime.engine.settings import load_settings
    from mnemic.runtime.models.models import missing_model

    missing = missing_model(load_settings(chosen.home / "mnemic.toml").values())
    return None if missing is None else f"{missing} {missing.remedy_text}"


def _print_ended(chosen: CommandContext, view: dict[str, Any], error: BaseException) -> int | None:
    """Print what there is by then, as JSON: the key of a mind that was just made is printed by nothing else.

    Returns:
        the exit code; ``None`` where nobody foresaw the error.
    """
    unforeseen = {"code": "unexpected", "error": f"{type(error).__name__}: {error}", "remedy": "Run it again to go on."}
    told, code = describe_end(error) or (unforeseen, None)
    chosen.print_answer(view | told | {"stage": "ended"}, stage_lines)
    return code


def _reached(chosen: CommandContext, *, is_new: bool) -> str:
    """What is done where somebody ended it in the middle."""
    made = mind_folder(chosen.home, chosen.mind).path.is_dir()
    wired = [one["title"] for one in assistants_here(chosen)[0] if one["state"] == "wired"]
    told = f"the mind {chosen.mind!r} {'was made' if is_new else 'is as it was'}" if made else "no mind was made"
    wiring = f"wired are {', '.join(wired)}" if wired else "no assistant is wired"
    return f"ended in the middle: {told}, and {wiring}"


def stage_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What there is to tell at a stage of it."""
    yield from _STAGES[view["stage"]](view)


def shown_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What it would do."""
    yield from mind_lines(view)
    yield from plan_lines(view)
    yield from offer_lines(view)
    yield from unread_lines(view)
    yield "nothing was written; --yes does it"


def mind_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The mind: what opens it, where it was just made."""
    mind = view["mind"]
    if "recovery" in mind:
        yield from init_lines(mind)
    elif mind["is_new"]:
        yield f"would make the mind {mind['mind']!r} in {mind['folder']}"
    else:
        held = "" if mind["memories"] is None else f", with {pluralize(mind['memories'], 'memory')}"
        yield f"the mind {mind['mind']!r} is there{held}; its keys stay as they are"
        if mind["has_recovery"] is False:
            yield [("  it has no recovery key: ", "yellow"), (f"`{mind['rekey']}` prints one", "")]
    if "home_scope" in mind:
        yield [("  your home folder is a git repository and a project: ", "yellow"), (mind["home_scope"], "bold")]
        yield f"  what lies below it in no nearer repository belongs to it; `{mind['home_scope_move']}` ends that"


def plan_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What would be added to whose settings, an assistant a line."""
    hosts = view["hosts"].values()
    if not hosts:
        yield "no assistant was found on this machine: none is wired"
        yield from completion_lines(view, done=False)
        return
    changes = any(_changes(host) for host in hosts)
    yield ""
    yield "to be added to the settings of your assistants:" if changes else "your assistants:"
    width = max(len(host["title"]) for host in hosts)
    for host in hosts:
        parts = [part for file in host["files"] for part in file["parts"]]
        what, style = (", ".join(parts) or "its rights", "") if _changes(host) else ("wired already", "green")
        what = "by its plugin" if host["by_plugin"] else what
        if host["failed"]:
            what, style = f"left as it is: {host['failed']}", "red"
        yield [(f"  {host['title']:<{width}}  ", "bold"), (what, style)]
        yield from other_home_lines(host)
        yield from untried_lines(host)
    if changes:
        yield [("All else in them stays; `mnemic hooks install --diff` shows every line.", "dim")]
    yield from completion_lines(view, done=False)


def wired_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was done."""
    hosts = {name: host for name, host in view["hosts"].items() if name in view["fresh"]}
    done = [host["title"] for host in hosts.values() if not host["failed"]]
    if view["executables"] and not hosts:
        yield f"renewed what hooks start: {', '.join(view['executables'])}"
    if done:
        kept = any(file["backup"] for host in hosts.values() for file in host["files"])
        yield [("wired: ", "green"), (", ".join(done), "bold")]
        yield from [f"  what was in their files is kept in {short_path(view['backups'], columns())}"] if kept else []
    for host in hosts.values():
        if host["failed"]:
            yield [(f"{host['title']} was not wired: ", "red"), (host["failed"], "")]
    for note in dict.fromkeys(note for host in hosts.values() for note in host["notes"]):
        yield from ([(f"  {line}", "dim")] for line in filled(note, columns() - 2, _NOTE_LINES))
    yield from completion_lines(view, done=True)
    yield from unread_lines(view)


def completion_lines(view: dict[str, Any], *, done: bool) -> Iterator[Line]:
    """By which link a new shell finds `mnemic`, and by which file it completes it, where that changes."""
    if view["link"] and not done:
        what = "a link, since a new shell finds no mnemic"
        yield f"{what}: {short_path(view['link']['path'], columns() - len(what) - 2)}"
    file = view["completions"]
    if file is None or file["change"] == "unchanged":
        return
    title = f"completions for {file['shell']}"
    if not done:
        yield f"{title}: {short_path(file['path'], columns() - len(title) - 2)}"
    elif file["failed"]:
        yield [(f"{title} were not written: ", "red"), (file["failed"], "")]
    else:
        yield [("written: ", "green"), (title, "bold")]
        if file["note"]:
            yield [("  zsh looks there once this stands in your .zshrc, above what calls compinit:", "dim")]
            yield f"  {file['note']}"


def link_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What became of the link by which new shells find `mnemic`."""
    link = view["link"]
    if link["failed"]:
        yield [("no link was made: ", "red"), (link["failed"], "")]
    else:
        yield [("linked: ", "green"), (short_path(link["path"], columns() - 8), "bold")]
        yield from [f"  {link['note']}"] if link["note"] else []


def offer_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What assistants have kept from before."""
    kept = view["transcripts"]
    if kept:
        files, days = pluralize(sum(one["files"] for one in kept.values()), "transcript"), size_and_days(kept.values())
        yield f"kept from before: {files} of {', '.join(kept)}, {days}, {minutes(kept.values())} in the background"


def tried_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What to try, and what is missing."""
    if view["model"] is not None:
        yield [("memories are found by their words alone: ", "yellow"), (view["model"], "")]
    yield ""
    yield from next_lines(view["next"])


_STAGES: dict[str, Callable[[dict[str, Any]], Iterator[Line]]] = {
    "shown": shown_lines,
    "mind": mind_lines,
    "plan": plan_lines,
    "wired": wired_lines,
    "link": link_lines,
    "offer": offer_lines,
    "backfill": backfill_lines,
    "told": told_lines,
    "next": tried_lines,
}
"""What is told at each stage."""
