"""What was measured, and on what, is told in words; what is not there is told with the remedy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mnemic.bench.harness.machine import commit, machine, version_there, versions


def test_commit_machine_and_versions_are_told() -> None:
    assert commit()
    assert " cores of " in machine()
    found = versions(["numpy", "no-such-package"])
    assert list(found) == ["python", "numpy"]
    assert version_there(Path(sys.executable), "numpy") == found["numpy"]


def test_an_environment_without_the_package_or_an_interpreter_is_told_of() -> None:
    with pytest.raises(ValueError, match=r"no-such-package is not installed for .*: pip install no-such-package there"):
        version_there(Path(sys.executable), "no-such-package")
    with pytest.raises(ValueError, match="/nowhere/python cannot be started: No such file"):
        version_there(Path("/nowhere/python"), "numpy")
