"""The commands `mnemic hooks install|uninstall|status|export` and `mnemic uninstall`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.scope_paths import MCP_RIGHTS
from mnemic.actors.kernel.times import to_iso
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options, exit_where_failed, group_options
from mnemic.cli.hooks.lines import (
    backfill_lines,
    export_lines,
    install_lines,
    leave_lines,
    status_lines,
    uninstall_lines,
)
from mnemic.cli.keys import told_lines
from mnemic.cli.terminal.completing import complete_names
from mnemic.cli.terminal.interrupts import ask
from mnemic.hooks.wire.commands import ASSISTANTS
from mnemic.runtime.version import __version__

if TYPE_CHECKING:
    from mnemic.cli.hooks.wiring import WiringResult
    from mnemic.hooks.wire.exports import Kind
    from mnemic.hooks.wire.host import HostTranscripts


def _assistants(command: Callable[..., Any]) -> Callable[..., Any]:
    """The assistants that a command is about, as arguments; ``--assistant``, from before, means the same."""

    def named(*given: Any, names: tuple[str, ...], more: tuple[str, ...], **rest: Any) -> Any:
        return command(*given, assistants=(*names, *more) or ("all",), **rest)

    named.__name__, named.__doc__ = command.__name__, command.__doc__
    named.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    named = click.option("--assistant", "more", multiple=True, metavar="NAME", hidden=True)(named)
    complete = complete_names((*ASSISTANTS, "all"))
    return click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete)(named)


@cli.group(
    epilog="Each takes --home, --mind and --json; see `mnemic hooks COMMAND --help`.", invoke_without_command=True
)
@group_options
def hooks(context: click.Context) -> None:
    """Wire assistants, so that they remember by themselves. That takes hooks, MCP, and a word in their instructions."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_EXPORTS = ("claude-code-plugin", "mcpb", "agents-md")
APPLY = click.option("--apply", "write", is_flag=True, help="Write it; without, it is only shown.")
DIFF = click.option("--diff", "shows_diff", is_flag=True, help="Show every line that changes.")
ALLOW = click.option(
    "--allow",
    multiple=True,
    type=click.Choice([*MCP_RIGHTS, "nothing"]),
    help="What they may do by MCP beyond their own project; else asked at the first install, and as before.",
)
BACKFILL = click.option(
    "--backfill/--no-backfill", default=None, help="Take in, or not, the transcripts from before; else asked."
)


@hooks.command()
@_assistants
@APPLY
@DIFF
@click.option("--recall-prompts", is_flag=True, help="Give memories with prompts too, not only at a session's start.")
@click.option(
    "--recall-failures/--no-recall-failures",
    default=None,
    help="Tell Claude Code, or not, once a call failed, what helped before; else as it was, and at first on.",
)
@ALLOW
@BACKFILL
@common_options
def install(
    chosen: CommandContext,
    assistants: tuple[str, ...],
    write: bool,
    shows_diff: bool,
    recall_prompts: bool,
    recall_failures: bool | None,
    allow: tuple[str, ...],
    backfill: bool | None,
) -> None:
    """Wire assistants. Shows what changes; --apply writes it, and keeps what was there.

    NAME is claude-code, codex, gemini-cli, cursor, opencode, or all: those that are here, which is meant where none is
    named.
    """
    from mnemic.cli.hooks.wiring import install, is_wired

    if recall_failures and not {"claude-code", "all"} & {*assistants}:
        raise click.UsageError("--recall-failures is for claude-code alone: no other assistant takes an answer there")
    chosen.require_named()
    rights = allowed(allow)
    asks = write and rights is None and not chosen.as_json and sys.stdin.isatty()
    if asks and not is_wired(chosen.home, assistants, os.environ, CLOCK):
        reads = ask(lambda: click.confirm("May they ask for memories of all your projects, not only of their own?"))
        rights = ("read-all",) if reads else ()
    wired = install(
        chosen.home,
        assistants,
        os.environ,
        CLOCK,
        mind=chosen.mind,
        recall_prompts=recall_prompts,
        recall_failures=recall_failures,
        allow=rights,
        write=write,
    )
    view = wiring_view(wired, chosen.home) | {"shows_diff": shows_diff}
    if chosen.as_json:
        taken = run_backfill(chosen, wired.transcripts, write and backfill is True)
        chosen.print_answer(view | {"backfill": taken}, install_lines)
    else:
        chosen.print_answer(view, install_lines)
        if write and wired.transcripts:
            if backfill is None and sys.stdin.isatty():
                backfill = ask_backfill()
            taken = run_backfill(chosen, wired.transcripts, backfill is True)
            flags = {"--recall-prompts": recall_prompts, "--recall-failures": recall_failures}
            flags["--no-recall-failures"] = recall_failures is False
            again = _install_command(chosen, [*wired.transcripts], [flag for flag, given in flags.items() if given])
            chosen.print_answer({"backfill": taken, "again": again}, backfill_lines)
    exit_where_failed(wired.has_failed, done=wired.is_done_in_part)


@hooks.command()
@_assistants
@APPLY
@DIFF
@common_options
def uninstall(chosen: CommandContext, assistants: tuple[str, ...], write: bool, shows_diff: bool) -> None:
    """Unwire assistants. Their files become what they were, or lose what is Mnemic's where others wrote since.

    NAME is as of `mnemic hooks install`; all, where none is named.
    """
    from mnemic.cli.hooks.wiring import uninstall

    wired = uninstall(chosen.home, assistants, os.environ, CLOCK, write=write)
    chosen.print_answer(wiring_view(wired, chosen.home) | {"shows_diff": shows_diff}, uninstall_lines)
    exit_where_failed(wired.has_failed, done=wired.is_done_in_part)


@hooks.command()
@_assistants
@click.option("--no-trial", is_flag=True, help="Only look; fire no trial event.")
@common_options
def status(chosen: CommandContext, assistants: tuple[str, ...], no_trial: bool) -> None:
    """How assistants are wired. Trials through each one's own commands prove that it works.

    NAME is as of `mnemic hooks install`; all, where none is named.
    """
    from mnemic.hooks.wire.status import executable_state
    from mnemic.hooks.wire.trial import check_hosts

    def opened(mind: str) -> Any:
        return type(chosen)(str(chosen.home), mind, chosen.as_json).open(create=False)

    found = check_hosts(chosen.home, assistants, os.environ, CLOCK, opened, trial=not no_trial)
    executable = executable_state(chosen.home)
    view = {
        "executable": {"state": executable.state, "detail": executable.detail, "remedy": executable.remedy},
        "hosts": {one.name: one.view() for one in found},
    }
    chosen.print_answer(view, status_lines)
    exit_where_failed(any(one.state == "wrong" for one in found), done=True)


@hooks.command()
@click.argument("kind", type=click.Choice(_EXPORTS), metavar="KIND")
@click.argument("path", type=click.Path(path_type=Path))
@APPLY
@DIFF
@common_options
def export(chosen: CommandContext, kind: Kind, path: Path, write: bool, shows_diff: bool) -> None:
    """Write what others install: it names no path of this machine. Shows what changes; --apply writes it.

    KIND is claude-code-plugin (PATH is a folder, which becomes a marketplace of Claude Code's), mcpb (PATH is a bundle
    for Claude Desktop, NAME.mcpb), or agents-md (PATH is a project's AGENTS.md, which gets the instructions between two
    marks).
    """
    from mnemic.hooks.wire.exports import plan_export
    from mnemic.hooks.wire.wiring import diff_of, write_all

    changes = plan_export(kind, Path(os.path.abspath(path)), __version__)
    if write:
        write_all(changes)
    files = [
        {"path": str(one.path), "change": one.action, "diff": [] if kind == "mcpb" else [*diff_of(one)]}
        for one in changes
    ]
    view = {"kind": kind, "applied": write, "files": files, "shows_diff": shows_diff}
    chosen.print_answer(view, export_lines)


@cli.command("uninstall")
@click.option("--erase-data", "erase", is_flag=True, help="Remove the home's data too, for good: minds, keys, backups.")
@click.option(
    "--yes",
    is_flag=True,
    help="Do it without asking, --erase-data too; without, and without a terminal, it is only shown.",
)
@common_options
def leave(chosen: CommandContext, erase: bool, yes: bool) -> None:
    """Undo all that an install did, and list what remains. It unwires every assistant and stops the process."""
    from mnemic.cli.hooks.uninstall import erase_data, require_home, uninstall_home, uninstall_view

    asks = not yes and sys.stdin.isatty() and not chosen.as_json
    home = chosen.home.absolute()

    def say(told: str) -> None:
        chosen.print_answer({"told": told}, told_lines)

    if erase:
        require_home(home)
    if not yes:
        planned = uninstall_home(home, os.environ, CLOCK, write=False)
        view = {"applied": False, "erase_data": erase, "erased": [], "stays": []}
        chosen.print_answer(view | uninstall_view(planned, home), leave_lines)
        if chosen.as_json:
            return
        if not asks:
            say("nothing was done; --yes does it")
            return
        wanted = ask(lambda: click.confirm("Do it?"))
        if not wanted:
            say("nothing was done" if wanted is False else "nobody answered: nothing was done")
            return
        warning = "There is no way back. Type ERASE to remove the data too"
        if erase and ask(lambda: click.prompt(warning, default="", show_default=False)) != "ERASE":
            erase = False
            say("the data stays")
    left = uninstall_home(home, os.environ, CLOCK, write=True)
    gone, still = erase_data(home) if erase and not left.wiring.has_failed else ([], [])
    told = {"erased": [str(path) for path in gone], "stays": [str(path) for path in still]}
    view = {"applied": True, "erase_data": erase, **told}
    chosen.print_answer(view | uninstall_view(left, home), leave_lines)
    unstopped = left.service is not None and bool(left.service.error)
    exit_where_failed(left.wiring.has_failed or unstopped, done=True)


def allowed(named: tuple[str, ...]) -> tuple[str, ...] | None:
    """The rights that ``--allow`` names; ``None`` where they stay as they are."""
    return tuple(one for one in named if one != "nothing") if named else None


def wiring_view(result: WiringResult, home: Path) -> dict[str, Any]:
    """What an install or an uninstall did, or would do, as JSON."""
    kept = {
        name: {
            "files": len(one.paths),
            "size_bytes": one.size_bytes,
            "since": to_iso(one.since),
            "until": to_iso(one.until),
            "minutes": round(one.minutes, 1),
        }
        for name, one in result.transcripts.items()
    }
    return {**msgspec.to_builtins(result), "transcripts": kept, "backups": str(home / "backups")}


def ask_backfill() -> bool | None:
    """Whether transcripts from before are wanted, as whoever sits at the terminal says."""
    return ask(lambda: click.confirm("Take them in now, in the background, the newest first?", default=True))


def run_backfill(
    chosen: CommandContext, transcripts: Mapping[str, HostTranscripts], wanted: bool
) -> dict[str, Any] | None:
    """Have transcripts from before taken in; says what came of it, ``None`` where it was not to be."""
    if not wanted or not transcripts:
        return None
    from mnemic.cli.hooks.wiring import backfill

    try:
        queued = backfill(chosen.home, chosen.mind, [*transcripts.values()], CLOCK, lambda: chosen.open(create=True))
    except MnemicError as error:  # what is wired is wired: it is told beside it
        return {"queued": 0, "known": 0, "error": f"{error} {error.remedy_text}"}
    return {"queued": queued.queued, "known": queued.known, "error": None}


def _install_command(chosen: CommandContext, names: Sequence[str], flags: Sequence[str]) -> str:
    """The command that installs the same once more, and takes transcripts in."""
    from mnemic.runtime.minds.homes import default_home

    words = ["mnemic", "hooks", "install", *names, "--apply", "--backfill", *flags]
    words += [] if chosen.mind == "default" else ["--mind", chosen.mind]
    return shlex.join(words if chosen.home == default_home(os.environ) else [*words, "--home", str(chosen.home)])
