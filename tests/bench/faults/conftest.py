"""What tests of the fault bench share: a compiled shim, and a home that attacks begin with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.bench.faults.scenarios import make_home
from mnemic.bench.faults.shim import Shim, build_shim, why_no_shim


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Shim:
    """The shim; skips where none can be built."""
    why = why_no_shim()
    if why is not None:
        pytest.skip(why)
    return build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def attacked_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the home that all scenarios begin with; not to be written to."""
    folder = tmp_path_factory.mktemp("attacked")
    make_home(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _private_umask() -> Iterator[None]:
    """What the bench makes in this process is private, as in a run of its own."""
    before = os.umask(0o077)
    yield
    os.umask(before)
