"""How a command that does not finish is told: a code, a sentence, a remedy, and the exit code."""

from __future__ import annotations

import signal

import click

from mnemic.actors.kernel.errors import MnemicError
from mnemic.cli.terminal.interrupts import Terminated


def describe_end(error: BaseException) -> tuple[dict[str, str], int] | None:
    """What a user is told of an error or a signal, and the exit code; ``None`` of an error that nobody foresaw."""
    if isinstance(error, MnemicError):
        from mnemic.runtime.api.views import error_view

        return error_view(error), error.exit_code
    if isinstance(error, (click.Abort, KeyboardInterrupt, Terminated)):
        terminated = isinstance(error, Terminated)
        what = "Terminated" if terminated else "Interrupted"
        sentence = f"{what}: what was acknowledged is kept."
        view = {"code": what.lower(), "error": sentence, "remedy": "Run it again to go on."}
        return view, 128 + (signal.SIGTERM if terminated else signal.SIGINT)
    if isinstance(error, click.ClickException):
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "mnemic"
        sentence = error.format_message()
        sentence += "" if sentence.endswith((".", "?", "!")) else "."
        return {"code": "usage", "error": sentence, "remedy": f"Try '{command} --help'."}, 2
    return None
