"""The commands `mnemic hooks install|uninstall|status` and `mnemic uninstall`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mnemic.actors.protocol.errors import MnemicError
from mnemic.actors.protocol.scopes import MCP_RIGHTS
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options, group_options
from mnemic.cli.terminal.interrupts import ask
from mnemic.runtime.api.reports import format_size, pluralize

if TYPE_CHECKING:
    from mnemic.cli.hooks.uninstall import UninstallResult
    from mnemic.cli.hooks.wiring import HostResult, WiringResult
    from mnemic.hooks.wire.host import HostTranscripts
    from mnemic.hooks.wire.status import HostStatus


_KNOWN = "claude-code, codex, gemini-cli, cursor, opencode or all"


def _assistant(help_: str, default: Sequence[str] | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--assistant",
        "assistants",
        multiple=True,
        required=default is None,
        default=default,
        metavar="NAME",
        help=f"{help_} {_KNOWN}.",
    )


@cli.group(
    epilog="Each takes --home, --mind and --json; see `mnemic hooks COMMAND --help`.", invoke_without_command=True
)
@group_options
def hooks(context: click.Context) -> None:
    """Wire assistants, so that they remember by themselves. That takes hooks, MCP, and a word in their instructions."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@hooks.command()
@_assistant("Which to wire; may be given again. all: those that are here.")
@click.option("--apply", "write", is_flag=True, help="Write it; without, it is only shown.")
@click.option("--recall-prompts", is_flag=True, help="Give memories with prompts too, not only at a session's start.")
@click.option(
    "--recall-failures", is_flag=True, help="Tell Claude Code, once a call failed, what helped when it failed before."
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice([*MCP_RIGHTS, "nothing"]),
    help="What they may do by MCP beyond their own project; else asked, and as before.",
)
@click.option(
    "--backfill/--no-backfill", default=None, help="Take in, or not, the transcripts from before; else asked."
)
@common_options
def install(
    chosen: CommandContext,
    assistants: tuple[str, ...],
    write: bool,
    recall_prompts: bool,
    recall_failures: bool,
    allow: tuple[str, ...],
    backfill: bool | None,
) -> None:
    """Wire assistants. Shows what changes; --apply writes it, and keeps what was there."""
    from mnemic.cli.hooks.wiring import install, is_wired

    if recall_failures and not {"claude-code", "all"} & {*assistants}:
        raise click.UsageError("--recall-failures is for claude-code alone: no other assistant takes an answer there")
    rights = tuple(one for one in allow if one != "nothing") if allow else None
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
    if chosen.as_json:
        taken = _run_backfill(chosen, [*wired.transcripts.values()], write and backfill is True)
        chosen.print_answer(_wiring_view(wired) | {"backfill": taken}, lambda _: iter(()))
    else:
        chosen.print_answer({}, lambda _: _wiring_lines(wired, chosen.home, "install"))
        if write and wired.transcripts:
            if backfill is None and sys.stdin.isatty():
                backfill = ask(
                    lambda: click.confirm("Take them in now, in the background, the newest first?", default=True)
                )
            taken = _run_backfill(chosen, [*wired.transcripts.values()], backfill is True)
            flags = {"--recall-prompts": recall_prompts, "--recall-failures": recall_failures}
            again = _install_command(chosen, [*wired.transcripts], [flag for flag, given in flags.items() if given])
            chosen.print_answer({}, lambda _: _backfill_lines(taken, again))
    if wired.has_failed:
        sys.exit(2)


@hooks.command()
@_assistant("Which to unwire; may be given again.", default=("all",))
@click.option("--apply", "write", is_flag=True, help="Write it; without, it is only shown.")
@common_options
def uninstall(chosen: CommandContext, assistants: tuple[str, ...], write: bool) -> None:
    """Unwire assistants. Their files become what they were, or lose what is Mnemic's where others wrote since."""
    from mnemic.cli.hooks.wiring import uninstall

    wired = uninstall(chosen.home, assistants, os.environ, CLOCK, write=write)
    chosen.print_answer(_wiring_view(wired), lambda _: _wiring_lines(wired, chosen.home, "uninstall"))
    if wired.has_failed:
        sys.exit(2)


@hooks.command()
@_assistant("Which to look at; may be given again.", default=("all",))
@click.option("--no-trial", is_flag=True, help="Only look; fire no trial event.")
@common_options
def status(chosen: CommandContext, assistants: tuple[str, ...], no_trial: bool) -> None:
    """How assistants are wired. Trials through each one's own commands prove that it works."""
    from mnemic.hooks.wire.status import executable_state
    from mnemic.hooks.wire.trial import check_hosts

    def opened(mind: str) -> Any:
        return type(chosen)(str(chosen.home), mind, chosen.as_json).open(create=False)

    found = check_hosts(chosen.home, assistants, os.environ, CLOCK, opened, trial=not no_trial)
    executable = executable_state(chosen.home)
    view = {
        "executable": {"state": executable.state, "detail": executable.detail},
        "hosts": {one.name: one.view() for one in found},
    }

    def lines() -> Iterator[str]:
        for one in found:
            yield from _status_lines(one)
        if any(one.wired and one.other_home is None for one in found):
            yield f"executable: {executable.detail}{f' -> {executable.remedy}' if executable.remedy else ''}"

    chosen.print_answer(view, lambda _: lines())
    if not all(one.is_healthy for one in found):
        sys.exit(1)


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
    from mnemic.cli.hooks.uninstall import (
        erase_data,
        remaining_files,
        require_home,
        uninstall_home,
        uninstall_view,
    )

    asks = not yes and sys.stdin.isatty() and not chosen.as_json
    home = chosen.home.absolute()

    def say(*lines: str) -> None:
        chosen.print_answer({}, lambda _: iter(lines))

    def remains() -> list[str]:
        return [f"  {path} ({format_size(size)})" for path, size in remaining_files(home)]

    if erase:
        require_home(home)
    planned = uninstall_home(home, os.environ, CLOCK, write=False)
    if not yes:
        if chosen.as_json:
            view = {"applied": False, "erased": [], "stays": []} | uninstall_view(planned, home)
            chosen.print_answer(view, lambda _: iter(()))
            return
        say(*_uninstall_lines(planned, home), *(["--erase-data would remove, for good:", *remains()] if erase else []))
        if not asks:
            say("nothing was done; --yes does it")
            return
        wanted = ask(lambda: click.confirm("Do it?"))
        if not wanted:
            say("nothing was done" if wanted is False else "nobody answered: nothing was done")
            return
        warning = "There is no way back. Type ERASE to remove the data too"
        if erase and ask(lambda: click.prompt(warning, default="")) != "ERASE":
            erase = False
            say("the data stays")
    left = uninstall_home(home, os.environ, CLOCK, write=True)
    erases = erase and not left.wiring.has_failed
    gone, still = erase_data(home) if erases else ([], [])
    told = {"erased": [str(path) for path in gone], "stays": [str(path) for path in still]}

    def lines() -> Iterator[str]:
        yield from _uninstall_lines(left, home)
        yield from (f"removed {path}" for path in (*left.removed, *gone))
        if still:
            yield "what stays is not Mnemic's:"
            yield from (f"  {path}" for path in still)
        if not erases and (kept := remains()):
            yield from ("what remains is yours:", *kept)
        if erase and not erases:
            yield "the data was not erased: see to the assistants above first"

    chosen.print_answer({"applied": True, **told} | uninstall_view(left, home), lambda _: lines())
    if left.wiring.has_failed:
        sys.exit(2)


def _uninstall_lines(left: UninstallResult, home: Path) -> Iterator[str]:
    yield f"Uninstalling from the home {home}"
    for name, host in left.wiring.hosts.items():
        for file in host.files:
            if file.change != "unchanged":
                yield f"{name}: {file.path}: {'' if left.wiring.applied else 'would be '}{file.change}"
        if host.failed:
            yield from _rights_lines(name, host, left.wiring.applied)
            yield f"{name}: not undone: {host.failed}"
    if not left.wiring.hosts:
        yield "no assistant is wired"
    yield left.process


# --- transcripts from before -----------------------------------------------------------------------------------------


def _run_backfill(chosen: CommandContext, kept: Sequence[HostTranscripts], wanted: bool) -> dict[str, Any] | None:
    if not wanted or not kept:
        return None
    from mnemic.cli.hooks.wiring import backfill

    try:
        queued = backfill(chosen.home, chosen.mind, kept, CLOCK, lambda: chosen.open(create=True))
    except MnemicError as error:  # what is wired is wired: it is told beside it
        return {"queued": 0, "known": 0, "error": f"{error} {error.remedy_text}"}
    return {"queued": queued.queued, "known": queued.known, "error": None}


def _install_command(chosen: CommandContext, names: Sequence[str], flags: Sequence[str]) -> str:
    """The command that installs the same once more, and takes transcripts in."""
    from mnemic.runtime.minds.homes import default_home

    words = ["mnemic", "hooks", "install", *(word for name in names for word in ("--assistant", name))]
    words += ["--apply", "--backfill", *flags]
    words += [] if chosen.mind == "default" else ["--mind", chosen.mind]
    return shlex.join(words if chosen.home == default_home(os.environ) else [*words, "--home", str(chosen.home)])


def _backfill_lines(taken: dict[str, Any] | None, again: str) -> Iterator[str]:
    if taken is None:
        yield f"They were not taken in. To do so: {again}"
    elif taken["error"]:
        yield f"they could not be queued: {taken['error']}"
    else:
        known = f", {taken['known']} were taken before" if taken["known"] else ""
        queued = pluralize(taken["queued"], "transcript")
        yield f"{queued} will be taken in, the newest first{known}; `mnemic status` tells"


# --- lines of the wiring ---------------------------------------------------------------------------------------------


def _wiring_view(result: WiringResult) -> dict[str, Any]:
    """What an install or an uninstall did, or would do, as JSON."""
    kept = {
        name: {"files": len(one.paths), "size_bytes": one.size_bytes, "minutes": round(one.minutes, 1)}
        for name, one in result.transcripts.items()
    }
    return {**msgspec.to_builtins(result), "transcripts": kept}


def _wiring_lines(result: WiringResult, home: Path, verb: str) -> Iterator[str]:
    """The same for a person.

    Args:
        verb: ``install`` or ``uninstall``.
    """
    for name, host in result.hosts.items():
        yield from _host_lines(name, host, home, result.applied)
        if host.failed or verb == "install":
            yield from _rights_lines(name, host, result.applied)
        if host.failed:
            yield f"{name}: not {'wired' if verb == 'install' else 'undone'}: {host.failed}"
        yield from (f"{name}: {note}" for note in host.notes)
    yield from (f"{name}: left out: {why}" for name, why in result.left_out.items())
    if not result.hosts:
        yield "no assistant was found" if verb == "install" else "no assistant is wired"
        return
    if result.made:
        did = "made" if result.applied else "would make"
        yield f"{did} the mind that they fill; its key is {result.made}: keep a copy elsewhere"
    if result.executables:
        paths = [Path(path) for path in result.executables]
        did = "put" if result.applied else "would put"
        yield f"{did} into {paths[0].parent}: {', '.join(path.name for path in paths)}"
    changed = any(
        host.allow is not None or file.change != "unchanged" for host in result.hosts.values() for file in host.files
    )
    if not changed and not result.executables:
        if not result.has_failed:
            yield "nothing to do: it is all there already" if verb == "install" else "nothing to do"
    elif not result.applied:
        yield "nothing was written; --apply does it"
    for name, one in result.transcripts.items():
        minutes = f"about {max(1, round(one.minutes))} min" if one.minutes >= 1 else "under a minute"
        files = pluralize(len(one.paths), "transcript") if name != "opencode" else "a database of sessions"
        yield f"{name} has {files} from before: {format_size(one.size_bytes)}, {minutes} in the background"


def _host_lines(name: str, host: HostResult, home: Path, applied: bool) -> Iterator[str]:
    for file in host.files:
        if file.change == "unchanged":
            yield f"{name}: {file.path}: nothing changes"
            continue
        yield f"{name}: {file.path}: {file.change if applied else f'would be {file.change}'}"
        yield from (f"  {line}" for line in (() if applied else file.diff))
        if applied and file.backup:
            yield f"  what was there: {home / 'backups' / file.backup}"


def _rights_lines(name: str, host: HostResult, applied: bool) -> Iterator[str]:
    if host.allow is not None:
        would = "" if applied else " would be"
        yield f"{name}: what it may do by MCP beyond its own project{would}: {' and '.join(host.allow) or 'nothing'}"


def _status_lines(status: HostStatus) -> Iterator[str]:
    """The same for a person."""
    if status.other_home is not None:
        yield f"{status.name}: wired to another home: {status.other_home}"
    elif status.wired:
        good = ", ".join(event for event, state in status.events.items() if state == "wired")
        number = sum(state == "wired" for state in status.events.values())
        yield f"{status.name}: {number} of {len(status.events)} events wired{f' ({good})' if good else ''}"
        if status.missing_parts:
            yield f"  not as they were installed: {', '.join(status.missing_parts)} -> {status.remedy}"
    elif status.wrong:
        yield f"{status.name}: whether it is wired cannot be seen"
    else:
        yield f"{status.name}: not wired{'' if status.here else ', and not here'}"
    if status.allow or (status.wired and status.other_home is None):
        yield f"  what it may do by MCP beyond its own project: {' and '.join(status.allow) or 'nothing'}"
    yield from (f"  wrong: {why}" for why in status.wrong)
    yield from (f"  {note}" for note in status.notes)
    if status.trial == "arrived":
        yield "  a trial event went through its command and reached the store"
    elif status.trial:
        yield f"  wrong: the trial event: {status.trial}"
    if status.asked == "answered":
        yield f"  asked as at a session's start, and answered in {status.asked_ms:.0f} ms"
    elif status.asked:
        yield f"  wrong: asked as at a session's start: {status.asked}"
