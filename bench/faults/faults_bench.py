"""The fault bench: attacks a home in every way that can be repeated, and counts what broke.

Commands are killed and failed at the calls by which they change files, bits of files are flipped, commands run all at
once, requests are cut off and garbled, and hooks run in folders that somebody made to do harm. Each kind of attack is a
row; whatever broke is an example in it, with the options that carry out that one case again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from mnemic.bench.faults import bit_flips, half_requests, hostile_folders, parallel_commands, write_calls
from mnemic.bench.faults.audit import Attack, attack_row
from mnemic.bench.faults.scenarios import make_home
from mnemic.bench.faults.shim import FAULTS, build_shim, why_no_shim
from mnemic.bench.harness.measure import Row, skipped


def run(
    *,
    only: str = "",
    at: int | None = None,
    every: int = 50,
    flips: int = 8,
    rounds: int = 3,
    requests: int = 96,
    seed: int = 0,
) -> Iterator[Row]:
    """Attack.

    Args:
        only: attacks whose names begin so.
        at: the case of that number alone, of one attack.
        every: write calls between two faults.
        flips: bits of each kind of file.
        rounds: of commands that run all at once.
        requests: half-sent and garbled, over each socket.

    Raises:
        ValueError: there is no such attack, or something failed without a fault.
    """
    with tempfile.TemporaryDirectory(prefix="mnemic-faults-") as folder, _private_umask():
        work = Path(folder).resolve()

        def room(name: str) -> Path:
            (work / name).mkdir()
            return work / name

        @cache
        def base() -> Path:
            make_home(room("base"))
            return work / "base"

        why = why_no_shim()
        attacks: list[Attack] = []
        if why is None:
            attacks += write_calls.attacks(build_shim(work), base, room("calls"), every)
        attacks += bit_flips.attacks(base, room("flips"), flips, seed)
        attacks += parallel_commands.attacks(base, room("parallel"), rounds)
        attacks += half_requests.attacks(base, room("requests"), requests, seed)
        attacks += hostile_folders.attacks(base, room("folders"))
        named = [attack for attack in attacks if attack.name == only]
        chosen = named or [attack for attack in attacks if attack.name.startswith(only)]
        if not chosen and why is None:
            raise ValueError(f"no attack begins with {only!r}; there are: {', '.join(one.name for one in attacks)}")
        if at is not None and len(chosen) != 1:
            raise ValueError(f"--at is a case of one attack, and {len(chosen)} begin with {only!r}")
        if why is not None:
            yield {"what": "/".join(FAULTS)} | skipped("write calls", why)
        for attack in chosen:
            yield attack_row(attack, at)


@contextmanager
def _private_umask() -> Iterator[None]:
    """What the bench makes in this process is its owner's alone, as what the commands make is."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
