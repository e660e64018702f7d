"""Keys: a 32-byte random root from which HKDF-SHA256 derives one key for each use.

How the root is kept, in a key file or sealed by a passphrase, is `mnemic.runtime.keys.key_slots`'s. A check value, in
clear in ``mind.json``, tells whether a root belongs to a mind before its store is touched.
"""

from __future__ import annotations

import errno
import hashlib
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import msgspec

from mnemic.actors.kernel.errors import DiskFailed, KeyMismatch, KeyMissing

KEY_BYTES = 32
_MAX_EARLIER_KEYS = 8
"""So many earlier keys of the spool are kept: a hook is done with the one it read within a second."""
_CORE_LIMIT_BYTES = 1


class Secrets(msgspec.Struct, frozen=True):
    """All that a mind's keys are made from."""

    root: bytes
    """Store, spool and engine follow from it, 32 bytes; changed by `rekey`."""
    identities: bytes
    """What identities are hashed with, 32 bytes; the same for the mind's whole life, so that captures stay once."""
    seed: bytes
    """What chance depends on, 32 bytes; the same for the mind's whole life."""
    spools: tuple[bytes, ...] = ()
    """X25519 private keys from before, the newest last: a hook may still seal to one when the root is changed."""

    def __repr__(self) -> str:
        return "Secrets(…)"  # what is printed or logged must not hold them

    @classmethod
    def generate(cls) -> Secrets:
        """Those of a new mind."""
        return cls(root=generate_key(), identities=generate_key(), seed=generate_key())


class Keys:
    """The keys of one mind."""

    def __init__(self, secrets: Secrets) -> None:
        root = secrets.root
        if len(root) != KEY_BYTES:
            raise ValueError(f"a key is {KEY_BYTES} bytes, not {len(root)}")
        self.secrets = secrets
        """What they are made from."""
        self._root = root
        self.store_key = derive_key(root, b"store")
        """Seals the database, 32 bytes."""
        self.seed = self.secrets.seed
        """Seeds every generator of the mind, 32 bytes."""
        self.check = derive_key(root, b"check").hex()
        """Kept in clear beside the key: tells whether a key belongs to a mind."""
        self.spool_private = derive_key(root, b"spool")
        """Opens what hooks seal: an X25519 private key, 32 bytes."""
        self.earlier_spool_privates = self.secrets.spools
        """Open what hooks sealed before the key was changed."""
        self.spool_name_key = derive_key(root, b"spool-names")
        """Names the spool's files, 32 bytes; no secret from whoever may write there."""
        self.mark_key = derive_key(root, b"mark")
        """Authenticates the store's high-water mark, 32 bytes."""
        self._identities = self.secrets.identities

    def __reduce__(self) -> NoReturn:
        raise TypeError("keys do not travel from process to process")

    def with_new_root(self) -> Keys:
        """Keys of a new root for the same mind: identities and chance stay what they were."""
        spools = (*self.earlier_spool_privates, self.spool_private)[-_MAX_EARLIER_KEYS:]
        return Keys(msgspec.structs.replace(self.secrets, root=generate_key(), spools=spools))

    @property
    def identity_key_id(self) -> str:
        """Names the key that identities are hashed with, and tells nothing of it, 32 hexadecimal digits."""
        return derive_key(self._identities, b"identities-id").hex()[:32]

    def spool_public(self) -> bytes:
        """What hooks seal to: the X25519 public key of `spool`, 32 bytes."""
        return _public(self.spool_private)

    def earlier_spool_publics(self) -> list[bytes]:
        """The public keys of `earlier_spool_privates`."""
        return [_public(private) for private in self.earlier_spool_privates]

    def identity_hash(self) -> Callable[..., bytes]:
        """A keyed hash of a sequence of byte strings, 32 bytes; no two sequences share an encoding."""
        key = self._identities

        def hash_parts(*parts: bytes) -> bytes:
            digest = hashlib.blake2b(key=key, digest_size=32)
            for part in parts:
                digest.update(len(part).to_bytes(8, "little"))
                digest.update(part)
            return digest.digest()

        return hash_parts

    def backup_key(self) -> bytes:
        """What every byte of a backup is hashed with, 32 bytes."""
        return derive_key(self._root, b"backup")

    def engine_key(self, run: str) -> bytes:
        """The key that seals what an engine's processes say to each other in one run, 32 bytes."""
        return derive_key(self._root, b"engine/" + run.encode())


def derive_key(root: bytes, use: bytes) -> bytes:
    """The key for one use, 32 bytes, by HKDF-SHA256."""
    from cryptography.hazmat.primitives.hashes import SHA256  # here: who only needs a run's name need not load it
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"mnemic/1/" + use).derive(root)


def _public(private: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def generate_key() -> bytes:
    """32 bytes from the operating system."""
    return os.urandom(KEY_BYTES)


def random_id() -> str:
    """A name that no other run of a process has, 16 hexadecimal digits."""
    return os.urandom(8).hex()


def nonce_prefix() -> bytes:
    """What a process's nonces start with, 8 bytes: no other process that seals with the same key has it."""
    return os.urandom(8)


def read_key(path: Path) -> bytes:
    """Read a key file, 32 bytes.

    Raises:
        KeyMissing: there is no such file.
        KeyMismatch: it holds no key, or cannot be read.
        DiskFailed: nobody can say what it holds.
    """
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        raise KeyMissing(path=str(path)) from None
    except OSError as error:
        if error.errno == errno.EIO:  # no word about the key
            raise DiskFailed(path=str(path), why=error.strerror) from error
        raise KeyMismatch(path=str(path), why=f"it cannot be read ({error.strerror})") from error
    if len(key) != KEY_BYTES:
        raise KeyMismatch(path=str(path), why=f"it holds {len(key)} bytes, and a key has {KEY_BYTES}")
    return key


def write_private(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a new file of a mode, whatever the umask; an existing one is an error."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_private(
    path: Path, data: bytes, place: Callable[[Path, Path], None] = os.replace, mode: int = 0o600
) -> None:
    """Have a private file appear whole, however many do so at once; by a rename, in place of what was there."""
    draft = path.with_name(f".{path.name}-{random_id()}")
    try:
        write_private(draft, data, mode)
        place(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def disable_core_dumps() -> None:
    """Have the system write no core file of this process, nor of those it starts: it would hold keys and memories.

    For Mnemic's own processes; a program that uses Mnemic as a library decides for itself.

    A limit of 1 byte and not of 0: where cores are piped to a program (systemd-coredump, apport), Linux takes no notice
    of 0 and refuses 1 (core(5), ``fs/coredump.c``); where they are files, both are less than it writes. The hard limit
    stays as it is, so that whoever looks for a fault can raise it again.

    And no more than that: a process that is not "dumpable" (prctl(2), ``PR_SET_DUMPABLE``) has its ``/proc`` files
    taken over by root, and then neither the clearing of what a killed Ray left behind nor any measuring of memory works
    for the user whose process it is. Whoever runs as that user can read the key file anyway.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    least = _CORE_LIMIT_BYTES if hard == resource.RLIM_INFINITY else min(_CORE_LIMIT_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_CORE, (least, hard))
