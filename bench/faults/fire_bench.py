"""The fire bench: kills hooks and the process that drains the spool at random, and checks nothing is lost.

In each round a few hooks of a few sessions run at once; some are killed, some find the disk full, some have a clock
that is years off, and the times of the files jump. Meanwhile a process drains, until it is killed and another one
starts. What a hook acknowledged (it ended by itself with 0 and counted no loss) has to be in the store once in the end,
byte for byte; what was killed may be there once or not at all; nothing else may be there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mnemic.bench.harness.homes import MIND_NAME, lexical_settings, quick_check, stored_texts
from mnemic.bench.harness.processes import wait_until
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import MindFolder, create_mind, open_mind
from mnemic.runtime.spool.pending import read_losses

__all__ = ["Campaign", "Outcome", "hook_commands", "run", "run_campaign"]

_SESSIONS = 3
_HOOKS = (2, 5)
_KILLED = 0.3
_DRAINER_KILLED = 0.15
_AWAITED = 0.7
_FULL = 0.1
_WRONG_CLOCK = 0.05
_JUMP = 0.2
_LONGEST_KILL_S = (0.001, 0.004, 0.06)  # as the executable begins, as it ends, and all that the one in Python takes
_AGAIN_SHARE = 0.1
_SIZES = {60: 0.8, 5_000: 0.15, 150_000: 0.04, 1_500_000: 0.01}
"""Lengths of texts, in bytes, and how often each is drawn; the last one takes two frames."""
_YEARS_S = 30 * 365 * 86_400
_WORDS = ("harbour", "lantern", "orchard", "ferry", "copper", "winter", "saddle", "ribbon", "chapel", "ünïcode")
_BACK_S = 60.0

_DRAIN = """
import select, sys, mnemic
with mnemic.open(sys.argv[1]) as mind:
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        mind.drain_spool()
    print(mind.drain_spool().more, mind.capture_progress().set_aside_count, mind.capture_progress().torn, flush=True)
"""
"""Drains until its standard input is closed."""
_LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
os.execv(sys.argv[2], sys.argv[2:])
"""
_MISTAKEN = """
import sys
from mnemic.runtime.capture import python_hook
from mnemic.runtime.clock import SystemClock
class MistakenClock(SystemClock):
    def now_us(self):
        return int(sys.argv[1])
python_hook.main(sys.argv[2:], MistakenClock())
"""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a campaign found."""

    rounds: int
    """Rounds that were fired."""
    hooks: int
    """Hooks that ran."""
    acknowledged: int
    """Those that ended by themselves with 0, while no loss was counted."""
    hooks_killed: int
    """Those that were killed before."""
    drains_killed: int
    """Processes that drained, and were killed."""
    counted: int
    """Losses that hooks counted: the disk was full."""
    torn: int
    """Places of the spool that held no whole record."""
    lost: list[str]
    """What was acknowledged and is not in the store, or was neither kept nor counted; the first words."""
    doubled: list[str]
    """What is in the store more often than it was said."""
    altered: list[str]
    """What is in the store and was never said."""
    set_aside: int
    """Records that could not be understood."""
    left: list[str]
    """Files that still lie in the spool though nothing waits: nothing of them may be unread."""
    check: str
    """What SQLite says of the store: ``ok``."""

    @property
    def whole(self) -> bool:
        """Whether every promise was kept."""
        flaws = self.lost or self.doubled or self.altered or self.set_aside or self.left
        return self.check == "ok" and not flaws


class HookRun(msgspec.Struct, kw_only=True):
    """One hook of a round."""

    session: str
    """Its session."""
    text: str
    """What was said."""
    full: bool
    """Whether it found the disk full, or nearly."""
    process: subprocess.Popen[bytes]
    """Itself."""


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Fire.

    Raises:
        ValueError: there is nothing to do, or whoever drains last did not end well.
        TimeoutError: who was killed did not end.
    """
    if arguments.rounds < 1:
        raise ValueError("1 round or more, please")
    with tempfile.TemporaryDirectory(prefix="mnemic-fire-") as folder:
        started = time.monotonic()
        outcome = run_campaign(Path(folder) / "home", arguments.rounds, arguments.seed, hook_commands())
        took_s = time.monotonic() - started
    row = {"what": "hooks and drains under fire", "state": "ok" if outcome.whole else "failed", "took_s": took_s}
    counts = {name: value for name, value in msgspec.structs.asdict(outcome).items() if not isinstance(value, list)}
    flaws = {name: len(getattr(outcome, name)) for name in ("lost", "doubled", "altered", "left")}
    return [row | counts | flaws]


def hook_commands() -> list[list[str]]:
    """The hooks there are: the executable, where one was built, and the one in Python."""
    built = Path(sys.executable).parent / "mnemic-hook"
    return [
        *([[str(built)]] if built.exists() else []),
        [sys.executable, "-I", "-m", "mnemic.runtime.capture.python_hook"],
    ]


def run_campaign(home: Path, rounds: int, seed: int, hooks: Sequence[Sequence[str]]) -> Outcome:
    """Fire so many rounds at a new home, and look at what is left.

    Args:
        hooks: commands of hooks, the first one being run most often.

    Raises:
        TimeoutError, ValueError: whoever drains did not end, or not well.
    """
    clock = SystemClock()
    folder = create_mind(home, MIND_NAME, clock)
    (home / "mnemic.toml").write_text(lexical_settings(home), "utf-8")
    campaign = Campaign(home, folder, seed, hooks)
    try:
        for number in range(rounds):
            campaign.run_round(number)
        more, set_aside, torn = campaign.drain_all()
    finally:
        campaign.stop_drainer()
    kept = Counter(text.decode("utf-8", "surrogatepass") for text in stored_texts(home))
    _, keys = open_mind(home, MIND_NAME)
    said, certain = campaign.said, campaign.acknowledged
    missing = [text for text, count in certain.items() if kept[text] < count]
    for texts, lost in campaign.unacknowledged:
        there = sum((kept & Counter(texts)).values())
        if there + lost < len(texts):
            missing += [f"{len(texts) - there - lost} of {texts[0][:40]}…"]
    return Outcome(
        rounds=rounds,
        hooks=sum(said.values()),
        acknowledged=sum(certain.values()),
        hooks_killed=campaign.hooks_killed,
        drains_killed=campaign.drains_killed,
        counted=read_losses(folder.spool).lost,
        torn=torn,
        lost=[text[:60] for text in missing],
        doubled=[text[:60] for text, count in kept.items() if 0 < said[text] < count],
        altered=[text[:60] for text in kept if text not in said],
        set_aside=set_aside,
        left=["something waits"] if more else list(read_losses(folder.spool).aside),
        check=quick_check(folder, keys),
    )


class Campaign:
    """Fires at one home."""

    def __init__(self, home: Path, folder: MindFolder, seed: int, hooks: Sequence[Sequence[str]]) -> None:
        self._home = home
        self._folder = folder
        self._random = random.Random(seed)
        self._hooks = hooks
        self._rest = threading.Event()
        self._drain: subprocess.Popen[bytes] | None = None
        self.said: Counter[str] = Counter()
        """All that any hook was given."""
        self.acknowledged: Counter[str] = Counter()
        """What was acknowledged."""
        self.unacknowledged: list[tuple[list[str], int]] = []
        """What hooks of one round were given while a loss was counted, and how many losses."""
        self.hooks_killed = 0
        self.drains_killed = 0

    def run_round(self, number: int) -> None:
        """Have a few hooks run at once, and kill some of them, and whoever drains."""
        before = read_losses(self._folder.spool).lost
        if self._drain is None:
            self._drain = self._start_draining()
        full = self._random.random() < _FULL
        shots = []
        for place in range(self._random.randint(*_HOOKS)):
            shot = self._start_hook(number, place, full)
            shots.append(shot)
            if not full and self._random.random() < _KILLED:
                self._rest.wait(self._random.random() * self._random.choice(_LONGEST_KILL_S))
                shot.process.kill()
        if self._random.random() < _JUMP:
            self._shift_mtimes()
        if self._random.random() < _DRAINER_KILLED:
            self._kill_draining()
        ended = [shot for shot in shots if shot.process.wait(_BACK_S) == 0]
        self.hooks_killed += len(shots) - len(ended)
        counted = read_losses(self._folder.spool).lost - before
        doubtful = [shot for shot in ended if shot.full] if counted else []
        if counted > len(doubtful):
            doubtful = ended
        if doubtful:
            self.unacknowledged.append(([shot.text for shot in doubtful], counted))
        self.acknowledged.update(shot.text for shot in ended if shot not in doubtful)

    def drain_all(self) -> tuple[bool, int, int]:
        """Have everything taken in; returns whether more is left, what was set aside, and torn places."""
        self._kill_draining()
        process = self._start_draining()
        printed, _ = process.communicate(timeout=10 * _BACK_S)
        told = printed.decode().split()[-3:]
        if process.returncode or len(told) != 3:
            raise ValueError(f"the last drain ended with {process.returncode}; {self._home / 'bench.err'} says why")
        return told[0] == "True", int(told[1]), int(told[2])

    def stop_drainer(self) -> None:
        """End whoever drains."""
        self._kill_draining()

    def _start_hook(self, number: int, place: int, full: bool) -> HookRun:
        """Start a hook for a prompt that somebody types, now and then one that was typed before."""
        session = f"session-{self._random.randrange(_SESSIONS)}"
        (size,) = self._random.choices(list(_SIZES), list(_SIZES.values()))
        words = " ".join(self._random.choice(_WORDS) for _ in range(max(1, size // 8)))
        again = self._random.random() < _AGAIN_SHARE
        text = "yes" if again else f"shot {number}-{place}: {words}"
        told = {"session_id": session, "hook_event_name": "UserPromptSubmit", "cwd": str(self._home), "prompt": text}
        payload = self._home.parent / f"payload-{place}"
        payload.write_bytes(json.dumps(told).encode())
        chosen = self._hooks[0] if self._random.random() < 0.8 else self._random.choice(self._hooks)
        command = [*chosen, "claude-code", "prompt", "--home", str(self._home)]
        if full:
            command = [sys.executable, "-S", "-c", _LIMITED, str(self._size_limit()), *command]
        elif self._random.random() < _WRONG_CLOCK:
            at_us = round(1e6 * (time.time() + self._random.uniform(-1, 1) * _YEARS_S))
            command = [sys.executable, "-c", _MISTAKEN, str(at_us), *command[len(chosen) :]]
        with payload.open("rb") as stdin:
            payload.unlink()  # the next one of that name is another file
            process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL)
        self.said[text] += 1
        return HookRun(session=session, text=text, full=full, process=process)

    def _size_limit(self) -> int:
        """How long the longest file may become: there is room for none, some or all of what comes."""
        longest = max((path.stat().st_size for path in self._files()), default=48)
        return longest + self._random.choice((0, 40, 200, 100_000))

    def _shift_mtimes(self) -> None:
        """Set the times of files far back or forth, as a clock that jumps does."""
        for path in self._files():
            at_s = time.time() + self._random.uniform(-1, 1) * _YEARS_S
            try:
                os.utime(path, (at_s, at_s))
            except FileNotFoundError:  # it was taken in and removed this moment
                continue

    def _files(self) -> list[Path]:
        return sorted(self._folder.spool.glob("*.spool"))

    def _start_draining(self) -> subprocess.Popen[bytes]:
        with open(self._home / "bench.err", "ab") as errors:
            command = [sys.executable, "-P", "-c", _DRAIN, str(self._home)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        if self._random.random() < _AWAITED:  # the others may be killed while they start
            assert process.stdout is not None
            process.stdout.readline()
        return process

    def _kill_draining(self) -> None:
        if self._drain is None:
            return
        self._drain.kill()
        wait_until(lambda: self._drain is None or self._drain.poll() is not None, "the end of a drain", _BACK_S)
        for pipe in (self._drain.stdin, self._drain.stdout):
            assert pipe is not None
            pipe.close()
        self._drain = None
        self.drains_killed += 1
