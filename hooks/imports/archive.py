"""Finds the JSON files of a chat program's data export: in the zip file as it was sent, unzipped in a folder, or one by
itself.

Nothing is ever unpacked to disk: names in a zip only tell which files are read, as a stream. A zip is refused where
what would be read of it is encrypted, packed in another way than `deflate`, or unpacks to more than any text does.
`mnemic.hooks.imports.chats` reads what is found.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import BinaryIO, Literal, NamedTuple, cast

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.hooks.read.lines import BOM
from mnemic.runtime.files.foreign import bounded_reads, open_below, open_regular

MOST_RATIO = 200
"""How much a file in a zip may unpack to, by its packed length; JSON comes to 20, and `deflate` can do 1,032."""
_FREE_BYTES = 1 << 20
_HEAD_BYTES = 64
ZIP_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")
_CONVERSATIONS = re.compile(r"conversations(?:-\d+)?\.json")
_OTHERS = re.compile(r"(?:projects|memories)\.json|projects/[^/]+\.json")
_FOLDER = re.compile(r"(?!\.\.?/)[^/\\]+/")
_PROJECTS = "projects"


class Part(NamedTuple):
    """One file of an export."""

    name: str
    """Its name in the export."""
    size_bytes: int
    """How much of the export it takes: in a zip, packed."""
    length_bytes: int
    """How long it is."""
    open: Callable[[], BinaryIO]
    """Opens it as a stream."""


class Export:
    """An opened export. Whoever opens one closes it."""

    def __init__(self, path: str, conversations: Iterable[Part], others: Iterable[Part], names: Iterable[str]) -> None:
        self.path = path
        self.conversations = sorted(conversations)
        """The files that hold conversations, by name; there is at least one."""
        self.others = sorted(others)
        """The files that hold projects and memories."""
        self.names = frozenset(names)
        """What else lies beside them, as far as that tells whose export it is."""
        self.zip: zipfile.ZipFile | None = None

    def close(self) -> None:
        """Let go of the zip file, if it is one."""
        if self.zip is not None and self.zip.fp is not None:
            stream = self.zip.fp
            self.zip.close()
            stream.close()


def beginning(path: str) -> Literal["zip", "list", "folder"] | None:
    """What lies at a path, as far as it may be an export; it costs as little as can be."""
    try:
        if os.path.isdir(path):
            return "folder"
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return None
    if head.startswith(ZIP_BEGINNINGS):
        return "zip"
    is_list = head.removeprefix(BOM).lstrip().startswith(b"[") or head.startswith((b"\xff\xfe[", b"\xfe\xff\0["))
    return "list" if is_list else None


def open_export(path: str) -> Export | None:
    """Open what lies at a path, where it may be an export: a zip or a folder that has files of such names, or any file.

    Raises:
        SourceUnreadable: it cannot be read, or is a zip that is refused.
    """
    try:
        if os.path.isdir(path):
            return _open_folder(path)
        stream = open_regular(path)
    except (OSError, ValueError) as error:
        raise SourceUnreadable(path=path, why=getattr(error, "strerror", None) or str(error)) from error
    if stream.read(4) not in ZIP_BEGINNINGS:
        size_bytes = os.fstat(stream.fileno()).st_size
        stream.close()
        return Export(path, [Part(os.path.basename(path), size_bytes, size_bytes, partial(open_regular, path))], (), ())
    try:
        export = _open_zip(path, stream)
    except BaseException:
        stream.close()
        raise
    if export is None:
        stream.close()
    return export


def _open_folder(folder: str) -> Export | None:
    found: dict[str, int] = {}
    names = set()
    for below in ("", f"{_PROJECTS}/"):
        place = os.path.join(folder, below)
        if below and (_PROJECTS not in names or os.path.islink(place.rstrip("/"))):
            break
        with os.scandir(place) as entries:
            for entry in entries:
                names.add(entry.name)
                name = below + entry.name
                if (_CONVERSATIONS.fullmatch(name) or _OTHERS.fullmatch(name)) and entry.is_file(follow_symlinks=False):
                    found[name] = entry.stat(follow_symlinks=False).st_size
        if not any(map(_CONVERSATIONS.fullmatch, found)):
            return None
    parts = [Part(name, size, size, partial(open_below, folder, name)) for name, size in found.items()]
    return _export(folder, parts, names)


def _export(path: str, parts: Iterable[Part], names: Iterable[str]) -> Export:
    conversations = [part for part in parts if _CONVERSATIONS.fullmatch(part.name)]
    return Export(path, conversations, [part for part in parts if _OTHERS.fullmatch(part.name)], names)


def _open_zip(path: str, stream: BinaryIO) -> Export | None:
    try:
        archive = zipfile.ZipFile(bounded_reads(stream))
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise SourceUnreadable(path=path, why=f"it is a damaged zip file: {error}") from None
    listed = [one for one in archive.infolist() if "\0" not in one.orig_filename]
    files = [one for one in listed if stat.S_IFMT(one.external_attr >> 16) in (0, stat.S_IFREG)]
    # Whoever zips a folder has all of it below that folder's name.
    folders = {
        folder[0] if folder else ""
        for one in files
        for folder in [_FOLDER.match(one.filename)]
        if _CONVERSATIONS.fullmatch(one.filename, folder.end() if folder else 0)
    }
    if not folders:
        return None
    if len(folders) > 1:
        why = f"the exports of {len(folders)} folders are in it; unzip it, and name each of them"
        raise SourceUnreadable(path=path, why=why)
    (folder,) = folders
    below = [(one.filename[len(folder) :], one) for one in files if one.filename.startswith(folder)]
    entries = [(name, one) for name, one in below if _CONVERSATIONS.fullmatch(name) or _OTHERS.fullmatch(name)]
    if (refused := _refusal(entries, os.fstat(stream.fileno()).st_size)) is not None:
        raise SourceUnreadable(path=path, why=refused)
    parts = [
        Part(name, one.compress_size, one.file_size, cast(Callable[[], BinaryIO], partial(archive.open, one)))
        for name, one in entries
    ]
    export = _export(path, parts, {name.partition("/")[0] for name, _ in below})
    export.zip = archive
    return export


def _refusal(entries: list[tuple[str, zipfile.ZipInfo]], size_bytes: int) -> str | None:
    """Why these files of a zip are not read, in a clause; ``None`` where they are."""
    name, number = Counter(name for name, _ in entries).most_common(1)[0]
    if number > 1:
        return f"the zip file holds {name} {number} times"
    for name, one in entries:
        if one.flag_bits & 1:
            return f"{name} in it is encrypted; unzip it first, and name the folder"
        if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return f"{name} in it is packed in a way that no export is; unzip it first, and name the folder"
        if one.file_size > MOST_RATIO * one.compress_size + _FREE_BYTES:
            times = one.file_size // max(one.compress_size, 1)
            return f"{name} in it unpacks to {one.file_size:,} bytes, {times:,} times its size, as no export does"
    if sum(one.compress_size for _, one in entries) > size_bytes:
        return "files in it lie over one another"
    return None
