"""Reading an export: proven whole by its manifest before anything of it is used, then line by line.

Beside `mnemic.runtime.importing`; what the lines are is `mnemic.runtime.export_format`'s.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from mnemic.actors.errors import NewerExport, NotAnExport
from mnemic.runtime.export_format import FILES, FORMAT, MANIFEST, VERSION, Manifest

__all__ = ["ExportSource"]

Line = TypeVar("Line", bound=msgspec.Struct)

_CHUNK_BYTES = 1 << 20


class ExportSource:
    """An export on disk that is what its manifest says."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        """Where it is."""
        self.manifest = manifest
        """What it says of itself."""

    @classmethod
    def open(cls, folder: Path) -> ExportSource:
        """Find an export and prove it whole.

        Raises:
            NotAnExport: it is none, a file of it is missing or was changed, or it cannot be read.
            NewerExport: a newer version wrote it.
        """
        manifest = _manifest(folder)
        for name in FILES:
            sheet = manifest.files.get(name)
            if sheet is None:
                raise NotAnExport(path=str(folder), why=f"its {MANIFEST} does not name {name}")
            try:
                digest = _sha256(folder / name)
            except OSError as error:
                raise NotAnExport(path=str(folder), why=f"{name} cannot be read ({error.strerror})") from error
            if digest != sheet.sha256:
                raise NotAnExport(path=str(folder), why=f"{name} was changed since it was written")
        return cls(folder, manifest)

    def count(self, name: str) -> int:
        """How many lines a file has."""
        return self.manifest.files[name].lines

    def lines(self, name: str, kind: type[Line]) -> Iterator[Line]:
        """The lines of a file.

        Raises:
            NotAnExport: one of them is not what it should be.
        """
        decode = msgspec.json.Decoder(kind).decode
        try:
            with (self.folder / name).open("rb") as file:
                for number, line in enumerate(file, start=1):
                    try:
                        yield decode(line)
                    except msgspec.DecodeError as error:
                        raise self.wrong(name, number, str(error)) from None
        except OSError as error:
            raise NotAnExport(path=str(self.folder), why=f"{name} cannot be read ({error.strerror})") from error

    def wrong(self, name: str, number: int, why: str) -> NotAnExport:
        """What is said of a line that cannot be imported, without its text."""
        return NotAnExport(path=str(self.folder), why=f"line {number} of {name} cannot be: {why}")


def _manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    try:
        written = path.read_bytes()
    except OSError as error:
        why = f"there is no {MANIFEST} in it" if folder.is_dir() else "it is no folder"
        why = why if isinstance(error, FileNotFoundError | NotADirectoryError) else f"{error.strerror}: {path.name}"
        raise NotAnExport(path=str(folder), why=why) from error
    try:
        said = json.loads(written)
        known = isinstance(said, dict) and said.get("format") == FORMAT
        if known and isinstance(said.get("version"), int) and said["version"] > VERSION:
            raise NewerExport(path=str(folder), found=said["version"], known=VERSION)
        if known:
            return msgspec.convert(said, Manifest)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise NotAnExport(path=str(folder), why=f"its {MANIFEST} cannot be read") from error
    raise NotAnExport(path=str(folder), why=f"its {MANIFEST} is something else's")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
