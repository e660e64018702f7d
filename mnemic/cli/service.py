"""The commands `mnemic service install|uninstall|status`: the home's process as a service of systemd or launchd."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from mnemic.cli.context import CommandContext, cli, common_options, exit_where_failed, group_options
from mnemic.cli.hooks.commands import APPLY, DIFF
from mnemic.cli.hooks.lines import diff_style, short_path
from mnemic.cli.terminal.output import Line, columns


@cli.group(
    epilog="Each takes --home, --mind and --json; see `mnemic service COMMAND --help`.", invoke_without_command=True
)
@group_options
def service(context: click.Context) -> None:
    """Have systemd or launchd start the home's process. It is started again where it fails; a home has one service."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@service.command()
@APPLY
@DIFF
@common_options
def install(chosen: CommandContext, write: bool, shows_diff: bool) -> None:
    """Install the service. Shows what is written and run; --apply does it."""
    from mnemic.runtime.serve.service import install_service

    chosen.require_named()
    done = install_service(chosen.home, os.environ, write=write)
    view = {"home": str(chosen.home), **msgspec.to_builtins(done), "shows_diff": shows_diff}
    chosen.print_answer(view, service_lines)
    exit_where_failed(bool(done.error), done=True)


@service.command()
@APPLY
@DIFF
@common_options
def uninstall(chosen: CommandContext, write: bool, shows_diff: bool) -> None:
    """Stop the service, and remove it. Shows what goes; --apply does it."""
    from mnemic.runtime.serve.service import remove_service

    done = remove_service(chosen.home, os.environ, write=write)
    view = {"home": str(chosen.home), "shows_diff": shows_diff, "files": []}
    chosen.print_answer(view | (msgspec.to_builtins(done) if done is not None else {}), service_lines)
    exit_where_failed(done is not None and bool(done.error), done=True)


@service.command()
@common_options
def status(chosen: CommandContext) -> None:
    """How the service is. Says, too, whether it is what this version of Mnemic writes."""
    from mnemic.runtime.serve.service import service_status

    seen = service_status(chosen.home, os.environ)
    chosen.print_answer({"home": str(chosen.home), **msgspec.to_builtins(seen)}, status_lines)
    exit_where_failed(any(one.state == "wrong" for one in seen.problems), done=True)


def service_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What installing or removing a service does, or did."""
    if not view["files"]:
        yield "no service is installed for this home"
        return
    would, applied = "" if view["applied"] else "would be ", view["applied"]
    for file in view["files"]:
        what = f"{would}{ {'made': 'written', 'changed': 'written anew'}.get(file['change'], file['change']) }"
        what = what if file["change"] != "unchanged" else "nothing changes"
        yield [(short_path(file["path"], columns() - len(what) - 2), "cyan"), (f": {what}", "")]
        if view["shows_diff"]:
            old, new = (file[when].splitlines() for when in ("before", "after"))
            lines = difflib.unified_diff(old, new, file["path"], file["path"], lineterm="")
            yield from ([(f"  {line}", diff_style(line))] for line in lines)
    if view["error"]:
        yield [("not run: ", "red"), (f"{view['error']}; run this once {view['manager']} answers:", "")]
    elif view["commands"]:
        yield "was run:" if applied else "would be run:"
    yield from ([(f"  {command}", "cyan")] for command in view["commands"])
    changes = view["commands"] or any(file["change"] != "unchanged" for file in view["files"])
    if not changes:
        yield "nothing to do: it is all there already"
    elif not applied:
        yield f"nothing was written; --apply does it{'' if view['shows_diff'] else '; --diff shows every line of it'}"


def status_lines(view: dict[str, Any]) -> Iterator[Line]:
    """How a service is."""
    for path, state in view["files"].items():
        if view["installed"] or state == "not Mnemic's":
            style = "green" if state == "as written" else "yellow"
            yield [(short_path(path, columns() - len(state) - 2), "cyan"), (f": {state}", style)]
    if not view["installed"]:
        yield "no service is installed for this home; `mnemic service install` shows what one is"
    elif view["state"] == "active":
        yield [(f"{view['manager']} has it", "green"), (f", and it starts {view['program']}", "")]
    serves = f"process {view['process']} serves the home" if view["process"] else "no process serves the home just now"
    yield from [serves] if view["installed"] else []
    for one in view["problems"]:
        style = "red" if one["state"] == "wrong" else "yellow"
        yield [(f"{one['state']}: ", style), (f"{one['detail']} -> {one['remedy']}", "")]
