"""The commands `mnemic pause` and `mnemic resume`.

They read arguments and print; `mnemic.runtime.capture.pauses` does it, without opening the mind: a locked one is paused
too. `mnemic.cli.main` above adds them to the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mnemic.cli.output import CommonOptions

if TYPE_CHECKING:
    from mnemic.actors.protocol.contract import Clock
    from mnemic.cli.context import CommandContext

__all__ = ["add_pause_commands"]


def add_pause_commands(cli: click.Group, options: CommonOptions, clock: Clock) -> None:
    """Add the commands to the command line.

    Args:
        options: gives a command the options that every command has.
    """

    @cli.command()
    @click.option("--for", "for_", metavar="SPAN", help="For so long: 30m, 2h, 1d12h. Default: until `mnemic resume`.")
    @options
    def pause(chosen: CommandContext, for_: str | None) -> None:
        """Capture nothing for a while; what is known can still be recalled."""
        from mnemic.runtime.api.pause import parse_duration_us
        from mnemic.runtime.capture.pauses import pause

        held = pause(chosen.home, chosen.mind, clock.now_us(), None if for_ is None else parse_duration_us(for_))

        def lines() -> Iterator[str]:
            yield held.sentence()
            yield "What you name yourself is kept all the same: `mnemic remember`, `mnemic capture FILE`."

        chosen.print_answer({"mind": chosen.mind, "paused": held.view()}, lines)

    @cli.command()
    @options
    def resume(chosen: CommandContext) -> None:
        """Capture again, from now on: what happened in the pause is not taken in later."""
        from mnemic.runtime.capture.pauses import resume

        ended = resume(chosen.home, chosen.mind, clock.now_us())

        def lines() -> Iterator[str]:
            if ended is None:
                yield "The memory was not paused: it captures."
            else:
                yield "The memory captures again. What happened in the pause stays out of it."

        chosen.print_answer(
            {"mind": chosen.mind, "paused": None, "ended": None if ended is None else ended.view()}, lines
        )
