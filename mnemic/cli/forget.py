"""The command `mnemic forget`: hide memories (undoable), or delete them with --erase."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from mnemic.actors.capture.forget_messages import Forget, Selection, Surveyed
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options, verb_options
from mnemic.cli.terminal.output import Line, local_minute, memory_line, progress_bars
from mnemic.runtime.api.reports import format_size, pluralize


@cli.command()
@click.argument("ids", nargs=-1, metavar="[ID...]")
@verb_options(
    Selection,
    *("scope", "session", "since", "until", "forgotten_at"),
    until={"flags": ("--before", "--until")},
    forgotten_at={"more": "With --undo: just what one `forget` has hidden."},
)
@verb_options(Forget, "reason", reason={"metavar": "R"})
@click.option("--undo", is_flag=True, help="Take it back: they are found again.")
@click.option("--erase", is_flag=True, help="Remove them for good: there is no way back.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@common_options
def forget(
    chosen: CommandContext,
    ids: tuple[str, ...],
    reason: str,
    undo: bool,
    erase: bool,
    yes: bool,
    **selected: Any,
) -> None:
    """Hide memories from recall; or, with --erase, remove them.

    Nothing that is hidden is lost: --undo takes it back. What is removed is gone for good. Memories are named by
    their ids, or selected by conditions, which all have to hold.
    """
    selection = Selection(ids=_resolved(chosen, ids), **selected)
    _check_options(selection, reason, undo, erase)
    if erase:
        _erase(chosen, selection, yes)
    elif ids:
        _forget(chosen, list(selection.ids), reason, undo)
    else:
        _forget_all(chosen, selection, reason, undo, yes)


def _resolved(chosen: CommandContext, ids: tuple[str, ...]) -> tuple[bytes, ...]:
    if not ids:
        return ()
    with chosen.open(create=False) as mind:
        return chosen.resolve_ids(mind, ids)


def _check_options(selection: Selection, reason: str, undo: bool, erase: bool) -> None:
    if selection.empty:
        raise click.UsageError("say which: ids, or --scope, --session, --since, --before, --forgotten-at")
    if selection.ids and selection != Selection(ids=selection.ids):
        raise click.UsageError("ids name all that is meant; conditions do not go with them")
    if undo and reason:
        raise click.UsageError("--reason says why something is forgotten; it does not go with --undo")
    if erase and undo:
        raise click.UsageError("what is erased is gone: --undo does not go with --erase")
    if erase and reason:
        raise click.UsageError("of what is erased nothing is kept, no --reason either")


def _forget(chosen: CommandContext, wanted: list[bytes], reason: str, undo: bool) -> None:
    """Hide memories that are named, or show them again."""
    from mnemic.actors.kernel.message import to_json

    with chosen.open(create=False) as mind:
        answer = mind.recover(wanted) if undo else mind.forget(wanted, reason)
        again = None if undo else mind.undo_command([one.id for one in answer.memories])
    view = {"memories": [to_json(one) for one in answer.memories], "found_again": undo, "undo": again}
    chosen.print_answer(view, forgotten_lines)


def forgotten_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What became of memories that were named."""
    did, was = ("found again", "was not forgotten") if view["found_again"] else ("forgotten", "forgotten already")
    yield from (f"{did if one['changed'] else was}: {memory_line(one)}" for one in view["memories"])
    if view["undo"] is not None:
        yield f"to take it back: {view['undo']}"


def _forget_all(chosen: CommandContext, selection: Selection, reason: str, undo: bool, yes: bool) -> None:
    """Hide all memories of a selection, or show them again."""
    with chosen.open(create=False, asking=True) as mind:
        seen = mind.survey(selection)
        view = _survey_view(seen)
        if not chosen.as_json:
            chosen.print_answer(view | {"found_again": undo}, survey_lines)
        sure = yes or undo or seen.memories <= 1  # what is found again can be hidden again
        if not sure and not chosen.confirmed(view, "Hide them?", "nothing was hidden"):
            return
        swept = mind.recover_all(selection) if undo else mind.forget_all(selection, reason)
        again = None if undo or swept.at is None else mind.recover_command(swept.at)

    done = {"applied": True, "changed": swept.changed, "unchanged": swept.unchanged, "undo": again}
    chosen.print_answer(view | done | {"found_again": undo}, selection_lines)


def survey_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What is selected, before it is hidden or found again."""
    yield from _survey_lines(view, "to be found again" if view["found_again"] else "to be hidden")


def selection_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What became of a selection."""
    yield f"{pluralize(view['changed'], 'memory')} {'found again' if view['found_again'] else 'forgotten'}"
    if view["unchanged"]:
        was = "not forgotten" if view["found_again"] else "forgotten already"
        yield pluralize(view["unchanged"], f"was {was}", f"were {was}")
    if view["undo"] is not None:
        yield f"to take it back: {view['undo']}"


def _erase(chosen: CommandContext, selection: Selection, yes: bool) -> None:
    with chosen.open(create=False, whole=True) as mind:
        mind.drain_spool(transcripts=False)
        seen, beside = mind.survey(selection), mind.copy_holders()
        view = _survey_view(seen) | msgspec.to_builtins(beside)
        if not chosen.as_json:
            chosen.print_answer(view, preview_lines)
        if not seen.memories:
            if chosen.as_json:
                chosen.print_answer(view | {"applied": False}, preview_lines)
            return
        many = pluralize(seen.memories, "memory")
        if not yes and not chosen.confirmed(view, f"There is no way back. Erase {many}?", "nothing was erased"):
            return
        started = CLOCK.monotonic_s()
        with progress_bars(chosen.as_json) as progress:
            erased = mind.erase(selection, seen, progress)
        chosen.forget_lists()
        took_s = CLOCK.monotonic_s() - started

    done = msgspec.to_builtins(erased) | {"applied": True, "took_s": round(took_s, 2)}
    chosen.print_answer(view | done, erased_lines)


def erased_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was erased."""
    yield f"{pluralize(view['memories'], 'memory')} erased, in {view['took_s']:.1f} s"
    yield f"the store was {format_size(view['before_bytes'])}, and is {format_size(view['after_bytes'])}"
    if view["quoted"]:
        yield f"{pluralize(view['quoted'], 'record')} that quoted them lost the words"
    yield from _copies_lines("still there, and not Mnemic's to remove:", view)


def preview_lines(view: dict[str, Any]) -> Iterator[Line]:
    yield from _survey_lines(view, "to be erased, for good")
    if not view["memories"]:
        return
    if view["originals"]:
        yield f"removed with them: {pluralize(view['originals'], 'text')} from before secrets were taken out"
    if view["given"]:
        records = pluralize(view["given"], "record")
        yield f"removed with them: their words in {records} of what a recall found or an assistant was given"
    if view["corrected"]:
        yield f"{pluralize(view['corrected'], 'memory')} that they replace will stand for themselves again"
    for name in view["migration_copies"]:
        yield f"removed with them: {name}, a copy of the store from before a migration"
    for name in view["aside"]:
        yield f"removed with them: spool/{name}, kept because it holds what could not be opened"
    yield from _copies_lines("not removed, and made when some of them were there:", view)


def _copies_lines(lead: str, view: dict[str, Any]) -> Iterator[Line]:
    """What holds them elsewhere, and what was made of them and is not where it was."""
    there = [f"  {one['what']} {one['path']} of {local_minute(one['at'])}" for one in view["copies"] if one["there"]]
    there += [f"  the mind {name!r}, a copy of this one" for name in view["minds"]]
    if there:
        yield lead
        yield from there
    for one in view["copies"]:
        if not one["there"]:
            yield f"{one['what']} made at {one['path']}, {local_minute(one['at'])}: not there any more"


def _survey_view(seen: Surveyed) -> dict[str, Any]:
    from mnemic.actors.kernel.message import to_json

    view = to_json(seen)
    del view["generation"], view["last_row"]
    for one in view["first"]:
        del one["changed"]
    newest = {one["path"]: one | {"there": os.path.lexists(one["path"])} for one in reversed(view["copies"])}
    copies = [newest[path] for path in dict.fromkeys(one["path"] for one in view["copies"])]
    scopes = {one["path"]: one["memories"] for one in view["scopes"]}
    return view | {"forgotten": view.pop("retired"), "scopes": scopes, "copies": copies}


def _survey_lines(view: dict[str, Any], what: str) -> Iterator[Line]:
    if not view["memories"]:
        yield "nothing is selected: no memory fulfils all of it"
        return
    many, sessions = pluralize(view["memories"], "memory"), pluralize(view["sessions"], "session")
    said = f"said from {local_minute(view['oldest'])} to {local_minute(view['newest'])}"
    yield f"{many} {what}, of {sessions}, {format_size(view['size_bytes'])}, {said}"
    if view["forgotten"]:
        yield pluralize(view["forgotten"], "of them is forgotten already", "of them are forgotten already")
    yield from (f"  {path or '(no scope)'}: {memories}" for path, memories in view["scopes"].items())
    yield from (f"  {memory_line(one)}" for one in view["first"])
    if view["memories"] > len(view["first"]):
        yield f"  … and {view['memories'] - len(view['first'])} more"
