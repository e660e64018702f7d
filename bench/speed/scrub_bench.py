"""The scrub bench: what taking secrets out costs, on ordinary text and on text that was made to be slow.

Rows: a turn of 2 KB without a secret (Python's language reference, cut), a megabyte of tool output (the source of
Python's own library), how many secrets are found in that, where none are, and megabytes that a careless expression
would take hours for. detect-secrets, where it is installed, takes turns with it on the first two: all its detectors
and filters, as its own scan has them. One thread, whose own time is counted.
"""

from __future__ import annotations

import argparse
import pydoc_data.topics
import random
import sysconfig
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mnemic.runtime.secrets.secrets import load_scrub

__all__ = ["run"]

TURN_BYTES = 2048
OUTPUT_BYTES = HOSTILE_BYTES = 1_000_000
GOAL_TURN_US = 50.0
GOAL_MB_S = 10.0
_OURS = "mnemic"
_THEIRS = "competitor: detect-secrets"

Scan = Callable[[bytes], int]
"""Goes through a text and says how many secrets it found."""


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Run everything.

    Raises:
        ValueError: there is no round.
    """
    if arguments.rounds < 1:
        raise ValueError("there must be 1 round or more")
    turns, output = _turns(), _output()
    scans: dict[str, Scan] = {_OURS: _ours}
    rows: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        if find_spec("detect_secrets"):
            scans[_THEIRS] = _theirs(Path(folder))
        else:
            why = "detect_secrets is not installed: it comes with the extra `bench`"
            rows.append({"what": "all", "of": _THEIRS, "state": "skipped", "why": why})
        for name, took, _ in _by_turns(scans, turns, min(arguments.rounds, 5)):
            each_us = float(np.median(took)) / len(turns) * 1e6
            rows.append({"what": f"a turn of {TURN_BYTES} bytes", "of": name, "p50_us": each_us, "n": len(took)})
            if name == _OURS:
                rows[-1] |= {"goal_us": GOAL_TURN_US, "met": each_us <= GOAL_TURN_US}
        for name, took, found in _by_turns(scans, [output], min(arguments.rounds, 3)):
            mb_s = len(output) / 1e6 / float(np.median(took))
            rows.append({"what": "tool output", "of": name, "mb_s": mb_s, "taken_for_secrets": found, "n": len(took)})
            if name == _OURS:
                rows[-1] |= {"goal_mb_s": GOAL_MB_S, "met": mb_s >= GOAL_MB_S}
    for what, text in _hostile():
        (_, took, found), *_ = _by_turns({_OURS: _ours}, [text], 1)
        rows.append({"what": what, "of": _OURS, "mb_s": len(text) / 1e6 / took[0], "taken_for_secrets": found})
    return rows


def _by_turns(scans: dict[str, Scan], texts: list[bytes], rounds: int) -> Iterator[tuple[str, list[float], int]]:
    """Have each go through all texts, by turns; seconds of each round, and what was found in the last."""
    took: dict[str, list[float]] = {name: [] for name in scans}
    found = dict.fromkeys(scans, 0)
    for scan in scans.values():
        scan(texts[0])  # loads and compiles
    for _ in range(rounds):
        for name, scan in scans.items():
            began = time.thread_time()
            found[name] = sum(map(scan, texts))
            took[name].append(time.thread_time() - began)
    for name, each in took.items():
        yield name, each, found[name]


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
        b"token",
        b"=",
        b":",
        b"sk-",
        b'"',
        b" ",
        b"xoxb-",
        b"eyJ",
        b".",
        b"password",
        b"://",
        b"@",
        b"a1b2c3d4e5f6",
    ]
    yield "pieces of secrets", b"".join(draw.choices(parts, k=HOSTILE_BYTES // 4))
