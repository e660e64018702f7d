"""Reading files that somebody else may have made: a project's, a host's, a copy that came from elsewhere.

A repository that is cloned brings links to devices and files of any length. Such a file is opened without waiting, read
only where it is a regular one, and never beyond a length that its reader names.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from typing import Any, BinaryIO, cast

MOST_LINE_BYTES = 1 << 29
"""How much of a file is held at once: a line, or a document that can only be understood as a whole."""
MOST_DIRECTORY_BYTES = 1 << 24
"""How long a zip's list of files may be, some 200,000 files; in memory it takes ten times as much."""
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOST_DOTS = 16
_STRING_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)|\'{3}.*?(?:\'{3,5}|\Z)|"(?:\\[^\n]|[^"\\\n])*"?|'[^'\n]*'?|\#[^\n]*''',
    re.DOTALL,
)
"""One that does not end is taken to the end, so that the work grows with the length alone; the parser refuses it."""
_DEEP_KEY = re.compile(rf"(?:\.[ \t]*[\w-]+[ \t]*){{{_MOST_DOTS + 1}}}")


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading, links followed.

    Raises:
        OSError: it cannot be opened, or is no regular file: a folder, a pipe, a device.
        ValueError: no file can have this name.
    """
    return _require_regular(os.open(path, _READING), path)


def open_below(folder: str, path: str) -> BinaryIO:
    """Open a file below a folder for reading; no link below the folder is followed, so that it is in there.

    Args:
        path: relative to the folder.

    Raises:
        OSError: it cannot be opened, is no regular file, or a part of the path is a link or leads upwards.
        ValueError: no file can have this name.
    """
    *folders, name = path.split("/")
    if {"", ".", ".."} & {*folders, name}:
        raise OSError(errno.EINVAL, "it is no path below a folder", path)
    inside = os.open(folder, _READING | os.O_DIRECTORY)
    try:
        for part in folders:
            outside, inside = inside, os.open(part, _READING | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=inside)
            os.close(outside)
        return _require_regular(os.open(name, _READING | os.O_NOFOLLOW, dir_fd=inside), path)
    finally:
        os.close(inside)


def _require_regular(descriptor: int, path: str | os.PathLike[str]) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


class _Bounded:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.tell, self.seek, self.close = stream.tell, stream.seek, stream.close
        self.seekable = stream.seekable

    def read(self, size: int = -1) -> bytes:
        if size > MOST_DIRECTORY_BYTES:
            raise ValueError(f"its list of files is longer than {MOST_DIRECTORY_BYTES:,} bytes")
        return self._stream.read(size)


def bounded_reads(stream: BinaryIO) -> BinaryIO:
    """A zip file's bytes, of which no more is read at once than its list of files may be long; more is `ValueError`."""
    return cast(BinaryIO, _Bounded(stream))


def read_regular(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Read a file whole, links followed.

    Raises:
        OSError: it cannot be read, is no regular file, or is longer than `most_bytes`.
        ValueError: no file can have this name.
    """
    return _read_whole(open_regular(path), path, most_bytes)


def read_below(folder: str, path: str, most_bytes: int) -> bytes:
    """Read a file below a folder whole; no link below the folder is followed, so that it is in there.

    Args:
        path: relative to the folder.

    Raises:
        OSError: as of `read_regular`, or a part of the path is a link or leads upwards.
        ValueError: no file can have this name.
    """
    return _read_whole(open_below(folder, path), path, most_bytes)


def _read_whole(opened: BinaryIO, path: str | os.PathLike[str], most_bytes: int) -> bytes:
    with opened as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it is longer than {most_bytes:,} bytes", os.fspath(path))
    return content


def read_toml(path: str | os.PathLike[str], most_bytes: int) -> dict[str, Any]:
    """Read a file of settings that somebody else may have made.

    Raises:
        OSError: it cannot be read, is no regular file, or is longer than `most_bytes`.
        ValueError: it is no TOML, or no file can have this name; says why in a clause.
    """
    return parse_toml(read_regular(path, most_bytes))


def parse_toml(content: bytes) -> dict[str, Any]:
    """Parse TOML whose keys have at most 16 dots: for a key of thousands the parser takes minutes and gigabytes.

    Raises:
        ValueError: it is none, or a key has more dots; says why in a clause.
    """
    try:
        text = content.decode("utf-8")
        if _DEEP_KEY.search(_STRING_OR_COMMENT.sub("_", text)) is None:
            return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is no TOML: it is not in UTF-8") from None
    except ValueError as error:  # also where a number has more digits than Python converts
        raise ValueError(f"it is no TOML: {error}") from error
    raise ValueError(f"one of its keys has more than {_MOST_DOTS} dots")
