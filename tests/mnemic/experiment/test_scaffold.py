"""A package that is begun works as it stands: its stage weighs, its class keeps the contract."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.experiment.scaffold import make_package
from mnemic.experiment.spec import load_spec
from tests.waiting import BOUND_S


def test_a_name_that_is_no_modules_or_is_taken_is_refused(tmp_path: Path) -> None:
    for name in ("Mine", "my-own", "", "../mine", "json", "class"):
        with pytest.raises(InvalidValue):
            make_package(name, tmp_path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(InvalidValue, match="it is there already"):
        make_package("mine", tmp_path)


def test_its_spec_compares_it_with_ours(tmp_path: Path) -> None:
    folder, files = make_package("mine", tmp_path)
    assert sorted(map(str, files)) == ["experiment.toml", "mine.py", "pyproject.toml", "test_mine.py"]
    arms = {arm.name: arm.settings for arm in load_spec(folder / "experiment.toml").spec.arms}
    assert arms == {"ours": {}, "mine": {"actors.consolidator": "mine:Consolidator"}, "no nights": {}}


@pytest.mark.system
def test_its_own_tests_pass(tmp_path: Path) -> None:
    folder, _ = make_package("mine", tmp_path)
    environment = os.environ | {"PYTHONPATH": str(folder)}
    tested = [sys.executable, "-m", "pytest", "-q", str(folder), "-p", "no:cacheprovider", "--rootdir", str(folder)]
    found = subprocess.run(tested, capture_output=True, text=True, timeout=BOUND_S, env=environment, cwd=folder)
    assert found.returncode == 0, found.stdout
