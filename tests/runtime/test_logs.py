"""Logs are JSON lines that name what happened and quote nothing, in a private file that several processes share."""

from __future__ import annotations

import json
import logging
import os
import resource
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import MnemicError, StoreBusy
from mnemic.runtime import logs
from mnemic.runtime.engine.actor_health import RestartPolicy
from mnemic.runtime.engine.engine import EmbeddedEngine
from mnemic.runtime.engine.supervisor import ActorSpec, Supervisor
from mnemic.runtime.logs import FIELDS, JsonLines, log_to, outcome_level, set_level
from tests.clocks import ManualClock
from tests.harness import ActorHarness
from tests.runtime.building import child, finish
from tests.waiting import BOUND_S

LOG = logging.getLogger("mnemic.test")
SECRET = "the tea is in the blue tin"


def lines(path: Path) -> list[dict[str, Any]]:
    """What a log says; every line must be one JSON object."""
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- lines -----------------------------------------------------------------------------------------------------------


def test_a_line_says_when_how_grave_who_and_what_and_what_else_it_was_given(tmp_path: Path) -> None:
    with log_to(tmp_path / "log"):
        LOG.info("%s handled %s", "store", "Apply", extra={"trace": "t1", "took_ms": 1.5, "actor": "store"})
    (line,) = lines(tmp_path / "log")
    assert list(line) == ["time", "level", "logger", "message", "trace", "actor", "took_ms"]
    assert (line["level"], line["logger"], line["message"]) == ("INFO", "mnemic.test", "store handled Apply")
    assert (line["trace"], line["actor"], line["took_ms"]) == ("t1", "store", 1.5)


def test_the_time_is_the_records_in_utc() -> None:
    record = logging.makeLogRecord({"created": 1_763_000_000.25, "msg": "x", "name": "mnemic", "levelname": "INFO"})
    line = json.loads(JsonLines().format(record))
    assert line["time"] == "2025-11-13T02:13:20.250+00:00"
    assert datetime.fromisoformat(line["time"]) == datetime.fromtimestamp(1_763_000_000.25, UTC)


def test_of_an_exception_only_the_kind_is_written(tmp_path: Path) -> None:
    with log_to(tmp_path / "log"):
        try:
            raise ValueError(SECRET)
        except ValueError:
            LOG.exception("it went wrong", extra={"actor": ValueError(SECRET)})
    (line,) = lines(tmp_path / "log")
    assert (line["error"], line["actor"]) == ("ValueError", "ValueError")
    assert SECRET not in (tmp_path / "log").read_text("ascii")


@given(message=st.text(st.characters()), value=st.one_of(st.text(st.characters()), st.integers(), st.none()))
def test_whatever_is_said_is_one_line_of_json_and_reads_back(message: str, value: object) -> None:
    record = logging.makeLogRecord(
        {"created": 1.0, "msg": "%s", "args": (message,), "name": "mnemic", "levelname": "INFO", "code": value}
    )
    line = JsonLines().format(record)
    assert line.isascii()
    assert "\n" not in line
    read = json.loads(line)
    assert read["message"].encode("utf-16", "surrogatepass") == message.encode("utf-16", "surrogatepass")
    assert "code" in read


# --- the file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rotate", [True, False])
def test_the_file_is_private_whatever_the_umask_and_whoever_made_it(tmp_path: Path, rotate: bool) -> None:
    path, wide = tmp_path / "log", tmp_path / "wide"
    wide.touch()
    wide.chmod(0o644)
    before = os.umask(0)
    try:
        for one in (path, wide):
            with log_to(one, rotate=rotate):
                LOG.info("x")
    finally:
        os.umask(before)
    assert (mode(path), mode(wide)) == (0o600, 0o600)


def test_where_nothing_is_said_no_file_is_made_and_the_logger_is_left_as_it_was(tmp_path: Path) -> None:
    logger = logging.getLogger("mnemic")
    before = (logger.level, list(logger.handlers))
    with log_to(tmp_path / "log"):
        LOG.debug("less than is written")
    assert (logger.level, list(logger.handlers)) == before
    assert not (tmp_path / "log").exists()


def test_a_full_disk_hides_no_error_and_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip(f"{full} is on Linux alone")
    monkeypatch.setattr(logs, "_open_private", lambda path, flags: os.open(full, os.O_WRONLY))
    path = tmp_path / "log"
    with pytest.raises(StoreBusy), log_to(path):
        _log_twice_and_fail()
    assert capsys.readouterr().err == f"mnemic: The log {path} cannot be written: No space left on device.\n"


def _log_twice_and_fail() -> None:
    LOG.info("x")
    LOG.info("y")
    raise StoreBusy(path="store.db", waited_s=1.0)


def test_the_owner_turns_a_full_file_over_and_keeps_three_older_ones_all_private(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with log_to(path):
        for number in range(6000):
            LOG.info("%06d %s", number, "x" * 1000)
    kept = [path, *(tmp_path / f"log.{n}" for n in (1, 2, 3))]
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    assert {mode(one) for one in kept} == {0o600}
    assert all(one.stat().st_size <= 1 << 20 for one in kept)
    numbers = [int(line["message"][:6]) for one in reversed(kept) for line in lines(one)]
    assert numbers == list(range(numbers[0], 6000))
    assert len(numbers) > 2000


def test_another_process_turns_nothing_over_and_follows_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with log_to(path, rotate=False):
        for number in range(1100):
            LOG.info("%06d %s", number, "x" * 1000)
        assert path.stat().st_size > 1 << 20
        path.rename(tmp_path / "log.1")
        LOG.info("after")
        path.unlink()
        LOG.info("after that")
    assert [line["message"] for line in lines(path)] == ["after that"]
    assert len(lines(tmp_path / "log.1")) == 1100


def write_lines(path: str, rotate: str, name: str) -> None:
    """In a process of its own: write a hundred lines, and as many more once everybody has."""
    with log_to(Path(path), rotate=rotate == "True"):
        for number in range(100):
            LOG.info("%s %d", name, number)
        print("ready", flush=True)
        input()
        for number in range(100, 200):
            LOG.info("%s %d", name, number)


@pytest.mark.system
def test_lines_of_several_processes_stay_whole_and_none_is_lost_when_one_turns_the_file_over(tmp_path: Path) -> None:
    path = tmp_path / "log"
    writers = [
        child("runtime.test_logs:write_lines", path, rotate, name)
        for name, rotate in (("owner", True), ("one", False), ("other", True))
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n", writer.communicate(timeout=BOUND_S)
    path.rename(tmp_path / "log.1")  # as an owner does
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        finish(writer)
    for part, numbers in ((tmp_path / "log.1", range(100)), (path, range(100, 200))):
        said = [line["message"] for line in lines(part)]
        for name in ("owner", "one", "other"):
            assert [one for one in said if one.startswith(f"{name} ")] == [f"{name} {n}" for n in numbers]


# --- what an actor system logs
# ---------------------------------------------------------------------------------------------


class Do(msgspec.Struct, frozen=True):
    """The actor does something with a text."""

    text: str
    work: Callable[[str, Context], Any]


class Doer:
    contract: ClassVar[int] = CONTRACT
    takes: ClassVar[tuple[type, ...]] = (Do,)
    settings: ClassVar[tuple[Setting, ...]] = ()

    def handle(self, message: Any, context: Context) -> Any:
        return message.work(message.text, context)


class Nobody(msgspec.Struct, frozen=True):
    """Nobody takes it."""

    text: str


def give(text: str, context: Context) -> str:
    return text


def fail(text: str, context: Context) -> None:
    raise ValueError(text)


def fail_below(text: str, context: Context) -> None:
    try:
        raise KeyError(text)
    except KeyError as error:
        raise RuntimeError(text) from error


def answer_with(text: str, context: Context) -> None:
    raise StoreBusy(path=text, waited_s=1.0)


def tell_nobody(text: str, context: Context) -> None:
    context.tell(Nobody(text))


def show(text: str, context: Context) -> None:
    context.progress(1, 2)


WORK = [give, fail, fail_below, answer_with, tell_nobody, show]


@given(
    secret=st.text(st.characters(min_codepoint=0x3B1, max_codepoint=0x3C9), min_size=4, max_size=20),
    works=st.lists(st.sampled_from(WORK), min_size=1, max_size=8),
)
def test_no_text_ever_reaches_the_log_whatever_is_asked_told_answered_or_raised(
    tmp_path_factory: pytest.TempPathFactory, secret: str, works: list[Callable[[str, Context], Any]]
) -> None:
    path = tmp_path_factory.mktemp("logs") / "log"
    clock = ManualClock(1)
    answers: list[MnemicError] = []

    def display(done: int, total: int | None) -> None:
        raise BrokenPipeError(secret)

    with log_to(path):
        logging.getLogger("mnemic").setLevel(logging.DEBUG)
        supervisor = Supervisor(
            EmbeddedEngine(clock, stop_timeout_s=BOUND_S),
            [ActorSpec("doer", Doer, Doer)],
            clock=clock,
            seed=b"seed",
            run="run",
            policy=RestartPolicy(first_delay_s=0.0),
        )
        for work in works:
            supervisor.tell(Do(secret, work))
            try:
                supervisor.ask(Do(secret, work), progress=display)
            except MnemicError as error:
                answers.append(error)
        supervisor.replay_dead_letters()
        supervisor.release_quarantined()
        supervisor._nights.tick()
        supervisor.stop()
        shown = repr(supervisor.report())
    assert all(isinstance(one, StoreBusy) for one in answers if secret in str(one))
    logged = path.read_text("ascii")
    for spelling in (secret, json.dumps(secret)[1:-1]):
        assert spelling not in logged
        assert spelling not in shown
    assert all(set(line) <= {"time", "level", "logger", "message", "error", *FIELDS} for line in lines(path))


def test_one_trace_leads_through_the_file_from_capture_to_store_and_no_line_quotes_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with log_to(path), ActorHarness(tmp_path) as actor_system:
        set_level("debug")
        actor_system.keep(SECRET)
        actor_system.embed()
        actor_system.recall("blue tin")
    first = lines(path)[0]["trace"]
    about = [
        (line["actor"], line["message_type"], line["code"])
        for line in lines(path)
        if line.get("trace") == first and line["message_type"] in ("CaptureText", "Apply", "Committed")
    ]
    assert about[:1] == [("store", "Apply", "ok")]
    assert ("capture", "CaptureText", "ok") in about
    assert ("embedder", "Committed", "ok") in about
    assert all(line["took_ms"] >= 0 for line in lines(path) if line["logger"] == "mnemic.supervisor")
    for word in ("blue", "tea"):
        assert word not in path.read_text("ascii")


def test_what_goes_well_and_quickly_is_of_no_note() -> None:
    levels = [outcome_level(*done) for done in (("ok", 0.0), ("ok", 0.999), ("ok", 1.0), ("store_busy", 0.0))]
    assert levels == [logging.DEBUG, logging.DEBUG, logging.INFO, logging.INFO]


def test_a_capture_and_a_recall_that_go_well_leave_no_line_of_each_message(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with log_to(path), ActorHarness(tmp_path) as actor_system:
        for number in range(20):
            actor_system.keep(f"{SECRET} {number}")
        actor_system.recall("blue tin")
    logged = lines(path) if path.exists() else []
    assert all(line["took_ms"] >= 1000 for line in logged if line["logger"] == "mnemic.supervisor")


def log_without_room(path: str) -> None:
    """In a process that may write no more than 100 bytes to a file: log more."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    with log_to(Path(path)):
        LOG.warning("the first line, which does not fit")
        LOG.warning("the second one")


def test_a_log_that_takes_no_more_is_said_once_and_its_end_raises_nothing(tmp_path: Path) -> None:
    process = child("runtime.test_logs:log_without_room", tmp_path / "log")
    _, said = process.communicate(timeout=BOUND_S)
    assert (process.returncode, said) == (0, f"mnemic: The log {tmp_path / 'log'} cannot be written: File too large.\n")
