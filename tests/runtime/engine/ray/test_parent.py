"""The parent: brings its child back, leaves nothing of it, ends with it, and says why."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemic.runtime.engine.ray.parent import ENGINE_LOST
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo
from tests.processes.serving import gone
from tests.waiting import BOUND_S, until

PARENT = """
    import socket, sys
    from pathlib import Path
    from mnemic.actors.kernel.errors import MnemicError
    from mnemic.runtime.engine.actor_health import RestartPolicy
    from mnemic.runtime.engine.ray import parent
    from mnemic.runtime.clock import SystemClock
    from mnemic.runtime.minds.run_dir import RunDir, ServerInfo, process_start_time
    import os
    run_dir = RunDir(Path(sys.argv[1]))
    assert run_dir.acquire_server_lock()
    folder, http, mcp = run_dir.bind_sockets()
    info = ServerInfo(protocol=1, pid=os.getpid(), started=process_start_time(os.getpid()), folder=folder, engine="ray")
    run_dir.publish(info)
    parent._POLICY = RestartPolicy(failures=4, first_delay_s=0.0, longest_delay_s=0.0)
    parent._STOP_S = float(sys.argv[3])
    try:
        told = lambda: print("a child answers", flush=True)
        release = lambda: Path(sys.argv[1], "waits").unlink(missing_ok=True)
        code = parent.DriverParent(run_dir, info, SystemClock(), 1, told, release).run(
            lambda numbers: [sys.executable, "-c", sys.argv[2], sys.argv[1], ",".join(map(str, numbers))], [http, mcp]
        )
    except MnemicError as error:
        print(error)
        code = 5
    finally:
        run_dir.unpublish()
        run_dir.release_server_lock()
    sys.exit(code)
"""
CHILD = """
    import json, os, signal, subprocess, sys, threading, time
    from pathlib import Path
    from mnemic.runtime.minds.run_dir import RunDir
    import msgspec
    home, numbers = Path(sys.argv[1]), [int(one) for one in sys.argv[2].split(",")]
    run_dir = RunDir(home)
    lives = home / "lives"
    with lives.open("a") as file:
        file.write(f"{os.getpid()}\\n")
    life = len(lives.read_text().split())
    def say(state, cause=""):
        run_dir.publish(msgspec.structs.replace(run_dir.read_info(), state=state, cause=cause))
"""


@contextmanager
def parent_of(home: Path, child: str, stop_s: float = 10.0) -> Iterator[subprocess.Popen[str]]:
    """A parent whose children do so."""
    given = [textwrap.dedent(PARENT), str(home), textwrap.dedent(CHILD) + textwrap.dedent(child), str(stop_s)]
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", given[0], *given[1:]], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            for pid in lives(home):
                if not gone(pid):
                    os.kill(pid, signal.SIGKILL)


def lives(home: Path) -> list[int]:
    """Process ids of all the children so far."""
    path = home / "lives"
    return [int(line) for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []


def ready(home: Path, life: int) -> ServerInfo:
    """Wait until the child of that number is ready."""
    found: list[ServerInfo] = []

    def there() -> bool:
        info = RunDir(home).read_info()
        found[:] = [] if info is None else [info]
        return len(lives(home)) == life and info is not None and info.state == "ready"

    until(there)
    return found[0]


def test_it_says_once_that_a_child_answers_and_not_before(tmp_path: Path) -> None:
    child = """
        until = lambda path: [time.sleep(0.01) for _ in iter(lambda: path.exists(), True)]
        if life == 1:
            until(home / "go")
        say("ready")
        signal.pause()
    """
    with parent_of(tmp_path, child) as parent:
        assert parent.stdout is not None
        until(lambda: len(lives(tmp_path)) == 1)
        assert not select.select([parent.stdout], [], [], 0.2)[0]
        (tmp_path / "go").touch()
        ready(tmp_path, 1)
        assert parent.stdout.readline() == "a child answers\n"
        os.kill(lives(tmp_path)[-1], signal.SIGKILL)
        ready(tmp_path, 2)
        parent.terminate()
        assert parent.communicate(timeout=BOUND_S)[0] == ""


def test_as_long_as_a_child_serves_those_are_let_go_who_wait_at_the_services_socket(tmp_path: Path) -> None:
    with parent_of(tmp_path, 'say("ready"); signal.pause()') as parent:
        ready(tmp_path, 1)
        for _ in range(2):  # not once alone
            (tmp_path / "waits").touch()
            until(lambda: not (tmp_path / "waits").exists())
        parent.terminate()
        parent.communicate(timeout=BOUND_S)


def test_a_child_that_is_killed_comes_back_and_the_info_file_says_how_often_and_why(tmp_path: Path) -> None:
    with parent_of(tmp_path, 'say("ready", run_dir.read_info().cause); signal.pause()') as parent:
        for life in (1, 2):
            ready(tmp_path, life)
            os.kill(lives(tmp_path)[-1], signal.SIGKILL)
        info = ready(tmp_path, 3)
        assert (info.pid, info.restarts, info.cause) == (parent.pid, 2, "killed by signal 9")


def test_a_child_that_lost_its_engine_says_why_itself(tmp_path: Path) -> None:
    child = f"""
        if life == 1:
            say("restarting", "process 7 of Ray died")
            sys.exit({ENGINE_LOST})
        say("ready", run_dir.read_info().cause)
        signal.pause()
    """
    with parent_of(tmp_path, child):
        info = ready(tmp_path, 2)
        assert (info.restarts, info.cause) == (1, "process 7 of Ray died")


def test_nothing_of_a_childs_session_outlives_it(tmp_path: Path) -> None:
    child = """
        helper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        (home / f"helper{life}").write_text(str(helper.pid))
        say("ready")
        os.kill(os.getpid(), signal.SIGKILL) if life == 1 else signal.pause()
    """
    with parent_of(tmp_path, child):
        ready(tmp_path, 2)
        assert gone(int((tmp_path / "helper1").read_text("utf-8")))
        second = int((tmp_path / "helper2").read_text("utf-8"))
        assert not gone(second)
    os.kill(second, signal.SIGKILL)  # its parent was killed, and could not


def test_a_first_child_that_never_gets_ready_is_not_started_again(tmp_path: Path) -> None:
    with parent_of(tmp_path, "sys.exit(3)") as parent:  # as a command does that has said why
        assert parent.communicate(timeout=BOUND_S)[0] == ""
        assert parent.returncode == 3
        assert len(lives(tmp_path)) == 1
    assert RunDir(tmp_path).read_info() is None


def test_a_first_child_that_ends_without_a_word_is_told_for_it(tmp_path: Path) -> None:
    with parent_of(tmp_path, "sys.exit(1)") as parent:
        assert "ended before it was ready: exit code 1" in parent.communicate(timeout=BOUND_S)[0]
        assert parent.returncode == 5
        assert len(lives(tmp_path)) == 1


def test_one_that_ends_too_often_is_given_up_in_one_sentence(tmp_path: Path) -> None:
    with parent_of(tmp_path, 'say("ready"); sys.exit(9)') as parent:
        said = parent.communicate(timeout=BOUND_S)[0]
        assert parent.returncode == 5
        assert len(lives(tmp_path)) == 4
    *before, last = said.splitlines()  # a slow machine may have seen a child answer before it ended
    assert before in ([], ["a child answers"])
    assert "ended 4 times, at last because: exit code 9" in last


def test_a_child_that_leaves_by_itself_takes_the_parent_with_it(tmp_path: Path) -> None:
    with parent_of(tmp_path, 'say("ready"); sys.exit(0)') as parent:
        assert parent.wait(BOUND_S) == 0
        assert len(lives(tmp_path)) == 1


def test_a_child_that_fails_while_it_leaves_is_not_brought_back(tmp_path: Path) -> None:
    with parent_of(tmp_path, 'say("ready"); run_dir.unpublish(); sys.exit(1)') as parent:
        assert parent.wait(BOUND_S) == 1
        assert len(lives(tmp_path)) == 1


def test_signals_are_passed_on_and_the_end_is_the_childs(tmp_path: Path) -> None:
    child = """
        def leave(*_):
            (home / "left").write_text("")
            sys.exit(0)
        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGHUP, lambda *_: (home / "reloaded").write_text(""))
        say("ready")
        while True:
            signal.pause()
    """
    with parent_of(tmp_path, child) as parent:
        ready(tmp_path, 1)
        parent.send_signal(signal.SIGHUP)
        until((tmp_path / "reloaded").exists)
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(BOUND_S) == 0
    assert (tmp_path / "left").exists()


def test_a_child_that_ends_is_not_told_to_a_second_time(tmp_path: Path) -> None:
    child = """
        def leave(*_):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as Python itself does when it ends
            (home / "leaving").write_text("")
            until = lambda path: [time.sleep(0.01) for _ in iter(lambda: path.exists(), True)]
            until(home / "told twice")
            sys.exit(0)
        signal.signal(signal.SIGTERM, leave)
        say("ready")
        while True:
            signal.pause()
    """
    with parent_of(tmp_path, child) as parent:
        ready(tmp_path, 1)
        parent.send_signal(signal.SIGTERM)
        until((tmp_path / "leaving").exists)
        parent.send_signal(signal.SIGINT)  # somebody is in a hurry
        until(lambda: not pending(parent.pid))
        (tmp_path / "told twice").write_text("")
        assert parent.wait(BOUND_S) == 0


def pending(pid: int) -> bool:
    """Whether a signal waits for a process to take it."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return any(int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd")))


def test_a_child_that_hears_no_signal_is_killed(tmp_path: Path) -> None:
    child = 'signal.signal(signal.SIGTERM, signal.SIG_IGN); say("ready"); time.sleep(600)'
    with parent_of(tmp_path, child, stop_s=0.2) as parent:
        ready(tmp_path, 1)
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(BOUND_S) == 1
        assert gone(lives(tmp_path)[0])


def test_told_to_leave_before_it_is_ready_it_leaves_in_order(tmp_path: Path) -> None:
    child = """
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))
        (home / "begun").write_text("")
        while True:
            signal.pause()
    """
    with parent_of(tmp_path, child) as parent:
        until((tmp_path / "begun").exists)
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(BOUND_S) == 0


def test_the_child_learns_that_its_parent_is_gone(tmp_path: Path) -> None:
    with parent_of(tmp_path, 'say("ready"); os.read(numbers[-1], 1)') as parent:
        ready(tmp_path, 1)
        parent.kill()
        until(lambda: gone(lives(tmp_path)[0]))


def test_sockets_are_the_childs_too_and_nothing_else_is(tmp_path: Path) -> None:
    child = """
        (home / "open").write_text(json.dumps([os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
            if int(n) > 2 and os.path.exists(f"/proc/self/fd/{n}") or n in map(str, numbers)]))
        say("ready")
        signal.pause()
    """
    with parent_of(tmp_path, child):
        ready(tmp_path, 1)
    files = json.loads((tmp_path / "open").read_text("utf-8"))
    assert sorted(name.partition(":")[0] for name in files) == ["pipe", "socket", "socket"]
