"""A restore, import, backup or export that is killed at any moment leaves the old state or the new one, whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mnemic
from tests.runtime.building import ROOT

KILLED = -9

# One process that has loaded everything forks a child for each step: the child is killed before its nth call that
# changes what is on the disk, and another child says what is there then.
SCRIPT = """
import json, os, shutil, signal, sys
from pathlib import Path

import mnemic
import mnemic.compose, mnemic.runtime.api.restore, mnemic.runtime.api.verbs, sqlite_vec, numpy
import mnemic.runtime.transfer.backup, mnemic.runtime.transfer.export, mnemic.runtime.transfer.import_memories
import mnemic.runtime.store.store
from mnemic.runtime.api.restore import restore

what, before, place = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
CALLS = ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync", "fchmod", "link")


def arm(left):
    def dying(call):
        def do(*given, **named):
            nonlocal left
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return call(*given, **named)
        return do
    for name in CALLS:
        setattr(os, name, dying(getattr(os, name)))


def act(home):
    if what == "restore":
        restore(before / "kept", home, replace=True)
    elif what == "make":
        restore(before / "kept", home, "another", key_file=home / "minds" / "default" / "key")
    else:
        with mnemic.open(home) as mind:
            arm(step)
            if what == "import":
                mind.import_from(before / "exported")
            elif what == "backup":
                mind.backup(home / "out", replace=True)
            else:
                mind.export(home / "out")
            os._exit(0)


def state(home):
    name = "another" if what == "make" else "default"
    if what == "make" and not (home / "minds" / name).exists():
        return None
    if what == "backup":
        restore(home / "out", home / "opened", key_file=home / "minds" / "default" / "key")
        home = home / "opened"
    if what == "export":
        if not (home / "out").exists():
            return None
        with mnemic.open(home, "fresh") as mind:
            mind.import_from(home / "out")
        name = "fresh"
    with mnemic.open(home, name) as mind:
        found = sorted(hit.text for hit in mind.recall("otter", 100, observe=False).hits)
        mind.remember("it goes on being written to")
    return found


def child(do):
    here, there = os.pipe()
    number = os.fork()
    if not number:
        try:
            os.write(there, json.dumps(do()).encode())
            os._exit(0)
        except BaseException as error:
            os.write(there, json.dumps(f"{type(error).__name__}: {error}").encode())
            os._exit(1)
    os.close(there)
    with os.fdopen(here, "rb") as said:
        told = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), json.loads(told or b"null")


for step in range(0, 200, int(sys.argv[4])):
    home = place / str(step)
    shutil.copytree(before / "home", home)
    if what == "export":
        (home / "out").unlink()
    if what not in ("restore", "make"):
        ended = child(lambda: act(home))
    else:
        ended = child(lambda: (arm(step), act(home)) and None)
    print(json.dumps([ended, child(lambda: state(home))]), flush=True)
    shutil.rmtree(home)
    if ended[0] != -signal.SIGKILL:
        break
"""

OLD = ["otter now"]
NEW = {
    "restore": ["otter then"],
    "make": ["otter then"],
    "import": ["otter now", "otter then"],
    "backup": ["otter now"],
    "export": ["otter now"],
}
STRIDES = {"make": 3, "export": 4}
"""Steps from one kill to the next; these two only write beside, and then rename."""
SAMPLE = 12
"""So much longer they are where only a sample of the kills is tried."""
BEFORE: dict[str, Any] = {"make": None, "export": None, "backup": ["otter then"]}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds one thing, and a backup and an export of it as it held another one."""
    place = tmp_path_factory.mktemp("before")
    home = place / "home"
    home.mkdir(mode=0o700)
    (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{place / "no model"}"\n', "utf-8")
    with mnemic.open(home) as mind:
        empty = mind.backup(place / "empty")
        assert empty.memories == 0
        mind.remember("otter then")
        mind.backup(place / "kept")
        mind.backup(home / "out")
        mind.export(place / "exported")
        mind.restore(place / "empty", replace=True)
        mind.remember("otter now")
    return place


@pytest.mark.parametrize(
    ("what", "stride"),
    [("restore", SAMPLE), ("import", SAMPLE), *(pytest.param(what, 1, marks=pytest.mark.system) for what in NEW)],
)
def test_killed_at_any_moment_it_leaves_the_old_state_or_the_new_one_whole(
    before: Path, tmp_path: Path, what: str, stride: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, what, before, tmp_path, str(stride * STRIDES.get(what, 1))],
        capture_output=True,
        check=False,
        cwd=ROOT,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    old, new = BEFORE.get(what, OLD), NEW[what]
    for (code, said), (looked, found) in steps:
        assert code in (KILLED, 0), said
        assert (looked, found in (old, new)) == (0, True), found
    assert steps[-1] == [[0, None], [0, new]]
    assert len(steps) > (4 if stride == 1 else 1)
    assert steps[0][1][1] == old
