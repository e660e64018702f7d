"""The commands `mnemic capture`, `pause` and `resume`."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import click
import msgspec

from mnemic.actors.protocol.errors import InvalidValue, SourceUnreadable
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options
from mnemic.cli.interrupts import interruptible_stdin
from mnemic.cli.output import progress_bars
from mnemic.runtime.api.reports import made_way_lines, pluralize, unbound_warning


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
@common_options
def capture(
    chosen: CommandContext, sources: tuple[str, ...], format_: str, scope: str | None, no_meaning: bool
) -> None:
    """Take in transcripts. They are files, folders of *.jsonl, a pipe, or - for standard input; twice is once."""
    from mnemic.actors.protocol.scopes import normalize_scope_path

    started = CLOCK.monotonic_s()
    _require_source(sources)
    if scope is not None:
        normalize_scope_path(scope)  # before a mind is made for it
    pipe = _find_pipe(sources)
    # Only this command has its standard input, or the pipe, and nobody else is to wait until that ends.
    stdin = nullcontext() if pipe is None else interruptible_stdin(None if pipe == "-" else pipe)
    given = ["-" if source == pipe else source for source in sources]
    with stdin, chosen.open(create=True, alone="-" in given) as mind, progress_bars(chosen.as_json) as progress:
        report = mind.capture(given, format=format_, scope=scope, embed=not no_meaning, progress=progress)
    took_s = CLOCK.monotonic_s() - started
    view = msgspec.structs.asdict(report) | {"took_s": round(took_s, 2)}

    def lines() -> Iterator[str]:
        new, files = pluralize(report.new, "new memory"), pluralize(report.files, "transcript")
        known = f", {report.known} known already" if report.known else ""
        yield f"{new} from {files}{known}, in {took_s:.1f} s"
        if not report.files and not report.failed:
            yield "no transcript is there: in a folder, only files named *.jsonl are taken for one, and no links"
        if report.scopes:
            yield f"scopes: {', '.join(path or '(none)' for path in report.scopes)}"
        why = "a .mnemic.toml names that path, or one below it"
        yield from made_way_lines(report.made_way, why, mind.command)
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
            yield f"of {pluralize(report.partly, 'long memory')} only the start is found by meaning"
        if report.meaning_error:
            yield f"no meaning: {report.meaning_error}"
        if report.shape_error:
            yield f"{pluralize(report.unbound, 'memory waits', 'memories wait')} for their shape: {report.shape_error}"
        if report.facts_error:
            yield f"what they state is not read: {report.facts_error}"
        if report.unread:
            yield unbound_warning(report.unread)
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
@click.option("--for", "for_", metavar="SPAN", help="For so long: 30m, 2h, 1d12h. Default: until `mnemic resume`.")
@common_options
def pause(chosen: CommandContext, for_: str | None) -> None:
    """Capture nothing for a while. What is known can still be recalled."""
    from mnemic.runtime.api.pause import parse_duration_us
    from mnemic.runtime.capture.pauses import pause

    held = pause(chosen.home, chosen.mind, CLOCK.now_us(), None if for_ is None else parse_duration_us(for_))

    def lines() -> Iterator[str]:
        yield held.sentence()
        yield "What you name yourself is kept all the same: `mnemic remember`, `mnemic capture FILE`."

    chosen.print_answer({"mind": chosen.mind, "paused": held.view()}, lines)


@cli.command()
@common_options
def resume(chosen: CommandContext) -> None:
    """Capture again, from now on. What happened in the pause is not taken in later."""
    from mnemic.runtime.capture.pauses import resume

    ended = resume(chosen.home, chosen.mind, CLOCK.now_us())

    def lines() -> Iterator[str]:
        if ended is None:
            yield "The memory was not paused: it captures."
        else:
            yield "The memory captures again. What happened in the pause stays out of it."

    chosen.print_answer({"mind": chosen.mind, "paused": None, "ended": None if ended is None else ended.view()}, lines)


def _check_format(name: str) -> str:
    from mnemic.hooks.read.formats import FORMATS

    if name not in FORMATS:
        raise InvalidValue(
            name="--format", value=name, why="there is no such format", expected=f"one of {', '.join(FORMATS)}"
        )
    return name


def _find_pipe(sources: Sequence[str]) -> str | None:
    """The one source that is read only once, from its start to its end: ``-``, or a pipe.

    Raises:
        InvalidValue: several are.
    """
    pipes = list(dict.fromkeys(source for source in sources if source == "-" or _is_pipe(source)))
    if len(pipes) > 1:
        why = "a command reads one pipe"
        raise InvalidValue(name="what is captured", value=", ".join(pipes), why=why, expected="each in its own command")
    return pipes[0] if pipes else None


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):  # what cannot be opened is reported by whoever reads it
        return False


def _require_source(sources: Sequence[str]) -> None:
    """Refuse an export, and sources of which none is there, before a mind is made for them."""
    from mnemic.hooks.hosts.opencode import parse_database_path
    from mnemic.runtime.transfer.export_format import is_export

    for source in sources:
        if is_export(Path(source)):
            why = "it is what `mnemic export` wrote, and holds no transcripts"
            raise InvalidValue(name="what is captured", value=source, why=why, expected="it to `mnemic import`")
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
