"""What a released version left on its user's disk is opened by this one, and by every later one: kept for ever.

`tests/fixtures/releases` has a folder for each released version: a home as it left it, a backup and an export of it,
and what commands answered. No folder is made again once its version is released, none is taken out, and no test here is
weakened for a change of the product: what fails here fails on a user's own memory. `tests/fixtures/releases/make.py`
makes the folder of the version that is about to be released.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.runtime.keys.key_slots import read_keys_by_file
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.store.schema import LATEST_SCHEMA, check_schema, connect
from mnemic.runtime.version import __version__
from tests.paths import FIXTURES, ROOT
from tests.processes.faces import Outcome
from tests.waiting import until

RELEASES = sorted(path for path in (FIXTURES / "releases").iterdir() if (path / "expected.json").exists())
GOLDEN = ROOT / "tests" / "golden" / "replayed"
"""By version, what its log is replayed to; `MNEMIC_GOLDEN=write` writes it anew."""
Command = Callable[..., Outcome]
REPLAYED = (
    *("boundaries", "bound", "entities", "fillers", "grades", "memories", "memory_terms", "mentions", "scopes"),
    *("sessions", "statements", "term_totals", "texts", "windows"),
)
"""Tables without vectors, whose last digits differ between processors."""


class Left:
    """A copy of what a version left."""

    def __init__(self, release: Path, folder: Path, command: Command) -> None:
        shutil.copytree(release, folder)
        for path in folder.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)  # which git does not keep, and nobody else may read a key
        folder.chmod(0o700)
        self.home, self.key = folder / "home", folder / "home" / "minds" / "default" / "key"
        self.backup, self.export = folder / "mind.mnemic", folder / "export"
        told = json.loads((folder / "expected.json").read_text("utf-8"))
        self.hooked: list[str] = told["hooked"]
        self._expected: list[dict[str, Any]] = told["expected"]
        self._command = command

    def run(self, *arguments: object, home: Path | None = None) -> str:
        """Run a command; its JSON as text."""
        ended = self._command(*arguments, "--home", home or self.home, "--json")
        assert ended.code == 0, (arguments, ended)
        return ended.out

    def keys(self) -> Keys:
        """The keys of its mind."""
        return read_keys_by_file(self.key, self.key.with_name("mind.json"))

    def wrong_answers(self, home: Path | None = None) -> list[str]:
        """What is not answered as it was, sentence by sentence."""
        wrong = []
        for one in self._expected:
            out = "\n".join(map(_compact, self.run(*one["command"], home=home).splitlines()))
            wrong += [f"{one['command']} does not say {text!r}: {out}" for text in one["says"] if text not in out]
            wrong += [f"{one['command']} says {text!r}: {out}" for text in one["lacks"] if text in out]
        return wrong


def tables(path: Path, keys: Keys) -> dict[str, Any]:
    """All rows of the tables that hold what was kept."""
    with closing(connect(path, keys)) as db:
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in ("memories", "log", "texts", "scopes")}


def read_anew(home: Path, keys: Keys) -> dict[str, dict[str, Any]]:
    """By table that a replay of the log makes, how many rows it has and their digest."""
    with closing(connect(home / "minds" / "default" / "store.db", keys)) as db:
        rows = {name: sorted(map(repr, db.execute(f"SELECT * FROM {name}"))) for name in REPLAYED}
    return {
        name: {"rows": len(of), "sha256": hashlib.sha256("\n".join(of).encode()).hexdigest()}
        for name, of in rows.items()
    }


def _compact(line: str) -> str:
    """JSON without the blanks between its parts."""
    return json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":"))


def texts(log: str) -> set[str]:
    """The texts of what `mnemic log` listed, a line each."""
    return {json.loads(line)["text"] for line in log.splitlines()}


@pytest.fixture(params=RELEASES, ids=lambda path: str(path.name))
def left(request: pytest.FixtureRequest, tmp_path: Path, command: Command) -> Left:
    return Left(request.param, tmp_path / "left", command)


def test_the_version_that_is_released_next_has_left_a_folder() -> None:
    assert __version__ in [path.name for path in RELEASES]


def test_its_home_opens_answers_what_was_put_in_and_loses_nothing_that_hooks_left(left: Left) -> None:
    assert left.wrong_answers() == []
    everything = left.run("log", "--scope", "*", "--limit", "200")
    assert [text for text in left.hooked if text not in everything] == [], "the spool was drained"
    assert json.loads(left.run("status"))["capture"]["backlog"]["files"] == 0
    found = left.run("recall", "--scope", "*", left.hooked[0])
    assert left.hooked[0] in found
    assert left.wrong_answers() == [], "opened again, it is the same"


def test_doctor_finds_nothing_wrong_with_it(left: Left) -> None:
    checks = json.loads(left.run("doctor"))["checks"]
    assert [check for check in checks if check["state"] == "wrong"] == []


def test_all_that_is_read_of_it_anew_is_byte_for_byte_what_it_was(left: Left, request: pytest.FixtureRequest) -> None:
    path = GOLDEN / f"{request.node.callspec.id}.json"
    shutil.rmtree(left.home / "minds" / "default" / "spool")  # what it holds would be captured now
    with mnemic.open(left.home, create=False) as mind:
        mind.rebuild(meaning=True)
        until(lambda: not (mind.counts().pending or mind.counts().unbound))
        mind.update_facts()
    found = json.dumps(read_anew(left.home, left.keys()), indent=1) + "\n"
    if os.environ.get("MNEMIC_GOLDEN") == "write":
        path.write_text(found, "utf-8")
    assert found == path.read_text("utf-8")


def test_its_backup_is_restored_by_its_key_and_by_nothing_less(left: Left, tmp_path: Path, command: Command) -> None:
    refused = command("restore", left.backup, "--home", tmp_path / "keyless")
    assert refused.code != 0
    left.run("restore", left.backup, "--key-file", left.key, home=tmp_path / "restored")
    assert left.wrong_answers(tmp_path / "restored") == []


def test_its_export_is_imported(left: Left, tmp_path: Path) -> None:
    left.run("init", home=tmp_path / "new")
    left.run("import", left.export, home=tmp_path / "new")
    listed = ("log", "--scope", "*", "--limit", "200")
    imported = texts(left.run(*listed, home=tmp_path / "new"))
    assert imported
    assert texts(left.run(*listed)) == imported | set(left.hooked)


def test_a_night_says_whose_words_it_holds_and_changes_none_of_them(left: Left) -> None:
    def labels() -> dict[str, tuple[str, str]]:
        lines = left.run("log", "--scope", "*", "--limit", "200").splitlines()
        return {one["id"]: (one["kind"], one["author"]) for one in map(json.loads, lines)}

    left.run("status")  # which takes in what hooks left
    before, said = labels(), texts(left.run("log", "--scope", "*", "--limit", "200"))
    night = json.loads(left.run("sleep", "--stage", "labels"))
    (stage,) = night["stages"]
    assert stage["changes"] == sum(before[id] != label for id, label in labels().items())
    checks = {one["name"]: one["state"] for one in json.loads(left.run("doctor"))["checks"]}
    assert checks["labels"] == "ok"
    assert texts(left.run("log", "--scope", "*", "--limit", "200")) == said
    assert left.wrong_answers() == []


def test_its_store_of_before_is_kept_beside_and_comes_back_by_what_the_page_says(left: Left, tmp_path: Path) -> None:
    mind = left.home / "minds" / "default"
    keys = left.keys()
    with closing(connect(mind / "store.db", keys)) as db:
        schema = int(db.execute("PRAGMA user_version").get)
    if schema == LATEST_SCHEMA:
        pytest.skip("this release has the newest schema")
    before = tables(mind / "store.db", keys)
    left.run("status")
    copy = mind / f"store.schema-{schema}.db"
    assert tables(copy, keys) == before
    (script,) = re.findall(
        r"```sh\n(cd HOME/minds/default\n.*?)```", (ROOT / "docs/upgrade.md").read_text("utf-8"), re.S
    )
    followed = script.replace("HOME", str(left.home)).replace("schema-1", f"schema-{schema}")
    subprocess.run(["sh", "-e", "-c", followed], check=True)
    assert tables(mind / "store.db", keys) == before
    with closing(connect(mind / "store.db", keys)) as db:
        assert check_schema(db, mind / "store.db", known=schema) == schema, "the version of before opens it"
