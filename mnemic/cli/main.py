"""The `mnemic` command: its entry point.

Each command is loaded when it is asked for (`mnemic.cli.start.subjects`), and loads what is heavy itself.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from mnemic.cli.context import cli
from mnemic.cli.terminal.endings import describe_end
from mnemic.cli.terminal.interrupts import install_sigterm_handler
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
    except BaseException as error:
        end = describe_end(error)
        if end is None:
            raise
        print_error(end[0], as_json and not isinstance(error, OutputFailed))
        sys.exit(end[1])
