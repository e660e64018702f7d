"""The commands `mnemic init`, `unlock`, `lock` and `rekey`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from mnemic.actors.kernel.errors import BadPassphrase, KeyMismatch, KeyMissing, MnemicError, SourceUnreadable
from mnemic.cli.context import CLOCK, CommandContext, cli, common_options, read_secret_line
from mnemic.cli.terminal.interrupts import require_stdin
from mnemic.cli.terminal.output import Line, print_error
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.minds.ask_passphrase import is_interactive, prompt_hidden

if TYPE_CHECKING:
    from mnemic.runtime.keys.keys import Keys
    from mnemic.runtime.minds.homes import MindFolder
    from mnemic.runtime.transfer.orphans import Orphans

T = TypeVar("T")


@cli.command()
@click.option("--passphrase", is_flag=True, help="Lock it by a passphrase; asked for twice, else a line of stdin.")
@common_options
def init(chosen: CommandContext, passphrase: bool) -> None:
    """Make a mind: its folder, its key, its store. Prints a recovery key, this once."""
    view, opened_to_others = make_mind(chosen, passphrase=passphrase)
    chosen.print_answer(view, init_lines)
    warn_made(opened_to_others)


def make_mind(chosen: CommandContext, *, passphrase: bool = False) -> tuple[dict[str, Any], str | None]:
    """Make a mind; what opens it, as JSON, and what was changed for it of who may write to the home.

    Args:
        passphrase: whether somebody is asked for one, which locks it.

    Raises:
        MindExists: it is there already.
        InvalidValue: the home's settings cannot be used.
        StoreReadOnly, DiskFull: the home cannot be written.
    """
    from mnemic.runtime.engine.settings import load_settings
    from mnemic.runtime.keys.key_slots import format_recovery_key
    from mnemic.runtime.keys.keys import generate_key
    from mnemic.runtime.minds.homes import create_mind, mind_folder, mind_options, restrict_home

    load_settings(chosen.home / "mnemic.toml")  # what no later command could work with is said first
    if mind_folder(chosen.home, chosen.mind).path.exists():  # before anybody thinks of a passphrase
        passphrase = False
    said = read_new_passphrase() if passphrase else None
    recovery = generate_key()
    try:
        opened_to_others = restrict_home(chosen.home)
    except OSError as error:
        raise write_error(chosen.home, error) from error
    folder = create_mind(chosen.home, chosen.mind, CLOCK, passphrase=said, recovery=recovery)
    view = {
        "mind": chosen.mind,
        "folder": str(folder.path),
        "key": None if passphrase else str(folder.key),
        "recovery": format_recovery_key(recovery),
        "options": mind_options(folder),
    }
    return view, opened_to_others


def warn_made(opened_to_others: str | None) -> None:
    """Say on standard error what a mind that was just made is exposed to."""
    _warn_output_kept()
    if opened_to_others is not None:
        print_error({"error": opened_to_others, "remedy": "`mnemic doctor` looks at all of it."}, as_json=False)


def init_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The mind that was made, and what opens it."""
    yield f"Made the mind {view['mind']!r} in {view['folder']}"
    yield from _opening_lines(view)


@cli.command()
@click.option("--recovery", is_flag=True, help="By the recovery key; for a lost key file a new one is written.")
@common_options
def unlock(chosen: CommandContext, recovery: bool) -> None:
    """Open a mind that a passphrase locks. The home's process holds its key in memory until `mnemic lock`."""
    from mnemic.runtime.api.lock import renew_key_file
    from mnemic.runtime.api.lock import unlock as give
    from mnemic.runtime.keys.key_slots import is_locked, open_by_recovery
    from mnemic.runtime.minds.homes import mind_options, open_mind, read_key_header

    try:
        folder, keys = open_mind(chosen.home, chosen.mind)
    except (KeyMissing, KeyMismatch):
        if not recovery:
            raise
    except MnemicError as error:
        if error.code != "mind_locked":
            raise
    else:
        view = {"mind": chosen.mind, "unlocked": True, "key": str(folder.key), "pid": None}
        told = f"The mind {chosen.mind!r} is not locked: {folder.key} opens it"
        chosen.print_answer(view | {"told": told}, told_lines)
        return

    folder = _mind_folder(chosen)
    header = read_key_header(folder)

    def opens(said: str) -> tuple[MindFolder, Keys]:
        if recovery:
            return folder, open_by_recovery(header, said, folder.key_header)
        return open_mind(chosen.home, chosen.mind, said)

    _, keys = open_by_secret(opens, "Recovery key" if recovery else f"Passphrase of the mind {chosen.mind!r}")
    if not is_locked(header):
        key = renew_key_file(chosen.home, chosen.mind, keys)
        view = {"mind": chosen.mind, "unlocked": True, "key": str(key), "pid": None}
        told = f"Wrote {key}: it opens the mind again. Keep a copy elsewhere."
        chosen.print_answer(view | {"told": told}, told_lines)
        return
    pid = give(chosen.home, chosen.mind, keys).get("pid")
    view = {"mind": chosen.mind, "unlocked": True, "key": None, "pid": pid}
    named = mind_options(folder)
    told = f"Unlocked: process {pid} holds the key in memory until `mnemic lock{named}`, or until it ends"
    chosen.print_answer(view | {"told": told}, told_lines)


def told_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was done, in one sentence."""
    yield view["told"]


@cli.command()
@common_options
def lock(chosen: CommandContext) -> None:
    """Forget the key of a mind that a passphrase locks. It is the home's process that holds it."""
    from mnemic.runtime.api.lock import lock as take

    folder = _mind_folder(chosen)
    was = take(chosen.home, chosen.mind)
    chosen.forget_lists()
    told = "Locked: what happens is kept, and nothing can be recalled" if was else "It was locked already"
    view = {"mind": folder.path.name, "locked": True, "was_unlocked": was, "told": told}
    chosen.print_answer(view, told_lines)


@cli.command()
@click.option("--passphrase", is_flag=True, help="Have a passphrase lock it from now on, or another one.")
@click.option("--key-file", is_flag=True, help="Have a key file open it from now on.")
@click.option("--recovery", is_flag=True, help="Alone: only add a recovery key; all that opens it goes on opening it.")
@click.option("--yes", is_flag=True, help="Do it without asking, though backups stay that the new key does not open.")
@common_options
def rekey(chosen: CommandContext, passphrase: bool, key_file: bool, recovery: bool, yes: bool) -> None:
    """Change what opens a mind, and seal all of it anew. What opened it before opens it no more."""
    from mnemic.runtime.api.lock import add_recovery_key, backups_before_rekey, is_unlocked
    from mnemic.runtime.api.lock import rekey as reseal
    from mnemic.runtime.keys.key_slots import is_locked
    from mnemic.runtime.minds.homes import mind_options, open_mind, read_key_header

    if passphrase and key_file:
        raise click.UsageError("a mind is opened by a passphrase or by a key file: give one of them")
    said, folder, adds = None, _mind_folder(chosen), recovery and not (passphrase or key_file)
    if is_locked(read_key_header(folder)):

        def opens(typed: str) -> tuple[str, Keys]:
            return typed, open_mind(chosen.home, chosen.mind, typed)[1]

        said, keys = open_by_secret(opens, f"Passphrase of the mind {chosen.mind!r}, as it is now")
        passphrase = passphrase or not (key_file or adds)
    else:
        keys = open_mind(chosen.home, chosen.mind)[1]
    view: dict[str, Any] = {"mind": chosen.mind, "options": mind_options(folder)}
    if adds:
        view["key"] = None if is_locked(read_key_header(folder)) else str(folder.key)
        view["recovery"] = add_recovery_key(chosen.home, chosen.mind, keys)
        view |= {"unlocked": is_unlocked(chosen.home, chosen.mind), "not_unlocked": None}
        chosen.print_answer(view, recovery_lines)
        _warn_output_kept()
        return
    left = backups_before_rekey(chosen.home, chosen.mind, keys)
    if not (yes or agree_to_orphans(chosen, left, "Seal the mind anew all the same?")):
        return
    if passphrase:
        said = read_new_passphrase()
    elif key_file:
        said = None
    done = reseal(chosen.home, chosen.mind, keys, passphrase=said, recovery=recovery)
    view |= {
        "key": None if done.key is None else str(done.key),
        "recovery": done.recovery,
        "unlocked": done.unlocked,
        "not_unlocked": done.not_unlocked,
        "orphaned": done.orphaned,
        "unread": msgspec.to_builtins(done.unread),
    }
    chosen.print_answer(view, rekey_lines)
    if done.recovery is not None:
        _warn_output_kept()


def rekey_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What opens the mind from now on."""
    yield f"Sealed the mind {view['mind']!r} anew; what opened it before opens it no more"
    yield from orphans_lines(view)
    if view["orphaned"]:
        yield f"`mnemic backup FILE{view['options']}` makes a new one."
    yield from _opening_lines(view)
    if view["not_unlocked"] is not None:
        yield f"It was unlocked, and is locked now: {view['not_unlocked']}"


def recovery_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The recovery key that was added."""
    yield f"Added a recovery key to the mind {view['mind']!r}; all that opened it before opens it still"
    yield from _opening_lines(view)


def agree_to_orphans(chosen: CommandContext, left: Orphans, question: str) -> bool:
    """Name the backups that are left to what opens the mind now, and ask whether it is done all the same; where there
    are none, nobody is asked.
    """
    from mnemic.runtime.minds.homes import mind_folder, mind_options

    if not (left.orphaned or left.unread):
        return True
    options = mind_options(mind_folder(chosen.home, chosen.mind))
    view = {"mind": chosen.mind, "options": options, **msgspec.to_builtins(left)}
    if not chosen.as_json:
        chosen.print_answer(view, orphans_question_lines)
    return chosen.confirmed(view, question, "nothing was changed")


def orphans_question_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The same before it is done, and what to do first."""
    yield from orphans_lines(view)
    yield "What opens the mind now goes on opening them: keep a copy of its key file first, if it has one."


def orphans_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The backups that are left to what opened the mind before, and those of which nobody can say whether they are."""
    if view["orphaned"]:
        yield "These backups open by what opened the mind before (key file, passphrase or recovery key), and by nothing"
        yield "that opens it afterwards:"
        yield from (f"  {path}" for path in view["orphaned"])
    if view["unread"]:
        yield "These backups cannot be looked into, and it may be so with them too:"
        yield from (f"  {one['path']} ({one['why']})" for one in view["unread"])


def _mind_folder(chosen: CommandContext) -> MindFolder:
    """The folder of a mind that is there."""
    from mnemic.runtime.files.atomic_replace import finish_commit
    from mnemic.runtime.minds.homes import mind_folder, missing_mind

    folder = mind_folder(chosen.home, chosen.mind)
    if not folder.path.is_dir():
        raise missing_mind(chosen.home, chosen.mind)
    finish_commit(folder.path)
    return folder


def _opening_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What opens a mind, for whoever has to keep it."""
    if view["key"] is None:
        yield f"Its passphrase opens it: `mnemic unlock{view['options']}` asks for it."
        yield "Nobody can read this memory without it, you included."
    else:
        yield f"Its key is {view['key']}: keep a copy elsewhere. Without it nobody can read this memory, you included."
    if view["recovery"] is not None:
        yield "Should that be lost, this recovery key opens it. It is shown this once; keep it on paper, and secret:"
        yield [("  ", ""), (view["recovery"], "bold")]


def _warn_output_kept() -> None:
    """Say what lies in a file now, where nobody reads the answer."""
    if not sys.stdout.isatty():
        told = "the recovery key went to an output that is no terminal: whoever keeps that, keeps the key."
        print_error({"error": told, "remedy": "It is not shown again."}, as_json=False)


def open_by_secret(opens: Callable[[str], T], prompt: str) -> T:
    """What is opened by what somebody types, or by a line of standard input."""
    from mnemic.runtime.minds.ask_passphrase import prompt_until_open

    return prompt_until_open(opens, prompt) if is_interactive() else opens(_require_secret_line())


def read_new_passphrase() -> str:
    """A new passphrase: typed twice alike, within three tries, or a line of standard input.

    Raises:
        BadPassphrase: it is too short, or was typed in two ways.
        SourceUnreadable: there is no such line.
    """
    from mnemic.runtime.keys.key_slots import check_passphrase
    from mnemic.runtime.minds.ask_passphrase import MAX_PROMPTS

    if not is_interactive():
        return check_passphrase(_require_secret_line())
    for _ in range(MAX_PROMPTS - 1):
        try:
            return _prompt_twice()
        except BadPassphrase as error:
            print_error({"error": str(error), "remedy": f"{error.remedy_text} Once more."}, as_json=False)
    return _prompt_twice()


def _prompt_twice() -> str:
    from mnemic.runtime.keys.key_slots import check_passphrase

    said = check_passphrase(prompt_hidden("New passphrase"))
    if prompt_hidden("The same again") != said:
        raise BadPassphrase(why="the two that were typed differ", expected="the same one twice")
    return said


def _require_secret_line() -> str:
    """The same, where it has to be there.

    Raises:
        SourceUnreadable: there is no standard input, it has ended, or the line is empty.
    """
    require_stdin()
    line = read_secret_line()
    if line is None:
        how = "Give it as a line of standard input, or run the command in a terminal, which asks"
        raise SourceUnreadable(
            path="-", why="what opens the mind was to be said there, and nothing was said", remedy=how
        )
    return line
