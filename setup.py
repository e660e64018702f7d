"""What pyproject.toml cannot say: the native extension is built where cargo is, and only there.

setuptools-rust's own `optional` would turn a compile error into a silent success, so it stays off: without cargo there
is no extension to build, with cargo a failed build fails the install.
"""

import shutil
import sys

from setuptools import setup
from setuptools_rust import Binding, RustExtension

if shutil.which("cargo"):
    setup(
        rust_extensions=[
            RustExtension(
                "mnemic._native",
                path="native/python/Cargo.toml",
                binding=Binding.PyO3,
                debug=False,
                args=["--locked"],
                py_limited_api=True,
            )
        ],
        options={"bdist_wheel": {"py_limited_api": "cp311"}},
    )
else:
    print("mnemic: cargo was not found: no native code, NumPy does its work, slower.", file=sys.stderr)
    setup()
