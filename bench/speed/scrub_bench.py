"""The scrub bench: what taking secrets out costs, on ordinary text and on text that was made to be slow.

Rows: a turn of 2 KB without a secret (Python's language reference, cut), a megabyte of tool output (the source of
Python's own library), how many secrets are found in that, where none are, and megabytes that a careless expression
would take hours for. detect-secrets, where it is installed, takes turns with it on the first two: all its detectors
and filters, as its own scan has them. One thread, whose own time is counted.
"""

from __future__ import annotations

import pydoc_data.topics
import random
import sysconfig
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mnemic.bench.harness.measure import Row, goal, skipped, take_turns
from mnemic.runtime.secrets.secrets import load_scrub

TURN_BYTES = 2048
OUTPUT_BYTES = HOSTILE_BYTES = 1_000_000
GOAL_TURN_US = 50.0
GOAL_MB_S = 10.0
_OURS = "mnemic"
_THEIRS = "competitor: detect-secrets"

Scan = Callable[[bytes], int]
"""Goes through a text and says how many secrets it found."""


def run(*, rounds: int = 15) -> Iterator[Row]:
    """Run everything."""
    turns, output = _turns(), _output()
    scans: dict[str, Scan] = {_OURS: _ours}
    with TemporaryDirectory() as folder:
        if find_spec("detect_secrets"):
            scans[_THEIRS] = _theirs(Path(folder))
        else:
            yield {"what": "all"} | skipped(_THEIRS, "detect_secrets is not installed: it comes with the extra `bench`")
        for name, taken_ms, _ in _by_turns(scans, turns, min(rounds, 5)):
            each_us = 1e3 * float(np.median(taken_ms)) / len(turns)
            row = {"what": f"a turn of {TURN_BYTES} bytes", "of": name, "p50_us": each_us, "n": len(taken_ms)}
            yield row | (goal("us", each_us, GOAL_TURN_US) if name == _OURS else {})
        for name, taken_ms, found in _by_turns(scans, [output], min(rounds, 3)):
            mb_s = len(output) / 1e3 / float(np.median(taken_ms))
            row = {"what": "tool output", "of": name, "mb_s": mb_s, "taken_for_secrets": found, "n": len(taken_ms)}
            yield row | ({"goal_mb_s": GOAL_MB_S, "met": mb_s >= GOAL_MB_S} if name == _OURS else {})
    for what, text in _hostile():
        ((_, taken_ms, found),) = _by_turns({_OURS: _ours}, [text], 1)
        yield {"what": what, "of": _OURS, "mb_s": len(text) / 1e3 / taken_ms[0], "taken_for_secrets": found}


def _by_turns(scans: dict[str, Scan], texts: list[bytes], rounds: int) -> Iterator[tuple[str, list[float], int]]:
    """Have each go through all texts, by turns; milliseconds of each round, and what was found in the last."""
    found = dict.fromkeys(scans, 0)

    def go_through(name: str) -> None:
        found[name] = sum(map(scans[name], texts))

    for scan in scans.values():
        scan(texts[0])  # loads and compiles
    tasks = {name: lambda name=name: go_through(name) for name in scans}
    for name, taken_ms in take_turns(tasks, rounds, clock=time.thread_time).items():
        yield name, taken_ms, found[name]


def _ours(text: bytes) -> int:
    return sum(count for _, count in load_scrub()(text).found)


def _theirs(folder: Path) -> Scan:
    """It scans files alone: each text is written to one first, which is part of its time and little of it."""
    from detect_secrets.core.scan import scan_file
    from detect_secrets.settings import default_settings

    def scan(text: bytes) -> int:
        path = folder / "text"
        path.write_bytes(text)
        with default_settings():
            return len(set(scan_file(str(path))))

    return scan


def _turns() -> list[bytes]:
    """Prose that speaks of names, values and keys, in pieces."""
    prose = "\n".join(pydoc_data.topics.topics.values()).encode()
    return [prose[at : at + TURN_BYTES] for at in range(0, 100 * TURN_BYTES, TURN_BYTES)]


def _output() -> bytes:
    """Source code, whole files in the order of their names."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    output = bytearray()
    for path in sorted(folder.glob("*.py")):
        output += path.read_bytes()
        if len(output) >= OUTPUT_BYTES:
            break
    return bytes(output[:OUTPUT_BYTES])


def _hostile() -> Iterator[tuple[str, bytes]]:
    draw = random.Random(0)
    yield "one letter", b"a" * HOSTILE_BYTES
    yield "a=a=a=…", b"a=" * (HOSTILE_BYTES // 2)
    yield "base64", b64encode(draw.randbytes(HOSTILE_BYTES * 3 // 4))
    yield "names without a value", b"secret= " * (HOSTILE_BYTES // 8)
    yield "beginnings of keys", b"-----BEGIN PRIVATE KEY-----" * (HOSTILE_BYTES // 27)
    yield "marks alone", b"[secret: password]" * (HOSTILE_BYTES // 18)
    parts = [
        part.encode() for part in ("token", "=", ":", "sk-", '"', " ", "xoxb-", "eyJ", ".", "password", "://", "@")
    ]
    parts.append(b"a1b2c3d4e5f6")
    yield "pieces of secrets", b"".join(draw.choices(parts, k=HOSTILE_BYTES // 4))
