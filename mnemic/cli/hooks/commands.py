"""The commands `mnemic hooks install|uninstall|status` and `mnemic uninstall`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.protocol.errors import MnemicError
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options
from mnemic.runtime.api.reports import format_size, pluralize

if TYPE_CHECKING:
    from mnemic.cli.hooks.uninstall import UninstallResult
    from mnemic.hooks.wire.host import HostTranscripts


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
@click.pass_context
def hooks(context: click.Context) -> None:
    """Wire assistants, so that they remember by themselves: their hooks, MCP, and a word in their instructions."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@hooks.command()
@_assistant("Which to wire; may be given again. all: those that are here.")
@click.option("--apply", "write", is_flag=True, help="Write it; without, it is only shown.")
@click.option("--recall-prompts", is_flag=True, help="Give memories with prompts too, not only at a session's start.")
@click.option(
    "--backfill/--no-backfill", default=None, help="Take in, or not, the transcripts from before; else asked."
)
@common_options
def install(
    chosen: CommandContext, assistants: tuple[str, ...], write: bool, recall_prompts: bool, backfill: bool | None
) -> None:
    """Wire assistants. Shows what changes; --apply writes it, and keeps what was there."""
    from mnemic.cli.hooks.lines import wiring_lines, wiring_view
    from mnemic.cli.hooks.wiring import install

    wired = install(
        chosen.home,
        assistants,
        os.environ,
        CLOCK,
        mind=chosen.mind,
        recall_prompts=recall_prompts,
        write=write,
    )
    if chosen.as_json:
        taken = _run_backfill(chosen, [*wired.transcripts.values()], write and backfill is True)
        chosen.print_answer(wiring_view(wired) | {"backfill": taken}, lambda: iter(()))
    else:
        chosen.print_answer({}, lambda: wiring_lines(wired, chosen.home, "install"))
        if write and wired.transcripts:
            if backfill is None and sys.stdin.isatty():
                backfill = _confirmed("Take them in now, in the background, the newest first?", default=True)
            taken = _run_backfill(chosen, [*wired.transcripts.values()], backfill is True)
            again = _install_command(chosen, [*wired.transcripts], recall_prompts)
            chosen.print_answer({}, lambda: _backfill_lines(taken, again))
    if wired.has_failed:
        sys.exit(2)


@hooks.command()
@_assistant("Which to unwire; may be given again.", default=("all",))
@click.option("--apply", "write", is_flag=True, help="Write it; without, it is only shown.")
@common_options
def uninstall(chosen: CommandContext, assistants: tuple[str, ...], write: bool) -> None:
    """Unwire assistants: their files as they were, or without what is Mnemic's where others wrote to them since."""
    from mnemic.cli.hooks.lines import wiring_lines, wiring_view
    from mnemic.cli.hooks.wiring import uninstall

    wired = uninstall(chosen.home, assistants, os.environ, CLOCK, write=write)
    chosen.print_answer(wiring_view(wired), lambda: wiring_lines(wired, chosen.home, "uninstall"))
    if wired.has_failed:
        sys.exit(2)


@hooks.command()
@_assistant("Which to look at; may be given again.", default=("all",))
@click.option("--no-trial", is_flag=True, help="Only look; fire no trial event.")
@common_options
def status(chosen: CommandContext, assistants: tuple[str, ...], no_trial: bool) -> None:
    """How assistants are wired; trials through each one's own commands prove that it works."""
    from mnemic.cli.hooks.lines import status_lines
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
            yield from status_lines(one)
        if any(one.wired for one in found):
            yield f"executable: {executable.detail}{f' -> {executable.remedy}' if executable.remedy else ''}"

    chosen.print_answer(view, lines)
    if not all(one.is_healthy for one in found):
        sys.exit(1)


@cli.command("uninstall")
@click.option("--erase-data", is_flag=True, help="Remove the home's data too, for good: minds, keys, backups.")
@click.option(
    "--yes",
    is_flag=True,
    help="Do it without asking, --erase-data too; without, and without a terminal, it is only shown.",
)
@common_options
def leave(chosen: CommandContext, erase_data: bool, yes: bool) -> None:
    """Undo every assistant's wiring, stop the process, remove the executables, and list what remains."""
    _uninstall_all(chosen, erase_data, yes)


# --- leaving ---------------------------------------------------------------------------------------------------------


def _uninstall_all(chosen: CommandContext, erase: bool, yes: bool) -> None:
    from mnemic.cli.hooks.uninstall import (
        erase_data,
        foreign_files,
        remaining_files,
        require_home,
        uninstall_home,
        uninstall_view,
    )

    asks = not yes and sys.stdin.isatty() and not chosen.as_json
    home = chosen.home.absolute()

    def say(*lines: str) -> None:
        chosen.print_answer({}, lambda: iter(lines))

    def remains() -> list[str]:
        return [f"  {path} ({format_size(size)})" for path, size in remaining_files(home)]

    if erase:
        require_home(home)
    planned = uninstall_home(home, os.environ, CLOCK, write=False)
    if not yes:
        if chosen.as_json:
            view = {"applied": False, "erased": [], "stays": []} | uninstall_view(planned, home)
            chosen.print_answer(view, lambda: iter(()))
            return
        say(*_uninstall_lines(planned, home), *(["--erase-data would remove, for good:", *remains()] if erase else []))
        if not asks:
            say("nothing was done; --yes does it")
            return
        wanted = _confirmed("Do it?", default=False)
        if not wanted:
            say("nothing was done" if wanted is False else "nobody answered: nothing was done")
            return
        warning = "There is no way back. Type ERASE to remove the data too"
        if erase and _answer(lambda: click.prompt(warning, default="")) != "ERASE":
            erase = False
            say("the data stays")
    left = uninstall_home(home, os.environ, CLOCK, write=True)
    erases = erase and not left.wiring.has_failed
    gone = erase_data(home) if erases else []
    still = foreign_files(home) if erases else []
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

    chosen.print_answer({"applied": True, **told} | uninstall_view(left, home), lines)
    if left.wiring.has_failed:
        sys.exit(2)


def _uninstall_lines(left: UninstallResult, home: Path) -> Iterator[str]:
    yield f"Uninstalling from the home {home}"
    for name, host in left.wiring.hosts.items():
        for file in host.files:
            if file.change != "unchanged":
                yield f"{name}: {file.path}: {'' if left.wiring.applied else 'would be '}{file.change}"
        if host.failed:
            yield f"{name}: not undone: {host.failed}"
    if not left.wiring.hosts:
        yield "no assistant is wired"
    yield left.process


# --- questions -------------------------------------------------------------------------------------------------------


def _confirmed(question: str, *, default: bool) -> bool | None:
    """The answer to a question; ``None`` where the input ended instead."""
    answer: bool | None = _answer(lambda: click.confirm(question, default=default))
    return answer


def _answer(asks: Callable[[], Any]) -> Any:
    """What is answered; ``None`` where the input ended. Ctrl-C ends the command."""
    try:
        return asks()
    except click.Abort as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            raise
        click.echo()
        return None


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


def _install_command(chosen: CommandContext, names: Sequence[str], recall_prompts: bool) -> str:
    """The command that installs the same once more, and takes transcripts in."""
    from mnemic.runtime.files.paths import default_home

    words = ["mnemic", "hooks", "install", *(word for name in names for word in ("--assistant", name))]
    words += ["--apply", "--backfill", *(["--recall-prompts"] if recall_prompts else [])]
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
