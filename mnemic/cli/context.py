"""The group that commands add themselves to, where a command works, how it prints, opens the mind, gets its options."""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click
import msgspec

from mnemic.actors.kernel.errors import HomeMissing, InvalidValue, WrongPassphrase, WrongRecoveryKey
from mnemic.actors.kernel.message import Time, field_help
from mnemic.cli.start.subjects import SubjectGroup
from mnemic.cli.terminal.completing import complete_minds
from mnemic.cli.terminal.dates import TimeParam
from mnemic.cli.terminal.ids import forget_lists, keep_list, resolve_ids
from mnemic.cli.terminal.interrupts import ask
from mnemic.cli.terminal.output import Line, escape_controls, print_error, print_lines
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.logs import log_to
from mnemic.runtime.minds.ask_passphrase import is_interactive
from mnemic.runtime.minds.homes import (
    DEFAULT_MIND,
    default_home,
    expand_home,
    mind_folder,
    mind_options,
    missing_mind,
    require_absolute_home,
)
from mnemic.runtime.version import __version__

if TYPE_CHECKING:
    from mnemic.actors.kernel.scope_paths import Scopes
    from mnemic.runtime.api.mind import Mind
    from mnemic.runtime.keys.keys import Keys

CLOCK = SystemClock()
_DRAIN_FIRST_S = 3.0  # some thousand records


class CommandContext:
    """Where a command works and how it prints."""

    def __init__(self, home: str | None, mind: str | None, as_json: bool) -> None:
        if not home:
            require_absolute_home(os.environ)
        # $MNEMIC_HOME too: an assistant's settings give it as it stands there, and no shell has seen its ~.
        self.home = expand_home(Path(home) if home else default_home(os.environ))
        self._names_home = bool(home)
        self.mind = mind or DEFAULT_MIND
        self.as_json = as_json

    def require_named(self) -> None:
        """Refuse a home or a mind that the command line names and that is not there: a slip of the hand makes neither.

        What is meant where nothing is named may be made by whatever comes first; $MNEMIC_HOME names no home so, since
        it is set once and not typed with each command.

        Raises:
            HomeMissing, MindMissing: it is not there.
        """
        folder = mind_folder(self.home, self.mind)
        if self._names_home and not self.home.is_dir():
            raise HomeMissing(home=str(self.home), named=mind_options(folder).strip())
        if self.mind != DEFAULT_MIND and not folder.path.is_dir():
            raise missing_mind(self.home, self.mind)

    @contextmanager
    def open(
        self,
        *,
        create: bool,
        alone: bool = False,
        asking: bool = False,
        asked_only: bool = False,
        whole: bool = False,
    ) -> Iterator[Mind]:
        """The mind, by way of the home's process where it runs, else opened here; let go of at the end.

        Args:
            create: whether the default mind is made where it is not there.
            alone: whether to open it here in any case.
            asking: whether to take in first what hooks kept, as far as that takes no longer than a moment; a process
                does so by itself.
            asked_only: whether memories are asked for and nothing else, which takes few actors.
            whole: whether it takes the keys of a mind, which no process gives out: where there is no terminal, the
                passphrase of one that is locked is a line of standard input.
        """
        from mnemic.open_mind import open_here, open_served
        from mnemic.runtime.minds.ask_passphrase import open_with_prompt

        made = create and not mind_folder(self.home, self.mind).path.is_dir()
        if create:
            self.require_named()
        if os.environ.get("MNEMIC_INSTRUCTIONS"):  # a process that serves has its own, and says nothing of it
            from mnemic.runtime.models.models import check_instruction_set

            check_instruction_set()
        if not alone:
            served = open_served(self.home, self.mind, CLOCK, create=create)
            if served is not None and not ((whole or is_interactive()) and served.is_locked()):
                if whole:
                    served.set_secret_reader(read_secret_line)
                with served:
                    yield served
                if made:
                    self._print_made()
                return
        opens = partial(open_here, self.home, self.mind, create=create, asked_only=asked_only)
        with (
            log_to(self.home / "mnemic.log"),
            open_with_prompt(
                lambda said: opens(passphrase=said), self.mind, read_secret_line if whole else None
            ) as mind,
        ):
            if asking:
                until_s = CLOCK.monotonic_s() + _DRAIN_FIRST_S
                mind.catch_up("spool", lambda: CLOCK.monotonic_s() < until_s)
            yield mind
        if made:
            self._print_made()

    def _print_made(self) -> None:
        """Say on standard error that a mind was made, since nobody asked for one, and what its owner has to keep."""
        folder = mind_folder(self.home, self.mind)
        if folder.key.is_file():  # it was made, and by nobody else who locked it
            view = {
                "error": f"made the mind {self.mind!r}; its key is {folder.key}: keep a copy elsewhere.",
                "remedy": f"`mnemic rekey --recovery{mind_options(folder)}` prints a recovery key for it.",
            }
            print_error(view, as_json=False)

    def working_folder(self) -> str:
        """The folder the command was given in.

        Raises:
            InvalidValue: it was removed.
        """
        try:
            return os.getcwd()
        except FileNotFoundError:
            expected = "--scope, or go to a folder that is there"
            raise InvalidValue(name="the working folder", value=".", why="it was removed", expected=expected) from None

    def print_passed_over(self, folder: Path, scope: str) -> None:
        """Say on standard error that a ``.mnemic.toml`` does not count, and how it would."""
        from mnemic.runtime.minds.scope_trust import unconfirmed_sentence

        click.echo(escape_controls(f"mnemic: {unconfirmed_sentence(self.home, folder, scope)}"), err=True)

    def resolve_scope(self, mind: Mind, named: tuple[str, ...]) -> tuple[Scopes, str]:
        """What to look through and how it was found."""
        from mnemic.actors.kernel.scope_paths import normalize_scopes

        if named:
            scope = normalize_scopes(named)
            return scope, "asked for" if scope == "*" else "named"
        path, place = mind.folder_scope(self.working_folder(), self.print_passed_over)
        return (path, place.found) if path is not None else ("*", "this folder's project is not known here")

    def prompt_for_keys(self) -> Keys | None:
        """The keys of a mind that is locked, where whoever sits at the terminal says its passphrase."""
        from mnemic.runtime.minds.ask_passphrase import open_with_prompt
        from mnemic.runtime.minds.homes import is_locked_mind, open_mind

        if not is_interactive() or not is_locked_mind(self.home, self.mind):
            return None
        try:
            return open_with_prompt(lambda said: open_mind(self.home, self.mind, said, looking=True), self.mind)[1]
        except (WrongPassphrase, WrongRecoveryKey):  # each was answered, and the doctor looks at the rest
            return None

    def is_locked(self) -> bool:
        """Whether nothing can be asked of the mind before somebody says its passphrase."""
        from mnemic.runtime.api.lock import is_unlocked
        from mnemic.runtime.minds.homes import is_locked_mind

        return is_locked_mind(self.home, self.mind) and not is_unlocked(self.home, self.mind)

    def confirmed(self, view: dict[str, Any], question: str, nothing: str) -> bool:
        """Whether whoever sits there says yes; a program, or nobody, has to say it in the command, by ``--yes``.

        Args:
            view: what it is about, printed as JSON where nobody can be asked.
            nothing: what is said where it is not done.
        """
        if self.as_json or not sys.stdin.isatty():
            nobody = f"{nothing}: nobody is there to be asked; --yes does it"
            self.print_answer(view | {"applied": False, "why": nobody}, why_lines)
            sys.exit(2)
        try:
            agreed = ask(lambda: click.confirm(question))
        except click.Abort:
            click.echo(f"\n{nothing}")
            raise
        if not agreed:
            click.echo(nothing)
        return bool(agreed)

    def print_answer(self, view: Any, render: Callable[[Any], Iterable[Line]]) -> None:
        """Print an answer: as JSON, or for a person.

        Args:
            render: the lines for a person, made of the same JSON and of nothing else.
        """
        written = json.dumps(view)
        print_lines([written] if self.as_json else render(json.loads(written)), marked=not self.as_json)

    def print_entries(self, view: dict[str, Any], entries: str, render: Callable[[Any], Iterable[Line]]) -> None:
        """Print a list: as JSON one object a line, or for a person.

        Args:
            entries: the field of the view that is the list.
            render: the lines for a person, of the whole view.
        """
        written = json.dumps(view)
        lines = map(json.dumps, view[entries]) if self.as_json else render(json.loads(written))
        print_lines(lines, marked=not self.as_json)

    def keep_list(self, memories: Iterable[Any]) -> None:
        """Have ``@1`` mean the first of these memories, as views give them, where a person is shown them."""
        if not self.as_json:
            keep_list(self.home, self.mind, (one["id"] for one in memories))

    def forget_lists(self) -> None:
        """Have no ``@1`` name what is erased or locked now."""
        forget_lists(self.home)

    def resolve_ids(self, mind: Mind, texts: Sequence[str]) -> tuple[bytes, ...]:
        """The memories that are named: by an id, its last digits, or ``@1`` of the last list."""
        return resolve_ids(mind, self.home, self.mind, texts)


def why_lines(view: dict[str, Any]) -> Iterator[Line]:
    """Why nothing was done."""
    yield view["why"]


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has."""

    def chosen(context: click.Context, /, home: str | None, mind: str | None, as_json: bool, **rest: Any) -> Any:
        before = context.meta  # what stood before the command's name
        named = {name: given or before.get(name) for name, given in _given(home, mind, as_json).items()}
        context.obj = bool(named["mnemic.as_json"])
        return command(CommandContext(named["mnemic.home"], named["mnemic.mind"], context.obj), **rest)

    return click.pass_context(_with_common(command, chosen))


def _with_common(command: Callable[..., Any], chosen: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in for a command or a group: named as it is, with its parameters and the common ones."""
    chosen.__name__, chosen.__doc__ = command.__name__, command.__doc__
    chosen.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    chosen = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(chosen)
    chosen = click.option(
        "--mind", metavar="NAME", help=f"Which memory.  [default: {DEFAULT_MIND}]", shell_complete=complete_minds
    )(chosen)
    return click.option(
        "--home", metavar="DIR", help="Folder of all minds; else $MNEMIC_HOME, else the platform's data folder."
    )(chosen)


def group_options(group: Callable[..., Any]) -> Callable[..., Any]:
    """Give a group the options that every command has, so that they may stand before its name, too."""

    def chosen(context: click.Context, home: str | None, mind: str | None, as_json: bool, **rest: Any) -> Any:
        context.meta.update({name: given for name, given in _given(home, mind, as_json).items() if given})
        return group(context, **rest)

    return click.pass_context(_with_common(group, chosen))


def _given(home: str | None, mind: str | None, as_json: bool) -> dict[str, Any]:
    return {"mnemic.home": home, "mnemic.mind": mind, "mnemic.as_json": as_json}


@click.group(cls=SubjectGroup, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="mnemic")
@group_options
def cli(context: click.Context) -> None:
    """A long-term memory for AI assistants, on your own machine. Alone it says how things stand, and what to do."""
    if context.invoked_subcommand is None:
        given = context.meta
        cli.print_alone(CommandContext(given.get("mnemic.home"), given.get("mnemic.mind"), "mnemic.as_json" in given))


def exit_where_failed(failed: bool, *, done: bool) -> None:
    """End the command, once its answer is printed, where something was not done or is wrong.

    Args:
        done: whether something else was: 1 tells that, and 2 that nothing was changed.
    """
    if failed:
        sys.exit(1 if done else 2)


def read_secret_line() -> str | None:
    """A line of standard input; ``None`` where it has ended, or there is none."""
    line = "" if sys.stdin is None else sys.stdin.readline()
    return line.rstrip("\r\n") or None


MANY_SCOPES: Mapping[str, Any] = {"default": (), "show_default": False, "more": "May be given again."}
"""How scopes are named; where none is, everything is meant."""
FOLDER_SCOPE: Mapping[str, Any] = {
    **MANY_SCOPES,
    "more": "May be given again. Default: this folder's project where it is known, else everything.",
}
"""How the scopes of a question differ: where none is named, the folder that the command is given in decides."""

_METAVARS = {int: "N", str: "S"}
_COUNTS = ("k", "limit")
"""Fields that say how many are wanted; each command that has one takes it under all of their names."""


class _VerbOption(click.Option):
    """An option whose help is read where somebody asks for it: it stands in the source of the message."""

    field: tuple[type[msgspec.Struct], str]
    more: str

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        verb, name = self.field
        self.help = f"{field_help(verb)[name]} {self.more}".rstrip()
        return super().get_help_record(ctx)

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        value, args = super().handle_parse_result(ctx, opts, args)
        if self.name == "until" and isinstance(self.type, TimeParam) and value is not None:
            end = self.type.end_of(opts.get("since"), opts.get("until"))
            value = ctx.params["until"] = value if end is None else end
        return value, args


def verb_options(
    verb: type[msgspec.Struct], *names: str, **unlike: Mapping[str, Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command options for fields of a verb; each value comes under the field's name, as the message takes it.

    Args:
        names: of the fields, in the order of the help.
        unlike: where the command differs, by field: attributes of `click.option`, ``flags`` for its names on the
            command line, and ``more`` for a sentence after the help.
    """
    fields = {field.name: field for field in msgspec.structs.fields(verb)}

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            given = _attributes(fields[name]) | dict(unlike.get(name, {}))
            flags, more = given.pop("flags"), given.pop("more", "")
            made = type("_Option", (_VerbOption,), {"field": (verb, name), "more": more})
            command = click.option(*flags, name, cls=made, **given)(command)
        return command

    return with_options


def _attributes(field: msgspec.structs.FieldInfo) -> dict[str, Any]:
    """What `click.option` is given for a field."""
    hint, many = _bare(field.type)
    flag = f"--{(field.name.removesuffix('s') if many else field.name).replace('_', '-')}"
    default = None if field.default is msgspec.NODEFAULT else field.default
    flags = ("-n", "-k", "--limit") if field.name in _COUNTS else (flag,)
    given: dict[str, Any] = {"flags": flags, "default": default}
    if hint is bool:
        return given | {"is_flag": True}
    if many:
        return given | {"multiple": True, "type": hint}
    given["show_default"] = default not in (None, "")
    if hint == Time:
        return given | {"type": TimeParam(CLOCK), "metavar": "T"}
    if get_origin(hint) is Literal:
        return given | {"type": click.Choice(get_args(hint))}
    return given | {"type": hint, "metavar": _METAVARS[hint]}


def _bare(hint: Any) -> tuple[Any, bool]:
    """A field's type without ``None``, and whether it takes many of them; one or many are many."""
    if get_origin(hint) in (Union, types.UnionType):
        *_, hint = (part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True
    return hint, False
