"""The command `mnemic help`: what a command takes, as its ``--help`` says it."""

from __future__ import annotations

import click

from mnemic.cli.context import cli
from mnemic.cli.start.subjects import SUBJECTS
from mnemic.cli.terminal.completing import complete_names

_NAMES = complete_names([name for names in SUBJECTS.values() for name in names])


@cli.command("help")
@click.argument("command", nargs=-1, metavar="[COMMAND...]", shell_complete=_NAMES)
@click.pass_context
def help_(context: click.Context, command: tuple[str, ...]) -> None:
    """Say what a command takes; without one, list all."""
    asked: click.Command = cli
    parent = context.parent
    for name in command:
        found = asked.get_command(context, name) if isinstance(asked, click.Group) else None
        if found is None:
            raise click.UsageError(f"there is no command {' '.join(command)!r}: `mnemic help` lists all")
        asked, parent = found, click.Context(found, parent=parent, info_name=name)
    assert parent is not None  # the group that this command is of
    click.echo(asked.get_help(parent))
