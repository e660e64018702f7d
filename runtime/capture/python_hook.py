#!/usr/bin/env python3
"""The hook for machines without the Rust one: `mnemic-hook ASSISTANT EVENT [--ask] --home HOME [--mind NAME]`.

It does what `native/hook` does, slower, and writes the same format (`docs/spool.md`); one contract suite runs both.
The installer copies the file, and nobody calls it but as a program: so it imports nothing of Mnemic, takes from the
standard library what it needs when it needs it, also where Python was started with ``-I -S``, and reads the clock and
draws by itself. Whatever happens it ends with 0: what could not be kept is counted in the spool's ``losses``, since
there is nobody to tell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

FILE_MAGIC = b"MNSPOOL\x01"
MARK = bytes.fromhex("f34d9c1ea752e06b")
FRAME_BYTES = 1 << 20
HEADER_BYTES = 80
TAG_BYTES = 16
CONTENT_BYTES = FRAME_BYTES - HEADER_BYTES - TAG_BYTES
INFO = b"mnemic/1/spool"

PAUSES_S = (0.02, 0.04, 0.08, 0.16)  # a disk may be full for a moment only
LOCK_S, LOCK_PAUSE_S = 0.25, 0.002
BESIDE, REMOVED = 64, 16
ASK_S, GLANCE_S, ANSWER_S, AGAIN_S = 1.0, 0.1, 2.0, 60.0
PATIENCE_S = 4.0  # so long a host may pause before what it wrote is all
NOT_HERE = (404, 426, 503)  # it knows no hooks, it is of another version, or it is leaving
ANSWER_BYTES = 16 << 20
SILENCED, MARKED_AT = b"silenced", (b"session-start", b"prompt", b"session-end")
ENTRIES = {b"claude-code": b"CLAUDE_CODE_ENTRYPOINT"}  # in which a host tells its hooks how it was started
PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"

T = TypeVar("T")


class Command(NamedTuple):
    """What the hook is told to do; nothing that it is told is an error."""

    assistant: bytes
    event: bytes
    ask: bool
    home: bytes
    mind: bytes
    version: bool


class Lost(Exception):
    """The record cannot be kept."""


def main(arguments: list[bytes]) -> None:
    """Do what the command line says with what the host writes on the standard input."""
    command = parsed(arguments)
    if command.version:
        write_out(b"mnemic-hook in Python, spool format 1\n")
        return
    mind = folder_of(command)
    if mind is None:
        read_all()  # the host is not to be left writing to nobody
        return
    unkept, untold = switched_off(os.environ.get("MNEMIC_OFF", ""))
    payload, cwd, kept, quiet = b"", None, False, unkept
    try:
        payload, is_all = read_all()
        session, named = routing(payload)
        cwd = working_folder(named)
        if cwd is not None and any(is_there(os.path.join(place, b".mnemicignore")) for place in upwards(cwd)):
            kept = True  # as it is meant to be: not
            return
        quiet = unkept or paused(mind)
        if unkept:
            leave_mark(command, mind, session)
        elif not quiet:
            keep(command, mind, session, cwd, payload)
        kept = quiet or is_all
    except Exception:  # whatever it is: there is nobody to tell, and the host still waits for its answer
        kept = False
    finally:
        if not kept:
            count_loss(os.path.join(mind, b"spool"), len(payload))
    if command.ask and not untold:
        answer(command, cwd or b"", payload, unkept)
    elif not quiet:
        wake(command.home)


def switched_off(value: str) -> tuple[bool, bool]:
    """Whether nothing is kept, and whether nothing is told, as the variable says; what is not known is both."""
    if value in ("", "0"):
        return False, False
    return value != "recall", value != "capture"


def parsed(arguments: list[bytes]) -> Command:
    """Read the arguments; an option that this version does not know is passed over."""
    names, ask, home, mind, version = [], False, b"", b"default", False
    rest = iter(arguments)
    for argument in rest:
        option, is_joined, value = argument.partition(b"=")
        if not argument.startswith(b"--"):
            names.append(argument)
        elif option == b"--ask":
            ask = True
        elif option == b"--version":
            version = True
        elif option == b"--home":
            home = value if is_joined else next(rest, b"")
        elif option == b"--mind":
            mind = value if is_joined else next(rest, mind)
    assistant, event = (*names, b"", b"")[:2]
    return Command(assistant, event, ask, home, mind, version)


def folder_of(command: Command) -> bytes | None:
    """The mind's folder; none without a home, or for a name that is no folder's."""
    name = command.mind
    plain = name[:1].isalnum() and name.isascii() and name.translate(None, b"._-").isalnum()
    return os.path.join(command.home, b"minds", name) if command.home and plain else None


def read_all(descriptor: int = 0, patience_s: float = PATIENCE_S) -> tuple[bytes, bool]:
    """What the host writes, and whether nothing went wrong: what comes before an error is kept, and the loss counted.

    A host may forget to close the pipe: where nothing has come for so long, what came is all. A pipe that does not
    block is waited for like any other.
    """
    import select

    chunks = []
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    try:
        while waiting.poll(1000 * patience_s):
            try:
                chunk = os.read(descriptor, FRAME_BYTES)
            except BlockingIOError:  # somebody else has read it
                continue
            if not chunk:
                break
            chunks.append(chunk)
    except OSError:
        return b"".join(chunks), False
    return b"".join(chunks), True


def write_out(data: bytes) -> None:
    """Write to the standard output."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


# --- what the host's JSON and the working folder say ------------------------------------------------------------------


def routing(payload: bytes) -> tuple[bytes, bytes | None]:
    """The session and the folder that a payload names; it need not be JSON, nor whole, nor UTF-8."""
    found: dict[str, str] = {}
    for key, value in members(payload.decode("utf-8", "surrogateescape")):
        if key == "workspace_roots" and isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, str) and value:
            found.setdefault(key, value)
        if "session_id" in found and "cwd" in found:
            break
    session = found.get("session_id") or found.get("conversation_id") or ""
    cwd = found.get("cwd") or found.get("workspace_roots")
    return to_bytes(session), to_bytes(cwd) if cwd else None


def members(text: str) -> Iterator[tuple[str, Any]]:
    """The members of the object that a text is, as far as it is one."""
    import json
    import re

    decoder, space = json.JSONDecoder(strict=False), re.compile(r"[ \t\r\n,\ufeff]*")

    def after(at: int) -> int:
        found = space.match(text, at)
        return found.end() if found else at

    at = after(0)
    if text[at : at + 1] != "{":
        return
    try:
        while text[(at := after(at + 1)) : at + 1] == '"':
            key, at = decoder.raw_decode(text, at)
            at = after(at)
            if text[at : at + 1] != ":":
                return
            value, at = decoder.raw_decode(text, after(at + 1))
            yield key, value
            at = after(at) - 1
    except (ValueError, RecursionError):  # it breaks off here, or is nested deeper than anybody needs
        return


def to_bytes(text: str) -> bytes:
    """The bytes that a text of JSON stands for; those that were no UTF-8 come back."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        how = {False: "surrogatepass", True: "surrogateescape"}
        return b"".join(one.encode("utf-8", how["\udc80" <= one <= "\udcff"]) for one in text)


def working_folder(named: bytes | None) -> bytes | None:
    """The folder that the host names, else this process's own; none where that is gone."""
    try:
        own = os.getcwdb()
    except OSError:
        return named
    return os.path.join(own, named) if named else own


def upwards(folder: bytes) -> Iterator[bytes]:
    """A folder and those above it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        yield folder


def is_there(path: bytes) -> bool:
    """Whether there is anything of that name."""
    try:
        os.lstat(path)
    except (OSError, ValueError):  # ValueError: it holds NUL
        return False
    return True


def branch_of(cwd: bytes) -> bytes | None:
    """The branch that is checked out in a folder; none outside of a repository, and where no branch is."""
    head = next((found for place in upwards(cwd) if (found := head_of(place)) is not None), b"")
    name = head[4:].lstrip() if head.startswith(b"ref:") else b""
    # Where git keeps its references in tables, HEAD holds that name, which no branch can have.
    is_branch = name.startswith(b"refs/heads/") and name[11:] not in (b"", b".invalid")
    return name[11:] if is_branch else None


def head_of(place: bytes) -> bytes | None:
    """What the repository in a folder has checked out; none where there is none, and one above may be the one."""
    git = os.path.join(place, b".git")
    if os.path.isfile(git):  # of a worktree or submodule; as with git, nothing above counts, wherever it leads
        line = short_file(git) or b""
        led = os.path.join(place, line[7:].lstrip(), b"HEAD") if line.startswith(b"gitdir:") else None
        return (short_file(led) if led else None) or b""
    head = short_file(os.path.join(git, b"HEAD"))
    if head is None:
        return None
    # What git would not take for a HEAD makes no repository.
    is_commit = len(head) >= 40 and all(byte in b"0123456789abcdefABCDEF" for byte in head[:40])
    return head if is_commit or (head.startswith(b"ref:") and head[4:].lstrip().startswith(b"refs/")) else None


def short_file(path: bytes) -> bytes | None:
    """What a short file says, without the white space at its end."""
    import stat

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, 4096).rstrip() if is_file else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


# --- keeping ----------------------------------------------------------------------------------------------------------


def paused(mind: bytes) -> bool:
    """Whether a mind is paused. A file that cannot be read, or says nothing that is understood, pauses too."""
    try:
        with open(os.path.join(mind, b"pauses"), "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return False
    except OSError:
        return True
    words = next((line.split() for line in reversed(lines) if line.strip()), [b"0", b"0"])
    if len(words) != 2 or not words[0].isdigit() or not words[1].isdigit():
        return True  # its end is a dash: until somebody resumes
    return now_us() < int(words[1])


def leave_mark(command: Command, mind: bytes, session: bytes) -> None:
    """Leave the name of a session of which nothing is kept, so that its transcript is left alone later."""
    if session and command.event in MARKED_AT:
        import json

        payload = json.dumps({"session_id": said(session)}, ensure_ascii=False, separators=(",", ":")).encode()
        keep(command._replace(event=SILENCED), mind, session, None, payload)


def keep(command: Command, mind: bytes, session: bytes, cwd: bytes | None, payload: bytes) -> None:
    """Seal a record into its session's file. When this returns it survives any kill, not a power cut."""
    import json

    with open(os.path.join(mind, b"spool.json"), "rb") as file:
        card = json.load(file)
    if card["version"] != 1:
        raise Lost
    public, names = bytes.fromhex(card["public"]), bytes.fromhex(card["names"])
    at_us = now_us()
    told: dict[str, Any] = {"v": 1, "assistant": said(command.assistant), "event": said(command.event), "at_us": at_us}
    told |= {"cwd": said(cwd), "branch": said(branch_of(cwd) if cwd is not None else None)}
    entry = os.environb.get(ENTRIES.get(command.assistant, b""), b"") if command.event != SILENCED else b""
    told |= {"entry": said(entry)} if entry else {}
    meta = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    stem = keyed_hash(names, command.assistant + b"\0" + session)[:16].hex()
    frames = sealed(public, len(meta).to_bytes(4, "little") + meta, payload)
    folder = os.path.join(mind, b"spool")
    descriptor = patiently(lambda: hold(folder, stem, sha256(public)[:8], at_us))
    try:
        for frame in frames:
            patiently(lambda frame=frame: write_once(descriptor, frame))  # type: ignore[misc]
    finally:
        os.close(descriptor)


def said(name: bytes | None) -> str | None:
    """A name as text; bytes that are no UTF-8 are written out."""
    return None if name is None else name.decode("utf-8", "backslashreplace")


def now_us() -> int:
    """World time, microseconds since 1970 UTC."""
    import time

    return max(0, time.time_ns() // 1000)


def sealed(public: bytes, head: bytes, payload: bytes) -> Iterator[bytes]:
    """The frames of a record, one after the other; nobody can open them but who has the private key."""
    find_cryptography()
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    drawn = X25519PrivateKey.generate()
    ephemeral = drawn.public_key().public_bytes_raw()
    shared = drawn.exchange(X25519PublicKey.from_public_bytes(public))
    derive = HKDF(algorithm=SHA256(), length=32, salt=ephemeral + public, info=INFO)
    cipher = ChaCha20Poly1305(derive.derive(shared))
    common = sha256(public)[:8] + os.urandom(16) + ephemeral
    start, rest, index = head[:CONTENT_BYTES], memoryview(payload), 0
    head = head[CONTENT_BYTES:]
    while True:
        room = CONTENT_BYTES - len(start)
        content, rest = (start + rest[:room], rest[room:]) if start else (rest[:room], rest[room:])
        is_last = not rest and not head
        fields = MARK + bytes([1, is_last]) + b"\1\0" + index.to_bytes(4, "little")
        header = summed(fields + (len(content) + TAG_BYTES).to_bytes(4, "little") + common)
        yield header + cipher.encrypt(index.to_bytes(4, "little") + bytes(8), content, header)
        if is_last:
            return
        start, head, index = head[:CONTENT_BYTES], head[CONTENT_BYTES:], index + 1


def find_cryptography() -> None:
    """Make the one package that is needed importable, also where the interpreter was started without its packages."""
    from importlib.util import find_spec

    if find_spec("cryptography") is None:
        above = os.path.dirname(os.path.dirname(sys.executable))
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        sys.path.append(os.path.join(above, "lib", version, "site-packages"))
    if find_spec("cryptography") is None:
        import site

        site.main()


def sha256(data: bytes) -> bytes:
    """Of OpenSSL's, which is loaded in any case, since hashlib takes 4 ms to load its own."""
    find_cryptography()
    from cryptography.hazmat.primitives.hashes import SHA256, Hash

    digest = Hash(SHA256())
    digest.update(data)
    return digest.finalize()


def keyed_hash(key: bytes, data: bytes) -> bytes:
    """HMAC-SHA256."""
    find_cryptography()
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.hmac import HMAC

    digest = HMAC(key, SHA256())
    digest.update(data)
    return digest.finalize()


def summed(header: bytes) -> bytes:
    """A header with its CRC-32 behind it."""
    import zlib

    return header + zlib.crc32(header).to_bytes(4, "little")


def patiently(attempt: Callable[[], T]) -> T:
    """Try again what fails, after growing pauses; its last error, if it goes on failing, is the caller's."""
    import time

    for pause_s in PAUSES_S:
        try:
            return attempt()
        except OSError:
            time.sleep(pause_s)
    return attempt()


def write_once(descriptor: int, frame: bytes) -> None:
    """One write, and anything but all of it is an error: the frame is then written again, whole."""
    if os.write(descriptor, frame) != len(frame):
        raise BlockingIOError


def hold(folder: bytes, stem: str, key_id: bytes, created_us: int) -> int:
    """The session's file, or one beside it, open and locked."""
    descriptor = lock(folder, f"{stem}.spool", key_id, created_us, LOCK_S)
    number = 0
    while descriptor is None and number < BESIDE:
        number += 1
        descriptor = lock(folder, f"{stem}.{number}.spool", key_id, created_us, 0.0)
    if descriptor is None:
        raise BlockingIOError
    return descriptor


def lock(folder: bytes, name: str, key_id: bytes, created_us: int, patience_s: float) -> int | None:
    """A file, made where there is none, open and locked; none where somebody else holds the lock for too long."""
    import fcntl
    import time

    path = os.path.join(folder, name.encode())
    until = time.monotonic() + patience_s
    for _ in range(REMOVED):
        descriptor = open_to_append(folder, path, key_id, created_us)
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    os.close(descriptor)
                    return None
                time.sleep(LOCK_PAUSE_S)
                continue
            except OSError:  # a file system without locks
                return descriptor
            break
        try:
            if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)  # the reader has removed it before it was locked
    raise FileNotFoundError


def open_to_append(folder: bytes, path: bytes, key_id: bytes, created_us: int) -> int:
    """Open a file; one that is not there gets its name when its header is in it."""
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND)
    except FileNotFoundError:
        create(folder, path, key_id, created_us)
    return os.open(path, os.O_WRONLY | os.O_APPEND)


def create(folder: bytes, path: bytes, key_id: bytes, created_us: int) -> None:
    """Make a file with its header; whoever was faster keeps the name."""
    file_id = os.urandom(16)
    draft = os.path.join(folder, b".new-" + file_id.hex().encode())
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        descriptor = os.open(draft, flags, 0o600)
    except FileNotFoundError:
        os.mkdir(folder, 0o700)
        descriptor = os.open(draft, flags, 0o600)
    try:
        write_once(descriptor, summed(FILE_MAGIC + file_id + key_id + created_us.to_bytes(8, "little") + bytes(4)))
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        os.close(descriptor)
        os.unlink(draft)


def count_loss(spool: bytes, payload_bytes: int) -> None:
    """Count one record that is lost; its bytes are on the disk from the beginning, so that a full one takes it."""
    import fcntl
    import time

    descriptor = os.open(os.path.join(spool, b"losses"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        for _ in range(50):  # without the lock two losses may be counted as one, but none as none
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(LOCK_PAUSE_S)
            except OSError:
                break
        known = os.pread(descriptor, 64, 0).ljust(64, b"\0")
        before, before_bytes = (int.from_bytes(known[at : at + 8], "little") for at in (0, 16))
        numbers = (before + 1, now_us(), before_bytes + payload_bytes)
        os.pwrite(descriptor, b"".join((min(one, 2**64 - 1)).to_bytes(8, "little") for one in numbers) + known[24:], 0)
    finally:
        os.close(descriptor)


# --- asking -----------------------------------------------------------------------------------------------------------


def answer(command: Command, cwd: bytes, payload: bytes, unkept: bool) -> None:
    """Print what the memory has to say; where no process does, one is started, and nobody waits for it."""
    reply = ask(command, cwd, payload, unkept)
    if reply is not None:
        write_out(reply)
        return
    known = programs(command.home)
    try:
        start_process(command.home, known.get("serve"))
    finally:
        if command.event == b"session-start" and known.get("answer"):
            write_out(slow_answer(known["answer"], command, cwd, payload, unkept))


def ask(command: Command, cwd: bytes, payload: bytes, unkept: bool) -> bytes | None:
    """What the home's process answers; nothing where it has nothing to say in time, ``None`` where there is none."""
    import socket
    import time

    until = time.monotonic() + ASK_S
    fields = {b"Assistant": command.assistant, b"Event": command.event, b"Cwd": cwd}
    fields |= {b"Off": b"capture"} if unkept else {}
    headers = b"".join(b"Mnemic-%s: %s\r\n" % (name, percent_encoded(value)) for name, value in fields.items())
    request = (
        b"POST /api/hook HTTP/1.1\r\nHost: mnemic\r\nConnection: close\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\nMnemic-Mind: %s\r\nMnemic-Create: 0\r\n%s\r\n"
    ) % (len(payload), command.mind, headers)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ASK_S)
        try:
            connection.connect(socket_of(command.home))
        except (ConnectionRefusedError, FileNotFoundError):
            return None
        except OSError:  # there is one, and it does not take what it is told
            return b""
        received = b""
        try:
            connection.sendall(request)
            connection.sendall(payload)
        except (BrokenPipeError, ConnectionResetError):  # whoever answers without reading it all has an answer
            pass
        except OSError:
            return b""
        try:
            while len(received) <= ANSWER_BYTES and not is_whole(received):
                connection.settimeout(max(0.001, until - time.monotonic()))
                more = connection.recv(FRAME_BYTES)
                if not more:
                    break
                received += more
        except ConnectionResetError:  # it was killed meanwhile
            return None
        except OSError:
            return b""
    return body_of(received)


def socket_of(home: bytes) -> bytes:
    """The socket that the card of the home's process names.

    Raises:
        FileNotFoundError: there is no card that can be read.
    """
    import json

    try:
        with open(os.path.join(home, b"run", b"serve.json"), "rb") as file:
            folder = json.load(file)["folder"]
        return os.path.join(os.fsencode(folder), b"http.sock")
    except (ValueError, TypeError, LookupError):
        raise FileNotFoundError from None


def parts_of(received: bytes) -> tuple[int, int | None, bytes] | None:
    """Status, length and body of an answer, as far as it came; ``None`` before its headers are whole."""
    head, is_whole, body = received.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if not is_whole or not words[0].startswith(b"HTTP/1.") or len(words) < 2 or not words[1].isdigit():
        return None
    length = None
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
    return int(words[1]), length, body


def is_whole(received: bytes) -> bool:
    """Whether all of an answer is there."""
    parts = parts_of(received)
    return parts is not None and parts[1] is not None and len(parts[2]) >= parts[1]


def body_of(received: bytes) -> bytes | None:
    """What is to be printed of an answer; ``None`` where nobody gave a whole one, or who did is as good as none."""
    if not received.startswith(b"HTTP/1."[: len(received)]):
        return b""
    parts = parts_of(received)
    if parts is None or (parts[1] is not None and len(parts[2]) < parts[1]):
        return None
    status, length, body = parts
    if status in NOT_HERE:
        return None
    return body[:length] if status == 200 and length is not None else b""


def percent_encoded(data: bytes) -> bytes:
    """Bytes as a header takes them."""
    return b"".join(bytes([byte]) if byte in PLAIN else b"%%%02X" % byte for byte in data)


def wake(home: bytes) -> None:
    """See to it that somebody reads what was kept."""
    serve = programs(home).get("serve")
    if serve and not started_lately(home) and not somebody_listens(home):
        start_process(home, serve)


def somebody_listens(home: bytes) -> bool:
    """Whether a process serves the home."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(GLANCE_S)
        try:
            probe.connect(socket_of(home))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # it is there, and busy
            return True
    return True


# --- programs ---------------------------------------------------------------------------------------------------------


def programs(home: bytes) -> dict[str, list[str]]:
    """What a hook may start, by use, as the installer wrote it down; nothing where it did not."""
    import json

    try:
        with open(os.path.join(home, b"bin", b"hook.json"), "rb") as file:
            named = json.load(file)
    except (OSError, ValueError):
        return {}
    words = named.items() if isinstance(named, dict) else ()
    return {
        use: command
        for use, command in words
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command)
    }


def stamp_of(home: bytes) -> bytes:
    """The file whose time says when a process was started last."""
    return os.path.join(home, b"run", b"hook-start")


def started_lately(home: bytes) -> bool:
    """Whether a process was started within a minute; a stamp from the future, before a clock was set, is none."""
    import time

    try:
        return 0 <= time.time() - os.stat(stamp_of(home)).st_mtime < AGAIN_S
    except FileNotFoundError:
        return False


def start_process(home: bytes, serve: list[str] | None) -> None:
    """Start the home's process in the background, unless that was done within a minute."""
    if not serve or started_lately(home):
        return
    stamp = stamp_of(home)
    os.makedirs(os.path.dirname(stamp), 0o700, exist_ok=True)
    os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT, 0o600))
    os.utime(stamp)
    import subprocess

    none = subprocess.DEVNULL
    subprocess.Popen(serve, cwd="/", stdin=none, stdout=none, stderr=none, start_new_session=True)


def slow_answer(program: list[str], command: Command, cwd: bytes, payload: bytes, unkept: bool) -> bytes:
    """What a program of its own prints for a payload, if it ends well in time; it is killed else."""
    import signal
    import subprocess

    told = {"--assistant": command.assistant, "--event": command.event, "--home": command.home, "--mind": command.mind}
    options = [
        word
        for option, value in {**told, "--cwd": cwd, "--off": b"capture" if unkept else b""}.items()
        if value
        for word in (option, os.fsdecode(value))
    ]
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen([*program, *options], stdin=pipe, stdout=pipe, stderr=none, start_new_session=True)
    try:
        printed, _ = process.communicate(payload, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return b""
    return printed if process.returncode == 0 else b""


if __name__ == "__main__":
    try:
        main([os.fsencode(argument) for argument in sys.argv[1:]])
    except BaseException:  # counted where a record was at stake; a host shows its user what a hook says
        os._exit(0)
    os._exit(0)
