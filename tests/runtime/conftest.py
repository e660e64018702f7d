"""A store of its own for each test that wants one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.runtime.store.store import Store
from tests.runtime.building import KEYS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where it is."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """It, empty and open."""
    with closing(Store.create(path, KEYS)) as made:
        yield made
