"""The commands `mnemic backup`, `restore`, `export` and `import`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mnemic.actors.kernel.times import to_iso
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options
from mnemic.cli.keys import agree_to_orphans, open_by_secret, orphans_lines, read_new_passphrase
from mnemic.cli.terminal.output import Line, local_minute, progress_bars
from mnemic.runtime.api.reports import format_size, made_way_lines, pluralize

if TYPE_CHECKING:
    from mnemic.runtime.api.mind import Mind
    from mnemic.runtime.transfer.orphans import Orphans


@cli.command()
@click.argument("file", metavar="FILE")
@click.option("--passphrase", is_flag=True, help="Have a passphrase open it too; asked for, else a line of stdin.")
@click.option("--replace", is_flag=True, help="Put it in the place of a file of that name.")
@common_options
def backup(chosen: CommandContext, file: str, passphrase: bool, replace: bool) -> None:
    """Write a sealed copy of the mind. It can be used meanwhile; the copy is proved by opening it."""
    said = read_new_passphrase() if passphrase else None
    started = CLOCK.monotonic_s()
    with chosen.open(create=False, whole=True) as mind, progress_bars(chosen.as_json) as progress:
        done = mind.backup(file, passphrase=said, replace=replace, progress=_labelled(progress, "backup"))
    took_s = CLOCK.monotonic_s() - started

    view = msgspec.to_builtins(done) | {"passphrase": passphrase, "took_s": round(took_s, 2)}
    chosen.print_answer(view, backup_lines)


def backup_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was backed up."""
    memories, size = pluralize(view["memories"], "memory"), format_size(view["size_bytes"])
    yield f"{memories} in {view['path']}, {size}, in {view['took_s']:.1f} s; opened and looked through"
    yield f"It is sealed: what opens the mind opens it{', and so does its passphrase' if view['passphrase'] else ''}."
    yield from view["behind"]


@cli.command()
@click.argument("file", metavar="FILE")
@click.option("--replace", is_flag=True, help="Put it in the place of the mind that is there.")
@click.option("--passphrase", is_flag=True, help="Open it by its passphrase; asked for, else a line of stdin.")
@click.option("--recovery", is_flag=True, help="Open it by the recovery key; asked for, else a line of stdin.")
@click.option("--key-file", metavar="KEY", help="Open it by your copy of the mind's key file.")
@click.option("--yes", is_flag=True, help="Do it without asking, though backups stay that do not open afterwards.")
@common_options
def restore(
    chosen: CommandContext, file: str, replace: bool, passphrase: bool, recovery: bool, key_file: str | None, yes: bool
) -> None:
    """Make a mind of a backup. One that is there stays, unless --replace says otherwise."""
    from mnemic.runtime.api.restore import check_recovery_key, restore

    if sum((passphrase, recovery, key_file is not None)) > 1:
        raise click.UsageError("one thing opens a backup: give --passphrase, --recovery or --key-file")

    def spelt(said: str) -> str:
        return check_recovery_key(said, file)  # a slip is said to be one, and not taken for a passphrase

    def agree(left: Orphans) -> None:
        if not (yes or agree_to_orphans(chosen, left, "Replace the mind all the same?")):
            sys.exit(0)

    said = None
    if passphrase or recovery:
        said = open_by_secret(spelt, "Recovery key") if recovery else open_by_secret(str, "Passphrase of the backup")
    started = CLOCK.monotonic_s()
    with progress_bars(chosen.as_json) as progress:
        done = restore(
            file,
            chosen.home,
            chosen.mind,
            replace=replace,
            passphrase=said,
            key_file=key_file,
            agree=agree,
            progress=_labelled(progress, "restore"),
        )
    took_s = CLOCK.monotonic_s() - started
    erased = [_id(one) for one in done.erased]
    view = msgspec.to_builtins(done) | {
        "made_at": to_iso(done.made_at),
        "erased": erased,
        "options": _mind_options(chosen),
        "took_s": round(took_s, 2),
    }
    chosen.print_answer(view, restore_lines)


def restore_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What a backup was made into."""
    memories, options = pluralize(view["memories"], "memory"), view["options"]
    place = "in place of what was there" if view["replaced"] else "which was not there"
    yield f"{memories} as of {local_minute(view['made_at'])} in {view['folder']}, {place}, in {view['took_s']:.1f} s"
    if view["new_key"]:
        yield f"Its key is new: {view['key']}. Keep a copy elsewhere; the one from before opens the backup alone."
    elif view["key"] is None:
        yield f"Its passphrase opens it, as before: `mnemic unlock{options}`."
    if view["erased"]:
        yield f"{pluralize(len(view['erased']), 'memory')} erased since then came back; to erase them again:"
        yield f"  mnemic forget{options} --erase {' '.join(view['erased'])}"
    if view["marks_lost"] is not None:
        yield "What was erased in the mind that was replaced is not known, and may be kept again;"
        yield f"nor is where it was backed up or exported to since: {view['marks_lost']}"
    yield from orphans_lines(view)
    if not view["hooked"]:
        yield "No hooks are installed in this home: of assistants that are wired to it, nothing is kept."
        yield f"To install them: mnemic hooks install all --apply{options}"


@cli.command()
@click.argument("folder", metavar="DIR")
@common_options
def export(chosen: CommandContext, folder: str) -> None:
    """Write the mind as JSON Lines, in clear, into a new folder. It is everything that cannot be rebuilt."""
    started = CLOCK.monotonic_s()
    with chosen.open(create=False, whole=True) as mind, progress_bars(chosen.as_json) as progress:
        done = mind.export(folder, progress=_labelled(progress, "export"))
    took_s = CLOCK.monotonic_s() - started

    chosen.print_answer(msgspec.to_builtins(done) | {"took_s": round(took_s, 2)}, export_lines)


def export_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was exported."""
    memories, size = pluralize(view["memories"], "memory"), format_size(view["size_bytes"])
    yield f"{memories} in {view['path']}, {size}, in {view['took_s']:.1f} s"
    yield "It is in clear: whoever reads this folder reads everything. Only you may, as it is now."
    yield from view["behind"]


@cli.command("import")
@click.argument("folder", metavar="DIR")
@click.option("--no-meaning", is_flag=True, help="Do not wait for the meaning; what is missing is added later.")
@common_options
def import_(chosen: CommandContext, folder: str, no_meaning: bool) -> None:
    """Take in what a mind exported, this one or another. Twice is once, and two minds become one."""
    from mnemic.runtime.minds.homes import mind_folder
    from mnemic.runtime.transfer.export_source import ExportSource

    if not mind_folder(chosen.home, chosen.mind).path.exists():  # no mind is made for what is no export
        ExportSource.open(Path(folder).expanduser())
    started = CLOCK.monotonic_s()
    with chosen.open(create=True, whole=True) as mind, progress_bars(chosen.as_json) as progress:
        done = mind.import_from(folder, progress=_labelled(progress, "import"))
        took_s = CLOCK.monotonic_s() - started
        meaning, command = _embedding_counts(mind, progress if done.new and not no_meaning else None), mind.command
    erased_there = [_id(one) for one in done.erased_there]
    ids: dict[str, list[Any]] = {
        "erased_there": erased_there,
        "apart": [[_id(one), _id(other)] for one, other in done.apart],
        "contrary": [[_id(one), _id(other)] for one, other in done.contrary],
    }
    why = "what was imported is named so, or lies below it"
    view = (
        msgspec.to_builtins(done)
        | meaning
        | ids
        | {
            "advice": list(made_way_lines(done.made_way, why, command)),
            "options": _mind_options(chosen),
            "took_s": round(took_s, 2),
        }
    )
    chosen.print_answer(view, import_lines)


def import_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was imported, and how it goes together with what was there."""
    known = f", {view['known']} known already" if view["known"] else ""
    yield f"{pluralize(view['new'], 'new memory', 'new memories')}{known}, in {view['took_s']:.1f} s"
    if view["erased"]:
        yield pluralize(view["erased"], "was erased here, and stays so", "were erased here, and stay so")
    if view["forgotten"] or view["superseded"]:
        changed = ((view["forgotten"], "forgotten"), (view["superseded"], "replaced"))
        told = " and ".join(f"{count} {how}" for count, how in changed if count)
        yield f"{told} there {'is' if view['forgotten'] + view['superseded'] == 1 else 'are'} so here too"
    for stands, other in view["apart"]:
        yield f"corrected here and there: {stands} was said later and stands, and replaces {other}"
    for stands, other in view["contrary"]:
        yield f"here {stands} replaces {other}, and there it is the other way round: what was said here stands"
    for there, here in sorted(view["scopes"].items()):
        if there in view["same_projects"]:
            yield f"what was in {there} there is in {here} here: the same project is called {here} here"
            continue
        yield f"what was in {there or '(no scope)'} there is in {here} here: another project has that name"
        yield f"  if both are one project: mnemic scope merge{view['options']} {here} {there}"
    yield from view["advice"]
    if not view["same_key"]:
        yield "the other mind tells events apart by another key: see docs/export.md for what that means"
    if view["erased_there"]:
        still = pluralize(len(view["erased_there"]), "memory")
        yield f"{still} erased there are here still; to erase them:"
        yield f"  mnemic forget{view['options']} --erase {' '.join(view['erased_there'])}"
    if view["pending"] and not (view["meaning_error"] or view["meaning_off"]):
        yield f"{pluralize(view['pending'], 'memory waits', 'memories wait')} for the meaning"
    if view["meaning_error"]:
        yield f"no meaning: {view['meaning_error']}"


def _embedding_counts(mind: Mind, progress: Callable[[str, int, int | None], None] | None) -> dict[str, Any]:
    """How many are found by their meaning; waits for those that are not, where somebody is told of the progress."""
    from mnemic.actors.kernel.errors import ModelError, ModelOff, RuntimeFault

    why, off, counts = None, False, mind.counts()
    if counts.pending and progress is not None:
        try:
            mind.embed(progress)
        except ModelOff:
            off = True
        except (ModelError, RuntimeFault) as error:
            why = f"{error} {error.remedy_text}"
        counts = mind.counts()
    return {"embedded": counts.embedded, "pending": counts.pending, "meaning_error": why, "meaning_off": off}


def _labelled(progress: Callable[[str, int, int | None], None], what: str) -> Callable[[int, int | None], None]:
    return lambda done, total: progress(what, done, total)


def _mind_options(chosen: CommandContext) -> str:
    """What a command that is proposed needs, to mean the same mind."""
    from mnemic.runtime.minds.homes import mind_folder, mind_options

    return mind_options(mind_folder(chosen.home, chosen.mind))


def _id(memory: bytes) -> str:
    from mnemic.actors.kernel.message import format_id

    return str(format_id(memory))
