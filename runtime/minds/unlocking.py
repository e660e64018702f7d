"""Keys of passphrase-locked minds, held in memory by the home's process until they are locked again.

Beside `mnemic.runtime.serve.http.routes`, which has these routes on its Unix socket alone; the caller is
`mnemic.runtime.client.client`. A passphrase never comes here: the command that was told it opens the key header itself.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from mnemic.actors.kernel.errors import BadBody, InvalidValue, NotOnRay, Rekeyed
from mnemic.actors.kernel.typed import decode
from mnemic.runtime.files.atomic_replace import finish_commit
from mnemic.runtime.keys.key_slots import KeyHeader, is_locked
from mnemic.runtime.keys.keys import Keys, Secrets
from mnemic.runtime.minds.homes import mind_folder, read_key_header


class UnlockedKeys:
    """The keys of a home's unlocked minds. Any thread may use it."""

    def __init__(self, home: Path, engine: str = "embedded") -> None:
        """Hold none yet.

        Args:
            engine: where the actors run; keys do not travel to those on ``ray``.
        """
        self._home = home
        self._engine = engine
        self._lock = threading.Lock()
        self._keys: dict[str, Keys] = {}

    def add(self, mind: str, secrets: bytes) -> None:
        """Hold a mind's secrets, as JSON.

        Raises:
            BadBody: these are none.
            InvalidValue: the mind is not locked.
            Rekeyed: the mind has another key.
            NotOnRay: nobody here could use them.
            MnemicError: there is no such mind, or its key header cannot be read.
        """
        header = self._header(mind)
        if not is_locked(header):
            why = "its key file opens it"
            raise InvalidValue(name="the mind", value=mind, why=why, expected="one that is locked by a passphrase")
        if self._engine == "ray":
            raise NotOnRay(mind=mind)
        try:
            keys = Keys(decode(secrets, Secrets))
        except (msgspec.DecodeError, ValueError):  # its cause could quote them
            expected = "the secrets that its passphrase opens"
            raise BadBody(why="it has no secrets of a mind", expected=expected) from None
        if keys.check != header.check:
            raise Rekeyed(path=str(mind_folder(self._home, mind).path))
        with self._lock:
            self._keys[mind] = keys

    def remove(self, mind: str) -> bool:
        """Forget a mind's keys; says whether there were any."""
        with self._lock:
            return self._keys.pop(mind, None) is not None

    def get(self, mind: str) -> Keys | None:
        """A mind's keys; ``None`` where nobody has unlocked it, or it has other ones by now."""
        with self._lock:
            keys = self._keys.get(mind)
        if keys is None:
            return None
        if self._header(mind).check == keys.check:
            return keys
        self.remove(mind)
        return None

    def minds(self) -> list[str]:
        """The minds whose keys are held."""
        with self._lock:
            return sorted(self._keys)

    def _header(self, mind: str) -> KeyHeader:
        folder = mind_folder(self._home, mind)
        finish_commit(folder.path)
        return read_key_header(folder)
