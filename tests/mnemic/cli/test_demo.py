"""The demo: the main job from start to finish, answered right, leaving nothing behind."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.protocol.errors import ModelMissing
from mnemic.runtime.engine import actor_system
from tests.paths import ROOT
from tests.processes.faces import Outcome, run

LAYERS = ("actors", "algorithms", "bench", "hd", "hooks", "runtime")
ASKED = [
    "by meaning",
    "by words",
    "by shape",
    "a changed mind",
    "the changed fact, now",
    "the same, as it was known before",
]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, empty."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.system
def test_every_answer_comes_first_from_an_installation_that_nobody_can_write(scratch: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed" / "mnemic"
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "mnemic", installed, ignore=left_out)
    for layer in LAYERS:
        shutil.copytree(ROOT / layer, installed / layer, ignore=left_out)
    before = sorted(installed.rglob("*"))
    for path in before:
        path.chmod(stat.S_IRUSR | stat.S_IXUSR if path.is_dir() else stat.S_IRUSR)

    # Python looks into the working folder first, before what is installed here editably.
    where = {"cwd": installed.parent, "env": {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}}
    taken = subprocess.check_output([sys.executable, "-c", "import mnemic.actors as a; print(a.__file__)"], **where)
    assert Path(taken.decode().strip()).is_relative_to(installed)
    ended = run("demo", "--json", **where)
    assert (ended.code, ended.err) == (0, "")
    assert [answer["what"] for answer in ended.json["answers"]] == ASKED
    for answer in ended.json["answers"]:
        assert answer["rank"] == 1, answer
        assert answer["degraded"] == []
        assert answer["took_ms"] > 0
    assert ended.json["capture"] == {"new": 270, "files": 12, "embedded": 270, "again_new": 0}
    assert list(scratch.iterdir()) == []
    assert sorted(installed.rglob("*")) == before


def test_without_a_model_it_goes_on_by_words_and_says_so(
    command: Callable[..., Outcome], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(settings: Mapping[str, Any]) -> None:
        raise ModelMissing(path="/nowhere", why="there is no such folder")

    monkeypatch.setattr(actor_system, "encoder_from_settings", missing)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    shown = command("demo")
    assert (shown.code, shown.err) == (0, "")
    assert "no meaning: The embedding model is not at /nowhere" in shown.out
    assert "  1. 2026-10-08 assistant 226/NAMESPACE means ReadWritePaths names a folder" in shown.out
    assert "remembered, in place of what was said on 2026-10-13: " in shown.out
    assert shown.out.count("degraded: meaning: The embedding model is not at") == len(ASKED) - 1, "a shape needs none"
    assert "test python ok  (read from" in shown.out
    assert list(scratch.iterdir()) == []
