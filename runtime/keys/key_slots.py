"""Key slots, as in LUKS: key file, passphrase and recovery key each unlock the same secrets (mind.json).

A key header has a slot for each thing that opens the mind: a key file of 32 random bytes, a passphrase (scrypt), or a
recovery key that its owner keeps on paper. A slot seals the mind's secrets with ChaCha20-Poly1305, bound to the other
fields of the header, so that it fits no other one. Each has a check value, which tells a wrong key from a damaged slot.

Below stands `mnemic.runtime.keys.keys`, and above `mnemic.runtime.minds.homes`.
"""

from __future__ import annotations

import base64
import binascii
import errno
import hashlib
import hmac
import json
import unicodedata
from pathlib import Path
from typing import Literal

import msgspec

from mnemic.actors.kernel.errors import (
    BadPassphrase,
    DamagedStore,
    DiskFailed,
    KeyMismatch,
    NewerSchema,
    WrongPassphrase,
    WrongRecoveryKey,
)
from mnemic.actors.kernel.typed import decode
from mnemic.runtime.keys.keys import KEY_BYTES, Keys, Secrets, derive_key, generate_key, nonce_prefix, read_key

HEADER_VERSION = 1
SCRYPT = (1 << 17, 8, 1)
"""n, r and p: 128 MiB and about 0.4 s on a laptop of 2026."""
MIN_PASSPHRASE_LENGTH = 8
"""The shortest passphrase that is taken."""
_SCRYPT_BYTES = 1 << 30  # a key header that asks for more was not written by us
_SCRYPT_P = 16
_SALT_BYTES = 16
_NONCE_BYTES = 12
_CHECK_BYTES = 3
_GROUP = 4
_LOOKALIKES = str.maketrans({"0": "O", "1": "I", "8": "B"})

KeySlotKind = Literal["file", "passphrase", "recovery"]

_decode_secrets = msgspec.msgpack.Decoder(Secrets).decode


class KeySlot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that opens a mind."""

    kind: KeySlotKind
    """What it is."""
    check: str
    """Tells whether a key is this slot's, hexadecimal."""
    sealed: str
    """Nonce and secrets, sealed; hexadecimal."""
    salt: str = ""
    """Of a passphrase: scrypt's salt, hexadecimal."""
    n: int = 0
    """Of a passphrase: scrypt's cost."""
    r: int = 0
    """Of a passphrase: scrypt's block size."""
    p: int = 0
    """Of a passphrase: scrypt's parallelism."""


class KeyHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a mind without its key."""

    version: int
    """Of the key header's form."""
    check: str
    """Of the mind's root; see `mnemic.runtime.keys.keys.Keys.check`."""
    made_at_us: int = 0
    """World time at which the mind was made, microseconds."""
    slots: tuple[KeySlot, ...] = ()
    """What opens it: a key file or a passphrase, and any number of recovery keys."""


def parse_key_header(data: bytes, path: Path) -> KeyHeader:
    """Read a key header.

    Args:
        path: where it lies, for what is said of it.

    Raises:
        DamagedStore: it is none.
        NewerSchema: a newer version wrote it.
    """
    try:
        version = int(json.loads(data)["version"])
        if version > HEADER_VERSION:
            raise NewerSchema(path=str(path), form="card", found=version, known=HEADER_VERSION)
        header = decode(data, KeyHeader)
        for slot in header.slots:
            bytes.fromhex(slot.check + slot.sealed + slot.salt)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, msgspec.DecodeError) as error:
        raise DamagedStore(path=str(path), why=f"it cannot be read ({type(error).__name__})") from error
    if version != HEADER_VERSION or not header.slots:
        raise DamagedStore(path=str(path), why="it names nothing that opens the mind")
    return header


def key_header_bytes(header: KeyHeader) -> bytes:
    """A key header as it is written."""
    return msgspec.json.format(msgspec.json.encode(header), indent=1)


def new_key_header(
    keys: Keys,
    made_at_us: int,
    *,
    file: bytes | None = None,
    passphrase: str | None = None,
    recovery: bytes | None = None,
) -> KeyHeader:
    """A key header for keys, with a slot for everything that is to open them; at least one.

    Args:
        file: what the key file holds, 32 bytes.
        recovery: the recovery key, 32 bytes; see `format_recovery_key`.
    """
    header = KeyHeader(version=HEADER_VERSION, check=keys.check, made_at_us=made_at_us)
    return with_slot(header, keys, file=file, passphrase=passphrase, recovery=recovery)


def with_slot(
    header: KeyHeader,
    keys: Keys,
    *,
    file: bytes | None = None,
    passphrase: str | None = None,
    recovery: bytes | None = None,
) -> KeyHeader:
    """A key header that is opened by these too; see `new_key_header`.

    A key file or a passphrase takes the place of the one before. A recovery key is one more: those that were printed
    before go on opening it.
    """
    made: list[KeySlot] = []
    if file is not None:
        made.append(_seal_slot(header, keys, KeySlot(kind="file", check="", sealed=""), file))
    if passphrase is not None:
        n, r, p = SCRYPT
        slot = KeySlot(kind="passphrase", check="", sealed="", salt=generate_key()[:_SALT_BYTES].hex(), n=n, r=r, p=p)
        made.append(_seal_slot(header, keys, slot, _stretch_passphrase(slot, passphrase)))
    goes = {slot.kind for slot in made}
    if recovery is not None:
        made.append(_seal_slot(header, keys, KeySlot(kind="recovery", check="", sealed=""), recovery))
    kept = tuple(slot for slot in header.slots if slot.kind not in goes)
    return msgspec.structs.replace(header, slots=(*kept, *made))


def slot_of(header: KeyHeader, kind: KeySlotKind) -> KeySlot | None:
    """A key header's slot of a kind, the first where there are several."""
    return next((slot for slot in header.slots if slot.kind == kind), None)


def is_locked(header: KeyHeader) -> bool:
    """Whether no key file opens a mind: somebody has to say its passphrase."""
    return slot_of(header, "file") is None


def shares_slot(header: KeyHeader, other: KeyHeader) -> bool:
    """Whether something that opens the one key header opens the other too: the same file, passphrase or recovery key.

    A passphrase that was set anew is another one, whatever its words: nothing tells by its slot that they are the same.
    """
    return not {slot.check for slot in header.slots}.isdisjoint(slot.check for slot in other.slots)


def opens_all_of(header: KeyHeader, other: KeyHeader) -> bool:
    """Whether all that opens the other key header opens the one."""
    return {slot.check for slot in header.slots}.issuperset(slot.check for slot in other.slots)


def has_other_key(header: Path, keys: Keys) -> bool:
    """Whether a key header says that a mind's keys are other ones; one that cannot be read says nothing."""
    try:
        return parse_key_header(header.read_bytes(), header).check != keys.check
    except (OSError, DamagedStore, NewerSchema):
        return False


def header_read_error(path: Path, error: OSError) -> DamagedStore | DiskFailed:
    """What a user is told where the file that says what opens a mind cannot be read."""
    if error.errno == errno.EIO:
        return DiskFailed(path=str(path), why=error.strerror)
    return DamagedStore(path=str(path), why=f"it cannot be read ({error.strerror or type(error).__name__})")


def read_keys_by_file(key: Path, header: Path, check: str | None = None) -> Keys:
    """A mind's keys by its key file.

    Args:
        check: what the keys have to be; as the key header says where absent.

    Raises:
        KeyMissing, KeyMismatch: the key file is not there, or is not this mind's.
        DamagedStore, NewerSchema: the key header cannot be read.
    """
    try:
        written = header.read_bytes()
    except OSError as error:
        raise header_read_error(header, error) from error
    keys = open_by_file(parse_key_header(written, header), read_key(key), key)
    if check not in (None, keys.check):
        raise KeyMismatch(path=str(key), why="the mind has another one by now")
    return keys


def open_by_file(header: KeyHeader, file: bytes, path: Path) -> Keys:
    """A mind's keys by what its key file holds.

    Args:
        path: where the key file lies, for what is said of it.

    Raises:
        KeyMismatch: it is not this mind's.
        DamagedStore: the key header is damaged.
    """
    slot = slot_of(header, "file")
    if slot is None:
        raise KeyMismatch(path=str(path), why="no key file opens it")
    opened = _open_slot(header, slot, file, path.with_name("mind.json"))
    if opened is None:
        raise KeyMismatch(path=str(path), why="the mind was made with another one")
    return opened


def open_by_passphrase(header: KeyHeader, said: str, path: Path) -> Keys:
    """A mind's keys by its passphrase, or by its recovery key in its place.

    Args:
        path: where the key header lies, for what is said of it.

    Raises:
        WrongPassphrase: it opens nothing.
        BadPassphrase: the mind has none.
        DamagedStore: the key header is damaged.
    """
    if is_recovery_key(said) and slot_of(header, "recovery") is not None:
        return open_by_recovery(header, said, path)
    slot = slot_of(header, "passphrase")
    if slot is None:
        why = "this mind is opened by its key file, and has none"
        raise BadPassphrase(why=why, expected="none")
    opened = _open_slot(header, slot, _stretch_passphrase(slot, said, path), path)
    if opened is None:
        raise WrongPassphrase(what=f"the mind {path.parent.name!r}")
    return opened


def open_by_recovery(header: KeyHeader, said: str, path: Path) -> Keys:
    """A mind's keys by its recovery key, as it was printed.

    Raises:
        WrongRecoveryKey: it is mistyped, or not this mind's, or the mind has none.
        DamagedStore: the key header is damaged.
    """
    mind = f"the mind {path.parent.name!r}"
    slots = [slot for slot in header.slots if slot.kind == "recovery"]
    if not slots:
        raise WrongRecoveryKey(what=mind, why="it has no recovery key")
    key = parse_recovery_key(said, mind)
    for slot in slots:
        opened = _open_slot(header, slot, key, path)
        if opened is not None:
            return opened
    raise WrongRecoveryKey(what=mind, why="it is another mind's, or from before a rekey of this one")


def format_recovery_key(key: bytes) -> str:
    """A recovery key as it is printed: 14 groups of four letters and digits, the last of which tell a slip."""
    text = base64.b32encode(key + _checksum(key)).decode()
    return "-".join(text[at : at + _GROUP] for at in range(0, len(text), _GROUP))


def parse_recovery_key(said: str, mind: str = "the mind") -> bytes:
    """A recovery key as it was typed: small letters, blanks for dashes and letters that look like digits will do.

    Raises:
        WrongRecoveryKey: it is mistyped.
    """
    letters = "".join(one for one in said.upper().translate(_LOOKALIKES) if one.isalnum())
    try:
        read = base64.b32decode(letters)
    except (binascii.Error, ValueError):  # ValueError: a letter that is none of ASCII
        raise WrongRecoveryKey(what=mind, why="it is mistyped: it has 14 groups of four letters and digits") from None
    key, slip = read[:KEY_BYTES], read[KEY_BYTES:]
    if len(key) != KEY_BYTES or slip != _checksum(key):
        raise WrongRecoveryKey(what=mind, why="it is mistyped: its last letters do not fit the others")
    return key


def is_recovery_key(said: str) -> bool:
    """Whether something typed is a recovery key, without a slip."""
    try:
        parse_recovery_key(said)
    except WrongRecoveryKey:
        return False
    return True


def check_passphrase(said: str) -> str:
    """A passphrase that may lock a mind.

    Raises:
        BadPassphrase: it is too short.
    """
    if len(_normalized_bytes(said)) < MIN_PASSPHRASE_LENGTH:
        expected = f"at least {MIN_PASSPHRASE_LENGTH} letters, better several words"
        raise BadPassphrase(why="it is too short", expected=expected)
    return said


def _checksum(key: bytes) -> bytes:
    return hashlib.sha256(b"mnemic/1/recovery" + key).digest()[:_CHECK_BYTES]


def _normalized_bytes(said: str) -> bytes:
    """The same bytes from every keyboard."""
    return unicodedata.normalize("NFC", said).encode("utf-8", "surrogatepass")


def _stretch_passphrase(slot: KeySlot, said: str, path: Path = Path("mind.json")) -> bytes:
    """The key of a passphrase.

    Raises:
        DamagedStore: the key header asks for what no key header asks for.
    """
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    n, r, p = slot.n, slot.r, slot.p
    if not (n > 1 and n & (n - 1) == 0 and r > 0 and 0 < p <= _SCRYPT_P and 128 * n * r <= _SCRYPT_BYTES):
        raise DamagedStore(path=str(path), why="what it says of the passphrase cannot be")
    return Scrypt(salt=bytes.fromhex(slot.salt), length=KEY_BYTES, n=n, r=r, p=p).derive(_normalized_bytes(said))


def _seal_slot(header: KeyHeader, keys: Keys, slot: KeySlot, key: bytes) -> KeySlot:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    slot = msgspec.structs.replace(slot, check=_check(slot, key))
    nonce = (nonce_prefix() + nonce_prefix())[:_NONCE_BYTES]
    sealed = ChaCha20Poly1305(_wrapping_key(slot, key)).encrypt(
        nonce, msgspec.msgpack.encode(keys.secrets), _associated_data(header, slot)
    )
    return msgspec.structs.replace(slot, sealed=(nonce + sealed).hex())


def _open_slot(header: KeyHeader, slot: KeySlot, key: bytes, path: Path) -> Keys | None:
    """The keys that a slot seals; ``None`` where the key is not the slot's.

    Raises:
        DamagedStore: the key is the slot's, and does not open it.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if not hmac.compare_digest(_check(slot, key), slot.check):
        return None
    sealed = bytes.fromhex(slot.sealed)
    try:
        written = ChaCha20Poly1305(_wrapping_key(slot, key)).decrypt(
            sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _associated_data(header, slot)
        )
        keys = Keys(_decode_secrets(written))
    except (InvalidTag, ValueError, msgspec.DecodeError) as error:
        raise DamagedStore(path=str(path), why="what the key seals was altered") from error
    if keys.check != header.check:
        raise DamagedStore(path=str(path), why="what the key seals is another key header's")
    return keys


def _wrapping_key(slot: KeySlot, key: bytes) -> bytes:
    return derive_key(key, f"slot/{slot.kind}/seal".encode())


def _check(slot: KeySlot, key: bytes) -> str:
    return derive_key(key, f"slot/{slot.kind}/check".encode()).hex()


def _associated_data(header: KeyHeader, slot: KeySlot) -> bytes:
    """What is in clear, and must be what it was."""
    said = [header.version, header.check, header.made_at_us, slot.kind, slot.check, slot.salt, slot.n, slot.r, slot.p]
    return json.dumps(said, separators=(",", ":")).encode()
