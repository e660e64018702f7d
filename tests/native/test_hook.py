"""The executable that assistants run: it is there, small, alone and of this version; and the format's page is true.

What it does is in `tests/contract/test_hooks.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tests.paths import FIXTURES, ROOT
from tests.waiting import BOUND_S

EXECUTABLE = Path(sys.executable).with_name("mnemic-hook")
PAGE = (ROOT / "docs" / "spool.md").read_text("utf-8")
VECTOR: dict[str, Any] = json.loads((FIXTURES / "spool" / "vector-1.json").read_bytes())
FILE = bytes.fromhex(VECTOR["file"])

needs_executable = pytest.mark.skipif(not EXECUTABLE.exists(), reason=f"{EXECUTABLE} is not built")


def said(*arguments: str) -> str:
    return subprocess.run([EXECUTABLE, *arguments], capture_output=True, text=True, check=True, timeout=BOUND_S).stdout


@pytest.mark.skipif(find_spec("mnemic._native") is None, reason="there is no native code here")
def test_where_the_extension_is_built_the_executable_lies_beside_the_command() -> None:
    assert EXECUTABLE.exists()


@needs_executable
def test_it_is_of_the_version_of_the_package() -> None:
    assert said("--version") == f"mnemic-hook {version('mnemic')}, spool format 1\n"


@needs_executable
def test_it_is_small_and_brings_no_interpreter() -> None:
    content = EXECUTABLE.read_bytes()
    assert len(content) < 3_000_000
    assert b"libpython" not in content


@needs_executable
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here, where memory is counted")
def test_an_event_of_a_megabyte_takes_little_memory(tmp_path: Path) -> None:
    bench = pytest.importorskip("mnemic.bench.speed.hook_bench")
    config = {"version": 1, "public": VECTOR["public"], "names": VECTOR["names"]}
    mind = tmp_path / "minds" / "default"
    mind.mkdir(parents=True)
    (mind / "spool.json").write_text(json.dumps(config))
    command = [str(EXECUTABLE), "codex", "tool", "--home", str(tmp_path)]
    assert 0 < bench.peak_mib(command, b'{"session_id":"s"}' + bytes(1_000_000)) < 16
    (file,) = (mind / "spool").glob("*.spool")
    assert file.stat().st_size > 1_000_000


# --- the page ---------------------------------------------------------------------------------------------------------


def fields(title: str) -> list[tuple[int, int]]:
    """Offset and length of each field of the table that follows such a sentence."""
    table = PAGE.split(title, 1)[1].split("\n\n")[1]
    return [(int(at), int(size)) for at, size in re.findall(r"^\| (\d+) \| (\d+) \|", table, re.MULTILINE)]


def opened(data: bytes) -> list[bytes]:
    """The records of a file, by the page alone: each as its frames hold it."""
    private = X25519PrivateKey.from_private_bytes(bytes.fromhex(VECTOR["private"]))
    public = private.public_key().public_bytes_raw()
    records, at = [b""], 48
    while at < len(data):
        header = data[at : at + 80]
        length, ephemeral = int.from_bytes(header[16:20], "little"), header[44:76]
        shared = private.exchange(X25519PublicKey.from_public_bytes(ephemeral))
        key = HKDF(SHA256(), 32, ephemeral + public, b"mnemic/1/spool").derive(shared)
        sealed = data[at + 80 : at + 80 + length]
        records[-1] += ChaCha20Poly1305(key).decrypt(header[12:16] + bytes(8), sealed, header)
        if header[9] & 1:
            records.append(b"")
        at += 80 + length
    assert records.pop() == b""
    return records


def test_the_tables_of_the_page_leave_no_byte_out() -> None:
    for title, size in (("A file begins with", 48), ("Frames follow", 80)):
        places = fields(title)
        assert [at for at, _ in places] == [sum(length for _, length in places[:count]) for count in range(len(places))]
        assert sum(length for _, length in places) == size


def test_the_test_vector_opens_by_the_page_alone() -> None:
    for record, told in zip(opened(FILE), VECTOR["records"], strict=True):
        start = 4 + int.from_bytes(record[:4], "little")
        about = json.loads(record[4:start])
        assert about == {"v": 1} | {name: told[name] for name in ("assistant", "event", "at_us", "cwd", "branch")}
        assert record[start:] == bytes.fromhex(told["payload"])


def test_the_test_vector_s_file_is_named_as_the_page_says() -> None:
    told = VECTOR["records"][0]["assistant"].encode() + b"\0" + VECTOR["session"].encode()
    digest = hmac.digest(bytes.fromhex(VECTOR["names"]), told, hashlib.sha256)
    assert VECTOR["name"] == digest[:16].hex() + ".spool"


def test_the_page_shows_the_frame_that_the_test_vector_has() -> None:
    shown = "".join(re.findall(r"^ {4}((?:[0-9a-f]{2} ?){20})$", PAGE, re.MULTILINE))
    assert bytes.fromhex(shown) == FILE[48:128]
    assert f"the whole file has {len(FILE)} bytes" in PAGE
