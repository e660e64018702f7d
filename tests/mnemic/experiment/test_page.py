"""The page's commands lead a newcomer to a consolidator of their own, measured against ours."""

from __future__ import annotations

import os
import shlex
import site
import subprocess
import venv
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.waiting import BOUND_S

MARK = "<!-- run by tests/mnemic/experiment/test_page.py -->\n"


def shorten(spec: Path) -> None:
    """Have each arm live one life, which takes half the time of two."""
    two = spec.read_text("utf-8")
    assert two.count("seeds = [1, 2]") == 1
    spec.write_text(two.replace("seeds = [1, 2]", "seeds = [1]"), "utf-8")


@pytest.mark.system
def test_the_pages_commands_do_what_it_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "experiments.md").read_text("utf-8")
    block = page.partition(MARK)[2].partition("\n\n")[0]
    commands = [line.strip() for line in block.splitlines()]
    assert [shlex.split(one)[0] for one in commands] == ["mnemic", "cd", "pip", "python", "mnemic"]
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "here.pth").write_text(
        "".join(f"import site; site.addsitedir({one!r})\n" for one in site.getsitepackages())
    )
    programs = {"mnemic": [python, "-m", "mnemic"], "pip": [python, "-m", "pip"], "python": [python]}
    folder, told = tmp_path, ""
    for one in commands:
        program, *arguments = shlex.split(one)
        if program == "cd":
            folder = folder / arguments[0]
            shorten(folder / "experiment.toml")
            continue
        arguments += ["--no-build-isolation", "--quiet"] if program == "pip" else []  # it builds with what is here
        command = [*map(str, programs[program]), *arguments]
        environment = os.environ | {"MNEMIC_HOME": str(tmp_path / "home")}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=BOUND_S)
        assert done.returncode == 0, f"{one}: {done.stdout}{done.stderr}"
        told = done.stdout
    assert told.startswith(
        "mine: 3 arms, 1 seed, 3 nights: Whether longer memories that count more are better found.\n"
    )
    assert "\n  mine: mrr 0." in told
    assert "\nless ours, after 3 nights (95 % interval; p by Holm):\n  mine mrr: " in told
