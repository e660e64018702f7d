"""Opening, locking, unlocking and re-keying a mind that a passphrase, key file or recovery key protects.

Verbs of `mnemic.runtime.api.mind.Mind`, and functions for a mind that is not open. Below are
`mnemic.runtime.keys.key_slots`, which knows what opens a mind, `mnemic.runtime.minds.unlocking`, the process's part,
and `mnemic.runtime.minds.rekey`, which seals one anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import InvalidValue, MnemicError, NotLockable, NotServed
from mnemic.runtime.api.verbs import MindVerbs
from mnemic.runtime.keys.key_slots import check_passphrase, format_recovery_key, is_locked, is_recovery_key, slot_of
from mnemic.runtime.keys.keys import Keys, generate_key
from mnemic.runtime.minds.homes import MindFolder, is_locked_mind, mind_folder, mind_options, read_key_header

if TYPE_CHECKING:
    from mnemic.runtime.client.client import RemoteActorSystem

__all__ = ["LockVerbs", "RekeyResult", "is_unlocked", "lock", "rekey", "renew_key_file", "unlock"]


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


# --- in the home's process -------------------------------------------------------------------------------------------


def unlock(home: Path, mind: str, keys: Keys, clock: Clock) -> dict[str, Any]:
    """Give a mind's keys to the home's process, started if need be, which holds them in memory; what it says of itself.

    Raises:
        NotOnRay: its actors are elsewhere.
        NotServed: there is no process, and none can be had.
    """
    return _remote_system(home, mind, clock).unlock(msgspec.json.encode(keys.secrets))


def lock(home: Path, mind: str, clock: Clock) -> bool:
    """Have the home's process forget a mind's keys; says whether it held them.

    Raises:
        NotLockable: the mind's key file opens it whenever somebody asks.
    """
    if not is_locked_mind(home, mind):
        raise NotLockable(mind=mind, named=mind_options(mind_folder(home, mind)))
    return is_unlocked(home, mind, clock) and _remote_system(home, mind, clock).lock()


def is_unlocked(home: Path, mind: str, clock: Clock) -> bool:
    """Whether the home's process holds a mind's keys; not where there is no process."""
    from mnemic.runtime.client.launcher import ensure_running

    try:
        ensure_running(home, clock, start=False)
    except NotServed:
        return False
    return mind in _remote_system(home, mind, clock).server_info().get("unlocked", ())


def _remote_system(home: Path, mind: str, clock: Clock) -> RemoteActorSystem:
    from mnemic.runtime.client.client import RemoteActorSystem  # here: few need it

    return RemoteActorSystem(home, mind, False, clock)


# --- another key -----------------------------------------------------------------------------------------------------


def rekey(
    home: Path, mind: str, keys: Keys, clock: Clock, *, passphrase: str | None = None, recovery: bool = False
) -> RekeyResult:
    """Seal a mind anew, all of it, with another key; it never lies in clear, and is the old or the new one.

    Args:
        keys: those of now.
        passphrase: what locks it from then on; a new key file opens it where absent.
        recovery: whether to make a recovery key where it has none; one that it has is replaced in any case.

    Raises:
        InvalidValue: the passphrase is too short.
        Rekeyed: somebody else changed the key meanwhile.
        StoreError: the mind is as it was.
    """
    from mnemic.runtime.api.verbs import exclusive_mind

    held = is_unlocked(home, mind, clock)
    with exclusive_mind(home, mind, clock) as folder:
        done, new = _reseal(folder, keys, passphrase, recovery)
    return _unlock_again(done, home, mind, new, clock) if held and passphrase is not None else done


def renew_key_file(home: Path, mind: str, keys: Keys, clock: Clock) -> Path:
    """Write a new key file, for one that was lost; returns where it is.

    Raises:
        StoreError: the mind is as it was.
    """
    from mnemic.runtime.api.verbs import exclusive_mind
    from mnemic.runtime.minds.rekey import replace_key_file

    with exclusive_mind(home, mind, clock) as folder:
        replace_key_file(folder, keys)
        return folder.key


def _reseal(folder: MindFolder, keys: Keys, passphrase: str | None, recovery: bool) -> tuple[RekeyResult, Keys]:
    from mnemic.runtime.minds.rekey import rekey_mind

    if passphrase is not None:
        check_passphrase(passphrase)
    wanted = recovery or slot_of(read_key_header(folder), "recovery") is not None
    printed = generate_key() if wanted else None
    new = rekey_mind(folder, keys, passphrase=passphrase, recovery=printed)
    told = None if printed is None else format_recovery_key(printed)
    return RekeyResult(key=folder.key if passphrase is None else None, recovery=told, unlocked=False), new


def _unlock_again(done: RekeyResult, home: Path, mind: str, keys: Keys, clock: Clock) -> RekeyResult:
    """Give the home's process the new keys; where it does not take them, what was done is told all the same."""
    try:
        unlock(home, mind, keys, clock)
    except MnemicError as error:
        return msgspec.structs.replace(done, not_unlocked=str(error))
    return msgspec.structs.replace(done, unlocked=True)


class LockVerbs(MindVerbs):
    """The verbs."""

    def rekey(self, *, passphrase: str | None = None, key_file: bool = False, recovery: bool = False) -> RekeyResult:
        """Seal the mind anew, all of it, with another key: a new key file, or the passphrase, opens it from then on.

        What opened it before opens it no more, a recovery key included. A mind that is locked keeps its passphrase
        where none is given.

        Args:
            passphrase: what locks it from then on.
            key_file: whether a key file is to open it from then on, where a passphrase did.
            recovery: whether to make a recovery key where it has none.

        Raises:
            InvalidValue: passphrase and key file are both wanted, or the passphrase is too short or not known here.
            StoreError: the mind is as it was.
        """
        from mnemic.runtime.clock import SystemClock

        folder, keys = self._keys()
        if passphrase is not None and key_file:
            raise InvalidValue(name="key_file", value=True, why="a passphrase is given too", expected="one of them")
        if passphrase is None and not key_file and is_locked(read_key_header(folder)):
            passphrase = self._passphrase
            if passphrase is None or is_recovery_key(passphrase):
                raise InvalidValue(name="passphrase", value=None, why="it is not known here", expected="a new one")
        clock = SystemClock()
        held = is_unlocked(self._home, self._name, clock)
        with self._exclusive_mind() as folder:
            done, new = _reseal(folder, keys, passphrase, recovery)
            self._passphrase = passphrase
        return _unlock_again(done, self._home, self._name, new, clock) if held and passphrase is not None else done

    def unlock(self) -> None:
        """Give the mind's keys to the home's process, started if need be: everybody is answered until `lock`.

        Raises:
            InvalidValue: its key file opens it already.
            NotOnRay: the actors of that process are elsewhere.
        """
        from mnemic.runtime.clock import SystemClock

        unlock(self._home, self._name, self._keys()[1], SystemClock())

    def lock(self) -> bool:
        """Have the home's process forget the mind's keys; says whether it held them. This object's own go on.

        Raises:
            NotLockable: its key file opens it whenever somebody asks.
        """
        from mnemic.runtime.clock import SystemClock

        return lock(self._home, self._name, SystemClock())

    def is_locked(self) -> bool:
        """Whether a passphrase is to be said before anything can be asked of the mind by way of the home's process."""
        from mnemic.runtime.clock import SystemClock

        return is_locked_mind(self._home, self._name) and not is_unlocked(self._home, self._name, SystemClock())
