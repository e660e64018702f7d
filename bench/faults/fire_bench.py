"""The fire bench: kills hooks and the process that drains the spool at random, and checks nothing is lost.

In each round a few hooks of a few sessions run at once; some are killed, some find the disk full, and the times of the
files jump. Meanwhile a process drains, until it is killed and another one
starts. What a hook acknowledged (it ended by itself with 0 and counted no loss) has to be in the store once in the end,
byte for byte; what was killed may be there once or not at all; nothing else may be there.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mnemic.bench.harness.homes import MIND_NAME, lexical_settings, quick_check, stored_texts
from mnemic.bench.harness.measure import Row, verdict
from mnemic.bench.speed.hook_bench import EXECUTABLE
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import MindFolder, create_mind
from mnemic.runtime.spool.files import read_losses

_SESSIONS = 3
_HOOKS = (2, 5)
_KILLED = 0.3
_DRAINER_KILLED = 0.15
_AWAITED = 0.7
_FULL = 0.1
_JUMP = 0.2
_LONGEST_KILL_S = (0.001, 0.004)  # as it begins, and as it ends
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
    print(mind.drain_spool().more, mind.capture_progress().quarantined_count, mind.capture_progress().torn, flush=True)
"""
"""Drains until its standard input is closed."""
_LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
os.execv(sys.argv[2], sys.argv[2:])
"""


class HookRun(msgspec.Struct, kw_only=True):
    """One hook of a round."""

    text: str
    """What was said."""
    full: bool
    """Whether it found the disk full, or nearly."""
    process: subprocess.Popen[bytes]
    """Itself."""


def run(*, rounds: int = 15, seed: int = 0) -> Iterator[Row]:
    """Fire.

    Raises:
        ValueError: whoever drains last did not end well.
        TimeoutError: who was killed did not end.
    """
    with tempfile.TemporaryDirectory(prefix="mnemic-fire-") as folder:
        yield run_campaign(Path(folder) / "home", rounds, seed)


def run_campaign(home: Path, rounds: int, seed: int) -> Row:
    """Fire so many rounds at a new home.

    Returns:
        The row. Of these there may be none: ``lost`` counts what was acknowledged and is not in the store, or was
        neither kept nor counted; ``doubled`` what is there more often than it was said, ``altered`` what was never
        said, ``quarantined`` records that could not be understood, ``left`` files of the spool that nobody waits for.
        ``counted`` are losses that hooks counted as the disk was full, ``torn`` places that held no whole record.

    Raises:
        TimeoutError, ValueError: whoever drains did not end, or not well.
    """
    folder = create_mind(home, MIND_NAME, SystemClock())
    (home / "mnemic.toml").write_text(lexical_settings(home), "utf-8")
    campaign = Campaign(home, folder, seed)
    started = time.monotonic()
    try:
        for number in range(rounds):
            campaign.run_round(number)
        more, quarantined, torn = campaign.drain_all()
    finally:
        campaign.kill_draining()
    took_s = time.monotonic() - started
    kept = Counter(text.decode("utf-8", "surrogatepass") for text in stored_texts(home))
    said, certain = campaign.said, campaign.acknowledged
    missing = [text for text, count in certain.items() if kept[text] < count]
    for texts, lost in campaign.unacknowledged:
        there = sum((kept & Counter(texts)).values())
        if there + lost < len(texts):
            missing += [f"{len(texts) - there - lost} of {texts[0]}"]
    losses = read_losses(folder.spool)
    flaws = {
        "lost": missing,
        "doubled": [text for text, count in kept.items() if 0 < said[text] < count],
        "altered": [text for text in kept if text not in said],
        "left": ["something waits"] if more else list(losses.quarantined),
    }
    check = quick_check(home)
    return {
        "what": "hooks and drains under fire",
        **verdict(**flaws, quarantined=quarantined, check=check if check != "ok" else ""),
        "took_s": took_s,
        "rounds": rounds,
        "hooks": sum(said.values()),
        "acknowledged": sum(certain.values()),
        "hooks_killed": campaign.hooks_killed,
        "drains_killed": campaign.drains_killed,
        "counted": losses.lost,
        "torn": torn,
        "quarantined": quarantined,
        "check": check,
        **{name: len(texts) for name, texts in flaws.items()},
    }


class Campaign:
    """Fires at one home."""

    def __init__(self, home: Path, folder: MindFolder, seed: int) -> None:
        self._home = home
        self._folder = folder
        self._random = random.Random(seed)
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
            self.kill_draining()
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
        """Have everything taken in; returns whether more is left, what was quarantined, and torn places."""
        self.kill_draining()
        process = self._start_draining()
        printed, _ = process.communicate(timeout=10 * _BACK_S)
        told = printed.decode().split()[-3:]
        if process.returncode or len(told) != 3:
            raise ValueError(f"the last drain ended with {process.returncode}; {self._home / 'bench.err'} says why")
        return told[0] == "True", int(told[1]), int(told[2])

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
        command = [str(EXECUTABLE), "claude-code", "prompt", "--home", str(self._home)]
        if full:
            command = [sys.executable, "-S", "-c", _LIMITED, str(self._size_limit()), *command]
        with payload.open("rb") as stdin:
            payload.unlink()  # the next one of that name is another file
            process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL)
        self.said[text] += 1
        return HookRun(text=text, full=full, process=process)

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

    def kill_draining(self) -> None:
        """End whoever drains, at once."""
        if self._drain is None:
            return
        self._drain.kill()
        self._drain.wait(_BACK_S)
        for pipe in (self._drain.stdin, self._drain.stdout):
            assert pipe is not None
            pipe.close()
        self._drain = None
        self.drains_killed += 1
