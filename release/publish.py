"""`make release`: builds and checks all that a release consists of, and prints what publishes it; it uploads nothing.

It refuses in one sentence where the tree is not what would be tagged: something is not committed, files name different
versions, or the changelog does not begin with this version and its day.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from release.versions import ROOT, first_section, named_versions, version


def refusal(root: Path = ROOT) -> str:
    """Why nothing is released from a checkout as it is, in a sentence with what to do; empty where nothing is wrong."""
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    if changed:
        return f"{len(changed)} files are not as committed ({changed[0][3:]}): commit or remove them."
    named = named_versions(root)
    if len(set(named.values())) > 1:
        told = ", ".join(f"{file} names {number or 'none'}" for file, number in named.items())
        return f"The files name different versions ({told}): make them one."
    if not re.fullmatch(rf"{re.escape(version(root))} \(\d{{4}}-\d\d-\d\d\)", first_section(root)):
        return (
            f"CHANGELOG.md begins with '## {first_section(root)}': "
            f"it has to be '## {version(root)} (YYYY-MM-DD)', with the day of the release."
        )
    return ""


_SUMS = "SHA256SUMS"
_MADE = ("*.whl", "*.tar.gz", "*.cdx.json")


def _made_files(folder: Path) -> list[Path]:
    """What a release has made in a folder, in which others may keep something too."""
    return sorted(path for pattern in _MADE for path in folder.glob(pattern))


def sums(folder: Path) -> str:
    """The SHA-256 of each file of a release in a folder, as `sha256sum --check` reads it."""
    files = _made_files(folder)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def remove_made(folder: Path) -> None:
    """Remove the files of an earlier release from a folder, and nothing else."""
    for path in (*_made_files(folder), folder / _SUMS):
        path.unlink(missing_ok=True)


def release(out: Path) -> None:
    """Build, check and sum up all files of a release in a folder, without those of an earlier one.

    Raises:
        subprocess.CalledProcessError: a step failed, and has said why.
    """
    remove_made(out)
    _run("release.wheels", "--out", str(out))
    _run("release.sbom", "--out", str(out))
    wheels = [str(path) for path in out.glob("*.whl")]
    for wheel in wheels:
        _run("auditwheel", "show", wheel)
    _run("twine", "check", "--strict", *wheels, *map(str, out.glob("*.tar.gz")))
    _run("pytest", "--quiet", "tests/system/test_wheel.py", MNEMIC_DIST=str(out))
    (out / _SUMS).write_text(sums(out), "utf-8")


def _run(module: str, *words: str, **variables: str) -> None:
    subprocess.run([sys.executable, "-m", module, *words], cwd=ROOT, check=True, env={**os.environ, **variables})


def main() -> None:
    """What the Makefile calls."""
    asked = argparse.ArgumentParser(description="Build and check a release.")
    asked.add_argument("--out", type=Path, default=ROOT / "dist")
    out = asked.parse_args().out.absolute()
    if why := refusal():
        sys.exit(why)
    try:
        release(out)
    except subprocess.CalledProcessError as failed:
        sys.exit(f"No release: {' '.join(failed.cmd[2:5])} ended with {failed.returncode}.")
    tag = f"v{version()}"
    print(f"\nAll of {tag} is in {out}. What publishes it:\n")
    print(f"    git tag --annotate --message 'Mnemic {version()}' {tag} && git push origin {tag}")
    print(f"    {sys.executable} -m twine upload {out}/*.whl {out}/*.tar.gz")


if __name__ == "__main__":
    main()
