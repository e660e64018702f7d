"""The commands that wire assistants: `mnemic hooks install|uninstall|status` and `mnemic uninstall`.

They read arguments, ask the person in front of the terminal, and print; `mnemic.wiring` and `mnemic.leaving` do it.
`mnemic.cli` above adds them to the others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.errors import MnemicError
from mnemic.terminal import counted, sized

if TYPE_CHECKING:
    from mnemic.actors.contract import Clock
    from mnemic.cli import Chosen
    from mnemic.hooks.backfill import Kept
    from mnemic.wiring import Wired

__all__ = ["add_hook_commands"]

_KNOWN = "claude-code, codex, gemini-cli, cursor, opencode or all"

Options = Callable[[Callable[..., Any]], Callable[..., Any]]


def add_hook_commands(cli: click.Group, options: Options, clock: Clock) -> None:
    """Add the commands to the command line.

    Args:
        options: gives a command the options that every command has.
    """

    @cli.group(epilog="Each takes --home, --mind and --json; see `mnemic hooks COMMAND --help`.")
    def hooks() -> None:
        """Wire assistants, so that they remember by themselves: their hooks, MCP, and a word in their instructions."""

    @hooks.command()
    @_assistant("Which to wire; may be given again. all: those that are here.")
    @click.option("--apply", "write", is_flag=True, help="Write it; without, it is only shown.")
    @click.option(
        "--recall-prompts", is_flag=True, help="Give memories with prompts too, not only at a session's start."
    )
    @click.option(
        "--backfill/--no-backfill", default=None, help="Take in, or not, the transcripts from before; else asked."
    )
    @options
    def install(
        chosen: Chosen, assistants: tuple[str, ...], write: bool, recall_prompts: bool, backfill: bool | None
    ) -> None:
        """Wire assistants. Shows what changes; --apply writes it, and keeps what was there."""
        from mnemic.wiring import install
        from mnemic.wiring_lines import wired_lines, wired_view

        wired = install(
            chosen.home,
            assistants,
            os.environ,
            clock,
            mind=chosen.mind,
            recall_prompts=recall_prompts,
            write=write,
        )
        if chosen.as_json:
            taken = _backfilled(chosen, wired.kept, clock, write and backfill is True)
            chosen.say(wired_view(wired, write) | {"backfill": taken}, lambda: iter(()))
            return
        chosen.say({}, lambda: wired_lines(wired, write, chosen.home, "install"))
        if not write or not wired.kept:
            return
        if backfill is None and sys.stdin.isatty():
            backfill = click.confirm("Take them in now, in the background, the newest first?", default=True)
        taken = _backfilled(chosen, wired.kept, clock, backfill is True)
        chosen.say({}, lambda: _backfill_lines(taken, backfill))

    @hooks.command()
    @_assistant("Which to unwire; may be given again.", default=("all",))
    @click.option("--apply", "write", is_flag=True, help="Write it; without, it is only shown.")
    @options
    def uninstall(chosen: Chosen, assistants: tuple[str, ...], write: bool) -> None:
        """Unwire assistants: their files as they were, or without what is Mnemic's where others wrote to them since."""
        from mnemic.wiring import uninstall
        from mnemic.wiring_lines import wired_lines, wired_view

        wired = uninstall(chosen.home, assistants, os.environ, clock, write=write)
        chosen.say(wired_view(wired, write), lambda: wired_lines(wired, write, chosen.home, "uninstall"))
        if any(one.failed for one in wired.hosts):
            sys.exit(2)

    @hooks.command()
    @_assistant("Which to look at; may be given again.", default=("all",))
    @click.option("--no-trial", is_flag=True, help="Only look; fire no trial event.")
    @options
    def status(chosen: Chosen, assistants: tuple[str, ...], no_trial: bool) -> None:
        """How assistants are wired; a trial event through each one's own command proves that it reaches the store."""
        from mnemic.hooks.examine_hooks import executable_state
        from mnemic.wiring import statuses
        from mnemic.wiring_lines import status_lines, status_view

        def opened(mind: str) -> Any:
            return type(chosen)(str(chosen.home), mind, chosen.as_json).open(create=False)

        found = statuses(chosen.home, assistants, os.environ, clock, opened, trial=not no_trial)
        executable = executable_state(chosen.home)
        view = {
            "executable": {"state": executable.state, "detail": executable.detail},
            "hosts": {one.name: status_view(one) for one in found},
        }

        def lines() -> Iterator[str]:
            for one in found:
                yield from status_lines(one)
            if any(one.wired for one in found):
                yield f"executable: {executable.detail}{f' -> {executable.remedy}' if executable.remedy else ''}"

        chosen.say(view, lines)
        if any(one.wired and (one.wrong or one.lacking or one.trial not in ("", "arrived")) for one in found):
            sys.exit(1)

    @cli.command("uninstall")
    @click.option("--erase-data", is_flag=True, help="Remove the home's data too, for good: minds, keys, backups.")
    @click.option(
        "--yes", is_flag=True, help="Do it without asking; without, and without a terminal, it is only shown."
    )
    @options
    def leave(chosen: Chosen, erase_data: bool, yes: bool) -> None:
        """Undo every assistant's wiring, stop the process, remove the executables, and list what remains."""
        _leave(chosen, clock, erase_data, yes)


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


# --- leaving ---------------------------------------------------------------------------------------------------------


def _leave(chosen: Chosen, clock: Clock, erase: bool, yes: bool) -> None:
    from mnemic.leaving import erase_data, leave, left_view, remains

    asks = not yes and sys.stdin.isatty() and not chosen.as_json
    home = chosen.home.absolute()

    def erased() -> Iterator[str]:
        for path, size in remains(home):
            yield f"  {path} ({sized(size)})"

    planned = leave(home, os.environ, clock, write=False)
    if not yes:
        if chosen.as_json:
            chosen.say({"applied": False, "erased": []} | left_view(planned, home), lambda: iter(()))
            return
        chosen.say({}, lambda: _left_lines(planned.wired, planned.process, home, write=False))
        if erase:
            chosen.say({}, lambda: iter(["--erase-data would remove, for good:", *erased()]))
        if not asks:
            chosen.say({}, lambda: iter(["nothing was done; --yes does it"]))
            return
        if not click.confirm("Do it?", default=False):
            return
        if erase and click.prompt("There is no way back. Type ERASE to remove the data too", default="") != "ERASE":
            erase = False
            chosen.say({}, lambda: iter(["the data stays"]))
    left = leave(home, os.environ, clock, write=True)
    gone = erase_data(home) if erase and not any(one.failed for one in left.wired.hosts) else []
    view = {"applied": True, "erased": [str(path) for path in gone]} | left_view(left, home)

    def lines() -> Iterator[str]:
        yield from _left_lines(left.wired, left.process, home, write=True)
        yield from (f"removed {path}" for path in (*left.removed, *gone))
        still = list(erased())
        if still:
            yield "what remains is yours:"
            yield from still
        if erase and not gone:
            yield "the data was not erased: see to the assistants above first"

    chosen.say(view, lines)
    if any(one.failed for one in left.wired.hosts):
        sys.exit(2)


def _left_lines(wired: Wired, process: str, home: Path, *, write: bool) -> Iterator[str]:
    yield f"{'left' if write else 'would leave'} {home}"
    for host in wired.hosts:
        for change in host.changes:
            if change.what != "unchanged":
                yield f"{host.name}: {change.path}: {change.what}"
        if host.failed:
            yield f"{host.name}: {host.failed}"
    if not wired.hosts:
        yield "no assistant is wired"
    yield process


# --- transcripts from before -----------------------------------------------------------------------------------------


def _backfilled(chosen: Chosen, kept: Sequence[Kept], clock: Clock, wanted: bool) -> dict[str, Any] | None:
    if not wanted or not kept:
        return None
    from mnemic.wiring import backfill

    try:
        queued = backfill(chosen.home, kept, clock, lambda: chosen.open(create=True))
    except MnemicError as error:  # what is wired is wired: it is told beside it
        return {"queued": 0, "known": 0, "error": f"{error} {error.remedy_text}"}
    return {"queued": queued.queued, "known": queued.known, "error": None}


def _backfill_lines(taken: dict[str, Any] | None, asked: bool | None) -> Iterator[str]:
    if taken is None:
        yield (
            "they were left alone; --apply --backfill takes them in"
            if asked is False
            else "they wait: mnemic hooks install --assistant all --apply --backfill takes them in"
        )
    elif taken["error"]:
        yield f"they could not be queued: {taken['error']}"
    else:
        known = f", {taken['known']} were taken before" if taken["known"] else ""
        queued = counted(taken["queued"], "transcript")
        yield f"{queued} will be taken in, the newest first{known}; `mnemic status` tells"
