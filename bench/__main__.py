"""``python -m mnemic.bench NAME``: run one bench and print its rows."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from mnemic.actors.protocol.errors import MnemicError

BENCHES = {
    "bits": "hypervectors of packed bits: search, bundle, bind, rotate, beside NumPy and torchhd; one thread",
    "brief": "what a session's start is told: with a process and without; with --data LoCoMo's, beside prompts too",
    "contract": "somebody's own actor, named by its class: whether it keeps the contract (exits with 1 if not)",
    "embed": "each encoder beside onnxruntime and torch with the same weights: speed, loading, agreement",
    "engine": "a home on each engine: recall by MCP, beside a heavy job, from a start; resident memory",
    "fire": "hooks, and who drains, killed at random: what was acknowledged is kept once (exits with 1 if not)",
    "hd": "hypervectors of memories: capacity beside theory, projection, speed beside torchhd, a mind asked by shape",
    "hook": "a hook as a whole process: time, memory and size, beside a bare `true` and the hook in Python",
    "kill": "random kill -9 under load: what was acknowledged, and how long until it is back (exits with 1 on a loss)",
    "locomo": "LoCoMo's conversations, captured and asked: quality, speed, size, plaintext (needs --data)",
    "owner": "what the owner of a large mind does: log, erase, backup, restore, rekey, export, import; whole commands",
    "scan": "the best ten of very many vectors: the native scan beside NumPy, sqlite-vec and usearch; one thread",
    "scrub": "taking secrets out of turns, tool output and hostile text, beside detect-secrets; one thread",
    "shape": "questions of structure by shape, meaning and words; what structure adds to recall (--data for LoCoMo's)",
    "soak": "very many mixed requests to one process: resident memory and descriptors over time",
}
"""Name and what it measures; a module ``NAME_bench`` in one of the `ROOMS` holds ``run(arguments) -> list of rows``."""

ROOMS = ("contract", "faults", "quality", "speed")
"""The folders that benches lie in."""


def bench_named(name: str) -> Callable[[argparse.Namespace], list[dict[str, Any]]]:
    """Find what runs the bench of a name."""
    (room,) = (room for room in ROOMS if (Path(__file__).parent / room / f"{name}_bench.py").exists())
    run: Callable[[argparse.Namespace], list[dict[str, Any]]] = import_module(f"mnemic.bench.{room}.{name}_bench").run
    return run


def main() -> int:
    """Run it; exits with 2 where the input cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m mnemic.bench", description="Measure what Mnemic claims.")
    parser.add_argument("name", choices=BENCHES, help="; ".join(f"{name}: {what}" for name, what in BENCHES.items()))
    parser.add_argument("subject", nargs="?", metavar="package.module:Class", help="what the contract bench looks at")
    parser.add_argument("--engine", help="embedded, ray or, for `engine` and `kill`, both (their default)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--data", type=Path, metavar="FILE", help="the data set, where a bench needs one")
    parser.add_argument("--questions", type=int, metavar="N", help="ask only every so many-th question, N in all")
    parser.add_argument("--memories", type=int, default=10_000, metavar="N", help="brief, engine, hd: size of the home")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="engine: beside a heavy job, in all")
    parser.add_argument("--no-model", action="store_true", help="brief, engine, hd, soak: words alone")
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="kill: how many, on all engines together")
    parser.add_argument("--seed", type=int, default=0, help="brief, fire, hd, kill, soak: of what is drawn")
    parser.add_argument("--requests", type=int, default=100_000, metavar="N", help="soak: how many")
    parser.add_argument(
        "--hypervectors", type=int, default=100_000, metavar="N", help="bits, hd: how many are searched"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="hd: draw capacity and projection into it (PNG, SVG)")
    parser.add_argument(
        "--parts",
        nargs="+",
        metavar="PART",
        help="hd: only these of capacity, projection, speed and mind; shape: of questions, recall and roles",
    )
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="embed: another model than the default one")
    parser.add_argument("--texts", type=int, default=2000, metavar="N", help="embed: how many are compared")
    parser.add_argument(
        "--rounds",
        type=int,
        default=15,
        metavar="N",
        help="bits, embed, hd, hook, scrub: how often all take their turn; fire: how many",
    )
    parser.add_argument(
        "--vectors", type=int, nargs="+", default=[100_000, 1_000_000], metavar="N", help="scan: how many, in turn"
    )
    arguments = parser.parse_args()
    if arguments.engine is None:
        arguments.engine = "both" if arguments.name in ("engine", "kill") else "embedded"
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does; before NumPy is loaded
    run = bench_named(arguments.name)
    try:
        rows = run(arguments)
    except (OSError, ValueError, KeyError, MnemicError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else error
        print(f"bench {arguments.name}: {why}", file=sys.stderr)
        return 2
    about = _about()
    if arguments.json:
        print(json.dumps({"about": about, "rows": rows}, indent=1))
    else:
        print(" ".join(f"{name}={value}" for name, value in about.items()))
        for row in rows:
            print(_line(row))
    return int(any(row.get("state") == "failed" for row in rows))


def _about() -> dict[str, Any]:
    """Commit and machine."""
    here = Path(__file__).resolve().parent
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    return {
        "commit": found.stdout.strip() or "unknown",
        "machine": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _line(row: dict[str, Any]) -> str:
    if row.keys() >= {"state", "check", "why"}:  # the contract bench's
        return f"{row['state']:<8}{row['check']:<10}{row['why']}"
    return "  ".join(f"{name}={_short(value)}" for name, value in row.items())


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
