"""Mutants change one expression of a file each, in a way that Python takes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants import mutants_of


def mutated(folder: Path, body: str) -> set[str]:
    """What a function of one line becomes."""
    path = folder / "module.py"
    path.write_text(f"LIMIT = 3\n\n\ndef f(a, b):\n    {body}\n", "utf-8")
    source, found = path.read_text("utf-8"), set[str]()
    for one in mutants_of(path):
        text = source[: one.start] + one.becomes + source[one.stop :]
        ast.parse(text)
        found.add(text.splitlines()[4].strip())
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b", {"return (a <= b)", "return None"}),
        ("return not a and b", {"return (not a or b)", "return (a) and b", "return None"}),
        ("return a[1:] + 'x'", {"return (a[1:] - 'x')", "return a[(2):] + 'x'", "return None"}),
        ("f(a, True)", {"pass", "f(a, (False))"}),
        ("return None", set()),
        ('return f"{a < b} and"', {"return None"}),
    ],
)
def test_each_expression_within_a_function_becomes_its_neighbour(tmp_path: Path, body: str, expected: set[str]) -> None:
    assert mutated(tmp_path, body) == expected
