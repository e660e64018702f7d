"""Wiring a host and taking it back: nothing but what is Mnemic's changes, whatever the file looks like."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import BadConfiguration
from mnemic.hooks.wire.commands import ASSISTANTS, make_wiring
from mnemic.hooks.wire.edits import Item, edit_states
from mnemic.hooks.wire.hosts import HOSTS
from mnemic.hooks.wire.record import HostInstall, InstallRecord
from mnemic.hooks.wire.settings_formats import read_json
from mnemic.hooks.wire.wiring import diff_of, plan_uninstall, read_text
from tests.clocks import ManualClock
from tests.hooks.wirings import CASES, ENDINGS, FIXTURES, START_US, User, user

cases = pytest.mark.parametrize(("host", "case"), CASES)
endings = pytest.mark.parametrize("ending", ENDINGS)


def test_every_host_has_fixtures() -> None:
    assert {path.name for path in FIXTURES.iterdir()} == set(HOSTS) == set(ASSISTANTS)


@endings
@cases
def test_an_install_puts_everything_there_and_a_second_one_changes_nothing(
    tmp_path: Path, host: str, case: str, ending: str
) -> None:
    one = user(tmp_path, host, case, ending)
    assert set(one.install()) <= {"made", "changed"}
    for file in one.host.file_edits(one.wiring):
        text = read_text(file)
        assert text is not None
        assert all(state == "wired" for _, state in edit_states(text, file, host)), file.path
        assert file.text in text.replace("\r\n", "\n")
    wired = one.files()
    assert set(one.again().install()) == {"unchanged"}
    assert one.files() == wired


@endings
@cases
def test_an_uninstall_gives_every_file_its_bytes_back(tmp_path: Path, host: str, case: str, ending: str) -> None:
    one = user(tmp_path, host, case, ending)
    before, folders = one.files(), sorted(str(path) for path in one.folder.rglob("*") if path.is_dir())
    one.install()
    one.again(recall_prompts=True, mind="work").install()
    one.again().uninstall()
    assert one.files() == before
    assert not (one.wiring.home / "hooks.json").exists()
    kept = str(one.wiring.home / "backups")
    assert sorted(str(path) for path in one.folder.rglob("*") if path.is_dir() and str(path) != kept) == folders


def edited(path: str, content: bytes) -> bytes:
    """What somebody else makes of a file, without a look at what is Mnemic's."""
    text = content.decode()
    if path.endswith(".toml"):
        return f'# first of all\n{text.rstrip()}\n# later\n[later]\nseen = ["[x]"]\n'.encode()
    if path.endswith((".json", ".jsonc")):
        start = text.index("{") + 1
        return f'{text[:start]}"zz": [1, {{"k": "}}"}}],{text[start:]}'.encode()
    return f"A line above.\r\n{text}".encode()


def what_it_says(path: str, content: bytes) -> object:
    """What a file says, whatever its layout."""
    if path.endswith((".json", ".jsonc")):
        return read_json(content.decode(), trailing_commas=True)
    return content.split()


def lines_of(content: bytes) -> list[bytes]:
    return [line for line in content.splitlines() if line]


@endings
@cases
def test_what_others_write_in_between_stays(tmp_path: Path, host: str, case: str, ending: str) -> None:
    one = user(tmp_path, host, case, ending)
    before = one.files()
    one.install()
    own = {str(file.path.relative_to(one.folder)) for file in one.host.file_edits(one.wiring) if file.format == "whole"}
    wired = {path: content for path, content in one.files().items() if path not in own}
    for path, content in wired.items():
        (one.folder / path).write_bytes(edited(path, content))
    one.again().uninstall()
    after = one.files()
    assert set(after) == set(wired)
    for path, content in after.items():
        bare = before.get(path, b"")
        if path.endswith((".json", ".jsonc")):
            read, old = read_json(content.decode()), read_json(bare.decode(), trailing_commas=True)
            assert read == {"zz": [1, {"k": "}"}], **old}
            assert list(read) == ["zz", *old]
        elif path.endswith(".toml"):
            assert lines_of(content) == lines_of(edited(path, bare))
        else:
            assert content.rstrip() == edited(path, bare).rstrip()


@cases
def test_an_install_with_other_options_changes_its_own_entries_only(tmp_path: Path, host: str, case: str) -> None:
    one = user(tmp_path, host, case)
    one.install()
    first = one.files()
    other = one.again(recall_prompts=True, mind="work")
    assert "changed" in other.install()
    for path, content in one.files().items():
        old, new = first[path].decode().splitlines(), content.decode().splitlines()
        changed = [line for line in new if line not in old and line.rstrip(",") not in old]
        assert all("mnemic" in line or "work" in line or "--mind" in line for line in changed), changed
        assert len(old) <= len(new)
    one.again().install()
    assert one.files() == first


@pytest.mark.parametrize("host", ASSISTANTS)
def test_what_is_shown_is_what_is_written(tmp_path: Path, host: str) -> None:
    one = user(tmp_path, host, "plain")
    before = one.files()
    shown = {str(change.path): list(diff_of(change)) for change in one.planned()}
    assert one.files() == before
    assert not (one.wiring.home / "hooks.json").exists()
    one.install()
    for path, lines in shown.items():
        added = [line[1:] for line in lines[2:] if line.startswith("+")]
        assert added
        written = Path(path).read_text("utf-8").splitlines()
        assert [line for line in added if line not in written] == []


@pytest.mark.parametrize(
    ("host", "path", "content", "why"),
    [
        ("claude-code", ".claude/settings.json", b'{\n "a": 1,\n}', "line 3 column 1"),
        (
            "claude-code",
            ".claude/settings.json",
            b"{\n // mine\n}",
            "line 2 has a comment, which an edit would lose: take it out",
        ),
        ("claude-code", ".claude/settings.json", b'{\n // mine\n "a" 1}', "Expecting ':' delimiter"),
        ("claude-code", ".claude/settings.json", b'{"hooks": []}', "its hooks is no object"),
        ("claude-code", ".claude/settings.json", b'{"hooks": {"Stop": {}}}', "its hooks.Stop is no list"),
        ("claude-code", ".claude.json", b'{"a": 1', "line 1 column 8"),
        ("claude-code", ".claude.json", b"[]", "it holds no object"),
        ("claude-code", ".claude.json", b'{"a": "\xff"}', "it is not UTF-8 from byte 7 on"),
        ("codex", ".codex/config.toml", b"a = 1\na = 2\n", "Cannot overwrite a value"),
        (
            "codex",
            ".codex/config.toml",
            b'mcp_servers = { a = { command = "b" } }\n',
            "its mcp_servers.mnemic cannot be edited; write it",
        ),
        (
            "codex",
            ".codex/config.toml",
            b'[mcp_servers]\nmnemic = { command = "b" }\n',
            "its mcp_servers.mnemic cannot be edited; write it",
        ),
        ("gemini-cli", ".gemini/settings.json", b'{"a": [1,]}', "line 1 column 10"),
        ("cursor", ".cursor/mcp.json", b'{"a": 1} {}', "Extra data"),
        ("opencode", ".config/opencode/opencode.json", b'{"a" 1}', "Expecting ':'"),
    ],
)
def test_a_broken_file_is_named_in_one_sentence_and_nothing_is_written(
    tmp_path: Path, host: str, path: str, content: bytes, why: str
) -> None:
    one = user(tmp_path, host)
    (one.folder / path).parent.mkdir(parents=True, exist_ok=True)
    (one.folder / path).write_bytes(content)
    with pytest.raises(BadConfiguration) as raised:
        one.install()
    assert why in str(raised.value)
    assert str(one.folder / path) in str(raised.value)
    assert str(raised.value).count("\n") == 0
    assert one.files() == {path: content}


@cases
def test_links_stay_links_and_modes_stay_modes(tmp_path: Path, host: str, case: str) -> None:
    one = user(tmp_path, host, case)
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    links = {}
    for number, path in enumerate(sorted(one.files())):
        target = dotfiles / f"{number}-{Path(path).name}"
        (one.folder / path).rename(target)
        target.chmod(0o640)
        (one.folder / path).symlink_to(target)
        links[path] = target
    before = {path: target.read_bytes() for path, target in links.items()}
    one.install()
    for path, target in links.items():
        assert (one.folder / path).readlink() == target
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
    one.again().uninstall()
    assert {path: target.read_bytes() for path, target in links.items()} == before
    assert all((one.folder / path).is_symlink() for path in links)
    assert sorted(path.name for path in dotfiles.iterdir()) == sorted(path.name for path in links.values())


def test_what_is_made_is_for_its_user_alone(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code")
    (one.folder / ".claude.json").write_text("{}", "utf-8")
    (one.folder / ".claude.json").chmod(0o600)
    one.install()
    one.again(mind="work").install()
    assert len(list((one.wiring.home / "backups").iterdir())) == 1
    made = [path for path in one.folder.rglob("*") if path != one.wiring.home]
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in made if path.is_file()} == {0}
    assert stat.S_IMODE((one.wiring.home / "backups").stat().st_mode) == 0o700


def test_every_change_leaves_a_backup_of_what_was_there(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code", "plain")
    before = one.files()
    one.install()
    kept = {path.name: path.read_bytes() for path in (one.wiring.home / "backups").iterdir()}
    assert sorted(kept.values()) == sorted(before.values())
    assert all(name.startswith("2026") and "-claude-code-" in name for name in kept)


def test_a_backup_goes_with_the_uninstall_where_the_file_has_its_bytes_again_and_stays_where_others_wrote(
    tmp_path: Path,
) -> None:
    one = user(tmp_path, "cursor", "plain")
    before = one.files()
    one.install()
    one.again(mind="work").install()
    path = one.folder / ".cursor" / "mcp.json"
    path.write_text(json.dumps({"theirs": 1, **json.loads(path.read_text("utf-8"))}), "utf-8")
    one.again().uninstall()
    (kept,) = (one.wiring.home / "backups").iterdir()
    assert kept.read_bytes() == before[".cursor/mcp.json"]
    assert json.loads(path.read_text("utf-8")) == {"theirs": 1, **json.loads(before[".cursor/mcp.json"])}


COMMENTED = b'// Mine.\n{\n  "theme": "dark" // "light": {}\n}\n'


@pytest.mark.parametrize(
    ("host", "path"), [("gemini-cli", ".gemini/settings.json"), ("opencode", ".config/opencode/opencode.jsonc")]
)
def test_a_file_with_comments_is_not_rewritten_and_says_what_to_add_and_to_take_out_by_hand(
    tmp_path: Path, host: str, path: str
) -> None:
    one = user(tmp_path, host)
    file = one.folder / path
    file.parent.mkdir(parents=True)
    file.write_bytes(COMMENTED)
    with pytest.raises(
        BadConfiguration, match="line 1 has a comment, which an edit would lose: take it out; or add this to it by hand"
    ) as raised:
        one.install()
    assert one.files() == {path: COMMENTED}
    by_hand = str(raised.value).partition("by hand: ")[2]
    added, _ = json.JSONDecoder().raw_decode(by_hand)
    inner = json.dumps(added)[1:-1]
    file.write_bytes(COMMENTED.replace(b'"dark"', b'"dark", ' + inner.encode()))
    wired = file.read_bytes()
    one.again().install()
    assert file.read_bytes() == wired
    assert set(one.again().install()) == {"unchanged"}
    with pytest.raises(BadConfiguration, match="by hand"):
        one.again().uninstall()
    file.write_bytes(COMMENTED)
    one.again().uninstall()
    assert one.files() == {path: COMMENTED}


def test_settings_without_comments_in_their_format_say_what_to_add_by_hand_too(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code")
    file = one.folder / ".claude" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(COMMENTED)
    with pytest.raises(BadConfiguration, match="line 1 has a comment") as raised:
        one.install()
    added, _ = json.JSONDecoder().raw_decode(str(raised.value).partition("by hand: ")[2])
    file.write_text(json.dumps({"theme": "dark"} | added))
    one.again().install()
    assert json.loads(file.read_text()) == {"theme": "dark"} | added


def test_of_a_file_with_comments_only_what_calls_the_home_has_to_be_taken_out_by_hand(tmp_path: Path) -> None:
    one = user(tmp_path, "opencode")
    path = ".config/opencode/opencode.jsonc"
    file = one.folder / path
    file.parent.mkdir(parents=True)
    theirs = b'{\n  // mine\n  "$schema": "https://opencode.ai/config.json"\n}\n'
    file.write_bytes(theirs)
    with pytest.raises(BadConfiguration) as raised:
        one.install()
    added, _ = json.JSONDecoder().raw_decode(str(raised.value).partition("by hand: ")[2])
    server = f',\n  "mcp": {json.dumps(added["mcp"])}\n}}\n'
    file.write_bytes(theirs.replace(b"\n}\n", server.encode()))
    one.again().install()
    with pytest.raises(BadConfiguration, match="by hand"):
        one.again().uninstall()
    file.write_bytes(theirs)
    one.again().uninstall()
    assert one.files() == {path: theirs}


def test_what_its_owner_edited_between_two_installs_stays(tmp_path: Path) -> None:
    one = user(tmp_path, "gemini-cli", "plain")
    one.install()
    path = one.folder / ".gemini" / "settings.json"
    path.write_text(path.read_text("utf-8").replace("{", '{"mine": 1,', 1), "utf-8")
    one.again(mind="work").install()
    one.again().uninstall()
    assert json.loads(path.read_text("utf-8"))["mine"] == 1
    assert "mnemic" not in path.read_text("utf-8")


def test_a_file_that_is_written_to_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = user(tmp_path, "claude-code", "plain")
    planned = one.planned()
    path = one.folder / ".claude" / "settings.json"
    path.write_bytes(b'{"somebody": "else"}')
    monkeypatch.setattr(User, "planned", lambda self: planned)
    with pytest.raises(BadConfiguration, match="somebody else wrote to it"):
        one.install()
    assert path.read_bytes() == b'{"somebody": "else"}'
    monkeypatch.undo()
    one.again().install()
    one.again().uninstall()
    assert path.read_bytes() == b'{"somebody": "else"}'


def test_an_uninstall_without_the_record_takes_out_what_is_known_by_its_command(tmp_path: Path) -> None:
    one = user(tmp_path, "codex", "plain")
    before = one.files()
    one.install()
    (one.wiring.home / "hooks.json").unlink()
    one.again().uninstall()
    assert one.files().keys() == before.keys()
    held = json.loads(one.files()[".codex/hooks.json"])["hooks"]
    assert "mnemic" not in json.dumps(held)
    assert held["Stop"] == json.loads(before[".codex/hooks.json"])["hooks"]["Stop"]
    assert one.files()[".codex/config.toml"] == before[".codex/config.toml"]


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("host", ASSISTANTS)
def test_a_home_that_was_restored_takes_what_is_there_for_its_own(tmp_path: Path, host: str, known: bool) -> None:
    one = user(tmp_path, host)
    one.install()
    wired = one.files()
    (one.wiring.home / "hooks.json").unlink()
    if known:  # a record that names the host and none of its files
        record = InstallRecord(one.wiring.home, ManualClock(START_US))
        record.hosts[host] = HostInstall("default", False, {})
        record.save()
    shutil.rmtree(one.wiring.home / "backups", ignore_errors=True)
    assert set(one.again().install()) == {"unchanged"}
    assert one.files() == wired
    assert set(one.again().install()) == {"unchanged"}
    one.again().uninstall()
    assert one.files() == {}


@pytest.mark.parametrize(("host", "case"), [one for one in CASES if one[1] == "plain"])
def test_what_else_is_in_the_files_of_a_restored_home_stays(tmp_path: Path, host: str, case: str) -> None:
    one = user(tmp_path, host, case)
    before = one.files()
    one.install()
    (one.wiring.home / "hooks.json").unlink()
    shutil.rmtree(one.wiring.home / "backups")
    one.again().install()
    one.again().uninstall()
    after = one.files()
    assert after.keys() == before.keys()
    differing = {path for path in before if what_it_says(path, after[path]) != what_it_says(path, before[path])}
    if host == "claude-code":  # what its user has listed too, and what is empty: nobody can tell whose it was
        (path,) = differing
        was = json.loads(before[path])
        was["permissions"]["allow"].remove("mcp__mnemic__memory_get")
        assert was["hooks"].pop("SessionStart") == []
        assert json.loads(after[path]) == was
    else:
        assert not differing


def test_a_backup_that_its_user_removed_is_not_needed(tmp_path: Path) -> None:
    one = user(tmp_path, "gemini-cli", "plain")
    before = one.files()
    one.install()
    for path in (one.wiring.home / "backups").iterdir():
        path.unlink()
    one.again().uninstall()
    after = one.files()
    assert {path: what_it_says(path, content) for path, content in after.items()} == {
        path: what_it_says(path, content) for path, content in before.items()
    }


def test_a_hook_that_its_user_moved_into_a_group_is_taken_out_alone(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code")
    one.install()
    path = one.folder / ".claude" / "settings.json"
    held = json.loads(path.read_text("utf-8"))
    theirs = {"type": "command", "command": "say hi"}
    held["hooks"]["Stop"][0] = {"matcher": "", "hooks": [theirs, *held["hooks"]["Stop"][0]["hooks"]]}
    path.write_text(json.dumps(held), "utf-8")
    assert set(one.again().install()) == {"unchanged"}
    one.again().uninstall()
    assert json.loads(path.read_text("utf-8")) == {"hooks": {"Stop": [{"matcher": "", "hooks": [theirs]}]}}


def test_another_homes_hooks_are_taken_over_and_not_taken_out_by_the_first(tmp_path: Path) -> None:
    first = user(tmp_path, "claude-code")
    first.install()
    other = first.folder / "other"
    other.mkdir()
    second = User(
        first.host,
        first.again().wiring.__class__(home=other, environment=first.wiring.environment),
        InstallRecord(other, ManualClock(START_US)),
    )
    second.install()
    text = (first.folder / ".claude" / "settings.json").read_text("utf-8")
    assert str(first.wiring.home) not in text
    first.again().uninstall()
    assert (first.folder / ".claude" / "settings.json").read_text("utf-8") == text
    assert str(other) in (first.folder / ".claude.json").read_text("utf-8")


@pytest.mark.parametrize("host", ASSISTANTS)
def test_a_home_that_never_wired_a_host_takes_nothing_of_another_homes(tmp_path: Path, host: str) -> None:
    one = user(tmp_path, host)
    one.install()
    wired, never = one.files(), one.folder / "memory" / "another"
    never.mkdir()
    other = User(one.host, make_wiring(never, one.wiring.environment), InstallRecord(never, ManualClock(START_US)))
    assert other.uninstall() == []
    assert one.files() == wired
    one.again().uninstall()
    assert one.files() == {}


def test_instructions_that_say_how_they_are_marked_come_back_byte_for_byte(tmp_path: Path) -> None:
    prose = b"`<!-- mnemic: begin -->` is a mark:\n<!-- mnemic: begin -->\nNo end of it.\n"
    one = user(tmp_path, "codex")
    path = one.folder / ".codex" / "AGENTS.md"
    path.parent.mkdir()
    path.write_bytes(prose)
    one.install()
    path.write_bytes(path.read_bytes() + prose)
    assert set(one.again().install()) == {"unchanged"}
    one.again().uninstall()
    assert path.read_bytes() == prose * 2


def test_a_members_value_that_was_somebody_elses_comes_back(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code", "minified")
    path = one.folder / ".claude.json"
    before = json.loads(path.read_text("utf-8"))
    one.install()
    wired = json.loads(path.read_text("utf-8"))
    assert wired["mcpServers"]["mnemic"]["env"] == {"A": "b"}, "what else they said of it stays"
    wired["numStartups"] = 2
    path.write_text(json.dumps(wired), "utf-8")
    one.again().uninstall()
    assert json.loads(path.read_text("utf-8")) == before | {"numStartups": 2}


def test_words_that_were_listed_before_stay_listed(tmp_path: Path) -> None:
    one = user(tmp_path, "claude-code", "plain")
    one.install()
    path = one.folder / ".claude" / "settings.json"
    path.write_bytes(path.read_bytes() + b"\n")
    one.again().uninstall()
    assert json.loads(path.read_text("utf-8"))["permissions"]["allow"] == [
        "Bash(git status:*)",
        "mcp__mnemic__memory_get",
    ]
    assert any(isinstance(edit, Item) for file in one.host.file_edits(one.wiring) for edit in file.edits)


def test_the_instructions_are_found_again_where_the_host_reads_another_file_by_now(tmp_path: Path) -> None:
    one = user(tmp_path, "codex", "plain")
    before = one.files()
    one.install()
    (one.folder / ".codex" / "AGENTS.override.md").write_text("instead\n", "utf-8")
    planned = plan_uninstall(one.host, one.again().wiring, one.again().record)
    assert one.folder / ".codex" / "AGENTS.md" in [change.path for change in planned]
    one.again().uninstall()
    assert one.files() == before | {".codex/AGENTS.override.md": b"instead\n"}


def test_a_file_that_its_host_reads_instead_by_now_is_kept_before_its_first_change_too(tmp_path: Path) -> None:
    one = user(tmp_path, "codex", "plain")
    one.install()
    instead = one.folder / ".codex" / "AGENTS.override.md"
    instead.write_text("instead\n", "utf-8")
    one.again().install()
    assert b"instead\n" in [path.read_bytes() for path in (one.wiring.home / "backups").iterdir()]
    one.again().uninstall()
    assert instead.read_text("utf-8") == "instead\n"


def test_a_record_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    for hosts in ("{}", '[{"name": "codex"}]'):  # whatever form a newer version gives it
        (tmp_path / "hooks.json").write_text(f'{{"version": 2, "hosts": {hosts}}}', "utf-8")
        told = r"a newer Mnemic wrote it \(version 2; this one knows 1\)"
        with pytest.raises(BadConfiguration, match=told) as raised:
            InstallRecord(tmp_path, ManualClock(START_US))
        assert raised.value.remedy_text == "Update Mnemic; nothing was changed."
    (tmp_path / "hooks.json").write_text("{", "utf-8")
    with pytest.raises(BadConfiguration, match="it is no record any more") as raised:
        InstallRecord(tmp_path, ManualClock(START_US))
    assert raised.value.remedy_text.startswith("Remove it; an uninstall then takes out what it recognises")


def unwritable(path: Path) -> None:
    """Make a file that is not there yet one that nobody, root included, can write by way of a draft beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.parent / ("n" * 250))


@pytest.mark.parametrize("case", ["plain", "nothing"])
def test_a_host_of_which_one_file_cannot_be_written_is_as_it_was(tmp_path: Path, case: str) -> None:
    one = user(tmp_path, "cursor", case)
    path = one.folder / ".cursor" / "mcp.json"
    path.unlink(missing_ok=True)
    unwritable(path)
    before = one.files()
    with pytest.raises(BadConfiguration) as raised:
        one.install()
    assert str(raised.value).startswith(f"{path} was not changed: it cannot be written")
    assert raised.value.remedy_text.startswith("Make it and its folder writable")
    assert one.files() == before
    assert one.again().record.hosts == {}
    path.unlink()
    one.again().install()
    one.again().uninstall()
    assert one.files() == before


def test_what_was_wired_before_stays_wired_where_wiring_it_anew_fails(tmp_path: Path) -> None:
    one = user(tmp_path, "cursor")
    one.install()
    wired, known = one.files(), one.again().record.hosts
    path = one.folder / ".cursor" / "mcp.json"
    path.unlink()
    unwritable(path)
    with pytest.raises(BadConfiguration):
        one.again(mind="work").install()
    path.unlink()
    assert one.files() == {name: content for name, content in wired.items() if not name.endswith("mcp.json")}
    assert one.again().record.hosts == known
