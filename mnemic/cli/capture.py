"""The commands `mnemic capture`, `pause` and `resume`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import msgspec

from mnemic.actors.kernel.errors import InvalidValue, SourceUnreadable
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options, exit_where_failed
from mnemic.cli.terminal.interrupts import interruptible_stdin
from mnemic.cli.terminal.output import Line, local_day, progress_bars
from mnemic.hooks.read.names import UNREAD_REMEDY, unread_sentence
from mnemic.runtime.api.reports import format_size, made_way_lines, pluralize, unbound_warning

_SOURCE_WORDS = {
    "markdown": "Markdown file",
    "git": "repository",
    "obsidian": "vault",
    "basic-memory": "folder of notes",
    "chatgpt": "export",
    "claude-export": "export",
    "mem0": "store",
    "mempalace": "store",
}
_SESSION_WORDS = {
    "markdown": "file",
    "git": "repository",
    "obsidian": "note",
    "basic-memory": "note",
    "mempalace": "file",
}
_NOTHING_THERE = (
    "nothing is there: in a folder, transcripts are taken (*.jsonl, *.jsonl.zst, opencode*.db, Gemini CLI's"
    " session-*.json), else files named *.md, and no links"
)


@cli.command()
@click.argument("sources", nargs=-1, metavar="FILE|DIR|-...")
@click.option(
    "--format",
    "format_",
    default="auto",
    show_default=True,
    metavar="FORMAT",
    callback=lambda context, option, value: _check_format(value),
    help="auto, claude-code, codex, gemini-cli, opencode, chatgpt, claude-export, git, obsidian, basic-memory, mem0, "
    "mempalace, jsonl, markdown or text.",
)
@click.option("--git", is_flag=True, help="The commits of the repository named, or of the one that this folder is in.")
@click.option("--scope", metavar="W/P", help="Scope they belong to; else each one's own, or its folder's project.")
@click.option("--no-meaning", is_flag=True, help="Do not wait for the meaning; the next capture adds what is missing.")
@click.option("--preview", is_flag=True, help="Only tell what would be taken in; nothing is made or kept.")
@common_options
def capture(
    chosen: CommandContext,
    sources: tuple[str, ...],
    format_: str,
    git: bool,
    scope: str | None,
    no_meaning: bool,
    preview: bool,
) -> None:
    """Take in transcripts, notes, commits and exports. They are files, folders of *.jsonl or *.md, a
    pipe, or - for standard input; with --git repositories. Twice is once.
    """
    from mnemic.actors.kernel.scope_paths import normalize_scope_path

    started = CLOCK.monotonic_s()
    if git:
        sources, format_ = sources or (".",), _git_format(format_)
    if not sources:
        raise click.MissingParameter(param_type="argument", param_hint="'FILE|DIR|-...'")
    _require_source(sources, format_)
    if scope is not None:
        normalize_scope_path(scope)  # before a mind is made for it
    pipe = _find_pipe(sources)
    # Only this command has its standard input, or the pipe, and nobody else is to wait until that ends.
    stdin = nullcontext() if pipe is None else interruptible_stdin(None if pipe == "-" else pipe)
    given = ["-" if source == pipe else source for source in sources]
    if preview:
        with stdin:
            _print_preview(chosen, given, format_)
        return
    with stdin, chosen.open(create=True, alone="-" in given) as mind, progress_bars(chosen.as_json) as progress:
        report = mind.capture(given, format=format_, scope=scope, embed=not no_meaning, progress=progress)
        command = mind.command
    took_s = CLOCK.monotonic_s() - started
    why = "a .mnemic.toml names that path, or one below it"
    view = msgspec.structs.asdict(report) | {
        "advice": list(made_way_lines(report.made_way, why, command)),
        "exports_here": [] if report.files or report.failed else _exports_here(given),
        "unread_files": _unread_files(given, format_),
        "notes": _git_notes(given, report.failed) if format_ == "git" else [],
        "took_s": round(took_s, 2),
    }
    chosen.print_answer(view, capture_lines)
    exit_where_failed(report.is_partial, done=bool(report.new or report.known or report.erased or report.left_out))


def capture_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was taken in, and what of it was not."""
    new, files = pluralize(view["new"], "new memory"), pluralize(view["files"], _source_word(view["formats"]))
    known = f", {view['known']} known already" if view["known"] else ""
    yield [(new, "bold"), (f" from {files}{known}, in {view['took_s']:.1f} s", "")]
    if not view["files"] and not view["failed"]:
        yield _NOTHING_THERE
        yield from _exports_here_lines(view)
    if view["notes_left"]:
        yield _notes_left_line(view)
    yield from _unread_lines(view)
    yield from ([(note, "yellow")] for note in view["notes"])
    if view["scopes"]:
        yield f"scopes: {', '.join(path or '(none)' for path in view['scopes'])}"
    yield from view["advice"]
    if view["left_out"]:
        yield f"{view['left_out']} left out, as the settings say (capture.allow, capture.deny, capture.leave_out)"
    if view["elsewhere"]:
        where = "known already is in another scope or in none, and stays there"
        yield pluralize(view["elsewhere"], where, "known already are in another scope or in none, and stay there")
        yield "  `mnemic scope assign` moves what was captured"
    if view["retired"]:
        hidden = "known already was forgotten, and stays so"
        yield pluralize(view["retired"], hidden, "known already were forgotten, and stay so")
    if view["erased"]:
        yield pluralize(view["erased"], "was erased, and stays so", "were erased, and stay so")
    if view["files"] and not (view["new"] or view["known"] or view["erased"] or view["malformed"]):
        yield "there is nothing in it to remember; if that is wrong, name another --format"
    by_words = view["embedded"] + view["pending"]
    yield f"the whole mind: {by_words} found by words, {view['embedded']} by meaning too"
    yield from _waiting_lines(view)
    if view["differing"]:
        yield f"{view['differing']} had an id that was kept before with another text; the first text stands"
    yield from _unknown_fields_lines(view)
    if view["malformed"]:
        yield f"{pluralize(view['malformed'], 'line')} could not be read:"
        yield from (f"  {path}:{line}: {why}" for path, line, why in view["malformed_lines"])
    yield from _failed_lines(view)


def _print_preview(chosen: CommandContext, sources: Sequence[str], format: str) -> None:
    from mnemic.hooks.read.preview import preview_sources

    started = CLOCK.monotonic_s()
    with progress_bars(chosen.as_json) as progress:
        told = preview_sources(sources, format, progress, CLOCK)
    view = msgspec.to_builtins(told) | {
        "exports_here": _exports_here(told.empty),
        "took_s": round(CLOCK.monotonic_s() - started, 2),
    }
    chosen.print_answer(view, preview_lines)
    exit_where_failed(
        bool(told.failed) or any(one.unreadable for one in told.sources),
        done=any(one.memories for one in told.sources),
    )


def preview_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What a capture would take in, and what of it cannot be read."""
    for one in view["sources"]:
        yield [(f"{one['source']}: ", "bold"), (f"{one['format']}, {_preview_counts(one)}", "")]
        if one["first"] is not None:
            undated = f"; {one['undated']} without a time" if one["undated"] else ""
            yield f"  from {local_day(one['first'])} to {local_day(one['last'])}{undated}"
        if one["unreadable"]:
            yield f"  {pluralize(one['unreadable'], 'line')} cannot be read:"
            yield from (f"    {path}:{line}: {why}" for path, line, why in one["reasons"])
        yield from _unknown_fields_lines(one, "  ")
        yield from ([("  ", ""), (note, "yellow")] for note in one["notes"])
    if view["empty"] and not view["sources"]:
        yield _NOTHING_THERE
    elif view["empty"]:
        yield f"nothing is there: {', '.join(view['empty'])}"
    yield from _exports_here_lines(view)
    if view["notes_left"]:
        yield _notes_left_line(view)
    yield from _unread_lines(view)
    yield from _failed_lines(view)
    yield f"nothing was kept; the same command without --preview takes it in (read in {view['took_s']:.1f} s)"


def _unread_files(sources: Sequence[str], format: str) -> list[str]:
    """What looks like a session in folders that were captured, and was not read."""
    from mnemic.hooks.read.formats import find_sources

    return [path for source in sources if os.path.isdir(source) for path in find_sources(source, format).unread]


def _git_notes(repositories: Sequence[str], failed: Sequence[tuple[str, str]]) -> list[str]:
    """What has to be known of whose the commits are."""
    from mnemic.hooks.imports.git_log import GitSource

    unread = {path for path, _ in failed}
    return sorted({GitSource(one).note for one in repositories if one not in unread} - {""})


def _unread_lines(view: dict[str, Any]) -> Iterator[Line]:
    if view["unread_files"]:
        yield [(unread_sentence(view["unread_files"]), "yellow"), (f". {UNREAD_REMEDY}", "")]


def _unknown_fields_lines(view: dict[str, Any], indent: str = "") -> Iterator[Line]:
    if view["unknown_fields"]:
        fields = sorted(view["unknown_fields"].items())
        counted = ", ".join(f"{name} ({pluralize(number, 'line')})" for name, number in fields)
        yield f"{indent}fields that mean nothing here, and were passed over: {counted}"


def _exports_here(folders: Sequence[str]) -> list[tuple[str, str]]:
    """What lies in folders that is taken in where it is named itself: its path, and what it is."""
    from mnemic.hooks.imports.importers import recognize

    found = []
    for folder in folders:
        with os.scandir(folder) if os.path.isdir(folder) else nullcontext(()) as entries:
            paths = sorted(entry.path for entry in entries)
        found += [(path, format) for path in paths if (format := recognize(path)) is not None]
    return found


def _exports_here_lines(view: dict[str, Any]) -> Iterator[Line]:
    for path, format in view["exports_here"]:
        yield f"name this one by itself, it is of {format}: {path}"


def _preview_counts(one: dict[str, Any]) -> str:
    kept = pluralize(one["memories"], "memory")
    conversations = pluralize(one["conversations"], _SESSION_WORDS.get(one["format"], "conversation"))
    files = f" in {one['files']} files" if one["files"] not in (1, one["conversations"]) else ""
    again = f", {one['repeated']} told more than once" if one["repeated"] else ""
    return f"{kept} of {conversations}{files}, {format_size(one['text_bytes'])} of text{again}"


def _notes_left_line(view: dict[str, Any]) -> str:
    beside = pluralize(view["notes_left"], "Markdown file lies", "Markdown files lie")
    return f"{beside} beside transcripts, and nothing of it was taken; --format markdown takes that"


def _failed_lines(view: dict[str, Any]) -> Iterator[Line]:
    for path, why in view["failed"]:
        yield [("not read: ", "red"), (why if os.path.abspath(path) in why else f"{path}: {why}", "")]


def _source_word(formats: list[str]) -> str:
    """What was read is called, where all of it is of one kind."""
    named = {_SOURCE_WORDS.get(one, "transcript") for one in formats}
    return named.pop() if len(named) == 1 else "source"  # also where there is nothing


def _waiting_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What is not found in every way yet, and why."""
    if view["pending"] and not (view["meaning_error"] or view["meaning_off"]):
        yield f"{pluralize(view['pending'], 'memory waits', 'memories wait')} for the meaning"
    if view["partly"]:
        yield f"of {pluralize(view['partly'], 'long memory')} only the start is found by meaning"
    if view["meaning_error"]:
        yield f"no meaning: {view['meaning_error']}"
    if view["shape_error"]:
        waits = pluralize(view["unbound"], "memory waits", "memories wait")
        yield f"{waits} for their shape: {view['shape_error']}"
    if view["facts_error"]:
        yield f"what they state is not read: {view['facts_error']}"
    if view["unread"]:
        yield unbound_warning(view["unread"])


@cli.command()
@click.option("--for", "for_", metavar="SPAN", help="For so long: 30m, 2h, 1d12h. Default: until `mnemic resume`.")
@common_options
def pause(chosen: CommandContext, for_: str | None) -> None:
    """Capture nothing for a while. What is known can still be recalled."""
    from mnemic.runtime.api.pause import parse_duration_us
    from mnemic.runtime.capture.pauses import pause

    held = pause(chosen.home, chosen.mind, CLOCK.now_us(), None if for_ is None else parse_duration_us(for_))

    chosen.print_answer({"mind": chosen.mind, "paused": held.view() | {"told": held.sentence()}}, paused_lines)


def paused_lines(view: dict[str, Any]) -> Iterator[Line]:
    """Until when nothing is captured."""
    yield [(view["paused"]["told"], "yellow")]
    yield "What you name yourself is kept all the same: `mnemic remember`, `mnemic capture FILE`."


@cli.command()
@common_options
def resume(chosen: CommandContext) -> None:
    """Capture again, from now on. What happened in the pause is not taken in later."""
    from mnemic.runtime.capture.pauses import resume

    ended = resume(chosen.home, chosen.mind, CLOCK.now_us())

    view = {"mind": chosen.mind, "paused": None, "ended": None if ended is None else ended.view()}
    chosen.print_answer(view, resumed_lines)


def resumed_lines(view: dict[str, Any]) -> Iterator[Line]:
    """Whether anything changes."""
    if view["ended"] is None:
        yield "The memory was not paused: it captures."
    else:
        yield "The memory captures again. What happened in the pause stays out of it."


def _check_format(name: str) -> str:
    from mnemic.hooks.read.formats import FORMATS

    if name not in FORMATS:
        raise InvalidValue(
            name="--format", value=name, why="there is no such format", expected=f"one of {', '.join(FORMATS)}"
        )
    return name


def _git_format(named: str) -> str:
    if named not in ("auto", "git"):
        raise InvalidValue(name="--format", value=named, why="--git reads repositories", expected="one of both")
    return "git"


def _require_readable(source: str, format: str) -> None:
    from mnemic.hooks.read.formats import find_sources, open_transcript

    found = find_sources(source, format).paths
    if len(found) == 1:
        open_transcript(found[0], format).close()


def _is_piped(source: str) -> bool:
    return source == "-" or _is_pipe(source)


def _find_pipe(sources: Sequence[str]) -> str | None:
    """The one source that is read only once, from its start to its end: ``-``, or a pipe.

    Raises:
        InvalidValue: several are.
    """
    pipes = list(dict.fromkeys(filter(_is_piped, sources)))
    if len(pipes) > 1:
        why = "a command reads one pipe"
        raise InvalidValue(name="what is captured", value=", ".join(pipes), why=why, expected="each in its own command")
    return pipes[0] if pipes else None


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):  # what cannot be opened is reported by whoever reads it
        return False


def _require_source(sources: Sequence[str], format: str) -> None:
    """Refuse an export, sources of which none is there, and the one that cannot be read, before a mind is made."""
    from mnemic.hooks.hosts.opencode_database import parse_database_path
    from mnemic.runtime.transfer.export_source import is_export

    for source in sources:
        if is_export(Path(source)):
            why = "it is what `mnemic export` wrote, and holds no transcripts"
            raise InvalidValue(name="what is captured", value=source, why=why, expected="it to `mnemic import`")
    if len(sources) == 1 and not _is_piped(sources[0]):
        _require_readable(sources[0], format)
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
