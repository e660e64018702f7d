"""The commands `mnemic remember` and `mnemic correct`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.capture.messages import CaptureText
from mnemic.actors.kernel.errors import InvalidValue, SourceUnreadable
from mnemic.actors.kernel.scope_paths import EVERYWHERE, is_everywhere, normalize_scope_path
from mnemic.cli.context import CommandContext, cli, common_options, verb_options
from mnemic.cli.terminal.interrupts import interruptible_stdin
from mnemic.cli.terminal.output import Line, degraded_lines, memory_line, short_id
from mnemic.runtime.api.reports import made_way_lines

if TYPE_CHECKING:
    from mnemic.actors.capture.messages import TextCaptured


@cli.command()
@click.argument("text", nargs=-1, required=True, metavar="TEXT...|-")
@click.option("--scope", metavar="W/P", help="Scope it belongs to; else this folder's project.")
@click.option("--everywhere", is_flag=True, help="Have it found and told in every project, beside what is of that one.")
@verb_options(
    CaptureText,
    *("kind", "session"),
    kind={
        "type": click.Choice(["note", "decision", "turn"]),
        "more": "Notes and decisions are told at the start of a session.",
    },
)
@common_options
def remember(
    chosen: CommandContext, text: tuple[str, ...], scope: str | None, everywhere: bool, kind: Any, session: str
) -> None:
    """Keep a text for good; - reads it from standard input. What says nearly the same is named."""
    from mnemic.runtime.minds.projects import resolve_scope

    if everywhere and scope is not None:
        raise click.UsageError(f"--everywhere keeps it in the scope {EVERYWHERE!r}: --scope does not go with it")
    scope = EVERYWHERE if everywhere else scope
    words = _read_text(" ".join(text))
    folder = chosen.working_folder() if scope is None else ""
    named = None if scope is None else resolve_scope(normalize_scope_path(scope), None)
    with chosen.open(create=True) as mind:
        place = named or mind.folder_place(folder, chosen.print_passed_over)
        kept = mind.remember(words, kind=kind, session=session, scope=place)
        undo = mind.undo_command([kept.id])
        view = _captured_view(kept, mind.command) | {"scope_found": place.found, "undo": undo}
    chosen.print_answer(view, remember_lines)
    chosen.keep_list([view])


def remember_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What became of a text that was to be remembered."""
    where = "told in every project" if is_everywhere(view["scope"]) else view["scope_found"]
    did = "remembered" if view["created"] else "not remembered" if view["erased"] else "known already"
    yield [
        (f"{did}: ", "green" if view["created"] else "yellow"),
        (short_id(view["id"]), "cyan"),
        (f" in {view['scope'] or 'no scope'} ({where})", ""),
    ]
    if view["created"] and view["scope_found"] in ("folder", "git"):
        yield [("it is told in this project; --everywhere is for all of them", "dim")]
    yield from view["advice"]
    if view["superseded_by"]:
        yield f"it was replaced since by {short_id(view['superseded_by'])}"
    if view["retired_at"]:
        yield f"it was forgotten: `{view['undo']}` has it found again"
    if view["erased"]:
        yield "it was erased, and so is not kept again; in another --session, or in other words, it is"
    yield from _similar_lines(view)


@cli.command()
@click.argument("id_", metavar="ID|@N")
@click.argument("text", nargs=-1, required=True, metavar="TEXT...|-")
@verb_options(CaptureText, "session")
@common_options
def correct(chosen: CommandContext, id_: str, text: tuple[str, ...], session: str) -> None:
    """Say what holds instead of a memory. It outranks that one at once, which stays readable as the past."""
    from mnemic.actors.kernel.message import format_id

    words = _read_text(" ".join(text))
    with chosen.open(create=False) as mind:
        (old,) = chosen.resolve_ids(mind, [id_])
        kept = mind.correct(old, words, session=session)
        if kept.erased or kept.retired_at is not None:
            again = "another --session" if kept.erased else f"have it hold again: {mind.undo_command([kept.id])}"
            raise InvalidValue(
                name="the text",
                value="-" if text == ("-",) else words[:40],
                why="the same words were erased, and are not kept again" if kept.erased else "it was forgotten",
                expected=f"other words, or {again}",
            )
        was, now = mind.get([old, kept.id])
        undo = mind.command("forget", str(format_id(kept.id)))
        supersedes = [str(format_id(one)) for one in now.supersedes]
        replaced = {
            "id": format_id(was.id),
            "text": was.text,
            "size_bytes": len(was.data),
            "kind": was.kind,
            "scope": was.scope,
        }
        told = _captured_view(kept, mind.command)
        view = told | {"corrects": replaced, "supersedes": supersedes, "undo": undo}
    chosen.print_answer(view, correct_lines)
    chosen.keep_list([view])


def correct_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What became of a correction."""
    did, replaced = "corrected" if view["created"] else "known already", view["corrects"]
    yield [(f"{did}: ", "green"), (short_id(view["id"]), "cyan"), (f" in {view['scope'] or 'no scope'}", "")]
    yield f"it replaces: {memory_line(replaced)}"
    between = [short_id(one) for one in view["supersedes"] if one != replaced["id"]]
    if between:
        yield f"that had been replaced by {', '.join(between)}, which it replaces too"
    yield from _similar_lines(view)
    yield f"to take it back: {view['undo']}"


def _read_text(text: str) -> str:
    """The text given, or standard input, whole.

    Raises:
        SourceUnreadable: standard input is closed.
        InvalidValue: it holds bytes that are no UTF-8.
    """
    if text != "-":
        return text
    try:
        with interruptible_stdin():
            return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidValue(
            name="the text", value="-", why=f"it is no UTF-8 at byte {error.start}", expected="text in UTF-8"
        ) from None
    except OSError as error:
        raise SourceUnreadable(path="-", why=error.strerror) from error


def _captured_view(kept: TextCaptured, command: Callable[..., str]) -> dict[str, Any]:
    from mnemic.actors.kernel.message import to_json
    from mnemic.runtime.api.views import similar_view

    made_way = {one.path: one.to for one in kept.made_way}
    why = "the .mnemic.toml here names that path, or one below it"
    return to_json(kept) | {
        "similar": [similar_view(one, strict=False) for one in kept.similar],
        "made_way": made_way,
        "advice": list(made_way_lines(made_way, why, command)),
    }


def _similar_lines(view: dict[str, Any]) -> Iterator[Line]:
    if view["similar"]:
        yield "nearly the same is kept already; `mnemic correct ID TEXT` replaces one:"
        for one in view["similar"]:
            old = f"  [superseded by {short_id(one['superseded_by'])}]" if one["superseded_by"] else ""
            yield f"  {one['score']:.2f} {memory_line(one)}{old}"
    yield from degraded_lines(view["degraded"])
