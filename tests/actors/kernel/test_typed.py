"""Values become structs in several threads at once, also the first time."""

from __future__ import annotations

import re
import subprocess
import sys

import msgspec
import pytest

from mnemic.actors.kernel.typed import convert
from tests.paths import ROOT

AT_ONCE = """
from __future__ import annotations
import sys, threading
import msgspec
from mnemic.actors.kernel.typed import convert

sys.setswitchinterval(1e-6)
for _ in range(200):
    class Inner(msgspec.Struct, frozen=True):
        x: int
        y: str
        z: tuple[bytes, ...] = ()

    class Outer(msgspec.Struct, frozen=True):
        a: Inner
        b: tuple[Inner, ...] = ()

    begin, got = threading.Barrier(4), []

    def act() -> None:
        begin.wait()
        got.append(convert({"a": {"x": 1, "y": "s"}, "b": [{"x": 1, "y": "s"}]}, Outer))

    threads = [threading.Thread(target=act) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [Outer(Inner(1, "s"), (Inner(1, "s"),))] * 4
"""
BY_ITSELF = r"(?<!`)msgspec\.convert\("
"""`decode` with a type does the same; a command, which has one thread, may."""
FOLDERS = ("actors", "runtime", "hooks", "mnemic")  # rules of secrets, below, are read once, as a mind is opened


class Point(msgspec.Struct, frozen=True):
    """Something of two fields."""

    x: int
    y: int = 0


def test_a_value_becomes_a_struct_and_what_is_none_is_refused() -> None:
    assert convert({"x": 1}, Point) == Point(1, 0)
    with pytest.raises(msgspec.ValidationError):
        convert({"x": "a"}, Point)


def test_four_threads_that_convert_to_a_new_struct_at_once_all_get_theirs() -> None:
    ended = subprocess.run([sys.executable, "-c", AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_nothing_else_of_the_product_converts_by_itself() -> None:
    by_itself = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if path != ROOT / "actors" / "kernel" / "typed.py"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(BY_ITSELF, line) or (folder != "mnemic" and re.search(r"\.decode\(.*type=\w+\)", line))
    ]
    assert by_itself == []
