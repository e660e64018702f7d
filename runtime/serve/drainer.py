"""Background thread of the server that ingests what hooks wrote to the spool, and queued transcripts.

A thread that looks at the spools of all minds of the home twice a second, and only at the sizes and times of their
files: a mind is opened when something came, and asked when it is open anyway. Below are
`mnemic.runtime.serve.open_minds` and the Capture actor, which knows what was taken in; this thread may forget all it
knows, and nothing is lost by it.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from mnemic.actors.kernel.contract import Clock
from mnemic.actors.kernel.errors import ActorStopped, MnemicError
from mnemic.runtime.api.capture import DRAIN_LOCK
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.engine.engine import safe_cause
from mnemic.runtime.minds.run_dir import RunDir
from mnemic.runtime.serve.open_minds import OpenMinds

_log = logging.getLogger("mnemic.runtime.serve.drainer")

TICK_S = 0.5
_MAX_PARTS = 16  # of one mind before the others have their turn
_RECHECK_DELAYS_S = (75.0, 300.0, 1800.0)
"""When to look again at files that are read to their end: once they have been silent for a while they are removed, and
what a hook had begun may never end."""
_FIRST_DELAY_S = 1.0
_MAX_DELAY_S = 300.0

SpoolState = dict[str, tuple[int, int]]
"""What a spool looks like from outside: its files, and of each the length and the time of the last change."""


def notify_queued(home: Path, mind: str) -> None:
    """Have the drainer of a home's process ask a mind what is due, now: somebody else has queued something.

    Raises:
        StoreError: the home cannot be written.
    """
    RunDir(home).prepare()
    _queued_marker(home, mind).touch()


def _queued_marker(home: Path, mind: str) -> Path:
    """What is there once somebody has rung; the drainer takes it away."""
    return RunDir(home).folder / f"queued-{mind}"


class _MindState:
    """What is known of one mind."""

    def __init__(self) -> None:
        self.spool_at_end: SpoolState = {}  # as it was when it was read to its end
        self.drained_mind: Mind | None = None  # the opening in which it was asked at least once
        self.next_due_at: int | None = None
        self.more = False
        self.idle_polls = 0  # since something came
        self.recheck_at_s: float | None = None
        self.failures = 0
        self.not_before_s = 0.0
        self.last_error = ""


class DrainThread:
    """Drains the minds of one home, in a thread of its own."""

    def __init__(
        self,
        home: Path,
        minds: OpenMinds,
        serving: Callable[..., AbstractContextManager[None]],
        clock: Clock,
        locked: Callable[[str], bool] = lambda name: False,
    ) -> None:
        """Look at nothing yet.

        Args:
            serving: notes each draining as a request of the process, idle where nothing came; see `ServerControl`.
            locked: whether a mind waits for its passphrase: what came for it waits too, and nothing is wrong.
        """
        self._home = home
        self._minds = minds
        self._serving = serving
        self._clock = clock
        self._locked = locked
        self._known: dict[str, _MindState] = {}
        self._scan_error = ""  # why the folder of all minds could not be looked at
        self.has_polled = False
        """Whether all minds were looked at once since it began: until then nobody knows that nothing waits."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="mnemic-drainer")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """End after what is begun; wait for that no longer than this."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def problems(self) -> list[str]:
        """Why something that hooks kept is not taken in, a sentence for each mind, or for all of them."""
        blind = [f"the spools could not be looked at: {self._scan_error}"] if self._scan_error else []
        return blind + [
            f"what hooks kept for the mind {name!r} could not be taken in ({known.failures} times): {known.last_error}"
            for name, known in sorted(self._known.items())
            if known.last_error
        ]

    def poll(self) -> bool:
        """Look at all minds once, and drain a bounded part of those that have something; says whether more is left."""
        more = self._poll_all()
        self.has_polled = True
        return more

    def _poll_all(self) -> bool:
        try:
            names = self._mind_names()
        except OSError as error:  # the folder of all minds may be out of reach for a while
            if not self._scan_error:
                _log.error("the spools could not be looked at: %s", safe_cause(error))
            self._scan_error = error.strerror or type(error).__name__
            return False
        self._scan_error = ""
        for gone in self._known.keys() - set(names):
            del self._known[gone]
        for name in names:
            if self._ended.is_set():
                return False
            known = self._known.setdefault(name, _MindState())
            if self._clock.monotonic_s() < known.not_before_s:
                continue
            try:
                self._poll_mind(name, known)
            except ActorStopped:
                if self._ended.is_set():
                    return False
                self._record_failure(name, known, "its actors were just stopped", "actor_stopped")
            except MnemicError as error:
                self._record_failure(name, known, str(error), error.code)
            except Exception as error:  # the drainer's own loop: logged, counted, shown; the others have their turn
                self._record_failure(name, known, safe_cause(error), "failure")
        return any(known.more for known in self._known.values())

    def _run(self) -> None:
        more = False
        while not self._ended.wait(0.0 if more else TICK_S):
            more = self.poll()

    def _mind_names(self) -> list[str]:
        try:
            with os.scandir(self._home / "minds") as found:
                return sorted(entry.name for entry in found if not entry.name.startswith(".") and entry.is_dir())
        except FileNotFoundError:
            return []

    def _poll_mind(self, name: str, known: _MindState) -> None:
        seen = _read_spool_state(self._home / "minds" / name / "spool")
        came = any(known.spool_at_end.get(file) != what for file, what in seen.items())
        due = known.next_due_at is not None and self._clock.now_us() >= known.next_due_at
        if came:
            known.idle_polls = 0
        if came or due or known.more or _queued_marker(self._home, name).exists():
            if not self._locked(name):
                self._drain(name, known, seen, idle=False)
            return
        opened = self._minds.open_minds().get(name)
        again = bool(seen) and known.recheck_at_s is not None and self._clock.monotonic_s() >= known.recheck_at_s
        if again or (opened is not None and opened is not known.drained_mind):
            self._drain(name, known, seen, idle=True)

    def _drain(self, name: str, known: _MindState, seen: SpoolState, *, idle: bool) -> None:
        """Drain so many parts of a mind; nobody else of this home drains meanwhile.

        Args:
            seen: what its spool looked like before.
            idle: whether nothing came: to ask keeps the process from neither leaving nor sleeping then.
        """
        held = RunDir(self._home).acquire_lock(DRAIN_LOCK)
        if held is None:  # a command that works alone: soon
            return
        parts = itertools.count()
        try:
            _queued_marker(self._home, name).unlink(missing_ok=True)  # first: what is queued meanwhile rings again
            with self._serving("drain", idle=idle), self._minds.use(name, False) as mind:
                drained = mind.drain_spool(lambda: next(parts) < _MAX_PARTS and not self._ended.is_set(), idle=idle)
                known.drained_mind = mind
        finally:
            os.close(held)
        known.more = drained.more
        known.failures, known.last_error, known.not_before_s = 0, "", 0.0
        if not drained.more:
            known.spool_at_end, known.next_due_at = seen, drained.next_due_at
            known.recheck_at_s = (
                self._clock.monotonic_s() + _RECHECK_DELAYS_S[known.idle_polls]
                if known.idle_polls < len(_RECHECK_DELAYS_S)
                else None
            )
            known.idle_polls += 1

    def _record_failure(self, name: str, known: _MindState, why: str, code: str) -> None:
        known.failures += 1
        delay_s = min(_MAX_DELAY_S, _FIRST_DELAY_S * 2.0 ** min(known.failures - 1, 16))
        known.not_before_s = self._clock.monotonic_s() + delay_s
        known.more, known.last_error = False, why
        _log.error("the mind %s could not be drained: %s; again in %g s", name, code, delay_s, extra={"code": code})


def _read_spool_state(folder: Path) -> SpoolState:
    """What a spool looks like; a file that goes at this moment is not there."""
    found: SpoolState = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".spool") and not entry.name.startswith("."):
                    about = _stat(entry)
                    if about is not None:
                        found[entry.name] = (about.st_size, about.st_mtime_ns)
    except FileNotFoundError:
        return {}
    return found


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
