"""Homes and minds on disk: the files of a mind, creating one atomically, opening one with its key.

``HOME/minds/NAME/`` holds ``mind.json`` (the key header: what opens the mind, see `mnemic.runtime.keys.key_slots`) and
a copy of it, ``key`` unless a passphrase locks it, ``store.db``, and what hooks need: the folder ``spool``, which they
write to, and ``spool.json``, which says what they seal to.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import platformdirs

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import (
    DamagedStore,
    InvalidValue,
    KeyMismatch,
    KeyMissing,
    MindExists,
    MindLocked,
    MindMissing,
)
from mnemic.actors.kernel.scope_paths import suggest_scopes
from mnemic.runtime.files.atomic_replace import finish_commit, write_error
from mnemic.runtime.keys.key_slots import (
    KeyHeader,
    has_other_key,
    header_read_error,
    is_locked,
    is_recovery_key,
    key_header_bytes,
    new_key_header,
    open_by_file,
    open_by_passphrase,
    open_by_recovery,
    parse_key_header,
)
from mnemic.runtime.keys.keys import Keys, Secrets, generate_key, read_key, replace_private, write_private
from mnemic.runtime.spool.frames import key_id

if TYPE_CHECKING:
    from mnemic.runtime.store.store import Store

_log = logging.getLogger("mnemic.homes")

DEFAULT_MIND = "default"
"""Its name where none is given: the only one that is made by being written to."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OTHERS_WRITE = 0o022
_SPOOL_CONFIG_VERSION = 1
"""Version of ``spool.json``."""
_LOSSES_BYTES = 64


def default_home(environment: Mapping[str, str]) -> Path:
    """``MNEMIC_HOME``, else the platform's folder for a user's data; a relative ``XDG_DATA_HOME`` counts as none."""
    named = environment.get("MNEMIC_HOME")
    folder = Path(named or platformdirs.user_data_dir("mnemic", appauthor=False))
    return folder if named or folder.is_absolute() else Path("~/.local/share/mnemic").expanduser()


def require_absolute_home(environment: Mapping[str, str]) -> None:
    """Refuse a relative ``MNEMIC_HOME``: it is set for all folders, and would be another home in each.

    Raises:
        InvalidValue: it is one.
    """
    named = environment.get("MNEMIC_HOME", "")
    if named and not named.startswith(("/", "~")):
        expected = "an absolute path; --home takes a relative one"
        raise InvalidValue(name="MNEMIC_HOME", value=named, why="it is no absolute path", expected=expected)


def expand_home(home: Path) -> Path:
    """A home as an absolute path, its ``~`` resolved; links and ``..`` stay.

    Raises:
        InvalidValue: it names a user that is not there, is a file, or is relative to a working folder that was removed.
    """
    try:
        folder = home.expanduser().absolute()
        if folder.exists() and not folder.is_dir():
            raise InvalidValue(name="the home", value=str(home), why="it is a file", expected="the path of a folder")
        return folder
    except RuntimeError:
        raise InvalidValue(
            name="the home", value=str(home), why="there is no such user", expected="the path of a folder"
        ) from None
    except FileNotFoundError:
        raise InvalidValue(
            name="the home", value=str(home), why="the working folder was removed", expected="an absolute path"
        ) from None


class MindFolder(msgspec.Struct, frozen=True):
    """Where a mind's files are."""

    path: Path
    """Its folder."""

    @property
    def home(self) -> Path:
        """The home that it is in."""
        return self.path.parent.parent

    @property
    def key(self) -> Path:
        """The key file."""
        return self.path / "key"

    @property
    def key_header(self) -> Path:
        """What is known of the mind without its key."""
        return self.path / "mind.json"

    @property
    def key_header_copy(self) -> Path:
        """The same once more: without it, a damaged key header would be the end of the mind."""
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
    def spool_config(self) -> Path:
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


def mind_folder(home: Path, mind: str) -> MindFolder:
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


def mind_names(home: Path) -> list[str]:
    """The minds of a home, by name; none where there is no home.

    Raises:
        StoreReadOnly: the folder cannot be looked into.
    """
    try:
        return sorted(path.name for path in (home / "minds").iterdir() if _NAME.fullmatch(path.name) and path.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise write_error(home / "minds", error) from error


def missing_mind(home: Path, mind: str) -> MindMissing:
    """The error for a mind that is not there: it names those that are, and what makes this one."""
    verb = "setup" if mind == DEFAULT_MIND else "init"
    names, make = mind_names(home), f"`mnemic {verb}{mind_options(mind_folder(home, mind))}` makes this one"
    near = suggest_scopes(mind, names)
    there = f"{near}This home has {', '.join(map(repr, names)) or 'none'}"
    return MindMissing(mind=mind, home=str(home), remedy=f"{there}; {make}")


def create_mind(
    home: Path,
    mind: str,
    clock: Clock,
    *,
    passphrase: str | None = None,
    recovery: bytes | None = None,
    secrets: Secrets | None = None,
) -> MindFolder:
    """Make a mind: folder, key, store. It appears whole, by a rename, or not at all.

    Args:
        passphrase: what locks it; a key file opens it where absent.
        recovery: opens it as well, 32 bytes; see `mnemic.runtime.keys.key_slots.format_recovery_key`.
        secrets: what its keys are made from; drawn where absent.

    Raises:
        MindExists: it is there already.
        StoreReadOnly, DiskFull: the home cannot be written.
    """
    from mnemic.runtime.store.store import Store  # here: who only reads need not load NumPy

    def fill(draft: MindFolder) -> None:
        keys = Keys(secrets or Secrets.generate())
        file = generate_key() if passphrase is None else None
        if file is not None:
            write_private(draft.key, file)
        write_key_header(
            draft, new_key_header(keys, clock.now_us(), file=file, passphrase=passphrase, recovery=recovery)
        )
        Store.create(draft.store, keys).close()
        ensure_spool(draft, keys)

    return create_atomically(home, mind, fill)


def fork_mind(store: Store, source: MindFolder, keys: Keys, home: Path, mind: str, at_seq: int | None) -> MindFolder:
    """Copy a mind as it was after transaction `at_seq` (now, where absent); what opens it opens the copy.

    Raises:
        MindExists: there is a mind of that name.
        InvalidValue: the log has no such number.
        StoreReadOnly, DiskFull: it cannot be written.
    """

    def fill(draft: MindFolder) -> None:
        if source.key.exists():
            write_private(draft.key, source.key.read_bytes())
        write_key_header(draft, read_key_header(source))
        store.fork(draft.store, at_seq)
        if source.pauses.exists():  # what was not to be captured then is not to be now
            write_private(draft.pauses, source.pauses.read_bytes())
        ensure_spool(draft, keys)

    return create_atomically(home, mind, fill)


def open_mind(
    home: Path, mind: str, passphrase: str | None = None, *, looking: bool = False
) -> tuple[MindFolder, Keys]:
    """Find a mind and its keys; what its hooks need is made again where it is missing, or another key's.

    Args:
        looking: whether nothing is made again.
        passphrase: of a mind that is locked by one; the recovery key will do in its place, here and for any mind.

    Raises:
        MindMissing: there is no such mind.
        MindLocked: it is locked by a passphrase, and none is given.
        WrongPassphrase, WrongRecoveryKey: that does not open it.
        InvalidValue: a passphrase is given, and the mind has none.
        KeyMissing, KeyMismatch: its key is not there, or not its own.
        DamagedStore: its key header cannot be read.
        NewerSchema: a newer version made it.
    """
    folder = mind_folder(home, mind)
    if not folder.path.is_dir():
        raise missing_mind(home, mind)
    finish_commit(folder.path)
    try:
        keys = _open_keys(folder, passphrase)
    except (KeyMissing, KeyMismatch, DamagedStore):  # a key and a key header of two moments do not fit each other
        finish_commit(folder.path)
        keys = _open_keys(folder, passphrase)
    try:
        if not looking:
            ensure_spool(folder, keys)
            _sync_header_copy(folder)
    except OSError as error:  # whoever only asks need not write; the examination says that hooks cannot
        _log.warning("what the hooks of %s need cannot be made: %s", mind, error)
    if has_other_key(folder.key_header, keys):  # replaced meanwhile: what was just written belongs to the one of before
        return open_mind(home, mind, passphrase, looking=looking)
    return folder, keys


def _open_keys(folder: MindFolder, passphrase: str | None) -> Keys:
    header = read_key_header(folder)
    if passphrase is not None and (is_locked(header) or not is_recovery_key(passphrase)):
        return open_by_passphrase(header, passphrase, folder.key_header)
    if passphrase is not None:
        return open_by_recovery(header, passphrase, folder.key_header)
    if is_locked(header):
        raise locked_error(folder)
    return open_by_file(header, read_key(folder.key), folder.key)


def locked_error(folder: MindFolder) -> MindLocked:
    """The error for a mind that is locked."""
    return MindLocked(mind=folder.path.name, named=mind_options(folder))


def mind_options(folder: MindFolder) -> str:
    """What follows a command that is proposed, for it to mean this mind; nothing where that is meant anyway."""
    mind = [] if folder.path.name == DEFAULT_MIND else ["--mind", folder.path.name]
    usual = "MNEMIC_HOME" not in os.environ and folder.home.absolute() == default_home({}).absolute()
    home = [] if usual else ["--home", os.path.abspath(folder.home)]
    return f" {shlex.join([*home, *mind])}" if home or mind else ""


def is_locked_mind(home: Path, mind: str) -> bool:
    """Whether a mind is there and locked by a passphrase; one whose key header cannot be read is not."""
    folder = mind_folder(home, mind)
    finish_commit(folder.path)
    try:
        return is_locked(read_key_header(folder))
    except DamagedStore:  # whoever opens it says so
        return False


def read_key_header(folder: MindFolder) -> KeyHeader:
    """What opens a mind.

    Raises:
        DamagedStore, DiskFailed: the key header cannot be read.
        NewerSchema: a newer version made it.
    """
    try:
        written = folder.key_header.read_bytes()
    except OSError as error:
        raise header_read_error(folder.key_header, error) from error
    return parse_key_header(written, folder.key_header)


def write_key_header(folder: MindFolder, header: KeyHeader) -> None:
    """Write what opens a mind, and its copy, in place of what was there; in a draft, or of what is as good."""
    written = key_header_bytes(header)
    replace_private(folder.key_header, written)
    replace_private(folder.key_header_copy, written)


def spool_config_bytes(keys: Keys) -> bytes:
    """What hooks read: the key they seal to, and the ids of those that were it before."""
    config: dict[str, object] = {"version": _SPOOL_CONFIG_VERSION, "public": keys.spool_public().hex()}
    config["names"] = keys.spool_name_key.hex()
    if keys.earlier_spool_privates:
        config["earlier"] = [key_id(public).hex() for public in keys.earlier_spool_publics()]
    return json.dumps(config).encode()


def _sync_header_copy(folder: MindFolder) -> None:
    """Have the copy of a key header that was opened say the same."""
    written = folder.key_header.read_bytes()
    parse_key_header(written, folder.key_header)
    if not folder.key_header_copy.exists() or folder.key_header_copy.read_bytes() != written:
        replace_private(folder.key_header_copy, written)


def ensure_spool(folder: MindFolder, keys: Keys) -> None:
    """Make what hooks need, as far as it is not there."""
    folder.spool.mkdir(mode=0o700, exist_ok=True)
    if not folder.losses.exists():  # its bytes are there before a disk is full: hooks change them in place
        with suppress(FileExistsError):  # another process was faster, and it says the same
            replace_private(folder.losses, bytes(_LOSSES_BYTES), os.link)
    written = spool_config_bytes(keys)
    if not folder.spool_config.exists() or folder.spool_config.read_bytes() != written:
        replace_private(folder.spool_config, written)


def create_atomically(home: Path, mind: str, fill: Callable[[MindFolder], None]) -> MindFolder:
    """Have a mind appear whole, by a rename, or not at all.

    Args:
        fill: puts its files into a folder beside it.

    Raises:
        MindExists: it is there already.
        StoreReadOnly, DiskFull: the home cannot be written.
    """
    folder = mind_folder(home, mind)
    if folder.path.exists():
        raise MindExists(path=str(folder.path))
    try:
        told = restrict_home(home)
        if told is not None:
            _log.warning("%s", told)
        _make_private(home / "minds")
        draft = MindFolder(Path(tempfile.mkdtemp(prefix=".new-", dir=home / "minds")))
    except OSError as error:
        raise write_error(home, error) from error
    try:
        fill(draft)
        os.rename(draft.path, folder.path)
    except OSError as error:
        if folder.path.exists():  # another process made it meanwhile
            raise MindExists(path=str(folder.path)) from error
        raise write_error(home, error) from error
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)  # gone already where the rename went through
    return folder


def restrict_home(home: Path) -> str | None:
    """Take from others the right to write to a home: a program that they name there is started as its user.

    Who may look into it stays as it is: what it holds is its user's alone. Returns what was done, or why it was not, in
    a sentence; ``None`` where nothing is to be done.

    Raises:
        OSError: the folder cannot be looked at, or changed.
    """
    try:
        seen = home.stat()
    except FileNotFoundError:
        return None
    mode = stat.S_IMODE(seen.st_mode)
    if not mode & _OTHERS_WRITE:
        return None
    if mode & stat.S_ISVTX or seen.st_uid != os.geteuid():  # meant for all, such as /tmp; or another user's
        return f"Others may write to the home {home} (mode {mode:04o}), and so have programs of theirs started by you."
    home.chmod(mode & ~_OTHERS_WRITE)
    return f"Others could write to the home {home} (mode {mode:04o}): they may not any more."


def _make_private(folder: Path) -> None:
    """Make a folder and those above it, as far as they are not there, for nobody but their user."""
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)  # exist_ok: another process may have been faster
