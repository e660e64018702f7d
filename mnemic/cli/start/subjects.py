"""The commands by subject, as `mnemic --help` lists them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

SUBJECTS: dict[str, tuple[str, ...]] = {
    "Start": ("setup", "demo", "status", "doctor", "completions", "help"),
    "Ask": ("recall", "shape", "show", "log"),
    "Keep": ("capture", "remember", "correct", "forget", "scope", "pause", "resume"),
    "What is known": (
        *("facts", "timeline", "entities", "entity", "conflicts", "communities"),
        *("digest", "procedures", "profile"),
    ),
    "Nights": ("sleep", "nights", "derived"),
    "Assistants": ("hooks", "mcp", "serve", "service", "uninstall"),
    "Keys and copies": ("init", "minds", "unlock", "lock", "rekey", "backup", "restore", "export", "import"),
    "Research": ("experiment",),
}
"""Each command stands in one of them."""
_COMMANDS: dict[str, tuple[str, ...]] = {
    "capture": ("capture", "pause", "resume"),
    "correct": ("remember", "correct"),
    "derived.communities": ("communities",),
    "derived.facts": ("facts", "timeline", "conflicts", "entities", "entity"),
    "derived.sleep": ("sleep", "nights", "derived", "digest", "procedures", "profile"),
    "experiment": ("experiment",),
    "forget": ("forget",),
    "hooks.commands": ("hooks", "uninstall"),
    "keys": ("init", "unlock", "lock", "rekey"),
    "log": ("log", "show"),
    "minds": ("minds",),
    "move": ("backup", "restore", "export", "import"),
    "processes": ("serve", "mcp", "demo"),
    "recall": ("recall", "shape"),
    "scope": ("scope",),
    "service": ("service",),
    "start.completions": ("completions",),
    "start.help": ("help",),
    "start.setup": ("setup",),
    "status": ("status", "doctor"),
}
"""By module of `mnemic.cli` the commands that it adds. To load all of them took a quarter of the time of a recall."""
_MODULES = {name: f"mnemic.cli.{module}" for module, names in _COMMANDS.items() for name in names}


class SubjectGroup(click.Group):
    """A group that loads a command when it is asked for, and whose help lists all by subject, each with its line."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name in _MODULES:
            import_module(_MODULES[cmd_name])
        found = super().get_command(ctx, cmd_name)
        if ctx.resilient_parsing and found is not None:  # a shell asks what can follow
            import_module("mnemic.cli.terminal.completing").complete_paths(found)
        return found

    def tell_alone(self, chosen: object) -> None:
        """Do what the group does where no command is named, by the context of one."""
        import_module("mnemic.cli.start.overview").tell_overview(chosen)

    def load_all(self) -> Mapping[str, click.Command]:
        """All commands by name."""
        for module in dict.fromkeys(_MODULES.values()):
            import_module(module)
        return self.commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all; none is loaded for them, so that a shell completes one quickly."""
        return sorted(_MODULES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write them."""
        commands = self.load_all()
        width = max(map(len, commands))
        room = formatter.width - width - 6
        for subject, names in SUBJECTS.items():
            rows = [(f"{name:<{width}}", commands[name].get_short_help_str(room)) for name in names]
            with formatter.section(subject):
                formatter.write_dl(rows)
