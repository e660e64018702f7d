"""Homes and minds on disk: which folder is meant, and a mind made whole or not at all.

``HOME/minds/NAME/`` holds ``key``, ``mind.json`` (versions and the key's check value), ``store.db``, and what hooks
need: the folder ``spool``, which they write to, and ``spool.json``, which says what they seal to.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mnemic.actors.contract import Clock
from mnemic.actors.errors import DamagedStore, InvalidValue, MindExists, MindMissing, NewerSchema
from mnemic.runtime.keys import Keys, load_keys, make_key, run_name, write_private
from mnemic.runtime.schema import cannot_write

if TYPE_CHECKING:
    from mnemic.runtime.store import Store

__all__ = ["MindFolder", "folder_of", "fork_mind", "make_mind", "open_mind", "write_card"]

_log = logging.getLogger("mnemic.homes")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CARD = 1
"""Version of ``mind.json``."""
_SPOOL_CARD = 1
"""Version of ``spool.json``."""
_LOSSES_BYTES = 64


class MindFolder(msgspec.Struct, frozen=True):
    """Where a mind's files are."""

    path: Path
    """Its folder."""

    @property
    def key(self) -> Path:
        """The key file."""
        return self.path / "key"

    @property
    def card(self) -> Path:
        """What is known of the mind without its key."""
        return self.path / "mind.json"

    @property
    def store(self) -> Path:
        """The database."""
        return self.path / "store.db"

    @property
    def spool(self) -> Path:
        """The folder that hooks write to."""
        return self.path / "spool"

    @property
    def spool_card(self) -> Path:
        """What hooks seal to and name files by: all that they read."""
        return self.path / "spool.json"

    @property
    def losses(self) -> Path:
        """Where hooks count what they could not write."""
        return self.spool / "losses"


def folder_of(home: Path, mind: str) -> MindFolder:
    """The folder of a mind, there or not.

    Raises:
        InvalidValue: the name could not be one folder's.
    """
    if not _NAME.fullmatch(mind):
        raise InvalidValue(
            name="a mind's name",
            value=mind,
            why="it names a folder",
            expected="letters, digits, '.', '_' and '-', starting with a letter or digit",
        )
    return MindFolder(home / "minds" / mind)


def make_mind(home: Path, mind: str, clock: Clock) -> MindFolder:
    """Make a mind: folder, key, store. It appears whole, by a rename, or not at all.

    Raises:
        MindExists: it is there already.
        StoreReadOnly, DiskFull: the home cannot be written.
    """
    from mnemic.runtime.store import Store  # here: who only reads need not load NumPy

    def fill(draft: MindFolder) -> None:
        root = make_key()
        keys = Keys(root)
        write_private(draft.key, root)
        write_card(draft, keys, clock.now_us())
        Store.create(draft.store, keys).close()
        _make_spool(draft, keys)

    return _make_whole(home, mind, fill)


def fork_mind(store: Store, source: MindFolder, home: Path, mind: str, at_seq: int | None) -> MindFolder:
    """Copy a mind as it was after log number `at_seq` (now, where absent); the copy has the same key.

    Raises:
        MindExists: there is a mind of that name.
        InvalidValue: the log has no such number.
        StoreReadOnly, DiskFull: it cannot be written.
    """

    def fill(draft: MindFolder) -> None:
        write_private(draft.key, source.key.read_bytes())
        write_private(draft.card, source.card.read_bytes())
        store.fork(draft.store, at_seq)
        _make_spool(draft, Keys(draft.key.read_bytes()))

    return _make_whole(home, mind, fill)


def open_mind(home: Path, mind: str) -> tuple[MindFolder, Keys]:
    """Find a mind and its keys; what its hooks need is made again where it is missing, or another key's.

    Raises:
        MindMissing: there is no such mind.
        KeyMissing, KeyMismatch: its key is not there, or not its own.
        DamagedStore: its card cannot be read.
        NewerSchema: a newer version made it.
    """
    folder = folder_of(home, mind)
    if not folder.path.is_dir():
        raise MindMissing(mind=mind, home=str(home))
    try:
        card = json.loads(folder.card.read_bytes())
        version, check = int(card["version"]), str(card["check"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedStore(path=str(folder.card), why=f"it cannot be read ({type(error).__name__})") from error
    if version > _CARD:
        raise NewerSchema(path=str(folder.card), found=version, known=_CARD)
    keys = load_keys(folder.key, check)
    try:
        _make_spool(folder, keys)
    except OSError as error:  # whoever only asks need not write; the examination says that hooks cannot
        _log.warning("what the hooks of %s need cannot be made: %s", mind, error)
    return folder, keys


def write_card(folder: MindFolder, keys: Keys, made_at_us: int) -> None:
    """Write what is known of a mind without its key, in place of what was there."""
    card = {"version": _CARD, "key": "file", "check": keys.check, "made_at_us": made_at_us}
    draft = folder.card.with_name(f".{folder.card.name}")
    draft.unlink(missing_ok=True)  # of a try that was killed
    write_private(draft, json.dumps(card, indent=1).encode())
    os.replace(draft, folder.card)


def _make_spool(folder: MindFolder, keys: Keys) -> None:
    """Make what hooks need, as far as it is not there."""
    folder.spool.mkdir(mode=0o700, exist_ok=True)
    if not folder.losses.exists():  # its bytes are there before a disk is full: hooks change them in place
        _put(folder.losses, bytes(_LOSSES_BYTES), os.link)
    card = {"version": _SPOOL_CARD, "public": keys.spool_public().hex(), "names": keys.spool_names.hex()}
    written = json.dumps(card).encode()
    if not folder.spool_card.exists() or folder.spool_card.read_bytes() != written:
        _put(folder.spool_card, written, os.replace)


def _put(path: Path, data: bytes, place: Callable[[Path, Path], None]) -> None:
    """Have a private file appear whole, however many do so at once."""
    draft = path.with_name(f".{path.name}-{run_name()}")
    write_private(draft, data)
    try:
        place(draft, path)
    except FileExistsError:  # another process was faster, and it says the same
        _log.debug("%s was made meanwhile", path)
    finally:
        draft.unlink(missing_ok=True)


def _make_whole(home: Path, mind: str, fill: Callable[[MindFolder], None]) -> MindFolder:
    folder = folder_of(home, mind)
    if folder.path.exists():
        raise MindExists(path=str(folder.path))
    try:
        _make_private(home / "minds")
        draft = MindFolder(Path(tempfile.mkdtemp(prefix=".new-", dir=home / "minds")))
    except OSError as error:
        raise cannot_write(home, error) from error
    try:
        fill(draft)
        os.rename(draft.path, folder.path)
    except OSError as error:
        if folder.path.exists():  # another process made it meanwhile
            raise MindExists(path=str(folder.path)) from error
        raise cannot_write(home, error) from error
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)  # gone already where the rename went through
    return folder


def _make_private(folder: Path) -> None:
    """Make a folder and those above it, as far as they are not there, for nobody but their user."""
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)  # exist_ok: another process may have been faster
