"""A release is refused, in one sentence, from a tree that is not what would be tagged."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from release import publish
from release.publish import refusal, sums

FILES = {
    "pyproject.toml": '[project]\nversion = "1.2.0"\n',
    "native/Cargo.toml": '[workspace.package]\nversion = "1.2.0"\n',
    "runtime/version.py": '__version__ = "1.2.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.0 (2030-01-31)\n\n* New.\n\n## 1.1.0 (2029-01-01)\n",
}

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that may be released."""
    git(tmp_path, "init", "--quiet")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All of it")


def test_a_clean_tree_whose_files_agree_is_released(checkout: Path) -> None:
    assert refusal(checkout) == ""


def test_what_is_not_committed_is_named(checkout: Path) -> None:
    (checkout / "left over.txt").write_text("x")
    assert refusal(checkout) == '1 files are not as committed ("left over.txt"): commit or remove them.'


@pytest.mark.parametrize("file", ["pyproject.toml", "native/Cargo.toml", "runtime/version.py"])
def test_files_that_name_different_versions_are_named(checkout: Path, file: str) -> None:
    (checkout / file).write_text(FILES[file].replace("1.2.0", "1.3.0"), "utf-8")
    commit(checkout)
    assert f"{file} names 1.3.0" in refusal(checkout)


@pytest.mark.parametrize("heading", ["1.2.0 (unreleased)", "1.1.9 (2030-01-31)", "1.2.0"])
def test_a_changelog_that_does_not_begin_with_the_version_and_its_day_is_told_what_it_needs(
    checkout: Path, heading: str
) -> None:
    (checkout / "CHANGELOG.md").write_text(f"# Changelog\n\n## {heading}\n", "utf-8")
    commit(checkout)
    assert refusal(checkout) == (
        f"CHANGELOG.md begins with '## {heading}': it has to be '## 1.2.0 (YYYY-MM-DD)', with the day of the release."
    )


def test_a_release_removes_what_an_earlier_one_made_and_nothing_else_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a-1.whl", "a-1.tar.gz", "a-1.cdx.json", "SHA256SUMS", "thesis.odt"):
        (tmp_path / name).write_text("of before")
    (tmp_path / "photos").mkdir()

    def built(module: str, *words: str, **variables: str) -> None:  # a real build takes minutes
        if module == "release.wheels":
            assert sorted(path.name for path in tmp_path.iterdir()) == ["photos", "thesis.odt"]
            (tmp_path / "a-2.whl").write_text("wheel")

    monkeypatch.setattr(publish, "_run", built)
    publish.release(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["SHA256SUMS", "a-2.whl", "photos", "thesis.odt"]
    assert [line.split()[1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()] == ["a-2.whl"]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not installed")
def test_the_sums_are_what_sha256sum_checks_and_an_altered_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "b.whl").write_bytes(b"wheel")
    (tmp_path / "a.tar.gz").write_bytes(b"sources")
    (tmp_path / "SHA256SUMS").write_text("of an earlier run")
    (tmp_path / "SHA256SUMS").write_text(sums(tmp_path))
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).stdout == b"a.tar.gz: OK\nb.whl: OK\n"
    (tmp_path / "b.whl").write_bytes(b"another")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).returncode == 1
