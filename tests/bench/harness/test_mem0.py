"""mem0 is handed turns and vectors; an environment without it is told of."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mnemic.bench.harness.mem0 import mem0
from tests.bench.harness.test_palace import TURNS
from tests.harness import BagEncoder

GIVEN = [turn | {"id": str(number)} for number, turn in enumerate(TURNS)]


def test_an_environment_without_it_is_told_of(tmp_path: Path) -> None:
    with (
        pytest.raises(ChildProcessError, match="mem0 ended with 1"),
        mem0(Path(sys.executable), BagEncoder(), GIVEN, tmp_path),
    ):
        pass


def test_what_was_taken_in_is_found_in_its_scope(tmp_path: Path) -> None:
    python = os.environ.get("MNEMIC_MEM0", "")
    if not python:
        pytest.skip("MNEMIC_MEM0 names no interpreter of an environment with mem0 in it")
    with mem0(Path(python), BagEncoder(), GIVEN, tmp_path) as store:
        assert store.added_s > 0
        assert store.search("Who paints boats?", None, 5)["hits"][0] == ["b/1", "2"]
        assert {turn for _, turn in store.search("Who paints boats?", "work/a", 5)["hits"]} <= {"0", "1"}
