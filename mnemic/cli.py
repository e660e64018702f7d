"""The command line: reads arguments, calls the verbs of a mind, prints what they answer. It decides nothing.

Heavy modules are imported by the command that needs them, so that `mnemic --help` and a mistyped option cost nothing.
"""

from __future__ import annotations

import io
import json
import logging
import logging.handlers
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mnemic import __version__
from mnemic.actors.errors import InvalidValue, MnemicError, SourceUnreadable
from mnemic.actors.events import DEFAULT_KINDS, KINDS
from mnemic.actors.times import parse_time
from mnemic.errors import exit_code
from mnemic.interrupts import Terminated, breakable_stdin, heed_sigterm, need_stdin, run_aside
from mnemic.runtime.clock import SystemClock
from mnemic.terminal import OutputFailed, counted, hit_lines, print_error, print_lines, progress_bars, sized, written

if TYPE_CHECKING:
    from mnemic.mind import Mind

__all__ = ["cli", "main"]

_CLOCK = SystemClock()
_LOG_BYTES = 1 << 20


class Chosen:
    """Where a command works and how it prints."""

    def __init__(self, home: str | None, mind: str, as_json: bool) -> None:
        from mnemic.runtime.homes import default_home, expanded

        # $MNEMIC_HOME too: an assistant's settings give it as it stands there, and no shell has seen its ~.
        self.home = expanded(Path(home) if home else default_home(os.environ))
        self.mind = mind
        self.as_json = as_json

    @contextmanager
    def open(self, *, create: bool) -> Iterator[Mind]:
        """The mind, open; it is closed at the end, whatever happens."""
        from mnemic.mind import Mind

        with _logging_to(self.home / "mnemic.log"), Mind.open(self.home, self.mind, create=create) as mind:
            yield mind

    def say(self, view: Any, lines: Callable[[], Iterator[str]]) -> None:
        """Print an answer: as JSON, or as lines for a person."""
        print_lines([json.dumps(view)] if self.as_json else map(written, lines()))


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
@_options
def init(chosen: Chosen) -> None:
    """Make a mind: its folder, its key, its store."""
    from mnemic.runtime.homes import make_mind

    folder = make_mind(chosen.home, chosen.mind, _CLOCK)
    view = {"mind": chosen.mind, "folder": str(folder.path), "key": str(folder.key)}

    def lines() -> Iterator[str]:
        yield f"Made the mind {chosen.mind!r} in {folder.path}"
        yield f"Its key is {folder.key}: keep a copy elsewhere. Without it nobody can read this memory, you included."

    chosen.say(view, lines)


@cli.command()
@click.argument("sources", nargs=-1, required=True, metavar="FILE|DIR|-...")
@click.option(
    "--format",
    "format_",
    default="auto",
    show_default=True,
    metavar="FORMAT",
    callback=lambda context, option, value: _known_format(value),
    help="auto, claude-code, codex, jsonl or text.",
)
@click.option("--scope", metavar="W/P", help="Scope they belong to; else each one's own, or its folder's project.")
@click.option("--no-meaning", is_flag=True, help="Do not wait for the meaning; the next capture adds what is missing.")
@_options
def capture(chosen: Chosen, sources: tuple[str, ...], format_: str, scope: str | None, no_meaning: bool) -> None:
    """Take in transcripts: files, folders of *.jsonl, or - for standard input. Twice is once."""
    started = _CLOCK.monotonic_s()
    _need_one(sources)
    stdin = breakable_stdin() if "-" in sources else nullcontext()
    with stdin, chosen.open(create=True) as mind, progress_bars(chosen.as_json) as progress:
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
        if report.elsewhere:
            yield f"{report.elsewhere} known already are in another scope, and stay there"
        if report.files and not (report.new or report.known or report.malformed):
            yield "there is nothing in it to remember; if that is wrong, name another --format"
        yield f"found by words: {report.embedded + report.pending} in all, by meaning too: {report.embedded}"
        if report.partly:
            yield f"of {counted(report.partly, 'long memory', 'long memories')} only the start is found by meaning"
        if report.meaning_error:
            yield f"no meaning: {report.meaning_error}"
        if report.differing:
            yield f"{report.differing} had an id that was kept before with another text; the first text stands"
        if report.malformed:
            yield f"{counted(report.malformed, 'line')} could not be read:"
            yield from (f"  {path}:{line}: {why}" for path, line, why in report.malformed_lines)
        for path, why in report.failed:
            yield f"not read: {path}: {why}"

    chosen.say(view, lines)
    nothing_read = report.malformed and not (report.new or report.known)
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
    with chosen.open(create=False) as mind:
        scope, found = _scope(mind, scope)
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
    with chosen.open(create=False) as mind:
        view = mind.status_view()

    def lines() -> Iterator[str]:
        counts = view["counts"]
        yield f"mind {view['mind']!r} in {view['home']}, Mnemic {view['version']}, engine {view['engine']}"
        yield f"{counts['memories']} memories in {counts['sessions']} sessions, {counts['embedded']} found by meaning"
        kept, on_disk = sized(counts["kept_bytes"]), sized(view["store_bytes"])
        yield f"texts {sized(counts['text_bytes'])}, kept as {kept}; on disk {on_disk}"
        for scope in counts["scopes"]:
            yield f"  {scope['path'] or '(no scope)'}: {scope['memories']} ({scope['found']})"
        yield f"kinds: {', '.join(f'{kind} {count}' for kind, count in counts['kinds'].items()) or 'none yet'}"
        yield from (f"degraded: {line}" for line in view["degraded"] or ["nothing"])

    chosen.say(view, lines)


@cli.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended without losing anything.")
@_options
def doctor(chosen: Chosen, repair: bool) -> None:
    """Look for what is wrong, and say what to do."""
    import msgspec

    from mnemic.runtime.doctor import examine, repair_permissions
    from mnemic.runtime.homes import open_mind
    from mnemic.runtime.models import load_encoder
    from mnemic.runtime.settings import load_settings

    settings = load_settings(chosen.home / "mnemic.toml")

    def look() -> list[Any]:
        return examine(chosen.home, chosen.mind, lambda: load_encoder(settings.model_folder()))

    checks = look()
    broken = {check.name for check in checks if check.repairable}
    if repair and broken:
        if "permissions" in broken:
            repair_permissions(open_mind(chosen.home, chosen.mind)[0])
        if "words" in broken:
            with chosen.open(create=False) as mind, progress_bars(chosen.as_json) as progress:
                mind.rebuild(progress=lambda done, total: progress("log", done, total))
        checks = look()
    view = {"checks": [msgspec.structs.asdict(check) for check in checks], "repaired": sorted(broken) if repair else []}

    def lines() -> Iterator[str]:
        for check in checks:
            yield f"{check.state:>6}  {check.name}: {check.detail}{f' -> {check.remedy}' if check.remedy else ''}"
        if repair:
            wrong = any(check.state == "wrong" for check in checks)
            nothing = "nothing; what is wrong above cannot be repaired here" if wrong else "nothing needed it"
            yield f"repaired: {', '.join(sorted(broken)) or nothing}"

    chosen.say(view, lines)
    if any(check.state == "wrong" for check in checks):
        sys.exit(1)


@cli.command()
@_options
def mcp(chosen: Chosen) -> None:
    """Serve the memory to an assistant: MCP over standard input and output."""
    from mnemic.runtime.keys import run_name
    from mnemic.runtime.mcp_face import make_server
    from mnemic.runtime.mcp_stdin import mend_stdin

    need_stdin()
    mend_stdin()
    with chosen.open(create=True) as mind:
        mind.follow()
        server = make_server(mind, _here(), _CLOCK, f"mcp-{run_name()}", __version__)
        run_aside(lambda: server.run("stdio"))


@cli.command()
@_options
def demo(chosen: Chosen) -> None:
    """The main job on the example conversation that ships, in a throw-away home."""
    from mnemic.demo import run_demo

    with progress_bars(chosen.as_json) as progress:
        view, lines = run_demo(progress)
    chosen.say(view, lambda: iter(lines))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every error ends as one sentence, a remedy and an exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    os.umask(0o077)
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
        print_error({"code": "usage", "error": error.format_message(), "remedy": remedy}, as_json)
        sys.exit(2)


def _known_format(name: str) -> str:
    from mnemic.hooks.formats import FORMATS

    if name not in FORMATS:
        raise InvalidValue(
            name="--format", value=name, why="there is no such format", expected=f"one of {', '.join(FORMATS)}"
        )
    return name


def _scope(mind: Mind, named: str | None) -> tuple[str, str]:
    """The scope to look through and how it was found."""
    from mnemic.runtime.projects import clean_scope

    if named is not None:
        return ("*", "asked for") if named == "*" else (clean_scope(named), "named")
    path, place = mind.place_of(_here())
    if path is None:
        return "*", "this folder's project is not known here"
    return path, place.found


def _need_one(sources: Sequence[str]) -> None:
    """Refuse sources of which none is there, before a mind is made for them."""
    if any(source == "-" or os.path.exists(source) for source in sources):
        return
    try:
        os.stat(sources[0])
    except OSError as error:
        raise SourceUnreadable(path=sources[0], why=error.strerror) from error


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        expected = "--scope, or go to a folder that is there"
        raise InvalidValue(name="the working folder", value=".", why="it was removed", expected=expected) from None


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Log what the supervisor sees into the home: kinds of errors, places in the code, ids; never a text."""
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=1, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("mnemic")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
