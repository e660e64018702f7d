"""Homes and minds on disk: which folder is meant, and a mind made whole or not at all.

``HOME/minds/NAME/`` holds ``mind.json`` (the card: what opens the mind; see `mnemic.runtime.keys.key_slots`) and a copy
of it, ``key`` unless a passphrase locks it, ``store.db``, and what hooks need: the folder ``spool``, which they write
to, and ``spool.json``, which says what they seal to.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import (
    DamagedStore,
    InvalidValue,
    KeyMismatch,
    KeyMissing,
    MindExists,
    MindLocked,
    MindMissing,
)
from mnemic.runtime.files.atomic_replace import cannot_write, settle, whole_or_not
from mnemic.runtime.keys.key_slots import (
    KeyCard,
    card_bytes,
    has_other_key,
    is_locked,
    is_recovery_key,
    new_card,
    open_by_file,
    open_by_passphrase,
    open_by_recovery,
    parse_card,
)
from mnemic.runtime.keys.keys import Keys, Secrets, make_key, read_key, run_name, write_private
from mnemic.runtime.spool.frames import key_id

if TYPE_CHECKING:
    from mnemic.runtime.store.store import Store

__all__ = [
    "MindFolder",
    "folder_of",
    "fork_mind",
    "locked",
    "locked_mind",
    "make_mind",
    "make_spool",
    "make_whole",
    "naming",
    "open_mind",
    "read_card",
    "spool_card_bytes",
    "write_card",
]

_log = logging.getLogger("mnemic.homes")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
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
    def card_copy(self) -> Path:
        """The same once more: without it, a damaged card would be the end of the mind."""
        return self.path / "mind.json.copy"

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
    def pauses(self) -> Path:
        """When it captures nothing; see `mnemic.runtime.capture.pauses`."""
        return self.path / "pauses"

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


def make_mind(
    home: Path, mind: str, clock: Clock, *, passphrase: str | None = None, recovery: bytes | None = None
) -> MindFolder:
    """Make a mind: folder, key, store. It appears whole, by a rename, or not at all.

    Args:
        passphrase: what locks it; a key file opens it where absent.
        recovery: opens it as well, 32 bytes; see `mnemic.runtime.keys.key_slots.recovery_text`.

    Raises:
        MindExists: it is there already.
        StoreReadOnly, DiskFull: the home cannot be written.
    """
    from mnemic.runtime.store.store import Store  # here: who only reads need not load NumPy

    def fill(draft: MindFolder) -> None:
        keys = Keys(Secrets.new())
        file = make_key() if passphrase is None else None
        if file is not None:
            write_private(draft.key, file)
        write_card(draft, new_card(keys, clock.now_us(), file=file, passphrase=passphrase, recovery=recovery))
        Store.create(draft.store, keys).close()
        make_spool(draft, keys)

    return make_whole(home, mind, fill)


def fork_mind(store: Store, source: MindFolder, keys: Keys, home: Path, mind: str, at_seq: int | None) -> MindFolder:
    """Copy a mind as it was after log number `at_seq` (now, where absent); what opens it opens the copy.

    Raises:
        MindExists: there is a mind of that name.
        InvalidValue: the log has no such number.
        StoreReadOnly, DiskFull: it cannot be written.
    """

    def fill(draft: MindFolder) -> None:
        if source.key.exists():
            write_private(draft.key, source.key.read_bytes())
        write_card(draft, read_card(source))
        store.fork(draft.store, at_seq)
        if source.pauses.exists():  # what was not to be captured then is not to be now
            write_private(draft.pauses, source.pauses.read_bytes())
        make_spool(draft, keys)

    return make_whole(home, mind, fill)


def open_mind(home: Path, mind: str, passphrase: str | None = None) -> tuple[MindFolder, Keys]:
    """Find a mind and its keys; what its hooks need is made again where it is missing, or another key's.

    Args:
        passphrase: of a mind that is locked by one; the recovery key will do in its place, here and for any mind.

    Raises:
        MindMissing: there is no such mind.
        MindLocked: it is locked by a passphrase, and none is given.
        WrongPassphrase, WrongRecoveryKey: that does not open it.
        InvalidValue: a passphrase is given, and the mind has none.
        KeyMissing, KeyMismatch: its key is not there, or not its own.
        DamagedStore: its card cannot be read.
        NewerSchema: a newer version made it.
    """
    folder = folder_of(home, mind)
    if not folder.path.is_dir():
        raise MindMissing(mind=mind, home=str(home))
    settle(folder.path)
    try:
        keys = _opened(folder, passphrase)
    except (KeyMissing, KeyMismatch, DamagedStore):  # a key and a card of two moments do not fit each other
        settle(folder.path)
        keys = _opened(folder, passphrase)
    try:
        make_spool(folder, keys)
        _make_copy(folder)
    except OSError as error:  # whoever only asks need not write; the examination says that hooks cannot
        _log.warning("what the hooks of %s need cannot be made: %s", mind, error)
    if has_other_key(folder.card, keys):  # replaced meanwhile: what was just written belongs to the one of before
        return open_mind(home, mind, passphrase)
    return folder, keys


def _opened(folder: MindFolder, passphrase: str | None) -> Keys:
    card = read_card(folder)
    if passphrase is not None and (is_locked(card) or not is_recovery_key(passphrase)):
        return open_by_passphrase(card, passphrase, folder.card)
    if passphrase is not None:
        return open_by_recovery(card, passphrase, folder.card)
    if is_locked(card):
        raise locked(folder)
    return open_by_file(card, read_key(folder.key), folder.key)


def locked(folder: MindFolder) -> MindLocked:
    """The error for a mind that is locked."""
    return MindLocked(mind=folder.path.name, named=naming(folder))


def naming(folder: MindFolder) -> str:
    """What follows a command that is proposed, for it to mean this mind whichever home the shell is set to."""
    mind = [] if folder.path.name == "default" else ["--mind", folder.path.name]
    return " " + shlex.join(["--home", os.path.abspath(folder.path.parent.parent), *mind])


def locked_mind(home: Path, mind: str) -> bool:
    """Whether a mind is there and locked by a passphrase; one whose card cannot be read is not."""
    folder = folder_of(home, mind)
    settle(folder.path)
    try:
        return is_locked(read_card(folder))
    except DamagedStore:  # whoever opens it says so
        return False


def read_card(folder: MindFolder) -> KeyCard:
    """What opens a mind.

    Raises:
        DamagedStore: the card cannot be read.
        NewerSchema: a newer version made it.
    """
    try:
        written = folder.card.read_bytes()
    except OSError as error:
        raise DamagedStore(path=str(folder.card), why=f"it cannot be read ({type(error).__name__})") from error
    return parse_card(written, folder.card)


def write_card(folder: MindFolder, card: KeyCard) -> None:
    """Write what opens a mind, and its copy, in place of what was there; in a draft, or of what is as good."""
    written = card_bytes(card)
    _put(folder.card, written, os.replace)
    if card.slots:  # of version 1 it can be made again from the key
        _put(folder.card_copy, written, os.replace)


def spool_card_bytes(keys: Keys) -> bytes:
    """What hooks read: the key they seal to, and the ids of those that were it before."""
    card: dict[str, object] = {"version": _SPOOL_CARD, "public": keys.spool_public().hex()}
    card["names"] = keys.spool_names.hex()
    if keys.earlier_spools:
        card["earlier"] = [key_id(public).hex() for public in keys.earlier_public()]
    return json.dumps(card).encode()


def _make_copy(folder: MindFolder) -> None:
    """Have the copy of a card that was opened say the same."""
    written = folder.card.read_bytes()
    if parse_card(written, folder.card).slots and (
        not folder.card_copy.exists() or folder.card_copy.read_bytes() != written
    ):
        _put(folder.card_copy, written, os.replace)


def make_spool(folder: MindFolder, keys: Keys) -> None:
    """Make what hooks need, as far as it is not there."""
    folder.spool.mkdir(mode=0o700, exist_ok=True)
    if not folder.losses.exists():  # its bytes are there before a disk is full: hooks change them in place
        _put(folder.losses, bytes(_LOSSES_BYTES), os.link)
    written = spool_card_bytes(keys)
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


def make_whole(home: Path, mind: str, fill: Callable[[MindFolder], None]) -> MindFolder:
    """Have a mind appear whole, by a rename, or not at all.

    Args:
        fill: puts its files into a folder beside it.

    Raises:
        MindExists: it is there already.
        StoreReadOnly, DiskFull: the home cannot be written.
    """
    folder = folder_of(home, mind)
    if folder.path.exists():
        raise MindExists(path=str(folder.path))
    try:
        _make_private(home / "minds")
        draft = MindFolder(Path(tempfile.mkdtemp(prefix=".new-", dir=home / "minds")))
    except OSError as error:
        raise cannot_write(home, error) from error
    try:
        with whole_or_not(home):
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
