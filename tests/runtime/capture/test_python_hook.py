"""The hook in Python is one file that stands alone; what else it promises, `hook_contract.py` tests for both hooks."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.protocol.events import HookRecord
from mnemic.runtime.capture import python_hook
from mnemic.runtime.capture.python_hook import (
    CONTENT_BYTES,
    body_of,
    folder_of,
    parsed,
    percent_encoded,
    read_all,
    routing,
    sealed,
    to_bytes,
)
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.spool.decrypt import FrameDecryptor
from mnemic.runtime.spool.frames import MAX_FRAME_BYTES, parse_frame_header, parse_record
from mnemic.runtime.spool.spool import Spool
from tests.runtime.spooling import PRIVATE, PUBLIC, drain

SOURCE = Path(python_hook.__file__)


def test_it_imports_nothing_but_the_standard_library_and_one_package() -> None:
    imported = set()
    for node in ast.walk(ast.parse(SOURCE.read_bytes())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported - sys.stdlib_module_names == {"cryptography"}


def test_an_import_loads_nothing_that_it_may_not_need() -> None:
    code = f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r}); import python_hook; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    heavy = {"cryptography", "json", "socket", "subprocess", "hashlib", "site", "threading"}
    assert heavy.isdisjoint(loaded.stdout.split())


@pytest.mark.parametrize("options", [[], ["-I"], ["-I", "-S"], ["-P"]])
def test_a_copy_of_the_file_does_all_there_is_to_do(tmp_path: Path, options: list[str]) -> None:
    mind = create_mind(tmp_path / "home", "work", SystemClock())
    copy = shutil.copy(SOURCE, tmp_path / "a copy.py")
    done = subprocess.run(
        [sys.executable, *options, copy, "codex", "reply", "--home", tmp_path / "home", "--mind", "work"],
        input=b"a payload",
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    (record,), torn = drain(Spool(mind.spool, open_mind(tmp_path / "home", "work")[1].spool_private, SystemClock()))
    assert isinstance(record, HookRecord)
    assert (record.assistant, record.event, record.payload, torn) == ("codex", "reply", b"a payload", 0)


def test_without_the_package_the_event_is_counted_as_lost(tmp_path: Path) -> None:
    mind = create_mind(tmp_path / "home", "default", SystemClock())
    code = f"""
import runpy, sys
sys.modules["cryptography"] = None
sys.argv = ["hook", "codex", "tool", "--home", {str(tmp_path / "home")!r}]
runpy.run_path({str(SOURCE)!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], input=b"a payload", capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    assert mind.losses.read_bytes()[:1] == b"\1"
    assert list(mind.spool.glob("*.spool")) == []


def test_what_the_host_never_ends_is_what_came_of_it_in_time() -> None:
    reader, writer = os.pipe()
    with open(reader, "rb"), open(writer, "wb", buffering=0) as host:
        host.write(b"an event")
        assert read_all(reader, 0.05) == (b"an event", True)
        assert read_all(reader, 0.05) == (b"", True)


def test_what_breaks_off_is_not_all() -> None:
    folder = os.open("/", os.O_RDONLY)
    try:
        assert read_all(folder) == (b"", False)
    finally:
        os.close(folder)


@given(st.lists(st.binary(max_size=12), max_size=8))
def test_any_arguments_are_read(arguments: list[bytes]) -> None:
    command = parsed(arguments)
    folder = folder_of(command)
    assert folder is None or command.home


@pytest.mark.parametrize("name", [b"", b".", b"..", b"../x", b"a/b", b"-a", b"a b", "é".encode(), b"a\n", b"_"])
def test_a_name_that_is_no_folder_s_names_no_mind(name: bytes) -> None:
    assert folder_of(parsed([b"--home", b"/h", b"--mind", name])) is None


def test_a_mind_is_a_folder_of_its_home() -> None:
    assert folder_of(parsed([b"--home", b"/h", b"--mind", b"work-2.b_c"])) == b"/h/minds/work-2.b_c"


@given(st.binary(max_size=300))
def test_any_bytes_route_somewhere(payload: bytes) -> None:
    session, cwd = routing(payload)
    assert isinstance(session, bytes)
    assert cwd is None or cwd


@given(st.binary(max_size=300))
def test_what_follows_the_fields_changes_nothing(rest: bytes) -> None:
    assert routing(b'{"session_id":"s","cwd":"/p","' + rest) == (b"s", b"/p")


def test_what_is_nested_deeper_than_anybody_needs_costs_the_fields_behind_it_alone() -> None:
    deep = b'{"session_id":"s","deep":' + b"[" * 200_000 + b"]" * 200_000 + b',"cwd":"/p"}'
    assert routing(deep) == (b"s", None)


@given(st.text(st.characters(exclude_categories=())))
def test_the_bytes_of_a_text_come_back_where_they_were_no_utf_8(text: str) -> None:
    data = to_bytes(text)
    assert data.decode("utf-8", "surrogateescape") == text or any("\ud800" <= one <= "\udfff" for one in text)


@given(st.integers(0, 3), st.integers(-2, 2), st.integers(1, 40))
def test_frames_are_as_long_as_the_format_allows_and_no_longer(count: int, more: int, head_bytes: int) -> None:
    size = max(0, count * CONTENT_BYTES - head_bytes + more)
    frames = list(sealed(PUBLIC, b"h" * head_bytes, b"p" * size))
    assert len(frames) == max(1, -(-(head_bytes + size) // CONTENT_BYTES))
    assert all(len(frame) == MAX_FRAME_BYTES for frame in frames[:-1])
    opener = FrameDecryptor(PRIVATE)
    parts = []
    for number, frame in enumerate(frames):
        header = parse_frame_header(frame)
        assert header is not None
        assert (header.number, header.last, header.total_bytes) == (number, number == len(frames) - 1, len(frame))
        parts.append(opener.decrypt(header, frame[80:]))
    assert b"".join(part or b"" for part in parts) == b"h" * head_bytes + b"p" * size


def test_a_head_longer_than_a_frame_goes_on_in_the_next() -> None:
    head = (2 * CONTENT_BYTES).to_bytes(4, "little") + b" " * (2 * CONTENT_BYTES)
    frames = list(sealed(PUBLIC, head, b"p" * 10))
    opener = FrameDecryptor(PRIVATE)
    opened = [
        opener.decrypt(header, frame[80:]) for frame in frames if (header := parse_frame_header(frame)) is not None
    ]
    assert b"".join(part or b"" for part in opened) == head + b"p" * 10
    assert parse_record(bytes(16), [part for part in opened if part is not None])


def test_losses_at_once_are_all_counted(tmp_path: Path) -> None:
    (tmp_path / "losses").write_bytes(bytes(64))
    count = [threading.Thread(target=python_hook.count_loss, args=(bytes(tmp_path), 100)) for _ in range(20)]
    for thread in count:
        thread.start()
    for thread in count:
        thread.join(60)
    data = (tmp_path / "losses").read_bytes()
    assert (int.from_bytes(data[:8], "little"), int.from_bytes(data[16:24], "little")) == (20, 2000)
    assert data[24:] == bytes(40)


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\na\0bMORE", b"a\0b"),
        (b"HTTP/1.1 200 OK\r\nCONTENT-LENGTH:0\r\n\r\n", b""),
        (b"HTTP/1.1 500 Oh\r\ncontent-length: 1\r\n\r\na", b""),
        (b"HTTP/1.1 200 OK\r\n\r\nwithout a length", b""),
        (b"SSH-2.0", b""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", None),
        (b"HTTP/1.1 200 O", None),
        (b"HT", None),
        (b"", None),
        (b"HTTP/1.1 503 Unavailable\r\ncontent-length: 1\r\n\r\na", None),
    ],
)
def test_an_answer_is_as_many_bytes_as_it_says(received: bytes, expected: bytes | None) -> None:
    assert body_of(received) == expected


@given(st.binary(max_size=200))
def test_any_bytes_are_no_answer_or_one(received: bytes) -> None:
    body_of(received)
    body_of(b"HTTP/1.1 200 OK\r\ncontent-length: " + received)


def test_a_header_holds_no_byte_that_could_end_it() -> None:
    assert percent_encoded(b"/a b/\xff\r\n%~") == b"/a%20b/%FF%0D%0A%25~"
