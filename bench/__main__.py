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

BENCHES = {
    "locomo": "LoCoMo's conversations, captured and asked: quality, speed, size, plaintext (needs --data)",
}
"""Name and what it measures; module `mnemic.bench.NAME_bench` holds ``run(arguments) -> list of rows``."""


def main() -> int:
    """Run it; exits with 2 where the input cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m mnemic.bench", description="Measure what Mnemic claims.")
    parser.add_argument("name", choices=BENCHES, help="; ".join(f"{name}: {what}" for name, what in BENCHES.items()))
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--data", type=Path, metavar="FILE", help="the data set, where a bench needs one")
    parser.add_argument("--questions", type=int, metavar="N", help="ask only every so many-th question, N in all")
    arguments = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does; before NumPy is loaded
    run: Callable[[argparse.Namespace], list[dict[str, Any]]] = import_module(
        f"mnemic.bench.{arguments.name}_bench"
    ).run
    try:
        rows = run(arguments)
    except (OSError, ValueError, KeyError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else error
        print(f"bench {arguments.name}: {why}", file=sys.stderr)
        return 2
    about = _about()
    if arguments.json:
        print(json.dumps({"about": about, "rows": rows}, indent=1))
        return 0
    print(" ".join(f"{name}={value}" for name, value in about.items()))
    for row in rows:
        print("  ".join(f"{name}={_short(value)}" for name, value in row.items()))
    return 0


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


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
