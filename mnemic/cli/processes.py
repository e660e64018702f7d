"""The commands `mnemic serve`, `mcp` and `demo`: what goes on until it is told to stop, and the example."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from mnemic.cli.context import CLOCK, CommandContext, cli, common_options
from mnemic.cli.terminal.interrupts import require_stdin
from mnemic.cli.terminal.output import progress_bars
from mnemic.hooks.wire.commands import ASSISTANTS


@cli.command()
@click.option(
    "--engine",
    type=click.Choice(["embedded", "ray"]),
    help="Where the actors run: threads of this process, or processes under Ray.  [default: by runtime.engine]",
)
@click.option("--address", metavar="A", help="A Ray cluster that runs already; else one of this process's own.")
@click.option("--http", metavar="HOST:PORT", help="Listen there too, for whoever shows the token; TLS beyond loopback.")
@click.option("--tls-cert", metavar="FILE", help="The certificate for --http, PEM.")
@click.option("--tls-key", metavar="FILE", help="Its key, PEM.")
@click.option(
    "--token/--no-token",
    default=None,
    help="Whether callers by --http have to show the token (the default); on loopback it may go without.",
)
@click.option("--new-token", is_flag=True, help="Make a new token for --http; the one before is worth nothing then.")
@click.option("--on-demand", is_flag=True, hidden=True)
@click.option("--child", metavar="N,...", hidden=True, help="Descriptors that the parent hands over.")
@common_options
def serve(chosen: CommandContext, **options: Any) -> None:
    """Serve this home to all assistants. It goes on until told to stop (Ctrl-C, SIGTERM).

    Nobody has to: an assistant's `mnemic mcp` starts a process in the background where none runs. This one takes over
    from it.
    """
    from mnemic.serve import ServeOptions, option_error, serve_home

    told = ServeOptions(**options)
    wrong = option_error(told)
    if wrong is not None:
        raise click.UsageError(f"{wrong}.")
    if not told.on_demand:  # who starts one on demand was asked already
        chosen.require_named()
    sys.exit(serve_home(chosen.home, told, CLOCK, say=lambda line: click.echo(line, err=True)))


@cli.command()
@click.option(
    "--assistant",
    type=click.Choice(ASSISTANTS),
    metavar="NAME",
    help="Which assistant it was wired for: it may do what `hooks install --allow` gave that one.",
)
@common_options
def mcp(chosen: CommandContext, assistant: str | None) -> None:
    """Serve the memory to an assistant by MCP. That is over standard input and output, through the home's process."""
    from mnemic.runtime.client.mcp_pipe import Pipe
    from mnemic.runtime.minds.projects import disabled_by_environment

    require_stdin()
    chosen.require_named()
    said = os.fdopen(os.dup(1), "wb", buffering=0)  # a buffer's lock, held by who waits to write, would bar the exit
    os.dup2(2, 1)  # whatever else is printed is no MCP
    off = disabled_by_environment(os.environ)
    Pipe(chosen.home, chosen.mind, chosen.working_folder(), CLOCK, said, off, assistant or "").run(sys.stdin.buffer)


@cli.command()
@click.option("--keep", metavar="DIR", help="The home to work in, a folder that is new or empty; it stays.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def demo(context: click.Context, keep: str | None, as_json: bool) -> None:
    """Show the main job on the example that ships. It works in a home of its own, which is thrown away."""
    from mnemic.cli.start.demo import demo_lines, run_demo, what_next

    if "mnemic.home" in context.meta or "mnemic.mind" in context.meta:
        raise click.UsageError("it works in a home of its own, which --keep names; --home and --mind do not go with it")
    chosen = CommandContext(keep, None, as_json or "mnemic.as_json" in context.meta)
    with progress_bars(chosen.as_json) as progress:
        view, lines = run_demo(progress, None if keep is None else chosen.home)
    chosen.print_answer(view | {"told": lines, "next": what_next(chosen, kept=keep is not None)}, demo_lines)
