"""Parent process for the Ray engine: holds lock and sockets, and restarts the child that drives Ray.

Ray ends the process that drives it when its head dies, without a word. So the driver is a child in a session of its
own; when it goes, the parent kills what is left of that session and starts another one, after a rest. Who connects
meanwhile waits at the sockets, which stay open; the info file says what is going on.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from types import FrameType

import msgspec

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import NotServed
from mnemic.runtime.engine.actor_health import FailureHistory, Quarantine, RestartPolicy, on_failure
from mnemic.runtime.minds.run_dir import RunDir, ServerInfo, not_served

_log = logging.getLogger("mnemic.parent")

ENGINE_LOST = 70
"""What the child exits with when its engine is gone; the info file holds why."""
_EXPLAINED_EXIT_CODES = range(2, 6)  # of a command that has said what is wrong; see `mnemic.errors`
_POLICY = RestartPolicy(failures=10, window_s=300.0, first_delay_s=0.1, longest_delay_s=10.0)
_STOP_S = 10.0
_POLL_S = 0.05


class DriverParent:
    """Keeps a child alive that does the work."""

    def __init__(
        self,
        run_dir: RunDir,
        info: ServerInfo,
        clock: Clock,
        seed: int,
        ready: Callable[[], None] = lambda: None,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        """Take charge of a home whose lock is held.

        Args:
            info: what it shall say.
            seed: what the rests before restarts are drawn from.
            ready: called once, as soon as a child answers.
            release: lets those go who wait at the service's socket; called again and again.
        """
        self._run_dir = run_dir
        self._info = info
        self._clock = clock
        self._generator = random.Random(seed)
        self._ready: Callable[[], None] | None = ready  # gone once it was called
        self._release = release
        self._health = FailureHistory()
        self._ended = threading.Event()  # set by a signal
        self._child: subprocess.Popen[bytes] | None = None
        self._told: subprocess.Popen[bytes] | None = None  # the child that was told to end, once

    def run(self, command: Callable[[Sequence[int]], Sequence[str]], sockets: Sequence[socket.socket]) -> int:
        """Start the child, and start it again until it ends by itself or a signal says so; returns its exit code.

        A first child that ends before it was ready is not started again: something is wrong that stays.

        Args:
            command: the child's command line, given the numbers of the descriptors it inherits: those of `sockets`,
                and one more, which ends when the parent does. It runs in ``/``: paths in it are absolute.

        Raises:
            NotServed: it ended too often, or at once without a word.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop_signal)
        signal.signal(signal.SIGHUP, self._forward_signal)
        while True:
            code = self._run_child(command, sockets)
            said = self._run_dir.read_info()
            if self._ended.is_set() and said is not None and said.state in ("starting", "restarting"):
                return 0  # told to leave before it could: what Ray does with a signal then is no failure
            if self._ended.is_set() or code == 0 or said is None:  # without an info file, it was leaving
                return code if code >= 0 else 1
            cause = self._exit_cause(code)
            if code > 0 and said.state == "starting":
                if code in _EXPLAINED_EXIT_CODES:
                    return code
                raise self._not_served(f"what drives Ray ended before it was ready: {cause}")
            self._health, instruction = on_failure(
                self._health, self._clock.monotonic_s(), cause, _POLICY, self._generator.random()
            )
            _log.error("the process that drives Ray ended (%s) -> %s", cause, instruction)
            if isinstance(instruction, Quarantine):
                raise self._not_served(f"what drives Ray ended {self._health.failures} times, at last because: {cause}")
            self._publish_state("restarting", cause)
            self._ended.wait(instruction.delay_s)

    def _run_child(self, command: Callable[[Sequence[int]], Sequence[str]], sockets: Sequence[socket.socket]) -> int:
        """Start one child, wait for its end, and leave nothing of it."""
        ours, theirs = os.pipe()
        numbers = [*(one.fileno() for one in sockets), ours]
        try:
            # `ours` is read by the child: it ends when the last writer, this process, does.
            # And it works in a folder that nobody else writes to: Ray has its workers import from there.
            child = self._child = subprocess.Popen(
                list(command(numbers)), stdin=subprocess.DEVNULL, pass_fds=numbers, start_new_session=True, cwd="/"
            )
            while child.poll() is None:
                self._poll_child(child)
        finally:
            os.close(ours)
            os.close(theirs)
        kill_session(child.pid)
        return child.returncode

    def _poll_child(self, child: subprocess.Popen[bytes]) -> None:
        """Wait a moment; a child that was told to end is given the time for it."""
        if self._ready is not None:
            said = self._run_dir.read_info()
            if said is not None and said.state == "ready":
                self._ready()
                self._ready = None
        ended = self._ended.wait(_POLL_S)
        self._release()
        if not ended:
            return
        try:
            if self._told is not child:  # the signal came before there was a child to pass it on to
                child.terminate()
            child.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            _log.error("the process that drives Ray did not end within %g s: it is killed", _STOP_S)
            child.kill()

    def _on_stop_signal(self, number: int, frame: FrameType | None) -> None:
        self._ended.set()
        if self._told is None:  # a second one would kill a Python that is ending: it has no handler any more
            self._forward_signal(signal.SIGTERM, frame)
            self._told = self._child

    def _forward_signal(self, number: int, frame: FrameType | None) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)

    def _not_served(self, why: str) -> NotServed:
        return not_served(self._run_dir.home, why)

    def _exit_cause(self, code: int) -> str:
        said = self._run_dir.read_info()
        if code == ENGINE_LOST and said is not None and said.cause:
            return said.cause
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"

    def _publish_state(self, state: str, cause: str) -> None:
        restarts = self._health.failures
        self._info = msgspec.structs.replace(self._info, state=state, cause=cause, restarts=restarts)
        self._run_dir.publish(self._info)


def kill_session(session: int) -> None:
    """Kill every process of a session: Ray's helpers outlive their driver by half a minute."""
    import psutil

    left = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and os.getsid(process.pid) == session:
                process.kill()
                left.append(process)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue  # it went by itself
    psutil.wait_procs(left, timeout=_STOP_S)
