"""What the shell is told at a Tab beyond the names of commands and options: paths, minds, assistants."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from mnemic.actors.kernel.errors import MnemicError
from mnemic.runtime.minds.homes import default_home, expand_home, mind_names

_FOLDERS, _FILES = re.compile(r"(DIR|FOLDER)\b"), re.compile(r"(FILE|KEY)\b")


class _PathText(click.types.StringParamType):
    """Text that is a path: as any other text, but that the shell completes it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Have the shell complete the path."""
        return [CompletionItem(incomplete, type=self._kind)]


def complete_paths(command: click.Command) -> None:
    """Have the shell complete paths wherever a command, or one below it, takes one, as its metavar says."""
    for parameter in command.params:
        taken = parameter.metavar or ""
        kind = "file" if _FILES.search(taken) else "dir" if _FOLDERS.search(taken) else None
        if kind is not None and isinstance(parameter.type, click.types.StringParamType):
            parameter.type = _PathText(kind)
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        complete_paths(below)


def complete_minds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The minds of the home that is named, or is meant."""
    above: click.Context | None = context
    named = None
    while above is not None and named is None:
        named, above = above.params.get("home"), above.parent
    try:
        names = mind_names(expand_home(Path(named) if named else default_home(os.environ)))
    except (MnemicError, OSError):  # whoever runs the command is told; at a Tab there is nobody to tell
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_names(names: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], Any]:
    """Completes one of these names."""
    return lambda context, parameter, incomplete: [name for name in names if name.startswith(incomplete)]
