"""A file that somebody else made is read without waiting, never beyond a length, and never at a price of its choice."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.runtime.files.foreign import open_regular, parse_toml, read_below, read_regular, read_toml

DEEP = "a" + ".b" * 17


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "file")
    for read in (open_regular, lambda path: read_regular(path, 9), lambda path: read_toml(path, 9)):
        with pytest.raises(OSError, match="it is no regular file"):
            read(tmp_path / "file")


def test_a_file_is_read_up_to_the_length_its_reader_names(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a = 12345")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link", 9) == b"a = 12345"
    assert read_toml(tmp_path / "link", 9) == {"a": 12345}
    with pytest.raises(OSError, match="it is longer than 8 bytes"):
        read_regular(tmp_path / "file", 8)


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 31_999 + "=1",
        f"{DEEP} = 1",
        f"[{DEEP}]",
        f"[[ {DEEP.replace('.', ' . ')} ]]",
        "\"a.b\" . 'c'" + '."\\"".d' * 9 + " = 1",
        f"x = {{ y = 1, {DEEP} = 1 }}",
        f'x = {{ y = """a"""", {DEEP} = 1 }}',
        f"x = {{ y = '''a''''', {DEEP} = 1 }}",
        f'x = {{ y = """\\"""", {DEEP} = 1 }}',
        f"x = {{ y = 'a\\', {DEEP} = 1 }}",
        f"x = 'a' # \"\n{DEEP} = 1",
    ],
)
def test_a_key_of_many_dots_is_refused_before_it_is_parsed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str) -> None:
        raise AssertionError("it came to the parser")

    monkeypatch.setattr(tomllib, "loads", parse)
    with pytest.raises(ValueError, match=r"^one of its keys has more than 16 dots$"):
        parse_toml(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" + ".b" * 16 + " = 1.5",
        f'"{DEEP}" = "{DEEP}=1"',
        f"x = '{DEEP}' # {DEEP} = 1",
        f'x = """\n{DEEP} = 1 \\""" \n{DEEP} = 1\n"""',
        f"x = '''\n{DEEP} = 1\n'''",
        "x = [" + "1.5, " * 40 + "]",
        "".join(f"a.b{n} = 1\n" for n in range(40)),
    ],
)
def test_what_else_holds_dots_is_read_as_the_parser_reads_it(text: str) -> None:
    assert parse_toml(text.encode()) == tomllib.loads(text)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff", "it is no TOML: it is not in UTF-8"),
        (b"a = ", "it is no TOML: Invalid value"),
        (b'a = """' + b'\\"""\n' * 50_000, "it is no TOML: "),
        (b"a = " + b"[" * 5000, "it is nested too deeply"),
        (b"a = " + b"9" * 5000, "it is no TOML: Exceeds the limit"),
    ],
)
def test_what_is_no_toml_is_said_in_a_clause(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}"):
        parse_toml(content)


def test_a_file_below_a_folder_is_read_and_the_folder_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "inside" / "deep").mkdir(parents=True)
    (tmp_path / "inside" / "deep" / "file").write_bytes(b"four")
    (tmp_path / "link").symlink_to(tmp_path / "inside")
    assert read_below(str(tmp_path / "link"), "deep/file", 4) == b"four"
    with pytest.raises(OSError, match="it is longer than 3 bytes"):
        read_below(str(tmp_path / "link"), "deep/file", 3)


@pytest.mark.parametrize(
    "path", ["", "/", "file/", "../outside", "./file", "folder/file", "link", "folder", "pipe", "deep", "absent"]
)
def test_what_leads_out_of_the_folder_or_is_no_file_is_refused(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "file").write_bytes(b"in")
    (tmp_path / "outside").write_bytes(b"out")
    (inside / "link").symlink_to(tmp_path / "outside")
    (inside / "folder").symlink_to(inside)
    os.mkfifo(inside / "pipe")
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    with pytest.raises(OSError, match="Errno"):
        read_below(str(inside), path, 10)
    assert len(os.listdir("/proc/self/fd") if before else []) == len(before), "nothing stays open"
