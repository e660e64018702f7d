"""Reading an export: proven whole by its manifest before anything of it is used, then line by line."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from mnemic.actors.kernel.errors import NotAnExport
from mnemic.actors.kernel.typed import convert
from mnemic.runtime.files.foreign import MOST_LINE_BYTES, open_regular, read_regular
from mnemic.runtime.transfer.export_format import FILES, FORMAT, MANIFEST, VERSION, FileEntry, Manifest

Line = TypeVar("Line", bound=msgspec.Struct)


_CHUNK_BYTES = 1 << 20


_MOST_MANIFEST_BYTES = 1 << 24


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
            NotAnExport: a newer version wrote it.
        """
        manifest = _read_manifest(folder)
        for name in FILES:
            sheet = manifest.files.get(name)
            if sheet is None:
                raise NotAnExport(path=str(folder), why=f"its {MANIFEST} does not name {name}")
            try:
                unchanged = _is_unchanged(folder / name, sheet)
            except OSError as error:
                raise NotAnExport(path=str(folder), why=f"{name} cannot be read ({error.strerror})") from error
            if not unchanged:
                raise NotAnExport(path=str(folder), why=f"{name} was changed since it was written")
        return cls(folder, manifest)

    def line_count(self, name: str) -> int:
        """How many lines a file has."""
        return self.manifest.files[name].lines

    def lines(self, name: str, kind: type[Line]) -> Iterator[Line]:
        """The lines of a file.

        Raises:
            NotAnExport: one of them is not what it should be.
        """
        decode = msgspec.json.Decoder(kind).decode
        try:
            with open_regular(self.folder / name) as file:
                for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES), b""), start=1):
                    if len(line) == MOST_LINE_BYTES:
                        raise self.line_error(name, number, f"it is longer than {MOST_LINE_BYTES:,} bytes")
                    try:
                        yield decode(line)
                    except msgspec.DecodeError as error:
                        raise self.line_error(name, number, str(error)) from None
        except OSError as error:
            raise NotAnExport(path=str(self.folder), why=f"{name} cannot be read ({error.strerror})") from error

    def line_error(self, name: str, number: int, why: str) -> NotAnExport:
        """What is said of a line that cannot be imported, without its text."""
        return NotAnExport(path=str(self.folder), why=f"line {number} of {name} cannot be: {why}")


def is_export(folder: Path) -> bool:
    """Whether a mind was exported into a folder, as its manifest says."""
    if not os.path.isfile(folder / MANIFEST):
        return False
    try:
        _read_manifest(folder)
    except NotAnExport:
        return False
    return True


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    try:
        written = read_regular(path, _MOST_MANIFEST_BYTES)
    except OSError as error:
        why = f"there is no {MANIFEST} in it" if folder.is_dir() else "it is no folder"
        why = why if isinstance(error, FileNotFoundError | NotADirectoryError) else f"{error.strerror}: {path.name}"
        raise NotAnExport(path=str(folder), why=why) from error
    try:
        said = json.loads(written)
        known = isinstance(said, dict) and said.get("format") == FORMAT
        if known and isinstance(said.get("version"), int) and said["version"] > VERSION:
            why = f"a newer Mnemic wrote it (version {said['version']}; this one knows {VERSION})"
            raise NotAnExport(path=str(folder), why=why, remedy="Update Mnemic; nothing was changed")
        if known:
            return convert(said, Manifest)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise NotAnExport(path=str(folder), why=f"its {MANIFEST} cannot be read") from error
    raise NotAnExport(path=str(folder), why=f"its {MANIFEST} is something else's")


def _is_unchanged(path: Path, entry: FileEntry) -> bool:
    """Whether a file is as long as the manifest says, and only then what it says."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size != entry.size_bytes:
            return False
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest() == entry.sha256
