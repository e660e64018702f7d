"""The service with a real systemd: it takes the units, starts the process when it is asked, and again after a kill.

The manager of a user is started by the test where it may be: as root, in a mount namespace of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.runtime.serve.units import make_service
from tests.processes.faces import COMMAND
from tests.waiting import BOUND_S

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here"),
]

APART = ("unshare", "--mount", "--cgroup")
SYSTEMD = Path("/lib/systemd/systemd")
STRANGE = 'a $home of "50%h" \'x\\n'
_LIVES = """\
set -eu
mount -t tmpfs none /run/systemd && mkdir /run/systemd/system  # by this systemd is known to run
mount -t cgroup2 none /sys/fs/cgroup
mnemic() { "$PYTHON" -P -m mnemic "$@" --home "$MINE"; }
pid() { sed -n 's/^ "pid": \\(.*\\),$/\\1/p' "$MINE/run/serve.json" 2>/dev/null || true; }
"$SYSTEMD" --user >"$HOME/systemd.log" 2>&1 &
manager=$!
trap 'kill $manager; wait $manager || true' EXIT
for _ in $(seq 100); do systemctl --user is-system-running >/dev/null 2>&1 && break; sleep 0.1; done
mnemic service install --apply
mnemic service install | tail -1
test -S "$MINE/run/service.sock"
test -z "$(pid)"; echo "nothing runs yet"
"$PYTHON" -P -m mnemic serve --on-demand --home "$MINE"
first=$(pid)
systemctl --user show --property=MainPID --value "$NAME.service" | grep -qx "$first"; echo "systemd started it"
mnemic service status
grep -q " .engine.: .$ENGINE" "$MINE/run/serve.json"; echo "on the engine of the settings"
kill -9 "$first"
for _ in $(seq 600); do now=$(pid); test -n "$now" && test "$now" != "$first" && break; sleep 0.1; done
test "$now" != "$first"; echo "it was started again"
mnemic uninstall --yes
test ! -S "$MINE/run/service.sock"
! kill -0 "$now" 2>/dev/null; echo "it is gone"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as made:
        yield Path(made)


@pytest.mark.parametrize("name", ["home", STRANGE, "d" * 120])
def test_systemd_finds_nothing_wrong_with_the_units_of_any_home(folder: Path, name: str) -> None:
    user = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "PATH": os.environ["PATH"]}
    service = make_service(folder / name, user)
    for file in service.files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_bytes(file.content)
    for file in service.files:
        command = ["systemd-analyze", "--user", "--man=no", "verify", str(file.path)]
        done = subprocess.run(command, env=user, capture_output=True, text=True, check=False, timeout=BOUND_S)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(os.geteuid() != 0 or not SYSTEMD.exists(), reason="only root may start a manager")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="no namespace can be made here")
@pytest.mark.parametrize("engine", ["embedded", "ray"])
def test_systemd_starts_the_process_when_it_is_asked_for_and_again_after_a_kill(folder: Path, engine: str) -> None:
    mine = folder / "my $home 50%h"
    mine.mkdir()
    (mine / "mnemic.toml").write_text(f'[runtime]\nengine = "{engine}"\n', "utf-8")
    environment = {
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        "MINE": str(mine),
        "ENGINE": engine,
        "NAME": make_service(mine, {"HOME": str(folder)}).name,
        "PYTHON": COMMAND[0],
        "SYSTEMD": str(SYSTEMD),
        "PATH": os.environ["PATH"],
        "COLUMNS": "200",
    }
    if subprocess.run([*APART, "mount", "-t", "tmpfs", "none", "/run/systemd"], check=False).returncode:
        pytest.skip("no mount namespace can be made here")
    command = [*APART, "bash", "-c", _LIVES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=4 * BOUND_S)
    log = folder / "systemd.log"
    assert done.returncode == 0, (done.stdout, done.stderr, log.exists() and log.read_text("utf-8"))
    said = done.stdout.splitlines()
    told = ("nothing runs yet", "systemd started it", "on the engine of the settings", "it was started again")
    at = [said.index(line) for line in (*told, "it is gone")]
    assert at == sorted(at)
    assert "nothing to do: it is all there already" in said
    assert f"systemd has it, and it starts {sys.executable}" in said
