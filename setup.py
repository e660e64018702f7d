"""What pyproject.toml cannot say: the native code is built where a cargo is that can build it, and only there.

That is the extension `mnemic._native`, and the executable `mnemic-hook`, which is installed beside `mnemic`.
setuptools-rust's own `optional` would turn a compile error into a silent success, so it stays off: without cargo there
is nothing to build, with cargo a failed build fails the install. A cargo that does not run, or is too old, is as
good as none. `python setup.py --no-cargo` prints why there is none, or nothing; the Makefile asks it, by a Python that
need not have anything installed, or be new enough to run Mnemic.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path


def no_cargo():
    """Why there is no cargo that could build the native code, and what to do; empty where there is one."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return "cargo was not found"
    folder = Path(__file__).parent
    (needed,) = re.findall(r'^rust-version = "([\d.]+)"', (folder / "native" / "Cargo.toml").read_text("utf-8"), re.M)
    try:
        asked = subprocess.run([cargo, "--version"], cwd=folder, capture_output=True)
    except OSError as error:
        return f"cargo cannot be run ({type(error).__name__}); mend it or remove it"
    if asked.returncode:  # rustup's without a toolchain, say
        return "cargo does not work; see what 'cargo --version' says, or try 'rustup default stable'"
    found = re.match(rb"cargo ([\d.]+)", asked.stdout)
    version = found.group(1).decode() if found else "of unknown version"
    if found is None or _numbers(version) < _numbers(needed):
        return f"cargo is {version}, and {needed} is needed; try 'rustup update'"
    return ""


def _numbers(version):
    return [int(part) for part in version.split(".") if part]


def _set_up():
    from setuptools import setup
    from setuptools_rust import Binding, RustBin, RustExtension

    why = no_cargo()
    if why:
        print(f"mnemic: {why}: no native code, NumPy does its work, slower; no hook for assistants.", file=sys.stderr)
        setup()
        return
    setup(
        rust_extensions=[
            RustExtension(
                "mnemic._native",
                path="native/python/Cargo.toml",
                binding=Binding.PyO3,
                debug=False,
                args=["--locked"],
                py_limited_api=True,
            ),
            RustBin("mnemic-hook", path="native/hook/Cargo.toml", debug=False, args=["--locked", "--profile", "hook"]),
        ],
        options={"bdist_wheel": {"py_limited_api": "cp311"}},
    )


if sys.argv[1:] == ["--no-cargo"]:
    print(no_cargo())
else:
    _set_up()
