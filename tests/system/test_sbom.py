"""The SBOM holds by the schema of CycloneDX, and has the packages of an install and the crates that are linked in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from release.crates import linked_crates
from release.distributions import base_install
from release.versions import version
from tests.paths import ROOT


@pytest.mark.system
@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_the_sbom_names_all_that_a_release_consists_of_with_its_licence(tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx", reason="cyclonedx-python-lib is not installed; install mnemic[release]")
    command = [sys.executable, "-W", "error", "-m", "release.sbom", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / f"mnemic-{version()}.cdx.json").read_text("utf-8"))
    assert (told["bomFormat"], told["metadata"]["component"]["name"]) == ("CycloneDX", "mnemic")
    named = {one["purl"] for one in told["components"]}
    assert named == {
        *(f"pkg:pypi/{one.name}@{one.version}" for one in base_install()),
        *(f"pkg:cargo/{one.name}@{one.version}" for one in linked_crates()),
    }
    assert [one["purl"] for one in told["components"] if not one.get("licenses")] == []
