"""Of an error is told where it was raised, and nothing that it says."""

from __future__ import annotations

import pytest

from mnemic.actors.kernel.contract import raise_location


def fail() -> None:
    raise RuntimeError("the poison is in the blue tin")


def test_an_error_is_told_by_the_innermost_function_its_file_and_its_line() -> None:
    with pytest.raises(RuntimeError) as caught:
        fail()
    assert raise_location(caught.value) == f"fail (test_contract_raise_location.py:{fail.__code__.co_firstlineno + 1})"


def test_an_error_that_was_never_raised_comes_from_nowhere() -> None:
    assert raise_location(RuntimeError("x")) == ""
