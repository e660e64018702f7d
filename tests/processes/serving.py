"""A home's process as tests meet it: real ones, started and ended, and an assistant with its pipe to them."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mnemic.hooks.wire.record import HostInstall, InstallRecord
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo, process_start_time
from tests.processes.faces import start
from tests.processes.hosted import HELLO
from tests.waiting import BOUND_S, until

OTHER = (
    "import mnemic.runtime.minds.run_dir as run_dir; run_dir.PROTOCOL = {}; from mnemic.cli.main import main; main()"
)
"""A Mnemic of another protocol: what the processes say to each other is read from one place when they start."""


def info_of(home: Path) -> ServerInfo | None:
    """The info file of a process that is there."""
    info = RunDir(home).read_info()
    return info if info is not None and info.is_alive() else None


def ready(home: Path, *, but: int = 0) -> ServerInfo:
    """Wait for a process that serves the home, another one than `but`; its info file."""
    found: list[ServerInfo] = []

    def there() -> bool:
        info = info_of(home)
        if info is None or info.state != "ready" or info.pid == but:
            return False
        found.append(info)
        return True

    until(there)
    return found[0]


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    return not process_start_time(pid)


def end(home: Path) -> None:
    """End whatever serves a home, with everything it started."""
    info = info_of(home)
    if info is not None and info.pid != os.getpid():  # a test may have written an info file of its own
        os.kill(info.pid, signal.SIGKILL)
        until(lambda: gone(info.pid))


@contextmanager
def serving(
    home: Path, *options: object, engine: str = "embedded", protocol: int | None = None, cwd: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the foreground, from when it is ready; of another protocol, where one is given."""
    arguments = ["serve", "--engine", engine, "--home", str(home), *map(str, options)]
    if protocol is None:
        process = start(*arguments, cwd=cwd)
    else:
        command = [sys.executable, "-c", OTHER.format(protocol), *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until(lambda: process.poll() is not None or _ready(home, process.pid))
        yield process
    finally:
        process.kill()
        process.communicate()


def _ready(home: Path, pid: int) -> bool:
    info = info_of(home)
    return info is not None and info.state == "ready" and info.pid == pid


class Assistant:
    """An assistant that has started `mnemic mcp` in a folder."""

    def __init__(
        self, home: Path, folder: Path | None = None, *, hello: bool = True, allow: str | None = None, **options: Any
    ) -> None:
        wired = [] if allow is None else ["--assistant", "cursor"]
        if allow is not None:  # as `hooks install --allow` keeps it
            record = InstallRecord(home, SystemClock())
            record.hosts["cursor"] = HostInstall("default", False, {}, allow=(allow,))
            record.save()
        self.process = start("mcp", "--home", home, *wired, cwd=folder, **options)
        self._heard: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        if hello:
            self.send(HELLO)
            assert self.hear()["result"]["serverInfo"]["name"] == "mnemic"

    def send(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def hear(self) -> Any:
        """The next line, parsed; ``None`` at the end."""
        return self._heard.get(timeout=BOUND_S)

    def hear_all(self, count: int) -> dict[Any, Any]:
        """So many answers, by id."""
        return {answer["id"]: answer for answer in (self.hear() for _ in range(count))}

    def tool(self, line: bytes) -> Any:
        """Call one tool; its structured answer."""
        self.send(line)
        answer = self.hear()
        assert not answer["result"].get("isError"), answer
        return answer["result"]["structuredContent"]

    def close(self) -> tuple[int, list[Any]]:
        """Say no more; its exit code, and what it still said."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(BOUND_S)
        said = []
        while (line := self.hear()) is not None:
            said.append(line)
        return code, said

    def __enter__(self) -> Assistant:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stderr):
            if stream is not None:
                stream.close()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                self._heard.put(json.loads(line))
        self._heard.put(None)
