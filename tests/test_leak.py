"""Nothing of a memory reaches disk or network in clear, on either engine, whatever is killed under what load.

The corpus is made so that any 16 bytes of it hold one mark whole, drawn for this run: a search for the mark is a search
for every run of 16 bytes. What is searched is all that we and Ray wrote: the home, Ray's folder, shared memory, and
whatever else appeared where temporary files lie.
"""

from __future__ import annotations

import http.client
import os
import random
import secrets
import shutil
import string
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.messages import CaptureText, TextCaptured
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.recall.messages import GetMemories, Memories, Recall
from mnemic.bench.harness.homes import BENCH_SCOPE, IDLE_SETTINGS
from mnemic.bench.harness.processes import kill, process_family, served, wait_until
from mnemic.runtime.client.unix_http import call
from mnemic.runtime.client.wire import decode, encode, message_path
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.ray.local import clean_up_home, ray_folder
from mnemic.runtime.minds.homes import create_mind
from mnemic.runtime.minds.run_dir import ServerInfo
from tests.waiting import BOUND_S

UNIT_BYTES = 10
LARGE_BYTES = 5 << 20
FILLING = 2
"""So many large texts are an answer of 10 MB, which is more than Ray keeps in memory with `FULL_EARLY`."""
FULL_EARLY = {"RAY_object_spilling_threshold": "0.05", "RAY_min_spilling_size": "1"}
"""What has Ray write to disk from 6 MB on, where it has room for 128."""
MINDS = ("default", "other")
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
ALONE = ("unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""Runs a command in a network namespace that has only loopback."""


class Corpus:
    """Texts in which one mark comes every ten bytes."""

    def __init__(self) -> None:
        self.mark = "".join(secrets.choice(string.ascii_lowercase) for _ in range(7)).encode()
        self._random = random.Random(0)

    def text(self, size_bytes: int) -> bytes:
        symbols = (string.ascii_lowercase + string.digits).encode()
        units = [self.mark + bytes((a, b)) + b" " for a in symbols for b in symbols]
        return b"".join(self._random.choices(units, k=size_bytes // UNIT_BYTES))


def ask(info: ServerInfo, message: Any, mind: str = "default") -> Any:
    """Ask one process, and start no other where it is gone."""
    headers = {"Content-Type": "application/json", "Mnemic-Mind": mind, "Mnemic-Create": "1", "Mnemic-Timeout": "120"}
    return decode(call(info.http_socket, "POST", f"/api/{message_path(message)}", encode(message), headers))


def files_since(folders: Sequence[Path], started: float) -> Iterator[Path]:
    """Every file of this user that was changed since then."""
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = Path(place, name)
                try:
                    seen = path.lstat()
                except FileNotFoundError:
                    continue  # another process's, and gone
                if seen.st_uid == os.getuid() and seen.st_mtime >= started and path.is_file():
                    yield path


def holding(mark: bytes, paths: Iterator[Path]) -> list[Path]:
    """The files that hold the mark."""
    found = []
    for path in paths:
        try:
            if mark in path.read_bytes():
                found.append(path)
        except FileNotFoundError:
            continue  # as above
    return found


def fill(info: ServerInfo, corpus: Corpus, large: int) -> dict[str, list[bytes]]:
    """Have texts of all sizes kept in every mind; returns the ids of the large ones."""
    ids: dict[str, list[bytes]] = {mind: [] for mind in MINDS}

    def keep(mind: str, text: bytes) -> bytes:
        kept = ask(info, CaptureText(text=text, role="user", session="s", place=BENCH_SCOPE), mind)
        assert isinstance(kept, TextCaptured)
        return kept.id

    def one(mind: str) -> None:
        for _ in range(20):
            keep(mind, corpus.text(500))
        ids[mind] = [keep(mind, corpus.text(LARGE_BYTES)) for _ in range(large)]

    together([lambda mind=mind: one(mind) for mind in MINDS])  # type: ignore[misc]
    return ids


def together(acts: Sequence[Callable[[], Any]]) -> None:
    """Run them at once; what one of them raises is raised."""
    raised: list[BaseException] = []

    def run(act: Callable[[], Any]) -> None:
        try:
            act()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def ask_until_killed(
    info: ServerInfo, messages: Callable[[], Iterator[Any]], mind: str, answered: threading.Event
) -> None:
    """Ask, again and again, until nobody is there any more."""
    try:
        while True:
            for message in messages():
                ask(info, message, mind)
                answered.set()
    except (OSError, http.client.HTTPException, MnemicError):  # it was killed
        answered.set()


def under_load_until_killed(
    info: ServerInfo, corpus: Corpus, ids: dict[str, list[bytes]], full: Callable[[], bool]
) -> None:
    """Ask for everything at once, wait until it is full, and kill whoever serves."""
    threads, answers = [], []
    for mind in MINDS:

        def messages(mind: str = mind) -> Iterator[Any]:
            yield GetMemories(ids=tuple(ids[mind]))
            yield Recall(query=corpus.text(60).decode())
            yield CaptureText(text=corpus.text(1 << 20), role="user", session="load", place=BENCH_SCOPE)

        for _ in range(2):
            answers.append(threading.Event())
            threads.append(threading.Thread(target=ask_until_killed, args=(info, messages, mind, answers[-1])))
    for thread in threads:
        thread.start()
    try:
        for answer in answers:
            assert answer.wait(BOUND_S)
        wait_until(full, "filling the object store", 240)
    finally:
        whole = process_family(info.pid)
        kill(whole)
        wait_until(lambda: all(not one.is_running() or one.status() == "zombie" for one in whole), "the end", 30)
        for thread in threads:
            thread.join()


@pytest.fixture
def short_home() -> Iterator[Path]:
    """A home in a short folder, of which nothing stays."""
    folder = Path("/tmp") / f"ml{secrets.token_hex(3)}"
    folder.mkdir(mode=0o700)
    (folder / "mnemic.toml").write_text(IDLE_SETTINGS, "utf-8")
    yield folder
    clean_up_home(folder)
    shutil.rmtree(folder)


def spilled(home: Path) -> bool:
    """Whether Ray's object store was so full that some of it went to disk."""
    places = [ray_folder(record) for record in (home / "run").glob("ray-*")]
    return any("spilled_objects" in at and names for place in places if place for at, _, names in os.walk(place))


def leaks(home: Path, engine: str, large: int, before: Sequence[str] = (), *, fills: bool = False) -> list[Path]:
    """Serve a home under load, kill everything, and return the files that hold anything of the corpus."""
    started, corpus = time.time() - 2, Corpus()
    for mind in MINDS:
        create_mind(home, mind, SystemClock())
    with served(home, engine, before) as info:
        ids = fill(info, corpus, large)
        found = ask(info, GetMemories(ids=tuple(ids["other"][:1])), "other")
        assert isinstance(found, Memories)
        assert corpus.mark in found.memories[0].data
        under_load_until_killed(info, corpus, ids, (lambda: spilled(home)) if fills else (lambda: True))
        searched = [Path(folder) for folder in TEMPORARY if Path(folder).is_dir()]
        assert any(path.name.startswith("store.db") for path in files_since([home], started))
        return holding(corpus.mark, files_since([*searched, home], started))


def test_the_search_finds_any_16_bytes_of_the_corpus(tmp_path: Path) -> None:
    started, corpus = time.time() - 2, Corpus()
    text = corpus.text(300)
    for start in range(len(text) - 16 + 1):
        (tmp_path / f"{start}").write_bytes(b"\0\xff" + text[start : start + 16] + b"\0")
    (tmp_path / "other").write_bytes(secrets.token_bytes(1 << 16))
    found = holding(corpus.mark, files_since([tmp_path], started))
    assert {path.name for path in found} == {str(start) for start in range(len(text) - 16 + 1)}


@pytest.mark.system
def test_an_embedded_process_that_is_killed_leaves_nothing_in_clear(short_home: Path) -> None:
    assert leaks(short_home, "embedded", large=1) == []


@pytest.mark.system
def test_a_full_object_store_and_a_kill_of_everything_leave_nothing_in_clear_on_ray(
    short_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in FULL_EARLY.items():
        monkeypatch.setenv(name, value)
    assert leaks(short_home, "ray", large=FILLING, fills=True) == []


@pytest.mark.system
def test_ray_needs_no_network_but_loopback(short_home: Path) -> None:
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("a network namespace takes the commands unshare and ip")
    tried = subprocess.run([*ALONE, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no network namespace is to be had here: {tried.stderr.strip()}")
    assert leaks(short_home, "ray", large=1, before=ALONE) == []
