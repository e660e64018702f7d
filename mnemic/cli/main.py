"""The `mnemic` command: its entry point.

Each command is loaded when it is asked for (`mnemic.cli.start.subjects`), and loads what is heavy itself.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from mnemic.actors.protocol.errors import MnemicError
from mnemic.cli.context import cli
from mnemic.cli.terminal.interrupts import Terminated, install_sigterm_handler
from mnemic.cli.terminal.output import OutputFailed, print_error
from mnemic.runtime.keys.keys import disable_core_dumps


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every error ends as one sentence, a remedy and an exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    os.umask(0o077)
    disable_core_dumps()
    # One thread: two are a quarter faster on an idle machine and five times slower on a busy one, where their barriers
    # spin; it must be set before NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a lone surrogate, or a locale without the letter
    install_sigterm_handler()
    as_json = "--json" in given
    try:
        cli.main(given, prog_name="mnemic", standalone_mode=False)
    except MnemicError as error:
        from mnemic.runtime.api.views import error_view

        print_error(error_view(error), as_json and not isinstance(error, OutputFailed))
        sys.exit(error.exit_code)
    except (click.Abort, Terminated) as error:
        what = "Terminated" if isinstance(error, Terminated) else "Interrupted"
        sentence = f"{what}: what was acknowledged is kept."
        print_error({"code": what.lower(), "error": sentence, "remedy": "Run it again to go on."}, as_json)
        sys.exit(128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT))
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "mnemic"
        remedy = f"Try '{command} --help'."
        sentence = error.format_message()
        sentence += "" if sentence.endswith((".", "?", "!")) else "."
        print_error({"code": "usage", "error": sentence, "remedy": remedy}, as_json)
        sys.exit(2)
