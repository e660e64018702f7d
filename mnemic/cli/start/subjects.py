"""The commands by subject, as `mnemic --help` lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

SUBJECTS: dict[str, tuple[str, ...]] = {
    "Start": ("setup", "demo", "status", "doctor"),
    "Ask": ("recall", "shape", "show", "log"),
    "Keep": ("capture", "remember", "correct", "forget", "scope", "pause", "resume"),
    "What is known": (
        *("facts", "timeline", "entities", "entity", "conflicts", "communities"),
        *("digest", "procedures", "profile"),
    ),
    "Nights": ("sleep", "nights"),
    "Assistants": ("hooks", "mcp", "serve", "uninstall"),
    "Keys and copies": ("init", "minds", "unlock", "lock", "rekey", "backup", "restore", "export", "import"),
    "Research": ("experiment",),
}
"""Each command stands in one of them."""


class SubjectGroup(click.Group):
    """A group whose help lists its commands by subject, each with its line."""

    alone: Callable[[Any], None]
    """What it does where no command is named, by the context of one."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write them."""
        width = max(map(len, self.commands))
        room = formatter.width - width - 6
        for subject, names in SUBJECTS.items():
            rows = [(f"{name:<{width}}", self.commands[name].get_short_help_str(room)) for name in names]
            with formatter.section(subject):
                formatter.write_dl(rows)
