"""A mind for oneself: the home's process lets go of it, others wait, and whoever comes then finds the new files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mnemic
from mnemic.actors.kernel.errors import MindMissing, StoreBusy
from mnemic.open_mind import open_served
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.api.verbs import exclusive_mind
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.files.atomic_replace import atomic_replace, lock_exclusive
from mnemic.runtime.minds.homes import MindFolder
from mnemic.runtime.store.schema import connect, copy_database
from tests.processes.hosted import Hosted, hosted
from tests.processes.serving import gone, ready, serving
from tests.waiting import until

CLOCK = SystemClock()

HOLD = """
import sys
from pathlib import Path
from mnemic.runtime.api.verbs import exclusive_mind
from mnemic.runtime.clock import SystemClock
with exclusive_mind(Path(sys.argv[1]), "default", SystemClock()):
    print("held", flush=True)
    sys.stdin.read()
"""


def served(home: Path) -> Mind:
    mind = open_served(home, "default", CLOCK, create=True)
    assert mind is not None
    return mind


@pytest.mark.system
def test_a_store_is_replaced_beneath_a_process_that_serves_it(home: Path) -> None:
    with mnemic.open(home) as mind:
        first = mind.remember("the first").id
    keep = home / "kept.db"
    with exclusive_mind(home, "default", CLOCK) as folder:
        (home / "kept.db").write_bytes(folder.store.read_bytes())
    with serving(home), served(home) as mind:
        process = ready(home).pid
        mind.remember("the second")
        assert mind.counts().memories == 2
        with exclusive_mind(home, "default", CLOCK) as folder, atomic_replace(folder.path) as draft:
            (draft.path / "store.db").write_bytes(keep.read_bytes())
        assert mind.counts().memories == 1
        assert [hit.id for hit in mind.recall("the second first").hits] == [first]
        assert ready(home).pid == process


def test_a_mind_opened_in_this_process_is_closed_meanwhile_and_open_again_afterwards(home: Path) -> None:
    with mnemic.open(home) as mind:
        mind.remember("kept")
        with mind._exclusive_mind() as folder:
            assert isinstance(folder, MindFolder)
            with pytest.raises(StoreBusy), lock_exclusive(folder.path, 0.0):
                pytest.fail("it is held")
        assert [hit.data for hit in mind.recall("kept").hits] == [b"kept"]


def test_whoever_has_the_store_open_keeps_others_from_replacing_it(home: Path) -> None:
    with mnemic.open(home):
        pass
    from mnemic.runtime.minds.homes import open_mind

    folder, keys = open_mind(home, "default")
    connection = connect(folder.store, keys)
    try:
        with pytest.raises(StoreBusy), lock_exclusive(folder.path, 0.0):
            pytest.fail("it is open")
        copy_database(connection, home / "copy.db", keys)
    finally:
        connection.close()
    with lock_exclusive(folder.path, 0.0):
        pass


@pytest.mark.system
def test_a_command_that_is_killed_while_it_holds_a_mind_lets_go_of_it(home: Path) -> None:
    with mnemic.open(home) as mind:
        mind.remember("kept")
    with serving(home), served(home) as mind:
        ready(home)
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as holding:
            assert holding.stdout is not None
            assert holding.stdout.readline() == b"held\n"
            os.kill(holding.pid, signal.SIGKILL)
            until(lambda: gone(holding.pid))
            assert mind.counts().memories == 1


def test_a_mind_that_is_not_there_cannot_be_had(home: Path) -> None:
    with pytest.raises(MindMissing), exclusive_mind(home, "none", CLOCK):
        pytest.fail("there is none")


def test_letting_go_is_refused_in_words_where_the_mind_is_in_use(home: Path) -> None:
    class Used:
        """Minds that somebody uses for longer than anybody waits."""

        def release_mind(self, name: str, timeout_s: float) -> None:
            raise StoreBusy(path=name, waited_s=timeout_s)

    faces: Hosted
    with hosted(home) as faces:
        faces.minds.release_mind = Used().release_mind
        answer = faces.request("POST", "/api/let-go", b"", {"Mnemic-Mind": "default"})
        assert answer.json["error"]["code"] == "store_busy"
