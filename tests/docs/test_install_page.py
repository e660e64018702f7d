"""The page for an assistant that installs Mnemic: its commands on an empty machine, in order, without a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, commands
from tests.processes.faces import run
from tests.processes.users import everything

PAGE = PAGES["install-for-someone.md"]
RECOVERY_KEY = re.compile(r"\b(?:[0-9A-Za-z]{4}[- ]){13}[0-9A-Za-z]{4}\b")
MINE = "# Mine\n"


@pytest.mark.system
def test_its_commands_set_mnemic_up_show_no_key_and_take_all_of_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = tmp_path / "ada"
    (user / ".claude").mkdir(parents=True)
    (user / ".claude" / "CLAUDE.md").write_text(MINE, "utf-8")
    for name, value in (("HOME", str(user)), ("XDG_DATA_HOME", str(tmp_path / "data"))):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MNEMIC_HOME", raising=False)
    monkeypatch.chdir(user)
    said: list[str] = []
    typed = [one for one in commands(PAGE.read_text("utf-8")) if one.words[0] == "mnemic"]
    assert len(typed) >= 8
    try:
        for one in typed:
            done = run(*one.words[1:])
            assert done.code == 0, (one.text, done)
            said.append(done.out + done.err)
            if one.words[1:3] == ["hooks", "status"]:
                host = done.json["hosts"]["claude-code"]
                assert (host["trial"], host["asked"], host["state"]) == ("arrived", "answered", "ok")
            if one.words[1] == "recall":
                assert "The install was tried by an assistant" in done.out
    finally:
        run("uninstall", "--yes")
    assert RECOVERY_KEY.search(run("rekey", "--recovery").out)  # what its owner types
    assert not RECOVERY_KEY.search("".join(said))
    assert (user / ".claude" / "CLAUDE.md").read_text("utf-8") == MINE
    assert [path for path in everything(user) if "mnemic" in path] == []
    assert (tmp_path / "data" / "mnemic" / "minds" / "default" / "key").is_file()


def test_llms_txt_leads_to_pages_that_are_there() -> None:
    text = (ROOT / "llms.txt").read_text("utf-8")
    assert text.startswith("# Mnemic\n\n> ")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert "docs/install-for-someone.md" in targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []
