"""The contract of a hook; `tests/contract/test_hooks.py` derives `HookContract`.

A hook is a command: what it is given on its standard input, its arguments and its surroundings is all that it knows,
and what it leaves is read by the reader alone.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import termios
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import unquote_to_bytes

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.events import HookRecord
from mnemic.hooks.read.records import read_record
from mnemic.runtime.capture.pauses import pause, resume
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.spool.files import Losses, read_losses
from mnemic.runtime.spool.spool import Spool
from tests.clocks import ManualClock
from tests.hooks.shells import HOSTS, MARKED, MEMORY, hook_payload
from tests.runtime.keys.test_keys_core_dumps import allow_cores
from tests.runtime.spooling import drain, on_disk
from tests.waiting import BOUND_S, until

CLOCK = SystemClock()
FRAME_BYTES = (128 << 10, 1 << 20)
"""How long a frame may be at most: the executable's, and what the format allows."""
SECRET = "the harbour's password is a blue heron at dusk"


def allow_cores_of_any_signal() -> None:
    """Let the process that this runs in leave a core; a shell's background job is started with SIGQUIT ignored."""
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    allow_cores()


class Place(NamedTuple):
    """A home with one mind, and the hook that writes there."""

    command: Sequence[str]
    home: Path
    mind: MindFolder
    keys: Keys

    def run(
        self,
        payload: bytes = b"",
        *options: str,
        assistant: str = "codex",
        event: str = "tool",
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> bytes:
        """Run the hook for a payload; returns what it printed. It ends with 0 and complains of nothing."""
        arguments = [*self.command, assistant, event, "--home", str(self.home), *options]
        return finished([*before, *arguments], payload, cwd or self.home, environment)

    def taken(self) -> list[HookRecord]:
        """All that lies in the spool; nothing of it is torn."""
        records, torn = self.taken_and_torn()
        assert torn == 0
        return records

    def taken_and_torn(self) -> tuple[list[HookRecord], int]:
        """All that lies in the spool, and how many places of it are torn."""
        records, torn = drain(Spool(self.mind.spool, self.keys.spool_private, CLOCK))
        assert all(isinstance(one, HookRecord) for one in records)
        return [one for one in records if isinstance(one, HookRecord)], torn

    def one(self) -> HookRecord:
        """The only record that lies in the spool."""
        (record,) = self.taken()
        return record

    def files(self) -> list[Path]:
        """The spool's files."""
        return sorted(self.mind.spool.glob("*.spool"))

    def losses(self) -> Losses:
        """What was lost."""
        return read_losses(self.mind.spool)

    def empty(self) -> None:
        """Remove what lies in the spool."""
        for path in self.files():
            path.unlink()

    def programs(self, **programs: Sequence[str]) -> None:
        """Say which programs the hook may start."""
        (self.home / "bin").mkdir(exist_ok=True)
        (self.home / "bin" / "hook.json").write_text(json.dumps(programs))


def surroundings(environment: Mapping[str, str] | None) -> dict[str, str]:
    """This process's variables without those that a hook heeds, and others besides."""
    heeded = ("MNEMIC_OFF", "CLAUDE_CODE_ENTRYPOINT")
    kept = {name: value for name, value in os.environ.items() if name not in heeded}
    return kept | dict(environment or {})


def finished(command: Sequence[str], payload: bytes, cwd: Path, environment: Mapping[str, str] | None = None) -> bytes:
    """Run a command that ends with 0 and complains of nothing; returns what it printed."""
    done = subprocess.run(
        command, input=payload, cwd=cwd, env=surroundings(environment), capture_output=True, timeout=BOUND_S
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder, and what is in them."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def script(body: str) -> list[str]:
    """A command that runs such Python."""
    return [sys.executable, "-S", "-c", body]


LIMITED = """
import os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""


def with_room(size_bytes: int) -> list[str]:
    """What stands before a command so that no file it writes may be longer: a full disk in small."""
    return [*script(LIMITED), str(size_bytes)]


def fill(path: Path) -> None:
    """Write a file until there is no room for more."""
    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        deque(map(file.write, repeat(bytes(4096))), maxlen=0)


def given_to_another(path: Path) -> list[str]:
    """Give a file to another user; returns what stands before a command that root's rights are taken from."""
    if os.geteuid() or shutil.which("setpriv") is None:
        pytest.skip("only root can give a file to another user, and setpriv takes its rights from a command")
    os.chown(path, 65534, 65534)
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"]


def unread(pipe: int) -> int:
    """How many bytes of a pipe nobody has read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class Heard(NamedTuple):
    """A request that a home's process got."""

    line: str
    headers: dict[str, str]
    body: bytes


@contextmanager
def serving(home: Path, answer: bytes | None) -> Iterator[list[Heard]]:
    """Be the process of a home, which answers every request alike, or never."""
    folder = Path(tempfile.mkdtemp(prefix="mnemic-hook-"))  # a test's own folder may be too deep for a socket
    (home / "run").mkdir(mode=0o700, exist_ok=True)
    (home / "run" / "serve.json").write_text(json.dumps({"protocol": 1, "pid": os.getpid(), "folder": str(folder)}))
    heard: list[Heard] = []
    left = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(folder / "http.sock"))
        listener.listen()

        def serve() -> None:
            while not left.is_set():
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as stream:
                    line = stream.readline().decode().strip()
                    if not line:
                        continue
                    headers = {}
                    while (header := stream.readline().decode().strip()) != "":
                        name, _, value = header.partition(": ")
                        headers[name.lower()] = value
                    body = stream.read(int(headers["content-length"]))
                    heard.append(Heard(line, headers, body))
                    if answer is None:
                        left.wait(BOUND_S)
                    else:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield heard
        finally:
            left.set()
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as last:
                last.connect(str(folder / "http.sock"))
            thread.join(BOUND_S)
            shutil.rmtree(folder)


def said(body: bytes, status: str = "200 OK") -> bytes:
    """An answer of HTTP."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: text/plain\r\nContent-Length: {len(body)}\r\nconnection: close\r\n\r\n"
    return head.encode() + body


class HookContract:
    """What every hook does."""

    command: ClassVar[Sequence[str]]
    """How it is started."""
    runs: ClassVar[int]
    """How many runs of it are no burden."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        mind = create_mind(tmp_path / "home", "default", CLOCK)
        return Place(self.command, tmp_path / "home", mind, open_mind(tmp_path / "home", "default")[1])

    # --- what is kept ------------------------------------------------------------------------------------------------

    def test_what_the_host_wrote_comes_back_byte_for_byte(self, place: Place) -> None:
        nearly_json = st.sampled_from([b'{"session_id":"', b'"cwd":"', b'"}', b"\xff\xfe", b"\0", b"\\ud83d", b"[[{"])

        @settings(max_examples=self.runs)
        @given(st.one_of(st.binary(max_size=300), st.lists(nearly_json, max_size=6).map(b"".join)))
        def comes_back(payload: bytes) -> None:
            place.empty()
            assert place.run(payload) == b""
            assert place.one().payload == payload

        comes_back()

    @pytest.mark.parametrize("size", [1 << 20, 3_000_000])
    def test_a_long_payload_comes_back_byte_for_byte(self, place: Place, size: int) -> None:
        payload = os.urandom(size)
        place.run(payload)
        assert place.one().payload == payload

    def test_a_record_that_fills_its_frames_exactly_comes_back(self, place: Place) -> None:
        place.run(b"")
        head = place.files()[0].stat().st_size - 48 - 96  # so long is all but the payload
        place.empty()
        full = [(most - 96) * count for most in FRAME_BYTES for count in (1, 2)]
        sizes = [size - head + more for size in full for more in (-1, 0, 1)]
        for size in sizes:
            place.run(b"x" * size)
        assert sorted(len(one.payload) for one in place.taken()) == sorted(sizes)

    def test_a_record_says_who_what_when_and_where(self, place: Place, tmp_path: Path) -> None:
        before_us = CLOCK.now_us()
        place.run(json.dumps({"session_id": "s", "cwd": "/some where"}).encode(), assistant="gemini-cli", event="reply")
        record = place.one()
        assert (record.assistant, record.event) == ("gemini-cli", "reply")
        assert (record.cwd, record.branch) == ("/some where", None)
        assert before_us <= record.at <= CLOCK.now_us()
        assert len(record.id) == 16

    @pytest.mark.parametrize(
        ("payload", "expected"),
        [
            (b'{"cwd":"/named","workspace_roots":["/first"]}', "/named"),
            (b'{"workspace_roots":["/first","/second"]}', "/first"),
            (b'{"cwd":"","workspace_roots":[]}', None),
            (b'{"cwd":7}', None),
            (b'{"tool_input":{"cwd":"/of the tool"}}', None),
            (b'{"cwd":"/with \\u00fc and \\ud83d\\ude80"}', "/with \u00fc and \U0001f680"),
            (b'{"cwd":"/no utf-8: \xff"}', "/no utf-8: \\xff"),
            (b'{"cwd":"/half a pair: \\ud83d"}', "/half a pair: \\xed\\xa0\\xbd"),
            (b'{"big":"' + b"x" * 100_000 + b'","cwd":"/behind"}', "/behind"),
            (b'{"cwd":"/before","broken', "/before"),
            (b"no json", None),
        ],
    )
    def test_the_folder_is_the_host_s_or_the_hook_s_own(
        self, place: Place, tmp_path: Path, payload: bytes, expected: str | None
    ) -> None:
        own = tmp_path / "own folder"
        own.mkdir()
        place.run(payload, cwd=own)
        assert place.one().cwd == (str(own.resolve()) if expected is None else expected)

    def test_a_session_has_a_file_of_its_own_whose_name_tells_nobody(self, place: Place) -> None:
        payloads = {
            ("codex", b"s-1"): [b'{"session_id":"s-1"}', b'{"conversation_id":"c","session_id":"s-1","more":1}'],
            ("codex", b"c"): [b'{"conversation_id":"c"}', b'{"session_id":null,"conversation_id":"c"}'],
            ("codex", b""): [b"", b"no json", b"[]"],
            ("cursor", b"s-1"): [b'{"session_id":"s-1"}'],
        }
        for (assistant, _), given_ in payloads.items():
            for payload in given_:
                place.run(payload, assistant=assistant)
        names = json.loads(place.mind.spool_config.read_bytes())["names"]
        expected = {
            hmac.digest(bytes.fromhex(names), assistant.encode() + b"\0" + session, "sha256")[:16].hex() + ".spool"
            for assistant, session in payloads
        }
        assert {path.name for path in place.files()} == expected
        found = Counter((one.assistant, one.payload) for one in place.taken())
        assert found == Counter((who, payload) for (who, _), given_ in payloads.items() for payload in given_)

    def test_nothing_of_what_was_said_lies_readable_in_the_home(self, place: Place) -> None:
        told = {"session_id": SECRET, "cwd": f"/{SECRET}", "prompt": SECRET}
        place.run(json.dumps(told).encode())
        place.run(SECRET.encode() * 50_000)
        words = [SECRET.encode()[at : at + 12] for at in range(len(SECRET) - 12)]
        for path in place.home.rglob("*"):
            assert not any(word in os.fsencode(path) for word in words)
            if path.is_file():
                content = path.read_bytes()
                assert not any(word in content for word in words)

    def test_files_are_nobody_else_s(self, place: Place) -> None:
        before = os.umask(0)
        try:
            place.run(b"one")
        finally:
            os.umask(before)
        for path in place.mind.spool.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert {path.name for path in place.mind.spool.iterdir()} == {"losses", *(one.name for one in place.files())}

    def test_a_spool_that_was_removed_is_made_again(self, place: Place) -> None:
        shutil.rmtree(place.mind.spool)
        place.run(b"one")
        assert place.one().payload == b"one"
        assert stat.S_IMODE(place.mind.spool.stat().st_mode) == 0o700

    # --- the branch --------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("head", "expected"),
        [
            (b"ref: refs/heads/fix/the-shelf\n", "fix/the-shelf"),
            (b"ref: refs/heads/no-utf-8-\xff\n", "no-utf-8-\\xff"),
            (b"0123456789abcdef0123456789abcdef01234567\n", None),
            (b"ref: refs/heads/.invalid\n", None),
            (b"ref: refs/tags/v1\n", None),
            (b"", None),
        ],
    )
    def test_the_branch_is_what_git_says_without_git(
        self, place: Place, tmp_path: Path, head: bytes, expected: str | None
    ) -> None:
        deep = tmp_path / "project" / "a" / "b"
        deep.mkdir(parents=True)
        git = tmp_path / "project" / ".git"
        git.mkdir()
        (git / "HEAD").write_bytes(head)
        place.run(b"", cwd=deep, environment={"PATH": ""})
        assert place.one().branch == expected

    @pytest.fixture
    def below(self, tmp_path: Path) -> Path:
        """A folder in a repository whose branch is ``main``."""
        (tmp_path / "project" / ".git").mkdir(parents=True)
        (tmp_path / "project" / ".git" / "HEAD").write_bytes(b"ref: refs/heads/main\n")
        (tmp_path / "project" / "below").mkdir()
        return tmp_path / "project" / "below"

    @pytest.mark.parametrize("head", [None, b"", b"something else", b"ref: /etc/passwd\n", b"0123456789abcdef\n"])
    def test_a_folder_that_is_no_repository_does_not_hide_the_one_above(
        self, place: Place, below: Path, head: bytes | None
    ) -> None:
        (below / ".git").mkdir()
        if head is not None:
            (below / ".git" / "HEAD").write_bytes(head)
        place.run(b"", cwd=below)
        assert place.one().branch == "main"

    @pytest.mark.parametrize("line", [b"", b"something else", b"gitdir: /not/there\n"])
    def test_a_file_that_leads_to_no_repository_hides_the_one_above_as_it_does_for_git(
        self, place: Place, below: Path, line: bytes
    ) -> None:
        (below / ".git").write_bytes(line)
        place.run(b"", cwd=below)
        assert place.one().branch is None

    @pytest.mark.parametrize("relative", [False, True])
    def test_a_worktree_has_a_branch_of_its_own(self, place: Place, tmp_path: Path, relative: bool) -> None:
        own = tmp_path / "project" / ".git" / "worktrees" / "tree"
        own.mkdir(parents=True)
        (own.parents[1] / "HEAD").write_bytes(b"ref: refs/heads/main\n")
        (own / "HEAD").write_bytes(b"ref: refs/heads/side\n")
        tree = tmp_path / "tree"
        tree.mkdir()
        (tree / ".git").write_text(f"gitdir: {os.path.relpath(own, tree) if relative else own}\n")
        place.run(b"", cwd=tree)
        assert place.one().branch == "side"

    def test_a_worktree_names_the_main_folder_where_its_repository_names_it_too(
        self, place: Place, tmp_path: Path
    ) -> None:
        own = tmp_path / "project" / ".git" / "worktrees" / "tree"
        own.mkdir(parents=True)
        for name in ("tree/below", "packed", "plain"):
            (tmp_path / name).mkdir(parents=True)
        (own / "gitdir").write_text(f"{tmp_path / 'tree' / '.git'}\n")
        for name in ("tree", "packed"):
            (tmp_path / name / ".git").write_text(f"gitdir: {own}\n")
        for name in ("tree", "tree/below", "project", "packed", "plain", "gone"):
            place.run(json.dumps({"session_id": "s", "cwd": str(tmp_path / name)}).encode())
        main = str((tmp_path / "project").resolve())
        assert [one.main_folder for one in place.taken()] == [main, main, None, None, None, None]

    # --- at once, killed, full ---------------------------------------------------------------------------------------

    def test_hooks_at_once_lose_nothing(self, place: Place) -> None:
        payloads = [b"%d:" % number + os.urandom(1) * (number * 150_000) for number in range(12)]
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(place.run, payloads))
        assert Counter(one.payload for one in place.taken()) == Counter(payloads)
        assert place.losses().lost == 0

    def test_a_lock_that_is_not_had_keeps_nobody_from_writing(self, place: Place) -> None:
        place.run(b"one")
        (path,) = place.files()
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            place.run(b"two")
        place.run(b"three")
        assert [one.name for one in place.files()] == [f"{path.stem}.1.spool", path.name]
        assert {one.payload for one in place.taken()} == {b"one", b"two", b"three"}

    def test_nothing_is_lost_when_files_are_removed_while_hooks_write(self, place: Place) -> None:
        spool = Spool(
            place.mind.spool, place.keys.spool_private, ManualClock(CLOCK.now_us() + 600_000_000)
        )  # all is silent
        offsets: dict[bytes, int] = {}
        taken: list[HookRecord] = []
        running: list[Future[bytes]] = []
        removed = 0
        with ThreadPoolExecutor(2) as pool:
            while removed < 10 or not all(one.done() for one in running):
                while removed < 10 and sum(not one.done() for one in running) < 4:
                    assert len(running) < 1000
                    running.append(pool.submit(place.run, b"%d" % len(running)))
                removed += self.take(spool, offsets, taken)
        self.take(spool, offsets, taken)
        for one in running:
            one.result()
        assert place.losses().lost == 0
        assert Counter(one.payload for one in taken) == Counter(b"%d" % number for number in range(len(running)))

    def take(self, spool: Spool, offsets: dict[bytes, int], taken: list[HookRecord]) -> int:
        """Take in what is there, none of it torn, and remove what is taken in; returns how many files."""
        records, torn = drain(spool, offsets)
        assert torn == 0
        taken += [one for one in records if isinstance(one, HookRecord)]
        return len(spool.remove_consumed(offsets, on_disk))

    @pytest.mark.parametrize("fatal", [signal.SIGQUIT, signal.SIGABRT])
    def test_a_hook_that_dies_while_it_reads_leaves_no_core(
        self, place: Place, tmp_path: Path, fatal: signal.Signals
    ) -> None:
        cwd = tmp_path / "here"
        cwd.mkdir()
        arguments = [*self.command, "codex", "tool", "--home", str(place.home)]
        with subprocess.Popen(
            arguments, stdin=subprocess.PIPE, cwd=cwd, env=surroundings({}), preexec_fn=allow_cores_of_any_signal
        ) as process:
            assert process.stdin is not None
            process.stdin.write(SECRET.encode() * 50_000)  # more than a pipe takes: some of it is read
            process.stdin.flush()
            soft, hard = psutil.Process(process.pid).rlimit(psutil.RLIMIT_CORE)
            process.send_signal(fatal)
            assert process.wait(BOUND_S) == -fatal
        assert soft in (0, 1)
        assert hard == resource.getrlimit(resource.RLIMIT_CORE)[1]
        assert list(cwd.iterdir()) == []

    @pytest.mark.parametrize("room", [100_000, 1_500_000, 10_000_000])
    def test_a_hook_that_is_killed_half_way_takes_nobody_with_it(self, place: Place, room: int) -> None:
        place.run(b"before")
        (path,) = place.files()
        full = path.stat().st_size + room  # where it stops, and tries again for a while
        arguments = [*with_room(full), *place.command, "codex", "tool", "--home", str(place.home)]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, env=surroundings({}), cwd=place.home) as process:
            assert process.stdin is not None
            process.stdin.write(bytes(24 << 20))
            process.stdin.close()
            until(lambda: path.stat().st_size >= full)
            assert Spool(place.mind.spool, place.keys.spool_private, CLOCK).read({}, 1, 1) is not None
            process.kill()
        place.run(b"after")
        records, torn = place.taken_and_torn()
        assert ([one.payload for one in records], torn) == ([b"before", b"after"], 1)
        assert place.losses().lost == 0

    def test_what_finds_no_room_is_counted_and_the_next_is_kept(self, place: Place) -> None:
        place.run(b"before")
        before_us = CLOCK.now_us()
        place.run(b"x" * 2_000_000, before=with_room(1_500_000))
        place.run(b"y" * 100, before=with_room(1_500_000))
        place.run(b"after")
        records, torn = place.taken_and_torn()
        assert [one.payload for one in records] == [b"before", b"after"]
        assert torn >= 1
        lost = place.losses()
        assert (lost.lost, lost.lost_bytes) == (2, 2_000_100)
        assert lost.lost_at is not None
        assert before_us <= lost.lost_at <= CLOCK.now_us()
        assert place.mind.losses.stat().st_size == 64

    @pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux sets another process's limits")
    def test_a_disk_that_is_full_for_a_moment_loses_nothing(self, place: Place) -> None:
        place.run(b"before")
        (path,) = place.files()
        for room in (700_000, 10):
            full = path.stat().st_size + room
            arguments = [*with_room(full), *place.command, "codex", "tool", "--home", str(place.home)]
            with subprocess.Popen(arguments, stdin=subprocess.PIPE, env=surroundings({}), cwd=place.home) as process:
                assert process.stdin is not None
                process.stdin.write(b"x" * 2_500_000)
                process.stdin.close()
                until(lambda: path.stat().st_size >= full)  # noqa: B023
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
                assert process.wait(BOUND_S) == 0
        records, torn = place.taken_and_torn()
        assert [len(one.payload) for one in records] == [6, 2_500_000, 2_500_000]
        assert torn == 2
        assert place.losses().lost == 0

    def test_a_full_disk_counts_what_it_does_not_take(self, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip(f"no small disk can be made here: {mounted.stderr.decode().strip()}")
        try:
            mind = create_mind(disk / "home", "default", CLOCK)
            place = Place(self.command, disk / "home", mind, open_mind(disk / "home", "default")[1])
            place.run(b"before")
            fill(disk / "filler")
            place.run(b"x" * 20_000)
            place.run(b'{"session_id":"another"}' + bytes(10_000))
            (disk / "filler").unlink()
            place.run(b"after")
            records, _ = place.taken_and_torn()
            assert [one.payload for one in records] == [b"before", b"after"]
            assert (place.losses().lost, place.losses().lost_bytes) == (2, 30_024)
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    # --- whatever happens --------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff", b'{"version": 2, "public": "00", "names": "00"}'])
    def test_without_what_to_seal_to_the_event_is_counted_as_lost(self, place: Place, content: bytes | None) -> None:
        place.mind.spool_config.unlink()
        if content is not None:
            place.mind.spool_config.write_bytes(content)
        place.run(b"one")
        assert place.files() == []
        assert (place.losses().lost, place.losses().lost_bytes) == (1, 3)

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["codex"],
            ["codex", "tool"],
            ["codex", "tool", "--home"],
            ["codex", "tool", "--home", ""],
            ["codex", "tool", "--home", "."],
            ["codex", "tool", "--home=../home"],
            ["codex", "tool", "--home", "/dev/null"],
            ["codex", "tool", "--home", "{home}", "--mind", "another"],
            ["codex", "tool", "--home", "{home}", "--mind", "../default"],
            ["codex", "tool", "--home", "{home}", "--mind", ""],
            ["--ask", "--ask", "--home"],
            ["--\u00fc", "-", "--", "="],
        ],
    )
    def test_arguments_that_say_nothing_useful_are_no_error(self, place: Place, arguments: list[str]) -> None:
        given_ = [one.replace("{home}", str(place.home)) for one in arguments]
        assert finished([*self.command, *given_], b"a payload", place.home) == b""
        assert place.files() == []

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--mind=default", "--home={home}", "codex", "--newer-than-this", "tool"],
            ["codex", "--home", "{home}", "tool", "and", "more"],
        ],
    )
    def test_arguments_come_in_any_order_and_what_is_unknown_is_passed_over(
        self, place: Place, arguments: list[str]
    ) -> None:
        given_ = [one.replace("{home}", str(place.home)) for one in arguments]
        assert finished([*self.command, *given_], b"a payload", place.home) == b""
        assert (place.one().assistant, place.one().event) == ("codex", "tool")

    def test_names_that_are_missing_are_kept_as_that(self, place: Place) -> None:
        finished([*self.command, "--home", str(place.home)], b"a payload", place.home)
        assert (place.one().assistant, place.one().event) == ("", "")

    def test_a_standard_input_that_is_closed_is_no_error(self, place: Place) -> None:
        line = 'exec "$@" <&-'
        arguments = ["sh", "-c", line, "sh", *self.command, "codex", "tool", "--home", str(place.home)]
        assert finished(arguments, b"", place.home) == b""

    def test_a_standard_input_that_does_not_block_is_waited_for(self, place: Place) -> None:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        arguments = [*self.command, "codex", "tool", "--home", str(place.home)]
        with subprocess.Popen(arguments, stdin=reader, env=surroundings({}), cwd=place.home) as process:
            for _ in range(10):
                os.write(writer, b"a part\n")
                until(lambda: unread(reader) == 0 or process.poll() is not None)
            os.close(writer)
            os.close(reader)
            assert process.wait(BOUND_S) == 0
        assert place.one().payload == b"a part\n" * 10
        assert place.losses().lost == 0

    def test_a_standard_output_that_is_closed_is_no_error(self, place: Place) -> None:
        line = 'exec "$@" >&-'
        with serving(place.home, said(b"an answer")):
            arguments = ["sh", "-c", line, "sh", *self.command, "codex", "prompt", "--ask", "--home", str(place.home)]
            assert finished(arguments, b"one", place.home) == b""
        assert place.one().payload == b"one"

    def test_a_working_folder_that_is_gone_is_no_error(self, place: Place, tmp_path: Path) -> None:
        gone = tmp_path / "gone"
        gone.mkdir()
        line = 'rmdir "$0" && exec "$@"'
        arguments = ["sh", "-c", line, str(gone), *self.command, "codex", "tool", "--home", str(place.home)]
        finished(arguments, b"one", gone)
        assert (place.one().payload, place.one().cwd) == (b"one", None)

    def test_it_says_which_format_it_writes(self, place: Place) -> None:
        assert finished([*self.command, "--version"], b"", place.home).endswith(b"spool format 1\n")
        assert place.files() == []

    @pytest.mark.parametrize("host", HOSTS)
    @pytest.mark.parametrize("printed", [MEMORY, MARKED])
    def test_of_the_memorys_own_command_in_a_shell_nothing_is_captured(
        self, place: Place, host: str, printed: str
    ) -> None:
        event, payload = hook_payload(host, "cd /src && ./.venv/bin/mnemic recall mast | head -3", printed)
        place.run(json.dumps(payload).encode(), assistant=host, event=event)
        assert read_record(place.one()) == []

    # --- silence -----------------------------------------------------------------------------------------------------

    @pytest.fixture
    def noticing(self, place: Place) -> Callable[[], bool]:
        """Whether the hook started anything."""
        mark = place.home / "started"
        touch = script(f"open({str(mark)!r}, 'w').close(); print('an answer')")
        place.programs(serve=touch, answer=touch)
        return mark.exists

    @pytest.mark.parametrize("value", ["1", "yes", "true", "00", " "])
    def test_a_variable_silences_it(self, place: Place, noticing: Callable[[], bool], value: str) -> None:
        printed = place.run(b"one" * 100_000, "--ask", event="session-start", environment={"MNEMIC_OFF": value})
        assert printed == b""
        assert place.files() == []
        assert not noticing()
        assert place.losses().lost == 0

    @pytest.mark.parametrize("value", ["", "0"])
    def test_a_variable_that_says_no_does_not_silence_it(self, place: Place, value: str) -> None:
        place.run(b"one", environment={"MNEMIC_OFF": value})
        assert place.one().payload == b"one"

    @pytest.mark.parametrize("value", ["1", "capture"])
    @pytest.mark.parametrize("event", ["session-start", "prompt", "session-end", "tool"])
    def test_of_a_session_that_is_not_captured_only_its_name_is_left(
        self, place: Place, value: str, event: str
    ) -> None:
        told = {"session_id": 's "1" \u00fc', "cwd": str(place.home), "prompt": SECRET}
        place.run(json.dumps(told).encode(), event=event, environment={"MNEMIC_OFF": value})
        records = place.taken()
        if event == "tool":  # one of the others has said so, or will
            assert records == []
            return
        (record,) = records
        assert (record.assistant, record.event, record.cwd, record.branch) == ("codex", "silenced", None, None)
        assert json.loads(record.payload) == {"session_id": told["session_id"]}
        assert place.losses().lost == 0

    def test_a_session_that_is_not_captured_can_be_told_what_is_known(self, place: Place) -> None:
        payload = b'{"session_id":"s"}'
        with serving(place.home, said(b"it is known")) as heard:
            told = place.run(payload, "--ask", event="session-start", environment={"MNEMIC_OFF": "capture"})
        assert told == b"it is known"
        assert (heard[-1].headers["mnemic-off"], heard[-1].body) == ("capture", payload)
        assert place.one().event == "silenced"

    def test_where_nobody_serves_what_answers_slowly_is_told_that_nothing_is_captured(self, place: Place) -> None:
        place.programs(answer=script("import sys; print(sys.argv[1:])"))
        told = place.run(b"{}", "--ask", event="session-start", environment={"MNEMIC_OFF": "capture"})
        assert told.decode().strip().endswith("'--off', 'capture']")
        assert "--off" not in place.run(b"{}", "--ask", event="session-start").decode()

    def test_a_session_that_is_told_nothing_is_captured(self, place: Place) -> None:
        with serving(place.home, said(b"it is known")) as heard:
            told = place.run(b"one", "--ask", event="session-start", environment={"MNEMIC_OFF": "recall"})
        assert (told, heard) == (b"", [])
        assert (place.one().payload, place.one().event) == (b"one", "session-start")

    # --- pauses ------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "line", ["1 -", "1 99999999999999999", "no pause", "5", "1 2 3", "-1 5", "99999999999999999 -"]
    )
    def test_in_a_pause_nothing_is_written_and_nothing_started(
        self, place: Place, noticing: Callable[[], bool], line: str
    ) -> None:
        (place.mind.path / "pauses").write_text(f"1 2\n{line}\n\n")
        before = files_of(place.home)
        assert place.run(b"one" * 100_000) == b""
        assert files_of(place.home) == before
        assert not noticing()

    @pytest.mark.parametrize("text", ["", "\n", "1 2\n", "1 -\n3 4\n"])
    def test_a_pause_that_has_ended_holds_nothing_back(self, place: Place, text: str) -> None:
        (place.mind.path / "pauses").write_text(text)
        place.run(b"one")
        assert place.one().payload == b"one"

    def test_what_cannot_be_read_pauses(self, place: Place) -> None:
        (place.mind.path / "pauses").mkdir()
        place.run(b"one")
        assert place.files() == []
        assert place.losses().lost == 0

    def test_in_a_pause_it_is_asked_so_that_the_session_hears_of_it(self, place: Place) -> None:
        (place.mind.path / "pauses").write_text("1 -\n")
        with serving(place.home, said(b"it is paused")) as heard:
            told = place.run(b'{"session_id":"s"}', "--ask", event="session-start")
        assert told == b"it is paused"
        assert "mnemic-off" not in heard[-1].headers
        assert place.files() == []

    def test_the_commands_write_what_hooks_heed(self, place: Place) -> None:
        now = CLOCK.now_us()
        pause(place.home, "default", now, None)
        place.run(b"one")
        resume(place.home, "default", CLOCK.now_us())
        place.run(b"two")
        pause(place.home, "default", CLOCK.now_us(), 3_600_000_000)
        place.run(b"three")
        assert place.one().payload == b"two"

    # --- how a session was started -----------------------------------------------------------------------------------

    def test_it_passes_on_how_the_host_says_that_it_was_started(self, place: Place) -> None:
        started = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
        place.run(b"one", assistant="claude-code", environment=started)
        place.run(b"two", assistant="claude-code", environment={"CLAUDE_CODE_ENTRYPOINT": ""})
        place.run(b"three", assistant="codex", environment=started)
        entries = {record.payload: record.entry for record in place.taken()}
        assert entries == {b"one": "sdk-cli", b"two": None, b"three": None}

    @pytest.mark.parametrize("where", [".", "a", "a/b"])
    @pytest.mark.parametrize("named", [False, True])
    def test_a_file_in_the_project_silences_it(
        self, place: Place, tmp_path: Path, noticing: Callable[[], bool], where: str, named: bool
    ) -> None:
        deep = tmp_path / "project" / "a" / "b"
        deep.mkdir(parents=True)
        (tmp_path / "project" / where / ".mnemicignore").touch()
        payload = json.dumps({"session_id": "s", **({"cwd": str(deep)} if named else {})}).encode()
        printed = place.run(payload, "--ask", event="session-start", cwd=None if named else deep)
        assert printed == b""
        assert place.files() == []
        assert not noticing()
        assert place.losses().lost == 0

    def test_a_file_beside_the_project_does_not_silence_it(self, place: Place, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / ".mnemicignore").touch()
        (tmp_path / "project").mkdir()
        place.run(b"one", cwd=tmp_path / "project")
        assert place.one().payload == b"one"

    # --- asking ------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("answer", [b"", b"an answer\n", b"\0\xff{}\r\n" * 1000, b"x" * 300_000])
    def test_what_the_process_answers_is_printed_byte_for_byte(self, place: Place, answer: bytes) -> None:
        payload = b'{"session_id":"s","cwd":"/a b/\xc3\xbc%"}' + bytes(200_000)
        with serving(place.home, said(answer)) as heard:
            assert place.run(payload, "--ask", assistant="claude-code", event="session-start") == answer
        (request,) = heard
        assert request.line == "POST /api/hook HTTP/1.1"
        assert request.body == payload
        expected = {"mind": "default", "create": "0", "assistant": "claude-code", "event": "session-start"}
        assert {name: request.headers[f"mnemic-{name}"] for name in expected} == expected
        assert unquote_to_bytes(request.headers["mnemic-cwd"]) == "/a b/\u00fc%".encode()
        assert place.one().payload == payload

    def test_updates_alone_are_asked_for_after_the_event_is_kept_and_nobody_waits_for_them(self, place: Place) -> None:
        payload = b'{"session_id":"s","prompt":"go on"}'
        with serving(place.home, None) as heard:
            assert place.run(payload, "--updates", event="prompt") == b"", "it hangs"
        assert heard[0].headers["mnemic-updates"] == "1"
        assert place.one().payload == payload
        with serving(place.home, said(b"all\n")) as heard:
            assert place.run(payload, "--ask", "--updates", event="prompt") == b"all\n"
        assert "mnemic-updates" not in heard[0].headers

    def test_who_does_not_ask_is_not_answered(self, place: Place) -> None:
        with serving(place.home, said(b"an answer")) as heard:
            assert place.run(b"one", event="session-start") == b""
        assert heard == []

    @pytest.mark.parametrize(
        "answer",
        [said(b"no", "500 Oh"), said(b"no", "400 Bad Request"), b"SSH-2.0\r\n\r\n", None],
        ids=["broken", "refused", "no HTTP", "hanging"],
    )
    def test_what_is_no_answer_is_not_printed_and_starts_nothing(
        self, place: Place, noticing: Callable[[], bool], answer: bytes | None
    ) -> None:
        with serving(place.home, answer):
            assert place.run(b"one", "--ask", event="session-start") == b""
        assert place.one().payload == b"one"
        assert not noticing()

    def absent(self, place: Place, how: str) -> None:
        """Have the process be gone in some way."""
        run = place.home / "run"
        run.mkdir(mode=0o700, exist_ok=True)
        if how == "an info file of a dead process":
            with serving(place.home, b""):
                pass
        elif how == "half an info file":
            (run / "serve.json").write_bytes(b'{"protocol": 1, "fol')

    @pytest.mark.parametrize("how", ["no info file", "an info file of a dead process", "half an info file"])
    def test_where_no_process_is_one_is_started_and_a_session_answered_the_slow_way(
        self, place: Place, how: str
    ) -> None:
        self.absent(place, how)
        started = place.home / "started"
        body = "import sys; sys.stdout.buffer.write(repr(sys.argv[1:]).encode() + sys.stdin.buffer.read())"
        append = f"import os; os.write(os.open({str(started)!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT), b'x')"
        place.programs(serve=script(append), answer=script(body))
        payload = b'{"cwd":"/a b"}\xff'
        options = ["--assistant", "codex", "--event", "session-start", "--home", str(place.home)]
        options += ["--mind", "default", "--cwd", "/a b"]
        for _ in range(2):
            assert place.run(payload, "--ask", event="session-start") == repr(options).encode() + payload
            assert place.run(payload, "--ask", event="prompt") == b""
        until(lambda: started.exists() and started.read_bytes() != b"")
        assert started.read_bytes() == b"x"
        assert len(place.taken()) == 4
        for passed, count in ((1, 1), (61, 2), (-61, 3)):
            at_s = CLOCK.now_us() / 1e6 - passed
            os.utime(place.home / "run" / "hook-start", (at_s, at_s))
            place.run(payload, "--ask", event="prompt")
            until(lambda: started.read_bytes() == b"x" * count)  # noqa: B023

    def test_a_stamp_of_another_user_is_replaced_and_keeps_no_process_from_starting(self, place: Place) -> None:
        started, stamp = place.home / "started", place.home / "run" / "hook-start"
        place.programs(serve=script(f"open({str(started)!r}, 'w').write('x')"))
        stamp.parent.mkdir(mode=0o700, exist_ok=True)
        stamp.touch(0o600)
        before = given_to_another(stamp)
        old_s = CLOCK.now_us() / 1e6 - 3600
        os.utime(stamp, (old_s, old_s))
        place.run(b"one", before=before)
        until(lambda: started.exists() and started.read_text() == "x")
        assert stamp.stat().st_uid == os.geteuid()
        assert stamp.stat().st_mtime > old_s + 1

    def test_a_session_s_file_of_another_user_is_passed_over_and_nothing_is_lost(self, place: Place) -> None:
        place.run(b'{"session_id":"s"} one')
        (file,) = place.files()
        place.run(b'{"session_id":"s"} two', before=given_to_another(file))
        assert len(place.files()) == 2
        assert {one.payload for one in place.taken()} == {b'{"session_id":"s"} one', b'{"session_id":"s"} two'}
        assert place.losses().lost == 0

    def test_in_a_home_of_another_user_nothing_is_kept_asked_counted_or_started(
        self, place: Place, noticing: Callable[[], bool]
    ) -> None:
        for path in (place.home, *place.home.rglob("*")):
            given_to_another(path)
        before = files_of(place.home)
        with serving(place.home, said(b"an answer")) as heard:
            assert place.run(b"one", "--ask", event="session-start") == b""
        assert (heard, place.files(), place.losses().lost, noticing()) == ([], [], 0, False)
        assert {path: data for path, data in files_of(place.home).items() if path in before} == before

    @pytest.mark.parametrize(
        "answer",
        [
            said(b"{}", "503 Service Unavailable"),
            said(b"{}", "404 Not Found"),
            said(b"{}", "426 Upgrade Required"),
            b"",
            b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        ],
        ids=["leaving", "without hooks", "of another version", "killed", "killed half way"],
    )
    def test_a_process_that_cannot_answer_is_as_good_as_none(self, place: Place, answer: bytes) -> None:
        place.programs(answer=script("print('slow')"))
        with serving(place.home, answer):
            assert place.run(b"one", "--ask", event="session-start") == b"slow\n"

    def test_who_does_not_ask_starts_the_process_too_and_only_where_none_is(self, place: Place) -> None:
        started = place.home / "started"
        append = f"import os; os.write(os.open({str(started)!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT), b'x')"
        place.programs(serve=script(append))
        with serving(place.home, said(b"")):
            assert place.run(b"one") == b""
            assert not (place.home / "run" / "hook-start").exists()
        for _ in range(2):
            assert place.run(b"two") == b""
        until(lambda: started.exists() and started.read_bytes() == b"x")
        assert not place.run(b"three")
        assert started.read_bytes() == b"x"

    @pytest.mark.parametrize(
        "body",
        ["print('no', flush=True); raise SystemExit(1)", "print('no', flush=True); import time; time.sleep(600)"],
        ids=["failing", "hanging"],
    )
    def test_a_slow_answer_that_does_not_end_well_is_not_printed(self, place: Place, body: str) -> None:
        note = f"import os; open({str(place.home / 'pid')!r}, 'w').write(str(os.getpid()));"
        place.programs(answer=script(note + body))
        assert place.run(b"one", "--ask", event="session-start") == b""
        pid = int((place.home / "pid").read_text())
        until(lambda: not is_running(pid))

    def test_an_answer_that_does_not_read_its_question_is_printed(self, place: Place) -> None:
        place.programs(answer=script("print('unread')"))
        assert place.run(bytes(1 << 20), "--ask", event="session-start") == b"unread\n"

    @pytest.mark.parametrize(
        "programs",
        [
            b"",
            b"[]",
            b'{"serve": [], "answer": []}',
            b'{"serve": "/bin/true", "answer": 7}',
            b'{"serve": ["/not/there"], "answer": ["/not/there"]}',
        ],
    )
    def test_programs_that_are_not_there_are_no_error(self, place: Place, programs: bytes) -> None:
        place.programs()
        (place.home / "bin" / "hook.json").write_bytes(programs)
        assert place.run(b"one", "--ask", event="session-start") == b""
        assert place.one().payload == b"one"
        assert place.losses().lost == 0

    def test_who_is_started_holds_nothing_of_the_host_s(self, place: Place) -> None:
        """The host waits until its pipes are closed: a process that kept them open would keep it waiting."""
        pid = place.home / "pid"
        body = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
        place.programs(serve=script(body))
        assert place.run(b"one", "--ask", event="prompt") == b""  # returns when standard output is closed
        until(lambda: pid.exists() and pid.read_text() != "")
        started = int(pid.read_text())
        try:
            assert os.getsid(started) == started
        finally:
            os.kill(started, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether there is such a process, and not only what is left of one until somebody asks how it ended."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
