"""What a failed command printed says which kind of error it was, whatever is quoted, numbered or coloured in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.steps.errors import GAP, MAX_MESSAGE_CHARS, ErrorKind, read_error

TRACEBACK = """Exit code 1
Traceback (most recent call last):
  File "/home/ines/slipway/tides.py", line 3, in <module>
    import yaml
ModuleNotFoundError: No module named 'yaml'
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACEBACK, ("ModuleNotFoundError", "", "no module named …", "No module named 'yaml'")),
        ("E       KeyError: 'tide'\n1 failed", ("KeyError", "", "", "'tide'")),
        ("FAILED tests/test_a.py::test_b - ValueError: no", ("ValueError", "", "no", "no")),
        ("FAILED tests/test_a.py::test_b - assert 3 == 4", ("AssertionError", "", "assert … == …", "assert 3 == 4")),
        ("E   assert 3 == 4\nE    +  where 3 = f()", ("AssertionError", "", "assert … == …", "assert 3 == 4")),
        (
            "a.b.OperationalError: no such table: tide",
            ("OperationalError", "", "no such table: tide", "no such table: tide"),
        ),
        (
            "OSError: [Errno 98] Address already in use",
            (
                "OSError",
                "address already in use",
                "[errno …] address already in use",
                "[Errno 98] Address already in use",
            ),
        ),
        (
            "error[E0382]: borrow of moved value: `names`\n --> src/main.rs:4:5",
            ("E0382", "", "borrow of moved value: …", "borrow of moved value: `names`"),
        ),
        (
            "src/a.ts(3,4): error TS2304: Cannot find name 'x'.",
            ("TS2304", "", "cannot find name ….", "Cannot find name 'x'."),
        ),
        ("a.py:3: error: Bad return  [return-value]\nFound 1 error", ("return-value", "", "bad return", "Bad return")),
        ("F401 [*] `os` imported but unused", ("F401", "", "… imported but unused", "`os` imported but unused")),
        ("npm error code ERESOLVE\nnpm error", ("ERESOLVE", "", "", "")),
        (
            "node:net:1\nError: listen EADDRINUSE: address already in use :::30",
            (
                "EADDRINUSE",
                "address already in use",
                "listen eaddrinuse: address already in use :::…",
                "listen EADDRINUSE: address already in use :::30",
            ),
        ),
        ("Exit code 128\nfatal: not a git repository", ("", "", "not a git repository", "not a git repository")),
        (
            "\x1b[31mbash: line 1: ./up.sh: Permission denied\x1b[0m",
            ("", "permission denied", "bash: line …: permission denied", "bash: line 1: ./up.sh: Permission denied"),
        ),
        ("the tide is not in\n", ("", "", "the tide is not in", "the tide is not in")),
    ],
)
def test_the_kind_and_what_was_said_are_read(text: str, expected: tuple[str, str, str, str]) -> None:
    assert read_error(text) == ErrorKind(*expected)


def test_of_several_classes_the_last_one_ended_it() -> None:
    both = "KeyError: 'a'\n\nDuring handling of it, another exception occurred:\n\nRuntimeError: no tide\n"
    error = read_error(both)
    assert error is not None
    assert error.name == "RuntimeError"


@pytest.mark.parametrize("text", ["", "\n", "Exit code 1\n", "-----\n=====\n"])
def test_what_says_nothing_is_no_error(text: str) -> None:
    assert read_error(text) is None


@given(st.sampled_from("abcdefgh"), st.sampled_from("ijklmnop"), st.integers(0, 10**6), st.integers(0, 10**6))
def test_what_differs_from_case_to_case_is_left_out(one: str, other: str, first: int, second: int) -> None:
    texts = [
        f"ImportError: cannot import name '{name}' from 'x' (/srv/{name}.py), line {at}"
        for name, at in ((one, first), (other, second))
    ]
    a, b = (read_error(text) for text in texts)
    assert a is not None
    assert b is not None
    assert (a.name, a.message) == (b.name, b.message)
    assert GAP in a.message


@given(st.text(max_size=400))
def test_any_text_can_be_read_and_what_is_read_is_short(text: str) -> None:
    error = read_error(text)
    assert error is None or all(len(one) <= MAX_MESSAGE_CHARS for one in (error.message, error.exact))
    assert error is None or (all(error.names) and len(set(error.names)) == len(error.names))
