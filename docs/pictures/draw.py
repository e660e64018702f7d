"""Draws the pictures of the documentation from real runs: `make pictures`, or ``python docs/pictures/draw.py FOLDER``.

Each is what a terminal of 88 columns shows: the commands are run in a pseudo-terminal, in a home that is made for it
and thrown away, with settings of two assistants in it. Beside each picture lies its text, which a test compares.
"""

from __future__ import annotations

import io
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLUMNS = 88
PICTURES = {
    "setup": ("mnemic setup --yes",),
    "session": (
        "mnemic recall who struggles with poor eyesight -n 1",
        "mnemic recall how long does the session token last -n 2 --scope slipway",
        "mnemic timeline database --scope slipway",
        "mnemic shape after='edit, test failed' then=? --scope slipway -n 1",
    ),
}
"""By name, the commands that are typed: `setup` on a machine with two assistants, the rest on the example."""
_RECOVERY = re.compile(r"(?:[A-Z2-7]{4}-){5,}[A-Z2-7]{4}")
"""A recovery key: a picture shows none, though what it opens is gone."""
_THEME = TerminalTheme(
    (24, 26, 31),
    (214, 217, 222),
    [
        (24, 26, 31), (224, 108, 117), (137, 202, 120), (229, 192, 123),
        (97, 175, 239), (198, 120, 221), (86, 182, 194), (171, 178, 191),
    ],
    [
        (92, 99, 112), (224, 108, 117), (137, 202, 120), (229, 192, 123),
        (97, 175, 239), (198, 120, 221), (86, 182, 194), (255, 255, 255),
    ],
)  # fmt: skip
_SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""As `rich` draws it, with the fonts that are there: a picture on a page may load none."""


def draw(folder: Path) -> None:
    """Draw all pictures into a folder, each as NAME.svg, with what it says in NAME.txt."""
    for name, commands in PICTURES.items():
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="standard")
        with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as user:  # as long as what it is shown as
            environment = _user(Path(user), with_example=name != "setup")
            for command in commands:
                console.print(Text("$ ", "green").append(command, "bold"), soft_wrap=True)
                shown = run_in_terminal(shlex.split(command), environment, Path(user))
                shown = _RECOVERY.sub(lambda key: re.sub(r"\w", "X", key[0]), shown)
                shown = shown.replace(user, "/home/harriet")
                console.print(Text.from_ansi(shown), soft_wrap=True)
                console.print()
        (folder / f"{name}.txt").write_text(console.export_text(clear=False, styles=False).rstrip() + "\n", "utf-8")
        console.save_svg(str(folder / f"{name}.svg"), title="mnemic", theme=_THEME, code_format=_SVG, unique_id=name)


def _user(folder: Path, *, with_example: bool) -> dict[str, str]:
    """The environment of a user who has two assistants, or a home with the example in it."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"  # the command beside this Python
    environment = {"PATH": path, "HOME": str(folder), "TERM": "xterm-256color", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    for assistant in (".claude", ".codex"):
        (folder / assistant).mkdir()
    if with_example:
        made = ["mnemic", "demo", "--keep", str(folder / "home")]
        subprocess.run(
            made, env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        environment["MNEMIC_HOME"] = str(folder / "home")
    return environment


def run_in_terminal(command: list[str], environment: dict[str, str], folder: Path, columns: int = COLUMNS) -> str:
    """What a command shows in a pseudo-terminal, with its colours.

    Raises:
        CalledProcessError: it did not end with 0.
    """
    ours, theirs = pty.openpty()
    sized = environment | {"COLUMNS": str(columns), "LINES": "50"}
    process = subprocess.Popen(command, env=sized, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = bytearray()
    while True:
        select.select([ours], [], [])
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so where the other end is closed
            part = b""
        if not part:
            break
        shown += part
    os.close(ours)
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, command, shown.decode("utf-8", "replace"))
    return _last_drawn(shown.decode("utf-8", "replace"))


def _last_drawn(shown: str) -> str:
    """What stays on the screen: a bar that was drawn over and over is left out."""
    lines = shown.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rpartition("\r")[2] for line in lines if not re.search(r"\x1b\[\?25|\x1b\[2K", line)).rstrip(
        "\n"
    )


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent))
