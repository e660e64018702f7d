"""What the doctor sees of a home's process, of its actors and of what a dead one left, and what it does about it."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from mnemic.actors.kernel.errors import ActorFailed, NotServed
from mnemic.actors.meaning.embedder import EmbedderActor
from mnemic.actors.meaning.messages import EmbedPending
from mnemic.actors.sleep.messages import NightReport
from mnemic.actors.store.messages import Committed
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.doctor import home as home_checks
from mnemic.runtime.doctor import mind as mind_checks
from mnemic.runtime.doctor import process as process_checks
from mnemic.runtime.doctor.checks import Check, Target
from mnemic.runtime.doctor.doctor import RepairResult, examine, repair
from mnemic.runtime.engine.reports import ActorHealth, ActorSystemReport, DeadLetter
from mnemic.runtime.keys.keys import write_private
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo, process_start_time
from mnemic.runtime.store.schema import connect
from mnemic.runtime.store.store import Store
from mnemic.runtime.version import __version__
from tests.built import added
from tests.clocks import ManualClock
from tests.processes.faces import finish, run, start
from tests.processes.hosted import Hosted, OpenMinds, hosted
from tests.runtime.building import add_encoder, apply, vectors
from tests.runtime.targets import target_of
from tests.waiting import BOUND_S, until


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is there."""
    there = SimpleNamespace(implementation="test", model="0")
    monkeypatch.setattr(home_checks, "encoder_from_settings", lambda settings: there)


def look(home: Path) -> dict[str, Check]:
    """The checks by name."""
    checks = examine(target_of(home))
    for check in checks:
        assert bool(check.remedy) == (check.state != "ok"), "what is not well has a remedy"
        assert "\n" not in check.detail
    return {check.name: check for check in checks}


def mend(home: Path) -> dict[str, RepairResult]:
    """What was mended, by name."""
    target = target_of(home)
    return {one.name: one for one in repair(target, examine(target))}


def info_of(home: Path, **fields: Any) -> ServerInfo:
    """An info file of this very process."""
    given: dict[str, Any] = {
        "protocol": PROTOCOL,
        "version": __version__,
        "pid": os.getpid(),
        "started": process_start_time(os.getpid()),
        "engine": "embedded",
        "mode": "foreground",
        "folder": str(home / "run"),
        "state": "ready",
    }
    return ServerInfo(**(given | fields))


@pytest.fixture
def run_dir(home: Path) -> Iterator[RunDir]:
    """The run folder of a home with a mind; whoever takes it lets go at the end."""
    create_mind(home, "default", SystemClock())
    place = RunDir(home)
    place.prepare()
    yield place
    place.release_server_lock()


@contextmanager
def serve(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that serves a home in the foreground, and answers."""
    process = start("serve", "--engine", "embedded", "--home", home)

    def ready() -> bool:
        assert process.poll() is None
        info = RunDir(home).read_info()
        return info is not None and info.state == "ready"

    try:
        until(ready)
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        finish(process)


# --- the process -----------------------------------------------------------------------------------------------------


def test_a_home_that_nobody_serves_is_well(home: Path) -> None:
    assert look(home)["process"].detail == "none serves this home; one is started when it is needed"
    assert not (home / "run").exists()


@pytest.mark.system
def test_a_process_that_serves_is_shown_and_goes_on_whatever_is_mended(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = create_mind(home, "default", SystemClock())
    with serve(home) as process:
        seen = look(home)
        assert seen["process"].detail.startswith(f"process {process.pid}, foreground, embedded engine, ready, Mnemic ")
        for name in ("process", "actors", "night", "permissions", "meaning"):
            assert seen[name].state == "ok", seen[name]

        sockets = [home / "run" / "http.sock", home / "run" / "mcp.sock", home / "run" / "serve.json"]
        for path in sockets:
            path.chmod(0o666)
        assert "and 2 more" in look(home)["permissions"].detail
        assert mend(home)["permissions"].succeeded
        assert [stat.S_IMODE(path.stat().st_mode) for path in sockets] == [0o600] * 3

        with closing(connect(folder.store, open_mind(home, "default")[1])) as db:
            db.execute("UPDATE term_totals SET checksum = checksum + 1")
        told = run("doctor", "--repair", "--home", home, "--json").json
        assert "words" in told["repaired"]
        assert look(home)["process"].detail.startswith(f"process {process.pid}, "), "it did the work, and stays"

        before = (home / "mnemic.toml").read_text("utf-8")
        (home / "mnemic.toml").write_text("nonsense", "utf-8")
        process.send_signal(signal.SIGHUP)
        until(lambda: look(home)["process"].state == "advice")
        assert "the settings were not reloaded" in look(home)["process"].detail
        (home / "mnemic.toml").write_text(before, "utf-8")

        monkeypatch.setattr(process_checks, "_PATIENCE_S", 0.3)
        process.send_signal(signal.SIGSTOP)
        seen = look(home)
        assert (seen["process"].state, seen["process"].repairable) == ("wrong", False)
        assert seen["process"].detail == f"process {process.pid} has said nothing for 0.3 s"
        assert "actors" not in seen
        assert mend(home) == {}

        process.kill()
        finish(process)
        check = look(home)["process"]
        assert (check.state, check.repairable) == ("wrong", True)
        assert check.detail == f"process {process.pid} is gone and left its info file"
        assert mend(home)["process"].succeeded
        assert not any(path.exists() for path in sockets)
        assert look(home)["process"].state == "ok"


def test_sockets_without_a_info_file_and_a_info_file_that_cannot_be_read_are_cleared(
    home: Path, run_dir: RunDir
) -> None:
    for path in (run_dir.folder / "mcp.sock", run_dir.info_path):
        path.touch(0o600)
        check = look(home)["process"]
        assert (check.state, check.repairable) == ("wrong", True)
        assert mend(home)["process"].detail == f"cleared what a dead process left ({path.name})"
        assert not path.exists()


def test_a_socket_at_which_nobody_answers_is_cleared_only_where_nobody_holds_the_lock(
    home: Path, run_dir: RunDir
) -> None:
    run_dir.publish(info_of(home))
    assert (look(home)["process"].state, look(home)["process"].repairable) == ("wrong", True)
    holder = RunDir(home)
    held = holder.acquire_lock("serve.lock")
    assert held is not None
    try:
        check = look(home)["process"]
        assert (check.state, check.repairable) == ("wrong", False)
        assert check.remedy == f"End it: kill {os.getpid()}; the next command starts another one."
        with pytest.raises(NotServed):
            process_checks.remove_stale_files(target_of(home))
        assert run_dir.info_path.exists()
    finally:
        os.close(held)
    assert mend(home)["process"].succeeded
    assert not run_dir.info_path.exists()


def test_a_process_that_is_just_starting_is_left_alone(home: Path, run_dir: RunDir) -> None:
    assert run_dir.acquire_server_lock()
    assert look(home)["process"].detail == "a process is just starting or leaving"
    run_dir.publish(info_of(home, pid=2**22 + 1, started="1.00"))
    assert look(home)["process"].state == "ok"


def opened_for_a_reader(pipe: Path) -> int:
    """A named pipe's end to write to, once somebody has opened the other one."""
    found: list[int] = []

    def read() -> bool:
        try:
            found.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        return bool(found)

    until(read)
    return found[0]


@pytest.mark.system
def test_a_process_that_starts_is_well_until_it_takes_too_long(home: Path, tmp_path: Path) -> None:
    create_mind(home, "default", SystemClock())
    settings, held, good = home / "mnemic.toml", tmp_path / "held", tmp_path / "good"
    settings.rename(good)
    os.mkfifo(held)
    os.link(held, settings)
    process = start("serve", "--engine", "embedded", "--home", home)
    try:
        held.write_bytes(
            good.read_bytes()
        )  # it reads its settings once before it writes its info file, and once after it
        until(lambda: process.poll() is not None or RunDir(home).read_info() is not None)
        writing = opened_for_a_reader(held)  # it waits for them now, until this is closed
        shutil.copy(good, tmp_path / "copy")
        (tmp_path / "copy").replace(settings)
        check = look(home)["process"]
        assert (check.state, check.detail) == ("ok", f"process {process.pid}, foreground, embedded engine, is starting")
        later = ManualClock(SystemClock().now_us() + 150_000_000)
        (check,) = process_checks.check_process(target_of(home, clock=later))
        assert (check.state, check.repairable) == ("wrong", False)
        assert check.detail == f"process {process.pid} was started more than 120 s ago, and is not ready"
        os.write(writing, good.read_bytes())
        os.close(writing)
        until(lambda: process.poll() is not None or look(home)["process"].detail.find("engine, ready") > 0)
        assert process.poll() is None
    finally:
        process.kill()
        finish(process)


@pytest.mark.parametrize(("protocol", "state"), [(PROTOCOL - 1, "advice"), (PROTOCOL + 1, "wrong")])
def test_a_process_of_another_protocol_is_named(home: Path, run_dir: RunDir, protocol: int, state: str) -> None:
    run_dir.publish(info_of(home, protocol=protocol))
    check = look(home)["process"]
    assert (check.state, check.repairable) == (state, False)
    assert f"speaks protocol {protocol}, this command {PROTOCOL}" in check.detail


def test_a_process_of_another_version_that_is_understood_is_named_with_one_remedy(home: Path, run_dir: RunDir) -> None:
    for mode, again in (("on-demand", "; the next command starts this one."), ("foreground", "serve` again.")):
        with hosted(home) as running:
            run_dir.publish(info_of(home, version="0.1.9", mode=mode, folder=str(running.http.parent)))
            check = look(home)["process"]
        assert check.state == "advice"
        assert f"Mnemic 0.1.9; this command is Mnemic {__version__}" in check.detail
        assert f"kill {os.getpid()}" in check.remedy
        assert check.remedy.endswith(again)


def test_an_engine_that_is_brought_back_is_wrong_and_one_that_was_is_advice(home: Path, run_dir: RunDir) -> None:
    run_dir.publish(info_of(home, state="restarting", restarts=2, cause="process 7 of Ray died"))
    seen = look(home)
    assert seen["process"].state == "wrong"
    assert "is bringing its engine back (restart 2: process 7 of Ray died)" in seen["process"].detail
    assert "actors" not in seen
    with hosted(home) as faces:
        run_dir.publish(info_of(home, folder=str(faces.http.parent), restarts=1, cause="process 7 of Ray died"))
        check = look(home)["process"]
    assert check.state == "advice"
    assert check.detail.endswith("; its engine was brought back 1 time, last because: process 7 of Ray died")


def test_a_process_that_is_leaving_is_well(home: Path, run_dir: RunDir) -> None:
    with hosted(home) as faces:
        run_dir.publish(info_of(home, folder=str(faces.http.parent)))
        faces.server_control.state = "draining"
        seen = look(home)
    assert seen["process"].detail == f"process {os.getpid()} is leaving"


def test_sockets_that_lie_elsewhere_are_to_be_the_users_alone_too(home: Path, run_dir: RunDir, tmp_path: Path) -> None:
    elsewhere = tmp_path / "short"
    elsewhere.mkdir(mode=0o755)
    (elsewhere / "http.sock").touch(0o644)
    run_dir.publish(info_of(home, folder=str(elsewhere)))
    assert f"{elsewhere} has mode 0755, and 1 more" in look(home)["permissions"].detail
    assert mend(home)["permissions"].succeeded
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700


# --- the engine ------------------------------------------------------------------------------------------------------


def test_a_ray_that_a_dead_process_left_is_ended_and_one_that_serves_is_not(home: Path, run_dir: RunDir) -> None:
    place = Path(tempfile.mkdtemp(prefix="mnemic-ray-", dir="/tmp"))
    left = subprocess.Popen([sys.executable, "-c", "input()", f"{place}/r/session"], stdin=subprocess.PIPE)
    living = run_dir.folder / f"ray-{os.getpid()}-{process_start_time(os.getpid())}-x"
    write_private(living, os.fsencode(place))
    try:
        assert look(home)["engine"].state == "ok"
        process_checks.end_ray(target_of(home))
        assert place.exists()
        living.rename(run_dir.folder / f"ray-{os.getpid()}-1-x")
        check = look(home)["engine"]
        assert (check.state, check.repairable) == ("wrong", True)
        assert mend(home)["engine"].succeeded
        left.wait(BOUND_S)
        assert not place.exists()
        assert look(home)["engine"].state == "ok"
    finally:
        left.kill()
        left.communicate()


def test_a_missing_ray_is_wrong_only_where_the_settings_name_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("ray") is not None:
        assert look(home)["engine"].detail.startswith("embedded, as the settings name it (Ray: 2.")
    monkeypatch.setitem(sys.modules, "ray", None)
    check = look(home)["engine"]
    assert (check.state, check.detail) == ("ok", "embedded, as the settings name it (Ray: not installed)")
    (home / "mnemic.toml").write_text('[runtime]\nengine = "ray"\n', "utf-8")
    check = look(home)["engine"]
    assert (check.state, check.remedy.partition("`")[0]) == ("wrong", "Install it with ")
    (home / "mnemic.toml").write_text("[runtime]\nengine = 3\n", "utf-8")
    assert look(home)["engine"].state == "advice", "what is wrong in them is said once"


def test_an_engine_that_serves_and_is_not_the_one_of_the_settings_is_named(home: Path, run_dir: RunDir) -> None:
    run_dir.publish(info_of(home, engine="ray"))
    told = f"embedded, as the settings name it; process {os.getpid()} serves on ray"
    assert look(home)["engine"].detail.startswith(told)


# --- actors ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def faces(home: Path, run_dir: RunDir) -> Iterator[Hosted]:
    """Real faces over real actors, in this process, whose info file is there."""
    minds = OpenMinds(home)
    with hosted(home, minds=minds) as running:
        run_dir.publish(info_of(home, folder=str(running.http.parent)))
        yield running
    minds.close()


def test_a_quarantined_actor_is_named_and_made_anew_and_gets_its_letters(
    home: Path, faces: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, message: object, context: object) -> None:
        raise ZeroDivisionError("with a text")

    with faces.minds.use("default", False) as mind, monkeypatch.context() as patch:
        patch.setattr(EmbedderActor, "handle", fail)
        with pytest.raises(ActorFailed):
            mind.actor_system.ask(EmbedPending())
        seen = look(home)["actors"]
        assert seen.state == "advice"
        assert seen.detail.startswith("embedder failed 1 time, last: ZeroDivisionError at ")
        while not any(actor.quarantined for actor in mind.actor_system.report().actors):
            with pytest.raises(ActorFailed):
                mind.actor_system.ask(EmbedPending())
        mind.actor_system.tell(Committed(seq=1))
        until(lambda: bool(mind.actor_system.report().last_dead_letters))
    seen = look(home)
    assert (seen["actors"].state, seen["actors"].repairable) == ("wrong", True)
    assert "embedder was set aside after 5 failures: ZeroDivisionError at " in seen["actors"].detail
    assert "with a text" not in seen["actors"].detail
    assert (seen["letters"].state, seen["letters"].repairable) == ("advice", True)
    assert "the last Committed for embedder (quarantined)" in seen["letters"].detail
    mended = mend(home)
    assert mended["actors"].detail == "released embedder"
    assert mended["letters"].detail == "sent 1 message again"
    after = look(home)
    assert after["actors"].state == "advice", "it failed, and works"
    assert "Committed" not in after["letters"].detail


def test_a_process_that_cannot_open_the_mind_is_said(home: Path, run_dir: RunDir) -> None:
    class NoMinds:
        def use(self, name: str, create: bool) -> Any:
            raise NotServed(home="h", why="it cannot", log="the log")

    with hosted(home, minds=NoMinds()) as running:
        run_dir.publish(info_of(home, folder=str(running.http.parent)))
        seen = look(home)
    assert seen["process"].state == "ok"
    assert seen["actors"].state == "wrong"
    assert "it cannot" in seen["actors"].detail
    assert "letters" not in seen


def actor_system(**fields: Any) -> dict[str, Check]:
    """The checks of an actor system that reports this."""
    well = ActorSystemReport(
        engine="embedded",
        actors=[ActorHealth(actor="store", waiting=0, failures=0, cause="", quarantined=False)],
        dead_letters=0,
        last_dead_letters=[],
        night=None,
        idle_s=1.0,
        requests=0,
    )
    report = msgspec.structs.replace(well, **fields)
    return {check.name: check for check in process_checks.actor_checks(report, Path("serve.log"))}


def test_a_message_that_nobody_takes_is_shown_and_cannot_be_sent_again() -> None:
    letter = DeadLetter(actor="-", message="Odd", trace="t", reason="no_taker")
    check = actor_system(dead_letters=1, last_dead_letters=[letter])["letters"]
    assert (check.state, check.repairable) == ("advice", False)
    assert check.detail == "1 message not delivered, the last Odd for - (no_taker)"


def test_the_last_night_is_shown_and_one_that_is_not_finished_is_advice() -> None:
    assert actor_system()["night"].detail == "there was none since the process started"
    finished = actor_system(night=NightReport(run="n1", steps=(), changes=3, finished=True))["night"]
    assert (finished.state, finished.detail) == ("ok", "n1: 3 changes, finished")
    assert actor_system(night=NightReport(run="n1", steps=(), changes=0, finished=False))["night"].state == "advice"


# --- meaning ---------------------------------------------------------------------------------------------------------


def test_meaning_that_lags_is_advice_while_it_moves_and_wrong_when_it_does_not(
    home: Path, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, keys = open_mind(home, "default")
    target = target_of(home, keys=keys, able=True, serving=True, states={"store": "ok"})
    count, looks = mind_checks.unembedded_count, 0
    with closing(Store.open(folder.store, keys)) as store:
        apply(store, added(1), added(2), added(3), add_encoder(), vectors(1))

        def left(target: Target) -> int:
            nonlocal looks
            looks += 1
            if looks == 3:
                apply(store, vectors(2))
            return count(target)

        monkeypatch.setattr(mind_checks, "unembedded_count", left)
        (check,) = mind_checks.check_embeddings(target)
        assert (check.state, looks) == ("advice", 3)
        assert check.detail == "2 memories wait to be embedded, and they become fewer"
        monkeypatch.setattr(mind_checks, "_WATCH_S", 0.2)
        (check,) = mind_checks.check_embeddings(target)
        assert (check.state, check.detail) == ("wrong", "1 memory waits to be embedded, and none was in 0.2 s")
        for able, serving in ((True, False), (False, True)):
            target.able, target.serving = able, serving
            (check,) = mind_checks.check_embeddings(target)
            assert (check.state, check.detail) == ("advice", "1 memory waits to be embedded")
        apply(store, vectors(3))
        (check,) = mind_checks.check_embeddings(target)
        assert check.state == "ok"
