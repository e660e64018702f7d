"""The `mnemic` command: capture, recall, status, doctor, serve, mcp, demo, and the entry point.

Heavy modules are imported by the command that needs them, so that `mnemic --help` and a mistyped option cost nothing.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mnemic.actors.protocol.errors import InvalidValue, MnemicError, SourceUnreadable
from mnemic.actors.protocol.events import KINDS
from mnemic.actors.protocol.messages import Recall
from mnemic.cli.context import CLOCK, FOLDER_SCOPE, CommandContext, verb_options
from mnemic.cli.correct import add_correct_commands
from mnemic.cli.forget import add_forget_commands
from mnemic.cli.hooks.commands import add_hook_commands
from mnemic.cli.interrupts import Terminated, install_sigterm_handler, interruptible_stdin, require_stdin
from mnemic.cli.keys import add_key_commands
from mnemic.cli.log import add_see_commands
from mnemic.cli.move import add_move_commands
from mnemic.cli.output import (
    OutputFailed,
    actor_lines,
    format_size,
    hit_lines,
    pluralize,
    print_error,
    process_line,
    progress_bars,
)
from mnemic.cli.pause import add_pause_commands
from mnemic.cli.shape import add_shape_commands
from mnemic.errors import exit_code
from mnemic.runtime.api.reports import unbound_warning as told_unread
from mnemic.runtime.keys.hardening import disable_core_dumps
from mnemic.runtime.version import __version__

if TYPE_CHECKING:
    from mnemic.runtime.api.mind import Mind

__all__ = ["cli", "main"]


def _common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has."""

    def chosen(context: click.Context, home: str | None, mind: str, as_json: bool, **rest: Any) -> Any:
        context.obj = as_json
        return command(CommandContext(home, mind, as_json), **rest)

    chosen.__name__, chosen.__doc__ = command.__name__, command.__doc__
    chosen.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    chosen = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(chosen)
    chosen = click.option("--mind", default="default", show_default=True, metavar="NAME", help="Which memory.")(chosen)
    chosen = click.option(
        "--home", metavar="DIR", help="Folder of all minds; else $MNEMIC_HOME, else the platform's data folder."
    )(chosen)
    return click.pass_context(chosen)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="mnemic")
@click.pass_context
def cli(context: click.Context) -> None:
    """A long-term memory for AI assistants, on your own machine."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command()
@click.argument("sources", nargs=-1, required=True, metavar="FILE|DIR|-...")
@click.option(
    "--format",
    "format_",
    default="auto",
    show_default=True,
    metavar="FORMAT",
    callback=lambda context, option, value: _check_format(value),
    help="auto, claude-code, codex, gemini-cli, opencode, jsonl or text.",
)
@click.option("--scope", metavar="W/P", help="Scope they belong to; else each one's own, or its folder's project.")
@click.option("--no-meaning", is_flag=True, help="Do not wait for the meaning; the next capture adds what is missing.")
@_common_options
def capture(
    chosen: CommandContext, sources: tuple[str, ...], format_: str, scope: str | None, no_meaning: bool
) -> None:
    """Take in transcripts: files, folders of *.jsonl, or - for standard input. Twice is once."""
    from mnemic.actors.protocol.scopes import normalize_scope_path

    started = CLOCK.monotonic_s()
    _require_source(sources)
    if scope is not None:
        normalize_scope_path(scope)  # before a mind is made for it
    stdin = interruptible_stdin() if "-" in sources else nullcontext()
    # Only this command has its standard input, and nobody else is to wait until that ends.
    with stdin, chosen.open(create=True, alone="-" in sources) as mind, progress_bars(chosen.as_json) as progress:
        report = mind.capture(sources, format=format_, scope=scope, embed=not no_meaning, progress=progress)
    took_s = CLOCK.monotonic_s() - started
    view = {name: getattr(report, name) for name in report.__struct_fields__} | {"took_s": round(took_s, 2)}

    def lines() -> Iterator[str]:
        new, files = pluralize(report.new, "new memory", "new memories"), pluralize(report.files, "transcript")
        known = f", {report.known} known already" if report.known else ""
        yield f"{new} from {files}{known}, in {took_s:.1f} s"
        if not report.files and not report.failed:
            yield "no transcript is there: in a folder, only files named *.jsonl are taken for one"
        if report.scopes:
            yield f"scopes: {', '.join(path or '(none)' for path in report.scopes)}"
        if report.left_out:
            yield f"{report.left_out} left out, as the settings say (capture.allow, capture.deny, capture.leave_out)"
        if report.elsewhere:
            where = "known already is in another scope, and stays there"
            yield pluralize(report.elsewhere, where, "known already are in another scope, and stay there")
        if report.retired:
            hidden = "known already was forgotten, and stays so"
            yield pluralize(report.retired, hidden, "known already were forgotten, and stay so")
        if report.erased:
            yield pluralize(report.erased, "was erased, and stays so", "were erased, and stay so")
        if report.files and not (report.new or report.known or report.erased or report.malformed):
            yield "there is nothing in it to remember; if that is wrong, name another --format"
        yield f"the whole mind: {report.embedded + report.pending} found by words, {report.embedded} by meaning too"
        if report.pending and not report.meaning_error:
            yield f"{pluralize(report.pending, 'memory waits', 'memories wait')} for the meaning"
        if report.partly:
            yield f"of {pluralize(report.partly, 'long memory', 'long memories')} only the start is found by meaning"
        if report.meaning_error:
            yield f"no meaning: {report.meaning_error}"
        if report.shape_error:
            yield f"{pluralize(report.unbound, 'memory waits', 'memories wait')} for their shape: {report.shape_error}"
        if report.unread:
            yield told_unread(report.unread)
        if report.differing:
            yield f"{report.differing} had an id that was kept before with another text; the first text stands"
        if report.malformed:
            yield f"{pluralize(report.malformed, 'line')} could not be read:"
            yield from (f"  {path}:{line}: {why}" for path, line, why in report.malformed_lines)
        for path, why in report.failed:
            yield f"not read: {why}" if os.path.abspath(path) in why else f"not read: {path}: {why}"

    chosen.print_answer(view, lines)
    nothing_read = report.malformed and not (report.new or report.known or report.erased)
    if report.failed or nothing_read:
        sys.exit(2)


@cli.command()
@click.argument("query")
@verb_options(
    Recall,
    *("k", "scope", "budget_tokens", "as_of", "since", "until", "session", "kinds"),
    scope=FOLDER_SCOPE,
    kinds={"type": click.Choice(KINDS), "show_default": True},
)
@click.option("--explain", is_flag=True, help="Show what each signal contributes.")
@_common_options
def recall(chosen: CommandContext, query: str, scope: str | None, explain: bool, **asked: Any) -> None:
    """Find the memories that matter."""
    from mnemic.runtime.api.views import recall_view

    started = CLOCK.monotonic_s()
    with chosen.open(create=False, asking=True) as mind:
        scope, found = _resolve_scope(chosen, mind, scope)
        recalled = mind.recall(query, scope=scope, **asked)
        took_ms = 1e3 * (CLOCK.monotonic_s() - started)
        view = recall_view(recalled, strict=False, found=found, took_ms=took_ms, explain=explain)

        def lines() -> Iterator[str]:
            where = "everything" if scope == "*" else scope or "what belongs to no project"
            shown = pluralize(len(view["hits"]), "memory", "memories")
            more = "" if found in ("named", "asked for") or scope == "*" else "; --scope '*' looks through everything"
            yield f"{shown} of {recalled.searched} in {where} ({found}{more}), {took_ms:.0f} ms"
            for number, hit in enumerate(view["hits"], start=1):
                yield from hit_lines(number, hit)
            if recalled.left_out:
                yield f"{recalled.left_out} more did not fit into the budget"
            yield from (f"degraded: {line}" for line in recalled.degraded)

        chosen.print_answer(
            view, lines
        )  # before the mind is closed, which may have to wait for another process's writing


@cli.command()
@_common_options
def status(chosen: CommandContext) -> None:
    """What is there, and what is degraded."""
    if chosen.is_locked():
        from mnemic.cli.locked_status import locked_status

        said = locked_status(chosen.home, chosen.mind, CLOCK)
        chosen.print_answer(said[0], lambda: iter(said[1]))
        return
    from mnemic.cli.log_lines import usage_lines

    with chosen.open(create=False, asking=True) as mind:
        status = mind.status()
        view = msgspec.to_builtins(status)

    def lines() -> Iterator[str]:
        counts = view["counts"]
        actor_system, process = view["actor_system"], view["process"]
        yield f"mind {view['mind']!r} in {view['home']}, Mnemic {view['version']}"
        yield (
            process_line(process)
            if process
            else f"no process serves it: this command worked alone, {actor_system['engine']}"
        )
        if status.paused is not None:
            yield f"PAUSED: {status.paused['told']}"
        memories, sessions = (
            pluralize(counts["memories"], "memory", "memories"),
            pluralize(counts["sessions"], "session"),
        )
        yield f"{memories} in {sessions}, {counts['embedded']} found by meaning, {counts['bound']} by shape"
        held = [f"{counts[name]} {what}" for name, what in (("headless", "headless"), ("subagents", "of subagents"))]
        if counts["headless"] or counts["subagents"]:
            yield f"of the sessions {', '.join(held)}"
        if counts["retired"]:
            yield f"{counts['retired']} of them forgotten: kept, and not found"
        kept, on_disk = format_size(counts["kept_bytes"]), format_size(view["store_bytes"])
        yield f"texts {format_size(counts['text_bytes'])}, kept as {kept}; on disk {on_disk}"
        yield from usage_lines(view["use"], {scope["path"]: scope["found"] for scope in counts["scopes"]})
        yield f"kinds: {', '.join(f'{kind} {count}' for kind, count in counts['kinds'].items()) or 'none yet'}"
        yield f"embedded by {view['encoder'] or 'nobody'}, vectors compared by {counts['scan']}"
        yield from status.capture.lines()
        yield from actor_lines(actor_system)
        yield from (f"degraded: {line}" for line in view["degraded"] or ["nothing"])

    chosen.print_answer(view, lines)


@cli.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended without losing anything.")
@_common_options
def doctor(chosen: CommandContext, repair: bool) -> None:
    """Look for what is wrong, and say what to do."""
    from mnemic.cli.doctor import run_doctor

    keys = chosen.prompt_for_keys()
    with progress_bars(chosen.as_json) as progress:
        findings = run_doctor(
            chosen.home,
            chosen.mind,
            CLOCK,
            os.environ,
            mend=repair,
            opened=lambda: chosen.open(create=False),
            progress=progress,
            keys=keys,
        )
    chosen.print_answer(findings.view(), findings.lines)
    if findings.has_problems:
        sys.exit(1)


@cli.command()
@click.option(
    "--engine",
    type=click.Choice(["ray", "embedded"]),
    default="ray",
    show_default=True,
    help="Where the actors run: processes under Ray, or threads of this process.",
)
@click.option("--address", metavar="A", help="A Ray cluster that runs already; else one of this process's own.")
@click.option("--http", metavar="HOST:PORT", help="Listen there too; beyond loopback a token and TLS are demanded.")
@click.option("--tls-cert", metavar="FILE", help="The certificate for --http, PEM.")
@click.option("--tls-key", metavar="FILE", help="Its key, PEM.")
@click.option("--token", is_flag=True, help="Demand the token of callers on loopback too.")
@click.option("--new-token", is_flag=True, help="Make a new token for --http, and print it this once.")
@click.option("--on-demand", is_flag=True, hidden=True)
@click.option("--child", metavar="N,...", hidden=True, help="Descriptors that the parent hands over.")
@_common_options
def serve(chosen: CommandContext, **options: Any) -> None:
    """Serve this home to all assistants until told to stop (Ctrl-C, SIGTERM).

    Nobody has to: an assistant's `mnemic mcp` starts a process in the background where none runs. This one takes over
    from it, on the engine you name.
    """
    from mnemic.runtime.serve.options import ServeOptions
    from mnemic.serve import option_error, serve_home

    told = ServeOptions(**options)
    wrong = option_error(told)
    if wrong is not None:
        raise click.UsageError(f"{wrong}.")
    sys.exit(serve_home(chosen.home, told, CLOCK, say=lambda line: click.echo(line, err=True)))


@cli.command()
@_common_options
def mcp(chosen: CommandContext) -> None:
    """Serve the memory to an assistant: MCP over standard input and output, by way of the home's process."""
    from mnemic.runtime.client.mcp_pipe import Pipe
    from mnemic.runtime.minds.projects import disabled_by_environment

    require_stdin()
    said = os.fdopen(os.dup(1), "wb", buffering=0)  # a buffer's lock, held by who waits to write, would bar the exit
    os.dup2(2, 1)  # whatever else is printed is no MCP
    Pipe(chosen.home, chosen.mind, chosen.working_folder(), CLOCK, said, disabled_by_environment(os.environ)).run(
        sys.stdin.buffer
    )


@cli.command()
@_common_options
def demo(chosen: CommandContext) -> None:
    """The main job on the example conversation that ships, in a throw-away home."""
    from mnemic.cli.demo import run_demo

    with progress_bars(chosen.as_json) as progress:
        view, lines = run_demo(progress)
    chosen.print_answer(view, lambda: iter(lines))


for add_commands in (
    add_see_commands,
    add_correct_commands,
    add_forget_commands,
    add_pause_commands,
    add_move_commands,
    add_key_commands,
    add_hook_commands,
):
    add_commands(cli, _common_options, CLOCK)
add_shape_commands(cli, _common_options, CLOCK, lambda chosen, mind, named: _resolve_scope(chosen, mind, named))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every error ends as one sentence, a remedy and an exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    os.umask(0o077)
    disable_core_dumps()
    # One thread: two are a quarter faster on an idle machine and five times slower on a busy one, where their barriers
    # spin; it must be set before NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a lone surrogate, or a locale without the letter
    install_sigterm_handler()
    as_json = "--json" in given
    try:
        cli.main(given, prog_name="mnemic", standalone_mode=False)
    except MnemicError as error:
        from mnemic.runtime.api.views import error_view

        print_error(error_view(error), as_json and not isinstance(error, OutputFailed))
        sys.exit(exit_code(error))
    except (click.Abort, Terminated) as error:
        what = "Terminated" if isinstance(error, Terminated) else "Interrupted"
        sentence = f"{what}: what was acknowledged is kept."
        print_error({"code": what.lower(), "error": sentence, "remedy": "Run it again to go on."}, as_json)
        sys.exit(128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT))
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "mnemic"
        remedy = f"Try '{command} --help'."
        sentence = error.format_message()
        sentence += "" if sentence.endswith((".", "?", "!")) else "."
        print_error({"code": "usage", "error": sentence, "remedy": remedy}, as_json)
        sys.exit(2)


def _check_format(name: str) -> str:
    from mnemic.hooks.read.formats import FORMATS

    if name not in FORMATS:
        raise InvalidValue(
            name="--format", value=name, why="there is no such format", expected=f"one of {', '.join(FORMATS)}"
        )
    return name


def _resolve_scope(chosen: CommandContext, mind: Mind, named: str | None) -> tuple[str, str]:
    """The scope to look through and how it was found."""
    from mnemic.actors.protocol.scopes import normalize_scope_path

    if named is not None:
        return ("*", "asked for") if named == "*" else (normalize_scope_path(named), "named")
    path, place = mind.folder_scope(chosen.working_folder())
    if path is None:
        return "*", "this folder's project is not known here"
    return path, place.found


def _require_source(sources: Sequence[str]) -> None:
    """Refuse sources of which none is there, before a mind is made for them."""
    from mnemic.hooks.hosts.opencode.transcript import parse_database_path

    if any(source == "-" or os.path.exists(source) or parse_database_path(source) for source in sources):
        return
    missing: dict[str, str] = {}
    for source in sources:
        try:
            os.stat(source)
        except OSError as error:
            missing[source] = error.strerror or type(error).__name__
    if missing:
        raise SourceUnreadable(path=", ".join(missing), why="; ".join(dict.fromkeys(missing.values())))
