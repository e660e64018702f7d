"""One file is one answer, by whichever path it was named; files that only share an end stay apart."""

from __future__ import annotations

import numpy as np
import pytest

from mnemic.actors.shape.file_names import one_name_a_file

ROOT = "/home/ada/korb"


def named(*records: tuple[str, ...]) -> dict[str, list[int]]:
    """The files of some records as they are told, each with the records that have it."""
    names = dict.fromkeys(name for record in records for name in record)
    having = {name: np.array([name in record for record in records], np.float64) for name in names}
    weights = np.full(len(records), 1 / len(records))
    told = one_name_a_file(having, weights)
    return {name: np.flatnonzero(has).tolist() for name, has in told.items()}


def test_paths_from_several_folders_and_the_last_part_are_one_file_under_the_path_most_used() -> None:
    path = f"{ROOT}/src/pay/mollie.py"
    relative = ("src/pay/mollie.py", "mollie.py")
    assert named((path, "mollie.py"), relative, relative, ("pay/mollie.py", "Mollie.py")) == {
        "src/pay/mollie.py": [0, 1, 2, 3]
    }
    assert named((path, "mollie.py"), relative) == {path: [0, 1]}
    assert named(("mollie.py",), ("mollie.py",)) == {"mollie.py": [0, 1]}


@pytest.mark.parametrize("end", ["__init__.py", "a/__init__.py"])
def test_an_end_that_several_files_have_stands_for_none_of_them(end: str) -> None:
    first, second = f"{ROOT}/x/a/__init__.py", f"{ROOT}/y/a/__init__.py"
    assert named((first,), (second,), (end,)) == {first: [0], second: [1], end: [2]}


def test_a_name_that_only_looks_like_the_end_of_a_path_is_another_file() -> None:
    assert named(("src/my_mollie.py",), ("mollie.py",)) == {"src/my_mollie.py": [0], "mollie.py": [1]}
    assert one_name_a_file({}, np.zeros(0)) == {}
