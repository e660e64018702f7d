"""`mnemic experiment`: a spec is run, listed, shown and compared, on either engine with the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.experiment.run import read_run
from mnemic.experiment.shipped import find_spec, shipped_specs
from mnemic.experiment.spec import load_spec
from tests.mnemic.experiment.made import SPEC
from tests.paths import ROOT
from tests.processes.faces import Outcome
from tests.waiting import BOUND_S

Command = Callable[..., Outcome]
QUICK = SPEC.replace("seeds = [1]\n", "seeds = [1, 2]\nnights = {after = 1}\n").replace(
    'kind = "tests', 'options = {things = 2}\nfirst_night = 1.0\nkind = "tests'
)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(QUICK)
    return path


def run(spec: Path, home: Path, *more: str, **environment: str) -> Any:
    """Run it by the command, in a process of its own."""
    command = [sys.executable, "-m", "mnemic", "experiment", "run", str(spec), "--home", str(home), "--json", *more]
    with_tests = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, env=with_tests)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_run_is_told_listed_shown_and_compared(command: Command, spec: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    ran = command("experiment", "run", spec, "--home", home)
    assert ran.code == 0
    assert ran.out.startswith("made: 2 arms, 2 seeds, 1 night\n  ours: mrr 1.000 [1.000, 1.000]")
    assert ran.out.endswith(f"{home / 'experiments' / 'made' / 'report.html'}\n")
    assert "made: ours, none; 2 seeds\n" in command("experiment", "list", "--home", home).out
    shown = command("experiment", "show", "made", "--home", home)
    assert shown.out == ran.out[: ran.out.rindex("\n", 0, -1) + 1]
    other = command("experiment", "run", spec, "--home", home, "--out", tmp_path / "other", "--json").json
    assert other["report"] == str(tmp_path / "other" / "report.html")
    compared = command("experiment", "compare", "made", tmp_path / "other", "--home", home, "--json").json
    assert {one["difference"] for one in compared["differences"]} == {0.0}


def test_what_cannot_be_is_one_sentence(command: Command, spec: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for arguments, said in (
        (("run", tmp_path / "none.toml"), "there is no such file"),
        (("run", spec, "--engine", "embedded", "--address", "auto"), "--address is for --engine ray"),
        (("show", "nothing"), "there is no run in it"),
        (("compare", "nothing", "nothing"), "there is no run in it"),
        (("new", "My Package"), "it is to name a new module"),
    ):
        refused = command("experiment", *arguments, "--home", home)
        assert refused.code == 2
        assert said in refused.err
    assert not (home / "experiments").exists()


def test_a_bare_name_is_a_spec_that_ships_whatever_lies_in_the_working_folder(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("practice", "theirs", "theirs.toml"):
        Path(name).write_text(QUICK.replace('"made"', '"ours to run"', 1))
    assert find_spec("practice") == shipped_specs()["practice"]
    for given in ("./practice", "theirs.toml", str(tmp_path / "theirs")):
        assert find_spec(given) == Path(given)
    refused = command("experiment", "run", "theirs", "--home", tmp_path / "home")
    assert (refused.code, refused.out) == (2, "")
    assert "no spec of that name ships" in refused.err
    assert "or a file: ./theirs" in refused.err


def test_an_arm_that_fails_makes_the_command_fail(command: Command, spec: Path, tmp_path: Path) -> None:
    spec.write_text(QUICK.replace("version = 1", 'version = 1\nmeasures = ["tests.mnemic.experiment.made:fails"]'))
    failed = command("experiment", "run", spec, "--home", tmp_path / "home")
    assert failed.code == 5
    assert "failed: ours, seed 1: KeyError: 'crane'" in failed.out


def test_a_package_is_begun(command: Command, tmp_path: Path) -> None:
    begun = command("experiment", "new", "mine", "--out", tmp_path)
    assert f"now: pip install --no-deps -e {tmp_path / 'mine'}" in begun.out
    assert (tmp_path / "mine" / "mine.py").exists()


def test_specs_that_ship_can_be_read_and_are_listed(command: Command, tmp_path: Path) -> None:
    listed = command("experiment", "list", "--home", tmp_path, "--json").json["specs"]
    assert [one["name"] for one in listed] == sorted(shipped_specs())
    for name, path in shipped_specs().items():
        spec = load_spec(path).spec
        assert (spec.name, bool(spec.about)) == (name, True)


@pytest.mark.system
def test_both_engines_give_the_same_answers_to_the_bit(spec: Path, tmp_path: Path) -> None:
    embedded = run(spec, tmp_path / "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "mnemic.toml").write_text('[runtime]\nengine = "ray"\n', "utf-8")
    on_ray = run(spec, tmp_path / "two")
    assert (embedded["engine"], on_ray["engine"]) == ("embedded", "ray")
    one, two = (read_run(tmp_path / home / "experiments" / "made") for home in ("one", "two"))
    assert [(each.arm, each.seed, each.answers) for each in one.results] == [
        (each.arm, each.seed, each.answers) for each in two.results
    ]
    assert one.results[0].answers


def test_a_run_that_is_damaged_hides_no_other(command: Command, spec: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    command("experiment", "run", spec, "--home", home)
    (home / "experiments" / "broken").mkdir()
    (home / "experiments" / "broken" / "run.json").write_text("{}")
    listed = command("experiment", "list", "--home", home, "--json").json
    assert [one["name"] for one in listed["runs"]] == ["made"]
    assert len(listed["damaged"]) == 1


@pytest.mark.system
def test_an_arm_whose_worker_always_dies_keeps_no_other_from_living(spec: Path, tmp_path: Path) -> None:
    spec.write_text(QUICK.replace("version = 1", 'version = 1\nmeasures = ["tests.mnemic.experiment.made:dies"]'))
    command = [sys.executable, "-m", "mnemic", "experiment", "run", str(spec), "--engine", "ray", "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command += ["--home", str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, env=environment)
    assert done.returncode == 5, done.stderr
    told = json.loads(done.stdout)
    assert [(one["arm"], one["seed"]) for one in told["failures"]] == [("none", 1), ("none", 2)]
    assert {one["why"] for one in told["failures"]} == {"its process failed 4 times: WorkerCrashedError"}
    assert {one["arm"] for one in told["points"]} == {"ours"}


@pytest.mark.system
def test_a_worker_that_dies_is_replaced_and_its_arm_lives_again(spec: Path, tmp_path: Path) -> None:
    spec.write_text(QUICK.replace("version = 1", 'version = 1\nmeasures = ["tests.mnemic.experiment.made:dies_once"]'))
    marker = tmp_path / "died"
    told = run(spec, tmp_path / "home", "--engine", "ray", MNEMIC_TEST_MARKER=str(marker))
    assert marker.exists()
    assert told["failures"] == []
    assert {one["mean"] for one in told["points"]} == {1.0}
