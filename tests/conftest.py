"""What holds for every test: laws are checked on the same examples every time, and no test touches a user's home."""

from __future__ import annotations

import gc
import io
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mnemic.cli.main import main
from mnemic.cli.terminal.output import ASSISTANT_VARIABLES
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys import key_slots
from mnemic.runtime.keys.keys import Secrets
from mnemic.runtime.minds.homes import create_mind
from tests.paths import ROOT
from tests.processes.faces import EXAMPLE, Outcome, run
from tests.processes.ray_fixture import local_ray as local_ray
from tests.processes.serving import end

# Answers for a person have local times; tests name them.
os.environ["TZ"] = "UTC"
time.tzset()

# Run by an assistant, every command would mark its answers as the memory's own.
for variable in ASSISTANT_VARIABLES:
    os.environ.pop(variable, None)

# No deadline and no health check of speed: they measure the machine, not the law. Forty examples, the same each time:
# a hundred took 30 CPU-seconds more of every run.
settings.register_profile(
    "mnemic",
    max_examples=40,
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mnemic")

# Started in the background by a script, a process inherits that Ctrl-C is ignored, and so do the commands it tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


LAB = {ROOT / "tests" / name for name in ("bench", "examples", "mnemic/experiment", "mnemic/cli/test_experiment.py")}
REST = ("gpu", "lab", "research", "system", "torch")
"""Marks of what `make test` leaves out, or skips."""
NAMES_REST = re.compile(r"\bmark\.(?:gpu|research|system|torch)\b")
LONGEST = [
    ROOT / "tests" / name
    for name in (
        "system/test_wheel.py",
        "system/test_assistants.py",
        "test_leak.py",
        "bench/faults/test_kill_bench.py",
        "mnemic/experiment/test_page.py",
        "bench/faults/test_write_calls.py",
        "runtime/transfer/test_disk_faults.py",
    )
]
"""What takes longest begins first: at the end it would keep one worker busy and the others waiting."""
MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30
"""What a run may want: what it makes is some 700 MB, and it goes with the run."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--in-memory",
        action="store_true",
        help="keep the files of the run in memory where Linux has room there: a fifth of the time is waiting for disks",
    )
    parser.addoption(
        "--rest",
        action="store_true",
        help="run only what `make test` leaves out; files that have none are not imported",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have all that tests write be in memory, where that is asked for; a worker is told where by its run."""
    if config.getoption("rest"):
        config.option.markexpr = " or ".join(REST)
    if not config.getoption("in_memory") or config.option.basetemp or hasattr(config, "workerinput"):
        return
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        return
    folder = tempfile.mkdtemp(prefix="t", dir=MEMORY)  # short: sockets lie in it
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    config.option.basetemp = f"{folder}/t"
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def has_rest(path: Path) -> bool:
    """Whether a file has tests that `make test` leaves out, as far as its text tells."""
    return not LAB.isdisjoint({path, *path.parents}) or bool(NAMES_REST.search(path.read_text("utf-8")))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over files of which nothing would be run: to import them all takes half a minute."""
    if config.getoption("rest") and re.fullmatch(r"test_\w+\.py", collection_path.name):
        return None if has_rest(collection_path) else True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what tests the benches and experiments: research, which no change of the memory itself passes through. Have
    the longest tests run first.
    """
    in_lab = {path: not LAB.isdisjoint({path, *path.parents}) for path in {item.path for item in items}}
    for item in items:
        if in_lab[item.path]:
            item.add_marker("lab")
    unseen = {item.path for item in items if any(map(item.get_closest_marker, REST)) and not has_rest(item.path)}
    if unseen:
        raise pytest.UsageError(
            f"--rest would pass over {', '.join(map(str, unseen))}: name the mark in the file itself"
        )
    items.sort(key=lambda item: LONGEST.index(item.path) if item.path in LONGEST else len(LONGEST))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are: what is made then stays, and to look at it again and again takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Have the garbage collector pass over the thousands of tests that are there to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_user_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Point everything that looks for a home at a folder of this run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MNEMIC_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _cheap_passphrases() -> Iterator[None]:
    """A passphrase that is set in this process costs nothing, whoever asks: what it costs stands in the key header."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_slots, "SCRYPT", (1 << 4, 8, 1))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_process_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """End the processes that were started on demand for the homes of this run, and would stay for a while."""
    yield
    for written in tmp_path_factory.getbasetemp().rglob("run/serve.json"):
        end(written.parents[1])


@pytest.fixture(scope="session")
def captured_example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """A home that holds the example, with its meaning, and what capturing it printed. Not to be written to.

    Its secrets are the same each time, and with them the last digits of its ids, and what hangs on chance.
    """
    home = tmp_path_factory.mktemp("example") / "home"
    create_mind(home, "default", SystemClock(), secrets=Secrets(root=b"r" * 32, identities=b"i" * 32, seed=b"s" * 32))
    return home, run("capture", EXAMPLE, "--home", home, "--json")


@pytest.fixture
def example_home(captured_example: tuple[Path, Outcome], tmp_path: Path) -> Path:
    """A copy of the example's home."""
    return Path(shutil.copytree(captured_example[0], tmp_path / "home"))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home without a model, so that commands are fast and words answer alone; what serves it ends with the test."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "mnemic.toml").write_text(f'[embedder]\nmodel = "{tmp_path / "no model"}"\n', "utf-8")
    yield folder
    end(folder)


@contextmanager
def _standard_input(given: bytes) -> Iterator[None]:
    """Have a pipe for standard input that holds such bytes, and ends."""
    heard, said = os.pipe()
    os.write(said, given)  # no more than 64 KiB, which a pipe takes in
    os.close(said)
    with io.TextIOWrapper(os.fdopen(heard, "rb"), encoding="utf-8") as pipe, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", pipe)
        yield


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Outcome]]:
    """Run the command in this process; it may be given what it reads."""
    mask, handler = os.umask(0o077), signal.getsignal(signal.SIGTERM)

    def call(*arguments: object, given: bytes | None = None) -> Outcome:
        code: object = 0
        with nullcontext() if given is None else _standard_input(given):
            try:
                main([str(one) for one in arguments])
            except SystemExit as ended:
                code = ended.code
        assert isinstance(code, int)
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    yield call
    os.umask(mask)
    signal.signal(signal.SIGTERM, handler)
