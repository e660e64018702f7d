"""The commands `mnemic scope list|rename|merge|assign|move|undo|trust|distrust`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.kernel.scope_paths import is_everywhere
from mnemic.cli.context import CommandContext, cli, common_options, group_options
from mnemic.cli.terminal.output import Line, local_minute
from mnemic.runtime.api.reports import pluralize

if TYPE_CHECKING:
    from mnemic.actors.scopes.messages import ScopeInfo
    from mnemic.actors.scopes.rescope import ScopeOutcome
    from mnemic.runtime.api.mind import Mind


_VERBS = {"renamed": "renamed", "merged": "merged", "split": "taken out again", "assigned": "moved"}
_NAMED_EXPLICITLY = ("named", ".mnemic.toml")


@cli.group(
    epilog="Each takes --home, --mind and --json; see `mnemic scope COMMAND --help`.", invoke_without_command=True
)
@group_options
def scope(context: click.Context) -> None:
    """The scopes, projects that moved, folders you trust. All of it can be taken back."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@scope.command("list")
@common_options
def list_(chosen: CommandContext) -> None:
    """Which scopes there are, and which folders you trust. Of each: how it was found, and its project's folder."""
    from mnemic.actors.kernel.message import to_json
    from mnemic.runtime.minds.scope_trust import list_trusted

    trusted = [{"folder": folder, "scope": scope} for folder, scope in list_trusted(chosen.home)]

    with chosen.open(create=False, asking=True) as mind:
        found = mind.scopes()
        undo = mind.command("scope", "undo") if found.undo else None
    scopes = [to_json(one) for one in found.scopes]

    chosen.print_answer({"scopes": scopes, "trusted": trusted, "undo": undo}, list_lines)


def list_lines(view: dict[str, Any]) -> Iterator[Line]:
    """The scopes, each with its projects, and what is trusted."""
    for one in view["scopes"]:
        last = f", the last of {local_minute(one['last_at'])}" if one["last_at"] else ""
        count = pluralize(one["memories"], "memory")
        found = "told in every project" if is_everywhere(one["path"]) else one["found"]
        yield [(one["path"] or "(no scope)", "bold"), (f": {count} ({found}){last}", "")]
        for project in (one["project"], *one["projects"]):
            if project is not None:
                yield f"  {project}{'' if project == one['project'] else ' (merged into it)'}"
        if not one["path"] and one["memories"]:
            yield "  `mnemic scope assign --unscoped SCOPE` gives them one"
    if not view["scopes"]:
        yield "there is none yet"
    for one in view["trusted"]:
        yield f"trusted: {one['folder']} is {one['scope']}"
    if view["undo"]:
        yield f"to take back the last change of them: {view['undo']}"


@scope.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@common_options
def rename(chosen: CommandContext, old: str, new: str) -> None:
    """Give a scope, and those below it, another path."""
    with chosen.open(create=False, asking=True) as mind:
        _run_rescope(chosen, mind, lambda: mind.rename_scope(old, new))


@scope.command()
@click.argument("from_", metavar="FROM")
@click.argument("into", metavar="INTO")
@common_options
def merge(chosen: CommandContext, from_: str, into: str) -> None:
    """Put a scope, and those below it, into another one. What their projects bring from now on goes there too."""
    with chosen.open(create=False, asking=True) as mind:
        _run_rescope(chosen, mind, lambda: mind.merge_scopes(from_, into))


@scope.command()
@click.argument("ids", nargs=-1, metavar="[ID|@N]...")
@click.argument("to", metavar="SCOPE")
@click.option("--unscoped", is_flag=True, help="All memories that are in no scope, in place of some that are named.")
@common_options
def assign(chosen: CommandContext, ids: tuple[str, ...], to: str, unscoped: bool) -> None:
    """Have memories belong to another scope. It is made where it is not there; what corrections link goes with them."""
    if unscoped == bool(ids):
        raise click.UsageError("say which memories, by their ids; or --unscoped, for all that are in no scope")
    with chosen.open(create=False, asking=True) as mind:
        named = chosen.resolve_ids(mind, ids)
        _run_rescope(chosen, mind, lambda: mind.assign_unscoped(to) if unscoped else mind.assign_scope(named, to))


@scope.command()
@click.argument("what", metavar="SCOPE|OLD_FOLDER")
@click.argument("folder", metavar="NEW_FOLDER")
@common_options
def move(chosen: CommandContext, what: str, folder: str) -> None:
    """Say where a project is now. Of a folder it says so of all projects that were in it."""
    with chosen.open(create=False, asking=True) as mind:
        _run_rescope(chosen, mind, lambda: mind.move_scope(what, folder))


@scope.command()
@common_options
def undo(chosen: CommandContext) -> None:
    """Take back the last of these changes that is not taken back yet."""
    with chosen.open(create=False) as mind:
        moved = mind.undo_scope_change()
        more = mind.command("scope", "undo") if mind.scopes().undo else None

    chosen.print_answer({"moved": [_outcome_view(one) for one in moved], "undo": more}, undone_lines)


def undone_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What was taken back."""
    yield from map(_moved_line, view["moved"])
    if not view["moved"]:
        yield "nothing is left to take back"
    if view["undo"]:
        yield f"to take back the change before it: {view['undo']}"


@scope.command()
@click.argument("folder", metavar="FOLDER")
@common_options
def trust(chosen: CommandContext, folder: str) -> None:
    """Have the .mnemic.toml in a folder count. It does as long as it names the scope that it names now."""
    from mnemic.runtime.minds.scope_trust import trust_folder

    chosen.require_named()
    place, path = trust_folder(chosen.home, folder)
    count = _count_memories(chosen, path)
    undo = shlex.join(["mnemic", "scope", "distrust", place, "--home", str(chosen.home.absolute())])

    chosen.print_answer({"folder": place, "scope": path, "memories": count, "undo": undo}, trusted_lines)


def trusted_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What is trusted now."""
    count = view["memories"]
    known = "" if count is None else f": {pluralize(count, 'memory')} so far, which its sessions may be told"
    yield f"trusted: {view['folder']} is {view['scope']}{known}"
    yield f"to take it back: {view['undo']}"


@scope.command()
@click.argument("folder", metavar="FOLDER")
@common_options
def distrust(chosen: CommandContext, folder: str) -> None:
    """Have the .mnemic.toml in a folder count no longer."""
    from mnemic.runtime.minds.scope_trust import distrust_folder

    place, path = distrust_folder(chosen.home, folder)
    view = {"folder": place, "scope": path}
    chosen.print_answer(view, distrusted_lines)


def distrusted_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What is not trusted any more."""
    yield f"no longer trusted: {view['folder']}, which was {view['scope']}"


def _count_memories(chosen: CommandContext, path: str) -> int | None:
    """How many memories a file that names a scope is told of; ``None`` where the mind is locked."""
    from mnemic.actors.kernel.errors import MindMissing

    try:
        if chosen.is_locked():
            return None
        with chosen.open(create=False) as mind:
            there = [one for one in mind.scopes().scopes if not one.has_folder_name]
    except MindMissing:
        return 0
    return sum(one.memories for one in there if f"{one.path}/".startswith(f"{path}/"))


def _outcome_view(one: ScopeOutcome) -> dict[str, Any]:
    """What became of one scope, as JSON."""
    return {"was" if name == "old_project" else name: value for name, value in one._asdict().items()}


def _run_rescope(chosen: CommandContext, mind: Mind, verb: Callable[[], Sequence[ScopeOutcome]]) -> None:
    before = mind.scopes().scopes
    moved = verb()
    undo = mind.command("scope", "undo") if moved else None
    merged = sorted({one.to for one in moved if one.what == "merged"})
    gone = [line for path in merged for line in _moved_folder_lines(mind, path)]
    advice = [*_old_path_lines(before, moved), *gone]
    view = {"moved": [_outcome_view(one) for one in moved], "advice": advice, "undo": undo}
    chosen.print_answer(view, rescope_lines)


def rescope_lines(view: dict[str, Any]) -> Iterator[Line]:
    """What became of scopes."""
    yield from map(_moved_line, view["moved"])
    yield from view["advice"]
    yield f"to take it back: {view['undo']}" if view["undo"] else "it is so already"


def _moved_line(one: dict[str, Any]) -> str:
    if one["what"] == "moved" and one["project"] is None:
        return f"let go: {one['path']}: {one['was']}"
    if one["what"] == "moved":
        return f"moved: {one['path']}: {one['was'] or 'no folder'} -> {one['project']}"
    path, to = (one[name] or "(no scope)" for name in ("path", "to"))
    return f"{_VERBS[one['what']]}: {path} -> {to} ({pluralize(one['memories'], 'memory')})"


def _moved_folder_lines(mind: Mind, path: str) -> Iterator[str]:
    """What lets go of a folder that is a scope's still, where its project is in another one of the scope's now."""
    for old, new in mind.moved_folders(path):
        yield f"{old} stays a folder of {path!r}, and nothing is there; if {new} is the same project, moved:"
        yield f"  {mind.command('scope', 'move', old, new)}"


def _old_path_lines(before: Sequence[ScopeInfo], moved: Sequence[ScopeOutcome]) -> Iterator[str]:
    """What a scope's old path means from now on, where it was no folder that brought its memories there."""
    found = {one.path: one.found for one in before}
    named = [
        one.path for one in moved if one.what in ("renamed", "merged") and found.get(one.path) in _NAMED_EXPLICITLY
    ]
    if named:
        what = f"{named[0]!r}{f' and {len(named) - 1} more' if len(named) > 1 else ''}"
        yield f"what names {what} from now on, --scope or a .mnemic.toml, makes that scope anew"
