"""Minds that somebody unlocked: the home's process holds their keys in memory, until they are locked or it ends.

Beside `mnemic.runtime.serve.http.routes`, which has these routes on its Unix socket alone; the caller is
`mnemic.runtime.client.client`. A passphrase never comes here: the command that was told it opens the card by itself.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from mnemic.actors.protocol.errors import BadBody, InvalidValue, NotOnRay, Rekeyed
from mnemic.runtime.files.atomic_replace import settle
from mnemic.runtime.keys.key_slots import KeyCard, is_locked
from mnemic.runtime.keys.keys import Keys, Secrets
from mnemic.runtime.minds.homes import folder_of, read_card

__all__ = ["Unlocked"]


class Unlocked:
    """The keys of a home's unlocked minds. Any thread may use it."""

    def __init__(self, home: Path, engine: str = "embedded") -> None:
        """Hold none yet.

        Args:
            engine: where the actors run; keys do not travel to those on ``ray``.
        """
        self._home = home
        self._engine = engine
        self._gate = threading.Lock()
        self._keys: dict[str, Keys] = {}

    def put(self, mind: str, secrets: bytes) -> None:
        """Hold a mind's secrets, as JSON.

        Raises:
            BadBody: these are none.
            InvalidValue: the mind is not locked.
            Rekeyed: the mind has another key.
            NotOnRay: nobody here could use them.
            MnemicError: there is no such mind, or its card cannot be read.
        """
        card = self._card(mind)
        if not is_locked(card):
            why = "its key file opens it"
            raise InvalidValue(name="the mind", value=mind, why=why, expected="one that is locked by a passphrase")
        if self._engine == "ray":
            raise NotOnRay(mind=mind)
        try:
            keys = Keys(msgspec.json.decode(secrets, type=Secrets))
        except (msgspec.DecodeError, ValueError):  # its cause could quote them
            expected = "the secrets that its passphrase opens"
            raise BadBody(why="it has no secrets of a mind", expected=expected) from None
        if keys.check != card.check:
            raise Rekeyed(path=str(folder_of(self._home, mind).path))
        with self._gate:
            self._keys[mind] = keys

    def take_back(self, mind: str) -> bool:
        """Forget a mind's keys; says whether there were any."""
        with self._gate:
            return self._keys.pop(mind, None) is not None

    def keys(self, mind: str) -> Keys | None:
        """A mind's keys; ``None`` where nobody has unlocked it, or it has other ones by now."""
        with self._gate:
            keys = self._keys.get(mind)
        if keys is None:
            return None
        if self._card(mind).check == keys.check:
            return keys
        self.take_back(mind)
        return None

    def names(self) -> list[str]:
        """The minds whose keys are held."""
        with self._gate:
            return sorted(self._keys)

    def _card(self, mind: str) -> KeyCard:
        folder = folder_of(self._home, mind)
        settle(folder.path)
        return read_card(folder)
