"""The commands by subject, as `mnemic --help` lists them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

_COMMANDS: dict[str, str] = {
    "Start": "start.setup:setup processes:demo status:status,doctor start.completions:completions start.help:help",
    "Ask": "recall:recall,shape log:show,log",
    "Keep": "capture:capture correct:remember,correct forget:forget scope:scope capture:pause,resume",
    "What is known": (
        "derived.facts:facts,timeline,entities,entity,conflicts derived.communities:communities"
        " derived.sleep:digest,procedures,profile"
    ),
    "Nights": "derived.sleep:sleep,nights,derived",
    "Assistants": "hooks.commands:hooks processes:mcp,serve service:service hooks.commands:uninstall",
    "Keys and copies": "keys:init minds:minds model:model keys:unlock,lock,rekey move:backup,restore,export,import",
    "Research": "experiment:experiment",
}
"""By subject the modules of `mnemic.cli`, each with the commands that it adds. To load all of them took a quarter of
the time of a recall."""
_MODULES: dict[str, str] = {}
SUBJECTS: dict[str, tuple[str, ...]] = {}
"""Each command stands in one of them."""
for _subject, _parts in _COMMANDS.items():
    _pairs = [part.split(":") for part in _parts.split()]
    SUBJECTS[_subject] = tuple(name for _, names in _pairs for name in names.split(","))
    _MODULES |= {name: f"mnemic.cli.{module}" for module, names in _pairs for name in names.split(",")}


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

    def print_alone(self, chosen: object) -> None:
        """Do what the group does where no command is named, by the context of one."""
        import_module("mnemic.cli.start.overview").print_overview(chosen)

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
