"""The command line: reads arguments, calls the verbs of a mind, prints what they answer. It decides nothing.

Heavy modules are imported by the command that needs them, so that `mnemic --help` and a mistyped option cost nothing.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mnemic import __version__
from mnemic.actors.errors import InvalidValue, MnemicError, SourceUnreadable, WrongPassphrase, WrongRecoveryKey
from mnemic.actors.events import DEFAULT_KINDS, KINDS
from mnemic.actors.times import parse_time
from mnemic.correct_cli import add_correct_commands
from mnemic.errors import exit_code
from mnemic.forget_cli import add_forget_commands
from mnemic.hooks_cli import add_hook_commands
from mnemic.interrupts import Terminated, breakable_stdin, heed_sigterm, need_stdin
from mnemic.key_cli import add_key_commands
from mnemic.move_cli import add_move_commands
from mnemic.pause_cli import add_pause_commands
from mnemic.reports import unread as told_unread
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.hardening import leave_no_core
from mnemic.runtime.logs import log_to
from mnemic.see_cli import add_see_commands
from mnemic.shape_cli import add_shape_commands
from mnemic.terminal import (
    OutputFailed,
    actor_lines,
    at_terminal,
    counted,
    hit_lines,
    print_error,
    print_lines,
    process_line,
    progress_bars,
    sized,
    written,
)

if TYPE_CHECKING:
    from mnemic.mind import Mind
    from mnemic.runtime.keys import Keys

__all__ = ["cli", "main"]

_CLOCK = SystemClock()
_CATCH_UP_S = 3.0  # some thousand records


class Chosen:
    """Where a command works and how it prints."""

    def __init__(self, home: str | None, mind: str, as_json: bool) -> None:
        from mnemic.runtime.paths import default_home, expanded

        # $MNEMIC_HOME too: an assistant's settings give it as it stands there, and no shell has seen its ~.
        self.home = expanded(Path(home) if home else default_home(os.environ))
        self.mind = mind
        self.as_json = as_json

    @contextmanager
    def open(self, *, create: bool, alone: bool = False, asking: bool = False, whole: bool = False) -> Iterator[Mind]:
        """The mind, by way of the home's process where it runs, else opened here; let go of at the end.

        Args:
            alone: whether to open it here in any case.
            asking: whether to take in first what hooks kept, as far as that takes no longer than a moment; a process
                does so by itself.
            whole: whether it takes the keys of a mind, which no process gives out: where there is no terminal, the
                passphrase of one that is locked is a line of standard input.
        """
        from mnemic.key_cli import said_line
        from mnemic.locking import opened
        from mnemic.mind import Mind

        if os.environ.get("MNEMIC_INSTRUCTIONS"):  # a process that serves has its own, and says nothing of it
            from mnemic.runtime.settings import check_instructions

            check_instructions()
        if not alone:
            served = Mind.served(self.home, self.mind, _CLOCK, create=create)
            if served is not None and not ((whole or at_terminal()) and served.is_locked()):
                if whole:
                    served.said_by(said_line)
                with served:
                    yield served
                return
        opens = partial(Mind.open, self.home, self.mind, create=create)
        with (
            log_to(self.home / "mnemic.log"),
            opened(lambda said: opens(passphrase=said), self.mind, said_line if whole else None) as mind,
        ):
            if asking:
                until_s = _CLOCK.monotonic_s() + _CATCH_UP_S
                mind.catch_up(lambda: _CLOCK.monotonic_s() < until_s)
            yield mind

    def folder(self) -> str:
        """The folder the command was given in.

        Raises:
            InvalidValue: it was removed.
        """
        try:
            return os.getcwd()
        except FileNotFoundError:
            expected = "--scope, or go to a folder that is there"
            raise InvalidValue(name="the working folder", value=".", why="it was removed", expected=expected) from None

    def keys_if_said(self) -> Keys | None:
        """The keys of a mind that is locked, where whoever sits at the terminal says its passphrase."""
        from mnemic.locking import keys_for
        from mnemic.runtime.homes import locked_mind

        if not at_terminal() or not locked_mind(self.home, self.mind):
            return None
        try:
            return keys_for(self.home, self.mind)[1]
        except (WrongPassphrase, WrongRecoveryKey):  # each was answered, and the doctor looks at the rest
            return None

    def locked(self) -> bool:
        """Whether nothing can be asked of the mind before somebody says its passphrase."""
        from mnemic.locking import is_unlocked
        from mnemic.runtime.homes import locked_mind

        return locked_mind(self.home, self.mind) and not is_unlocked(self.home, self.mind, _CLOCK)

    def say(self, view: Any, lines: Callable[[], Iterator[str]]) -> None:
        """Print an answer: as JSON, or as lines for a person."""
        print_lines([json.dumps(view)] if self.as_json else map(written, lines()))

    def say_each(self, views: Iterable[Any], lines: Callable[[], Iterator[str]]) -> None:
        """Print entries: as JSON, one object a line, or as lines for a person."""
        print_lines(map(json.dumps, views) if self.as_json else map(written, lines()))


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has."""

    def chosen(context: click.Context, home: str | None, mind: str, as_json: bool, **rest: Any) -> Any:
        context.obj = as_json
        return command(Chosen(home, mind, as_json), **rest)

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
    callback=lambda context, option, value: _known_format(value),
    help="auto, claude-code, codex, gemini-cli, opencode, jsonl or text.",
)
@click.option("--scope", metavar="W/P", help="Scope they belong to; else each one's own, or its folder's project.")
@click.option("--no-meaning", is_flag=True, help="Do not wait for the meaning; the next capture adds what is missing.")
@_options
def capture(chosen: Chosen, sources: tuple[str, ...], format_: str, scope: str | None, no_meaning: bool) -> None:
    """Take in transcripts: files, folders of *.jsonl, or - for standard input. Twice is once."""
    from mnemic.runtime.projects import clean_scope

    started = _CLOCK.monotonic_s()
    _need_one(sources)
    if scope is not None:
        clean_scope(scope)  # before a mind is made for it
    stdin = breakable_stdin() if "-" in sources else nullcontext()
    # Only this command has its standard input, and nobody else is to wait until that ends.
    with stdin, chosen.open(create=True, alone="-" in sources) as mind, progress_bars(chosen.as_json) as progress:
        report = mind.capture(sources, format=format_, scope=scope, embed=not no_meaning, progress=progress)
    took_s = _CLOCK.monotonic_s() - started
    view = {name: getattr(report, name) for name in report.__struct_fields__} | {"took_s": round(took_s, 2)}

    def lines() -> Iterator[str]:
        new, files = counted(report.new, "new memory", "new memories"), counted(report.files, "transcript")
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
            yield counted(report.elsewhere, where, "known already are in another scope, and stay there")
        if report.retired:
            hidden = "known already was forgotten, and stays so"
            yield counted(report.retired, hidden, "known already were forgotten, and stay so")
        if report.erased:
            yield counted(report.erased, "was erased, and stays so", "were erased, and stay so")
        if report.files and not (report.new or report.known or report.erased or report.malformed):
            yield "there is nothing in it to remember; if that is wrong, name another --format"
        yield f"the whole mind: {report.embedded + report.pending} found by words, {report.embedded} by meaning too"
        if report.pending and not report.meaning_error:
            yield f"{counted(report.pending, 'memory waits', 'memories wait')} for the meaning"
        if report.partly:
            yield f"of {counted(report.partly, 'long memory', 'long memories')} only the start is found by meaning"
        if report.meaning_error:
            yield f"no meaning: {report.meaning_error}"
        if report.shape_error:
            yield f"{counted(report.unbound, 'memory waits', 'memories wait')} for their shape: {report.shape_error}"
        if report.unread:
            yield told_unread(report.unread)
        if report.differing:
            yield f"{report.differing} had an id that was kept before with another text; the first text stands"
        if report.malformed:
            yield f"{counted(report.malformed, 'line')} could not be read:"
            yield from (f"  {path}:{line}: {why}" for path, line, why in report.malformed_lines)
        for path, why in report.failed:
            yield f"not read: {why}" if os.path.abspath(path) in why else f"not read: {path}: {why}"

    chosen.say(view, lines)
    nothing_read = report.malformed and not (report.new or report.known or report.erased)
    if report.failed or nothing_read:
        sys.exit(2)


@cli.command()
@click.argument("query")
@click.option("-k", default=None, type=int, metavar="N", help="At most so many memories; default 10.")
@click.option(
    "--scope",
    metavar="S",
    help="A scope and what is below it; '*' is everything. "
    "Default: this folder's project where it is known, else everything.",
)
@click.option("--budget-tokens", type=int, metavar="N", help="At most so much text.")
@click.option("--as-of", metavar="T", help="What the memory knew then.")
@click.option("--since", metavar="T", help="Said at or after.")
@click.option("--until", metavar="T", help="Said before.")
@click.option("--session", metavar="S", help="Only this conversation.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    help=f"Which kinds; may be given again. Default: {', '.join(DEFAULT_KINDS)}.",
)
@click.option("--explain", is_flag=True, help="Show what each signal contributes.")
@_options
def recall(
    chosen: Chosen,
    query: str,
    k: int | None,
    scope: str | None,
    budget_tokens: int | None,
    as_of: str | None,
    since: str | None,
    until: str | None,
    session: str | None,
    kinds: tuple[str, ...],
    explain: bool,
) -> None:
    """Find the memories that matter."""
    from mnemic.runtime.views import recalled_view

    as_of_us, since_us, until_us = (None if text is None else parse_time(text) for text in (as_of, since, until))
    started = _CLOCK.monotonic_s()
    with chosen.open(create=False, asking=True) as mind:
        scope, found = _scope(chosen, mind, scope)
        recalled = mind.recall(
            query,
            k,
            scope=scope,
            kinds=kinds or DEFAULT_KINDS,
            session=session,
            since=since_us,
            until=until_us,
            as_of=as_of_us,
            budget_tokens=budget_tokens,
        )
        took_ms = 1e3 * (_CLOCK.monotonic_s() - started)
        view = recalled_view(recalled, strict=False, found=found, took_ms=took_ms, explain=explain)

        def lines() -> Iterator[str]:
            where = "everything" if scope == "*" else scope or "what belongs to no project"
            shown = counted(len(view["hits"]), "memory", "memories")
            more = "" if found in ("named", "asked for") or scope == "*" else "; --scope '*' looks through everything"
            yield f"{shown} of {recalled.searched} in {where} ({found}{more}), {took_ms:.0f} ms"
            for number, hit in enumerate(view["hits"], start=1):
                yield from hit_lines(number, hit)
            if recalled.left_out:
                yield f"{recalled.left_out} more did not fit into the budget"
            yield from (f"degraded: {line}" for line in recalled.degraded)

        chosen.say(view, lines)  # before the mind is closed, which may have to wait for another process's writing


@cli.command()
@_options
def status(chosen: Chosen) -> None:
    """What is there, and what is degraded."""
    if chosen.locked():
        from mnemic.locked_status import locked_status

        said = locked_status(chosen.home, chosen.mind, _CLOCK)
        chosen.say(said[0], lambda: iter(said[1]))
        return
    from mnemic.seen_lines import use_lines

    with chosen.open(create=False, asking=True) as mind:
        status = mind.status()
        view = msgspec.to_builtins(status)

    def lines() -> Iterator[str]:
        counts = view["counts"]
        society, process = view["society"], view["process"]
        yield f"mind {view['mind']!r} in {view['home']}, Mnemic {view['version']}"
        yield (
            process_line(process)
            if process
            else f"no process serves it: this command worked alone, {society['engine']}"
        )
        if status.paused is not None:
            yield f"PAUSED: {status.paused['told']}"
        memories, sessions = counted(counts["memories"], "memory", "memories"), counted(counts["sessions"], "session")
        yield f"{memories} in {sessions}, {counts['embedded']} found by meaning, {counts['bound']} by shape"
        held = [f"{counts[name]} {what}" for name, what in (("headless", "headless"), ("subagents", "of subagents"))]
        if counts["headless"] or counts["subagents"]:
            yield f"of the sessions {', '.join(held)}"
        if counts["retired"]:
            yield f"{counts['retired']} of them forgotten: kept, and not found"
        kept, on_disk = sized(counts["kept_bytes"]), sized(view["store_bytes"])
        yield f"texts {sized(counts['text_bytes'])}, kept as {kept}; on disk {on_disk}"
        yield from use_lines(view["use"], {scope["path"]: scope["found"] for scope in counts["scopes"]})
        yield f"kinds: {', '.join(f'{kind} {count}' for kind, count in counts['kinds'].items()) or 'none yet'}"
        yield f"embedded by {view['encoder'] or 'nobody'}, vectors compared by {counts['scan']}"
        yield from status.capture.lines()
        yield from actor_lines(society)
        yield from (f"degraded: {line}" for line in view["degraded"] or ["nothing"])

    chosen.say(view, lines)


@cli.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended without losing anything.")
@_options
def doctor(chosen: Chosen, repair: bool) -> None:
    """Look for what is wrong, and say what to do."""
    from mnemic.care import care_for

    keys = chosen.keys_if_said()
    with progress_bars(chosen.as_json) as progress:
        findings = care_for(
            chosen.home,
            chosen.mind,
            _CLOCK,
            os.environ,
            mend=repair,
            opened=lambda: chosen.open(create=False),
            progress=progress,
            keys=keys,
        )
    chosen.say(findings.view(), findings.lines)
    if findings.wrong:
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
@_options
def serve(chosen: Chosen, **options: Any) -> None:
    """Serve this home to all assistants until told to stop (Ctrl-C, SIGTERM).

    Nobody has to: an assistant's `mnemic mcp` starts a process in the background where none runs. This one takes over
    from it, on the engine you name.
    """
    from mnemic.serve import Options, serve_home, stray_option

    told = Options(**options)
    wrong = stray_option(told)
    if wrong is not None:
        raise click.UsageError(f"{wrong}.")
    sys.exit(serve_home(chosen.home, told, _CLOCK, say=lambda line: click.echo(line, err=True)))


@cli.command()
@_options
def mcp(chosen: Chosen) -> None:
    """Serve the memory to an assistant: MCP over standard input and output, by way of the home's process."""
    from mnemic.runtime.mcp_pipe import Pipe
    from mnemic.runtime.silence import switched_off

    need_stdin()
    said = os.fdopen(os.dup(1), "wb", buffering=0)  # a buffer's lock, held by who waits to write, would bar the exit
    os.dup2(2, 1)  # whatever else is printed is no MCP
    Pipe(chosen.home, chosen.mind, chosen.folder(), _CLOCK, said, switched_off(os.environ)).run(sys.stdin.buffer)


@cli.command()
@_options
def demo(chosen: Chosen) -> None:
    """The main job on the example conversation that ships, in a throw-away home."""
    from mnemic.demo import run_demo

    with progress_bars(chosen.as_json) as progress:
        view, lines = run_demo(progress)
    chosen.say(view, lambda: iter(lines))


for add_commands in (
    add_see_commands,
    add_correct_commands,
    add_forget_commands,
    add_pause_commands,
    add_move_commands,
    add_key_commands,
    add_hook_commands,
):
    add_commands(cli, _options, _CLOCK)
add_shape_commands(cli, _options, _CLOCK, lambda chosen, mind, named: _scope(chosen, mind, named))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every error ends as one sentence, a remedy and an exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    os.umask(0o077)
    leave_no_core()
    # One thread: two are a quarter faster on an idle machine and five times slower on a busy one, where their barriers
    # spin; it must be set before NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a lone surrogate, or a locale without the letter
    heed_sigterm()
    as_json = "--json" in given
    try:
        cli.main(given, prog_name="mnemic", standalone_mode=False)
    except MnemicError as error:
        from mnemic.runtime.views import error_view

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


def _known_format(name: str) -> str:
    from mnemic.hooks.formats import FORMATS

    if name not in FORMATS:
        raise InvalidValue(
            name="--format", value=name, why="there is no such format", expected=f"one of {', '.join(FORMATS)}"
        )
    return name


def _scope(chosen: Chosen, mind: Mind, named: str | None) -> tuple[str, str]:
    """The scope to look through and how it was found."""
    from mnemic.runtime.projects import clean_scope

    if named is not None:
        return ("*", "asked for") if named == "*" else (clean_scope(named), "named")
    path, place = mind.place_of(chosen.folder())
    if path is None:
        return "*", "this folder's project is not known here"
    return path, place.found


def _need_one(sources: Sequence[str]) -> None:
    """Refuse sources of which none is there, before a mind is made for them."""
    from mnemic.hooks.opencode_database import database_at

    if any(source == "-" or os.path.exists(source) or database_at(source) for source in sources):
        return
    missing: dict[str, str] = {}
    for source in sources:
        try:
            os.stat(source)
        except OSError as error:
            missing[source] = error.strerror or type(error).__name__
    if missing:
        raise SourceUnreadable(path=", ".join(missing), why="; ".join(dict.fromkeys(missing.values())))
