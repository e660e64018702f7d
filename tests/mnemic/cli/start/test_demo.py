"""The demo: the main job from start to finish, answered right, leaving nothing behind."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import ModelMissing
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


@pytest.fixture
def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(settings: Mapping[str, Any]) -> None:
        raise ModelMissing(path="/nowhere", why="there is no such folder")

    monkeypatch.setattr(actor_system, "encoder_from_settings", missing)


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
    assert ended.json["next"][0]["command"] == "mnemic setup"
    assert list(scratch.iterdir()) == []
    assert sorted(installed.rglob("*")) == before


@pytest.mark.usefixtures("without_model")
def test_without_a_model_it_goes_on_by_words_and_says_so(
    command: Callable[..., Outcome], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    shown = command("demo")
    assert (shown.code, shown.err) == (0, "")
    assert "no meaning: The embedding model is not at /nowhere" in shown.out
    assert "  1. 2026-10-08 assistant 226/NAMESPACE means ReadWritePaths names a folder" in shown.out
    assert "remembered, in place of what was said on 2026-10-13: " in shown.out
    assert shown.out.count("degraded: meaning: The embedding model is not at") == len(ASKED) - 1, "a shape needs none"
    assert "test python ok  (read from" in shown.out
    assert list(scratch.iterdir()) == []
    assert shown.out.splitlines()[-2].startswith("  mnemic setup ")


@pytest.mark.usefixtures("without_model")
def test_a_home_that_is_kept_behind_a_link_can_be_asked_afterwards(
    command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "real"
    kept.mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    shown = command("demo", "--keep", "link")
    assert (shown.code, shown.err) == (0, "")
    assert (tmp_path / "link").is_symlink()
    asks, lists = (
        next(line for line in shown.out.splitlines() if line.startswith(f"  mnemic {verb} "))
        for verb in ("recall", "log")
    )
    assert shlex.split(lists) == ["mnemic", "log", "--home", str(tmp_path / "link")]
    words = shlex.split(asks)[1:]
    assert words[-2:] == ["--home", str(tmp_path / "link")]
    assert "recall" in words
    found = command("recall", "226/NAMESPACE", "--scope", "*", "--home", kept, "--json").json["hits"]
    assert "ReadWritePaths names a folder" in found[0]["text"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700


@pytest.mark.usefixtures("without_model")
def test_only_a_folder_that_is_new_or_empty_is_taken_and_never_the_users_own_home(
    command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "note").touch()
    refused = command("demo", "--keep", tmp_path / "taken")
    assert refused.code == 2
    assert "something is in it already" in refused.err
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["note"]
    monkeypatch.setenv("MNEMIC_HOME", str(tmp_path / "mine"))
    (tmp_path / "alias").symlink_to("mine")
    own = command("demo", "--keep", tmp_path / "mine")
    assert own.code == 2
    assert "your own memories belong there" in own.err
    assert not (tmp_path / "mine").exists()
    (tmp_path / "mine").mkdir()
    assert "your own memories belong there" in command("demo", "--keep", tmp_path / "alias").err
    assert (tmp_path / "mine").is_dir(), "an empty home of the user's own stays"


def test_what_is_no_place_for_a_home_is_refused_and_nothing_is_made(
    command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    refused = command("demo", "--keep", tmp_path / "dangling")
    assert refused.code == 2
    assert refused.err.startswith("mnemic: --keep ")
    assert f"it is a link to {tmp_path / 'nowhere'}, which is not there" in refused.err
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    refused = command("demo", "--keep", ".")
    assert refused.code == 2
    assert "the working folder cannot be replaced" in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "here"]


def test_a_home_or_a_mind_that_is_named_before_it_is_refused(command: Callable[..., Outcome], tmp_path: Path) -> None:
    for named in (["--home", tmp_path / "x"], ["--mind", "work"]):
        refused = command(*named, "demo")
        assert (refused.code, refused.out) == (2, "")
        assert "--home and --mind do not go with it" in refused.err


@pytest.mark.usefixtures("without_model")
@pytest.mark.parametrize("kept", ["kept", "empty", "not/there/yet"])
def test_a_demo_that_is_ended_leaves_no_half_of_a_home_and_removes_nothing_else(
    command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    folder = tmp_path / "in"
    (folder / "empty").mkdir(parents=True)

    def ended(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mnemic.cli.start.demo._run_in", ended)
    assert command("demo", "--keep", folder / kept).code == 130
    assert [str(path.relative_to(folder)) for path in folder.rglob("*")] == ["empty"]


@pytest.mark.parametrize("meanwhile", ["empty", "other"])
def test_what_is_put_there_meanwhile_stays(
    command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    folder = tmp_path / "in"
    (folder / "empty").mkdir(parents=True)

    def run_in(*given: Any) -> tuple[dict[str, Any], list[str]]:
        (folder / meanwhile).mkdir(exist_ok=True)
        (folder / meanwhile / "note").touch()
        return {}, []

    monkeypatch.setattr("mnemic.cli.start.demo._run_in", run_in)
    refused = command("demo", "--keep", folder / meanwhile)
    assert refused.code == 2
    assert "something is in it already" in refused.err
    made = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert made == sorted({"empty", meanwhile, f"{meanwhile}/note"})
