"""Exports are recognised by what is in them, read as a stream, and refused in a sentence where they are hostile."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import AmbiguousFormat, SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine
from mnemic.actors.kernel.ports import Source
from mnemic.hooks.imports import json_values
from mnemic.hooks.read.formats import find_sources, open_transcript
from mnemic.runtime.files import foreign
from tests.hooks.imports.exports import (
    claude_conversation,
    claude_message,
    claude_otter,
    gpt_conversation,
    gpt_message,
    gpt_pier,
    unzipped,
    zipped,
)

MIB = 1 << 20


def opened(path: Path, format: str = "auto") -> Any:
    return closing(open_transcript(str(path), format))  # type: ignore[type-var]


def read(path: Path, format: str = "auto") -> tuple[str, list[str], list[tuple[int, str]]]:
    """The format, what is said, and what cannot be read."""
    with opened(path, format) as source:
        items = list(source)
    texts = [item.text.decode("utf-8", "surrogatepass") for item in items if isinstance(item, Event)]
    return source.format, texts, [(item.line, item.why) for item in items if isinstance(item, MalformedLine)]


def why_refused(path: Path, format: str = "auto") -> str:
    with pytest.raises((SourceUnreadable, AmbiguousFormat)) as caught:
        open_transcript(str(path), format)
    return str(caught.value)


def crafted(path: Path, *entries: dict[str, Any]) -> Path:
    """A zip file written by hand: of each entry name, packed data and length as they are claimed to be."""
    body, directory = b"", b""
    for entry in entries:
        name, data = entry["name"], entry["data"]
        sizes = (entry.get("method", 8), 0, 0, entry.get("crc", 0), entry.get("packed", len(data)), entry["length"])
        common = struct.pack("<HHHHHIIIHH", 20, entry.get("flags", 0), *sizes, len(name), 0)
        place = entry.get("at", len(body))
        directory += b"PK\1\2\0\0" + common + struct.pack("<HHHII", 0, 0, 0, entry.get("mode", 0) << 16, place) + name
        body += b"PK\3\4" + common + name + data
    end = struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), len(body), 0)
    path.write_bytes(body + directory + b"PK\5\6" + end)
    return path


def bomb(times: int) -> bytes:
    """What unpacks to an endless string, a MiB for each time, at a kilobyte for each."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = packer.compress(b'[{"mapping":{},"title":"') + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(b"x" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + piece * times


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes come out of zip files, a piece after another."""
    pieces: list[int] = []
    real = zipfile.ZipExtFile.read

    def counted(self: Any, n: int | None = -1) -> bytes:
        piece = real(self, n)
        pieces.append(len(piece))
        return piece

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    return pieces


# --- recognised ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("conversation", [gpt_pier(), claude_otter()], ids=["chatgpt", "claude-export"])
@pytest.mark.parametrize("shape", ["file", "renamed", "zip", "zip with a folder", "folder", "split"])
def test_an_export_is_recognised_in_any_shape(tmp_path: Path, conversation: Any, shape: str) -> None:
    name = "chatgpt" if "mapping" in conversation else "claude-export"
    if shape in ("file", "renamed"):
        path = tmp_path / ("conversations.json" if shape == "file" else "what I said.txt")
        path.write_text(json.dumps([conversation], indent=1 if shape == "renamed" else None))
    elif shape == "zip":
        path = zipped(tmp_path / "download", {"conversations.json": [conversation], "chat.html": "x"})
    elif shape == "zip with a folder":
        path = zipped(tmp_path / "a.zip", {"my data/conversations.json": [conversation], "__MACOSX/._x": "x"})
    elif shape == "folder":
        path = unzipped(tmp_path / "export", {"conversations.json": [conversation], "a.md": "# words"})
    else:
        key = "id" if "mapping" in conversation else "uuid"
        other = conversation | {key: "other", "conversation_id": "other"}
        path = unzipped(
            tmp_path / "export", {"conversations-000.json": [conversation], "conversations-001.json": [other]}
        )
    format, texts, bad = read(path)
    assert (format, len(texts), bad) == (name, 6 if shape == "split" else 3, [])
    assert find_sources(str(path), "auto") == ([str(path)], 0, [])
    assert read(path, name) == (format, texts, bad)


def test_an_export_without_conversations_is_known_by_what_lies_beside(tmp_path: Path) -> None:
    memories = [{"conversations_memory": "Keeps otters."}]
    files = {"conversations.json": [], "users.json": [], "memories.json": memories}
    assert read(zipped(tmp_path / "a.zip", files)) == ("claude-export", ["Keeps otters."], [])
    assert read(zipped(tmp_path / "b.zip", {"conversations.json": [], "user.json": {}})) == ("chatgpt", [], [])


def test_projects_are_read_from_one_file_or_from_one_each(tmp_path: Path) -> None:
    project = {"uuid": "p", "name": "Boats", "description": "All about boats."}
    for files in ({"projects.json": [project]}, {"projects/p.json": project}):
        for shape in (zipped, unzipped):
            path = shape(tmp_path / f"{shape.__name__}{len(next(iter(files)))}", {"conversations.json": []} | files)
            assert read(path) == ("claude-export", ["Boats\n\nAll about boats."], [])


def test_the_other_programs_export_is_refused_by_name_and_no_export_too(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"conversations.json": [claude_otter()]})
    assert why_refused(path, "chatgpt").endswith("it is an export of another program; name --format claude-export.")
    assert "it is a zip file that holds no export known here" in why_refused(
        zipped(tmp_path / "b.zip", {"a.txt": "x", "inner.zip": path.read_bytes()})
    )
    assert why_refused(tmp_path / "b.zip", "chatgpt").endswith("there is no conversations.json in it.")
    assert why_refused(Path("-"), "chatgpt") == "- cannot be read: an export is no stream; name its file."
    (tmp_path / "folder" / "conversations.json").mkdir(parents=True)
    assert why_refused(tmp_path / "folder", "claude-export").endswith("there is no conversations.json in it.")
    assert why_refused(tmp_path / "nowhere", "chatgpt").endswith("No such file or directory.")


def test_position_and_size_tell_how_far_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "CHUNK_BYTES", 500)
    many = [gpt_conversation(gpt_message(f"m{n}", "user", "x" * 400), own_id=f"c{n}") for n in range(20)]
    for path in (zipped(tmp_path / "a.zip", {"conversations.json": many}), tmp_path / "a.json"):
        path.exists() or path.write_text(json.dumps(many))
        source: Source
        with opened(path) as source:
            positions = [source.position_bytes for _ in source]
        assert positions == sorted(positions)
        assert 0 < positions[0] < positions[-1] <= source.position_bytes == source.size_bytes


# --- broken ----------------------------------------------------------------------------------------------------------


def test_what_is_broken_is_told_by_its_number_and_the_rest_is_read(tmp_path: Path) -> None:
    good = json.dumps(gpt_pier())
    deep = '{"mapping": ' + "[" * 100_000 + "]" * 100_000 + "}"
    latin = b'{"id": "x", "mapping": {}, "title": "\xe4"}'
    number = '{"mapping": {}, "id": "n", "create_time": ' + "9" * 5_000 + "}"
    strange = '{"mapping": {"a": NaN}, "id": "n", "title": 3, "title": "twice", "create_time": 1e999}'
    listed = [good, "7", deep, number, strange, '{"mapping": {,}}', "{}"]
    path = tmp_path / "conversations.json"
    path.write_bytes(b"\xef\xbb\xbf[" + ", ".join(listed).encode() + b", " + latin + b"]")
    format, texts, bad = read(path)
    assert (format, len(texts), texts[-1]) == ("chatgpt", 4, "twice")
    assert bad == [
        (2, "not a JSON object"),
        (3, "not JSON that can be read: nested too deeply"),
        (4, "not JSON that can be read: a number is too long"),
        (5, "a message that is no object"),
        (6, bad[4][1]),
        (7, "a conversation without its id"),
        (8, "not UTF-8"),
    ]
    assert bad[4][1].startswith("not JSON: ")


def test_a_lone_surrogate_stays_what_it_is_and_utf_16_is_read(tmp_path: Path) -> None:
    conversation = gpt_conversation(gpt_message("m", "user", "otter \ud83d"), title="")
    (tmp_path / "a.json").write_text(json.dumps([conversation]))
    (tmp_path / "b.json").write_bytes(json.dumps([conversation]).encode("utf-16"))
    assert read(tmp_path / "a.json") == read(tmp_path / "b.json") == ("chatgpt", ["otter \ud83d"], [])


@pytest.mark.parametrize("shape", ["file", "zip"])
def test_of_a_file_that_ends_in_the_middle_what_came_before_is_kept(tmp_path: Path, shape: str) -> None:
    data = json.dumps([gpt_pier(), gpt_pier() | {"id": "other"}])[:-50]
    path = tmp_path / "conversations.json"
    path.write_text(data)
    if shape == "zip":
        path = zipped(tmp_path / "a.zip", {"conversations.json": data})
    assert read(path)[1:] == (read(path)[1][:3], [(2, "the file ends in the middle of it")])


def test_a_zip_that_is_damaged_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"conversations.json": [gpt_pier()]})
    data = bytearray(path.read_bytes())
    data[80] ^= 0xFF
    path.write_bytes(data)
    format, _, ((number, why),) = read(path)
    assert (format, number) == ("chatgpt", 1)
    assert why.startswith("the file cannot be read on: ")
    path.write_bytes(bytes(data[:-30]))
    assert "it is a damaged zip file: " in why_refused(path)


# --- hostile ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["file", "folder", "zip"])
def test_an_export_of_deepseek_is_said_to_be_one_with_what_to_do(tmp_path: Path, form: str) -> None:
    message = {"model": "deepseek-chat", "fragments": [{"type": "REQUEST", "content": "when is high tide"}]}
    mapping = {"root": {"id": "root", "message": None}, "1": {"id": "1", "parent": "root", "message": message}}
    conversation = {"id": "a1", "title": "Tides", "inserted_at": "2025-02-01T10:00:00+08:00", "mapping": mapping}
    folder = tmp_path / "deepseek"
    folder.mkdir()
    file = folder / "conversations.json"
    file.write_text(json.dumps([conversation]))
    path = {"file": file, "folder": folder, "zip": tmp_path / "deepseek.zip"}[form]
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archived:
            archived.write(file, "conversations.json")
    for format in ("auto", "chatgpt", "claude-export"):
        assert "it is an export of DeepSeek, for which there is no reader; write its messages as lines of JSON" in (
            why_refused(path, format)
        )


def test_a_bomb_of_four_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path, read_bytes: list[int]) -> None:
    data = bomb(4_000)
    path = crafted(tmp_path / "a.zip", {"name": b"conversations.json", "data": data, "length": 4_000 * MIB})
    assert path.stat().st_size < 5 * MIB
    told = "conversations.json in it unpacks to 4,194,304,000 bytes, 1,0"
    for format in ("auto", "chatgpt", "claude-export"):
        assert told in why_refused(path, format)
    assert read_bytes == []


def test_a_bomb_that_lies_about_its_length_gives_no_more_than_it_claims(tmp_path: Path, read_bytes: list[int]) -> None:
    entry = {"name": b"conversations.json", "data": bomb(300), "length": 3 * MIB}
    format, texts, ((number, why),) = read(crafted(tmp_path / "a.zip", entry))
    assert (format, texts, number) == ("chatgpt", [], 1)
    assert why.startswith("the file cannot be read on: Bad CRC-32")
    assert sum(read_bytes) <= 5 * MIB


def test_files_that_share_their_bytes_are_refused(tmp_path: Path, read_bytes: list[int]) -> None:
    data = bomb(1)
    entries = [
        {"name": b"conversations-%03d.json" % number, "data": data if number == 0 else b"", "at": 0}
        | {"packed": len(data), "length": 100 * len(data)}
        for number in range(50)
    ]
    assert "files in it lie over one another" in why_refused(crafted(tmp_path / "a.zip", *entries))
    assert read_bytes == []


def test_a_conversation_of_one_endless_string_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values.values, "__defaults__", (10_000,))
    long = gpt_conversation(gpt_message("m", "user", "x" * 50_000), own_id="long")
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([long, gpt_pier()]))
    assert read(path)[1:] == (read(path)[1][:3], [(1, "it is longer than 10,000 bytes")])
    assert len(read(path)[1]) == 3


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"flags": 1}, "conversations.json in it is encrypted; unzip it first, and name the folder"),
        ({"method": 14}, "conversations.json in it is packed in a way that no export is"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(tmp_path: Path, entry: dict[str, Any], why: str) -> None:
    common = {"name": b"conversations.json", "data": b"x" * 20, "length": 20, "method": 0}
    assert why in why_refused(crafted(tmp_path / "a.zip", common | entry))


@pytest.mark.parametrize(
    "name",
    [
        b"../conversations.json",
        b"/conversations.json",
        b"a/b/conversations.json",
        b"..\\conversations.json",
        b"conversations.json/",
        b"conversations.json\0.txt",
        b"xconversations.json",
        b"C:\\conversations.json",
    ],
)
def test_a_name_that_leads_elsewhere_is_no_conversations(tmp_path: Path, name: bytes) -> None:
    data = json.dumps([gpt_pier()]).encode()
    path = crafted(tmp_path / "a.zip", {"name": name, "data": data, "length": len(data), "method": 0})
    assert "it is a zip file that holds no export known here" in why_refused(path)
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["a.zip"]


def test_a_link_in_a_zip_or_in_a_folder_is_no_conversations(tmp_path: Path) -> None:
    entry = {"name": b"conversations.json", "data": b"/etc/passwd", "length": 11, "method": 0, "mode": 0o120777}
    assert "holds no export known here" in why_refused(crafted(tmp_path / "a.zip", entry))
    (tmp_path / "real.json").write_text(json.dumps([gpt_pier()]))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "conversations.json").symlink_to(tmp_path / "real.json")
    assert why_refused(tmp_path / "folder", "chatgpt").endswith("there is no conversations.json in it.")


def test_a_zip_that_holds_a_name_twice_is_refused(tmp_path: Path) -> None:
    data = json.dumps([gpt_pier()]).encode()
    entry = {"name": b"conversations.json", "data": data, "length": len(data), "method": 0, "crc": zlib.crc32(data)}
    assert "the zip file holds conversations.json 2 times" in why_refused(crafted(tmp_path / "a.zip", entry, entry))
    assert len(read(crafted(tmp_path / "b.zip", entry))[1]) == 3


def test_a_list_of_files_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"{number}.png": "" for number in range(2_000)}
    path = zipped(tmp_path / "a.zip", many | {"conversations.json": [gpt_pier()]})
    assert len(read(path)[1]) == 3
    monkeypatch.setattr(foreign, "MOST_DIRECTORY_BYTES", 66_000)
    assert "it is a damaged zip file: its list of files is longer than 66,000 bytes" in why_refused(path)


def test_a_large_zip_of_64_bits_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    message = claude_message("c", "human", "words")
    with zipfile.ZipFile(path, "w") as written, written.open("conversations.json", "w", force_zip64=True) as file:
        file.write(json.dumps([claude_conversation(message, name="")]).encode())
    assert read(path) == ("claude-export", ["words"], [])
