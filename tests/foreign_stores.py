"""Stores of other programs, made by these programs (`tests/fixtures/imports`), as copies that a test may change."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import apsw

from tests.paths import FIXTURES

__all__ = ["change", "copy_store"]


def copy_store(name: str, folder: Path) -> Path:
    """A copy of a store of the fixtures, by its name, in a folder."""
    copied = folder / name
    shutil.copytree(FIXTURES / "imports" / name, copied)
    for packed in copied.glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return copied


def change(file: Path, made: str, *arguments: str | bytes | int | None) -> None:
    """Do something to a database."""
    connection = apsw.Connection(str(file))
    connection.execute(made, arguments)
    connection.close()
