"""Opening, locking, unlocking and re-keying a mind that a passphrase, key file or recovery key protects.

Verbs of `mnemic.runtime.api.mind.Mind`, and functions for a mind that is not open. Below are
`mnemic.runtime.keys.key_slots`, which knows what opens a mind, `mnemic.runtime.minds.unlocking`, the process's part,
and `mnemic.runtime.minds.rekey`, which seals one anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mnemic.actors.kernel.errors import InvalidValue, MnemicError, NotLockable, NotServed
from mnemic.runtime.api.verbs import MindVerbs, exclusive_mind
from mnemic.runtime.client.launcher import ensure_running
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.key_slots import check_passphrase, format_recovery_key, is_locked, is_recovery_key, slot_of
from mnemic.runtime.keys.keys import Keys, generate_key
from mnemic.runtime.minds.homes import MindFolder, is_locked_mind, mind_folder, mind_options, read_key_header

if TYPE_CHECKING:
    from mnemic.runtime.client.client import RemoteActorSystem
    from mnemic.runtime.transfer.orphans import Orphans, UnreadBackup

_CLOCK = SystemClock()


class RekeyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What opens a mind once it has another key."""

    key: Path | None
    """The key file; ``None`` where a passphrase locks the mind."""
    recovery: str | None
    """The recovery key, told this once; ``None`` where the mind has none."""
    unlocked: bool
    """Whether the home's process, which had the mind unlocked, has it unlocked still."""
    not_unlocked: str | None = None
    """Why it has not, where it had."""
    orphaned: tuple[str, ...] = ()
    """Paths of the backups that only what opened the mind before opens."""
    unread: tuple[UnreadBackup, ...] = ()
    """Backups that cannot be looked into, and so may be like that too."""


def unlock(home: Path, mind: str, keys: Keys) -> dict[str, Any]:
    """Give a mind's keys to the home's process, started if need be, which holds them in memory; what it says of itself.

    Raises:
        NotOnRay: its actors are elsewhere.
        NotServed: there is no process, and none can be had.
    """
    return _remote_system(home, mind).unlock(msgspec.json.encode(keys.secrets))


def lock(home: Path, mind: str) -> bool:
    """Have the home's process forget a mind's keys; says whether it held them.

    Raises:
        NotLockable: the mind's key file opens it whenever somebody asks.
    """
    if not is_locked_mind(home, mind):
        raise NotLockable(mind=mind, named=mind_options(mind_folder(home, mind)))
    return is_unlocked(home, mind) and _remote_system(home, mind).lock()


def is_unlocked(home: Path, mind: str) -> bool:
    """Whether the home's process holds a mind's keys; not where there is no process."""
    return mind in (server_info(home, mind) or {}).get("unlocked", ())


def server_info(home: Path, mind: str) -> dict[str, Any] | None:
    """What the home's process says of itself; ``None`` where there is none."""
    try:
        ensure_running(home, _CLOCK, start=False)
    except NotServed:
        return None
    return _remote_system(home, mind).server_info()


def _remote_system(home: Path, mind: str) -> RemoteActorSystem:
    from mnemic.runtime.client.client import RemoteActorSystem  # here: few need it

    return RemoteActorSystem(home, mind, False, _CLOCK)


def rekey(
    home: Path,
    mind: str,
    keys: Keys,
    *,
    passphrase: str | None = None,
    recovery: bool = False,
    alone: AbstractContextManager[MindFolder] | None = None,
) -> RekeyResult:
    """Seal a mind anew, all of it, with another key; it never lies in clear, and is the old or the new one.

    Args:
        keys: those of now.
        passphrase: what locks it from then on; a new key file opens it where absent.
        recovery: whether to make a recovery key where it has none; those that it has open it no more, and one takes
            their place in any case.
        alone: holds the mind alone meanwhile, where its actors are the caller's own.

    Raises:
        InvalidValue: the passphrase is too short.
        Rekeyed: somebody else changed the key meanwhile.
        StoreError: the mind is as it was.
    """
    from mnemic.runtime.minds.rekey import rekey_mind

    if passphrase is not None:
        check_passphrase(passphrase)
    held = is_unlocked(home, mind)
    left = backups_before_rekey(home, mind, keys)
    with alone or exclusive_mind(home, mind, _CLOCK) as folder:
        printed = generate_key() if recovery or slot_of(read_key_header(folder), "recovery") is not None else None
        new = rekey_mind(folder, keys, passphrase=passphrase, recovery=printed)
    told = None if printed is None else format_recovery_key(printed)
    done = RekeyResult(
        key=folder.key if passphrase is None else None,
        recovery=told,
        unlocked=False,
        orphaned=left.orphaned,
        unread=left.unread,
    )
    if not held or passphrase is None:
        return done
    try:
        unlock(home, mind, new)
    except MnemicError as error:  # the mind has its new key all the same
        return msgspec.structs.replace(done, not_unlocked=str(error))
    return msgspec.structs.replace(done, unlocked=True)


def backups_before_rekey(home: Path, mind: str, keys: Keys) -> Orphans:
    """The backups that what opens a mind now opens, and after a rekey does not.

    Raises:
        StoreError: the store cannot be read.
    """
    from mnemic.runtime.transfer.orphans import backups_to_orphan  # here: few need it

    folder = mind_folder(home, mind)
    return backups_to_orphan(folder, keys, read_key_header(folder))


def add_recovery_key(
    home: Path, mind: str, keys: Keys, *, alone: AbstractContextManager[MindFolder] | None = None
) -> str:
    """Have one more recovery key open a mind; returns it, told this once. What opens the mind goes on opening it.

    Args:
        keys: those of now.
        alone: holds the mind alone meanwhile, where its actors are the caller's own.

    Raises:
        Rekeyed: somebody else changed the key meanwhile.
        StoreError: the mind is as it was.
    """
    from mnemic.runtime.minds.rekey import add_recovery_slot

    made = generate_key()
    with alone or exclusive_mind(home, mind, _CLOCK) as folder:
        add_recovery_slot(folder, keys, made)
    return format_recovery_key(made)


def renew_key_file(home: Path, mind: str, keys: Keys) -> Path:
    """Write a new key file, for one that was lost; returns where it is.

    Raises:
        StoreError: the mind is as it was.
    """
    from mnemic.runtime.minds.rekey import replace_key_file

    with exclusive_mind(home, mind, _CLOCK) as folder:
        replace_key_file(folder, keys)
        return folder.key


class LockVerbs(MindVerbs):
    """The verbs."""

    def rekey(self, *, passphrase: str | None = None, key_file: bool = False, recovery: bool = False) -> RekeyResult:
        """Seal the mind anew, all of it, with another key: a new key file, or the passphrase, opens it from then on.

        What opened it before opens it no more, recovery keys included, and `RekeyResult.orphaned` names the backups
        that only it opens: nobody is asked. A mind that is locked keeps its passphrase
        where none is given.

        Args:
            passphrase: what locks it from then on.
            key_file: whether a key file is to open it from then on, where a passphrase did.
            recovery: whether to make a recovery key where it has none.

        Raises:
            InvalidValue: passphrase and key file are both wanted, or the passphrase is too short or not known here.
            StoreError: the mind is as it was.
        """
        folder, keys = self._keys()
        if passphrase is not None and key_file:
            raise InvalidValue(name="key_file", value=True, why="a passphrase is given too", expected="one of them")
        if passphrase is None and not key_file and is_locked(read_key_header(folder)):
            passphrase = self._passphrase
            if passphrase is None or is_recovery_key(passphrase):
                raise InvalidValue(name="passphrase", value=None, why="it is not known here", expected="a new one")
        alone = self._alone_until_opened_by(passphrase)
        return rekey(self._home, self._name, keys, passphrase=passphrase, recovery=recovery, alone=alone)

    def add_recovery_key(self) -> str:
        """Have one more recovery key open the mind; returns it, told this once. Nothing that opens it goes.

        Raises:
            StoreError: the mind is as it was.
        """
        return add_recovery_key(self._home, self._name, self._keys()[1], alone=self._exclusive_mind())

    @contextmanager
    def _alone_until_opened_by(self, passphrase: str | None) -> Iterator[MindFolder]:
        with self._exclusive_mind() as folder:
            yield folder
            self._passphrase = passphrase  # by which the actors are opened again

    def unlock(self) -> None:
        """Give the mind's keys to the home's process, started if need be: everybody is answered until `lock`.

        Raises:
            InvalidValue: its key file opens it already.
            NotOnRay: the actors of that process are elsewhere.
        """
        unlock(self._home, self._name, self._keys()[1])

    def lock(self) -> bool:
        """Have the home's process forget the mind's keys; says whether it held them. This object's own go on.

        Raises:
            NotLockable: its key file opens it whenever somebody asks.
        """
        return lock(self._home, self._name)

    def is_locked(self) -> bool:
        """Whether a passphrase is to be said before anything can be asked of the mind by way of the home's process."""
        return is_locked_mind(self._home, self._name) and not is_unlocked(self._home, self._name)
