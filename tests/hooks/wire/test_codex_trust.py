"""Asking Codex about its hooks: what it says is understood, and whatever it does instead is survived."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from mnemic.hooks.wire.codex_trust import CodexHook, list_codex_hooks, with_trusted_hooks
from mnemic.hooks.wire.wiring import apply_install, plan_install
from tests.hooks.wirings import User, user

ANSWERS = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        print(json.dumps({{"method": "note"}}))
        print("", flush=True) if {blank} else None
        print(json.dumps({{"id": asked["id"], "result": {{}}}}), flush=True)
    elif asked.get("method") == "hooks/list":
        print(json.dumps({answer} | {{"id": asked["id"]}}), flush=True)
"""


def codex(folder: Path, source: str) -> dict[str, str]:
    """An environment whose `codex` does what a few lines of Python say."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "codex"
    program.write_text(f"#!{sys.executable}\n{source}", "utf-8")
    program.chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder)}


def hook(one: User, event: str, **more: object) -> dict[str, object]:
    command = one.wiring.hook_command("codex", event)
    return {
        "key": f"k:{event}",
        "command": command,
        "currentHash": f"sha256:{event}",
        "trustStatus": "untrusted",
        **more,
    }


def test_its_own_hooks_are_told_from_others_and_trusted_from_untrusted(tmp_path: Path) -> None:
    one = user(tmp_path, "codex")
    hooks = [
        hook(one, "prompt"),
        hook(one, "tool", trustStatus="trusted"),
        hook(one, "reply", trustStatus="trusted", enabled=False),
        hook(one, "session-end", trustStatus="modified"),
        {"key": "theirs", "command": "say hi", "currentHash": "x", "trustStatus": "untrusted"},
        {"command": None},
    ]
    answer = {"result": {"data": [{"cwd": "/", "hooks": hooks}, {"cwd": "/"}]}}
    environment = codex(tmp_path, ANSWERS.format(answer=repr(answer), blank=False))
    assert list_codex_hooks(environment) == [
        CodexHook("k:prompt", "sha256:prompt", "prompt", False, True),
        CodexHook("k:tool", "sha256:tool", "tool", True, True),
        CodexHook("k:reply", "sha256:reply", "reply", True, False),
        CodexHook("k:session-end", "sha256:session-end", "session-end", False, True),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "print('no JSON', flush=True)\ninput()\n",
        ANSWERS.format(answer=repr({"error": {"code": -32601}}), blank=False),
        ANSWERS.format(answer=repr({"result": {}}), blank=True),
        "import os\nos.close(0)\nos.close(1)\n",
    ],
)
def test_one_that_cannot_be_asked_is_not_known(tmp_path: Path, source: str) -> None:
    assert list_codex_hooks(codex(tmp_path, source)) is None


@pytest.mark.parametrize("result", [{}, {"data": None}, [], None])
def test_an_answer_of_another_shape_says_nothing(tmp_path: Path, result: object) -> None:
    environment = codex(tmp_path, ANSWERS.format(answer=repr({"result": result}), blank=False))
    assert list_codex_hooks(environment) is None


@pytest.mark.parametrize("data", [[], [{"hooks": None}], [{"hooks": [None, {"key": 3}]}], [3]])
def test_an_answer_without_a_hook_of_these_names_none(tmp_path: Path, data: object) -> None:
    environment = codex(tmp_path, ANSWERS.format(answer=repr({"result": {"data": data}}), blank=False))
    assert list_codex_hooks(environment) == []


def test_it_is_asked_in_a_way_that_has_it_fetch_nothing_from_elsewhere(tmp_path: Path) -> None:
    source = f"import sys\nopen({str(tmp_path / 'given')!r}, 'w').write(repr(sys.argv[1:]))\n"
    list_codex_hooks(codex(tmp_path, source))
    assert (tmp_path / "given").read_text("utf-8") == "['app-server', '-c', 'features.plugins=false']"


def test_without_codex_nothing_is_known(tmp_path: Path) -> None:
    assert list_codex_hooks({"PATH": str(tmp_path), "HOME": str(tmp_path)}) is None


def test_trust_is_written_as_codex_reads_it_and_goes_with_the_hooks(tmp_path: Path) -> None:
    one = user(tmp_path, "codex", "plain")
    before = one.files()
    one.install()
    key = f"{one.folder}/.codex/hooks.json:stop:1:0"
    record = one.again().record
    changes = plan_install(one.host, one.wiring, with_trusted_hooks(one.host.file_edits(one.wiring), {key: "sha256:x"}))
    apply_install(one.host, changes, one.wiring, record, {key: "sha256:x"})
    text = one.files()[".codex/config.toml"].decode()
    assert tomllib.loads(text)["hooks"]["state"][key] == {"trusted_hash": "sha256:x"}
    assert f"[hooks.state.{json.dumps(key)}]\n" in text
    assert set(one.again().install()) == {"unchanged"}
    (one.folder / ".codex" / "config.toml").write_text(text + '\n[new]\na = "b"\n', "utf-8")
    one.again().uninstall()
    assert one.files()[".codex/config.toml"] == before[".codex/config.toml"] + b'\n[new]\na = "b"\n'
