"""``python -m mnemic.bench NAME``: run one bench and print its rows."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mnemic.actors.kernel.errors import MnemicError
from mnemic.bench.harness.machine import commit

Rows = Iterable[dict[str, Any]]

BENCHES = {
    "all": "all that is claimed, beside peers, into one table with plots; keeps the run and its ratios",
    "bits": "hypervectors of packed bits: search, bundle, bind, rotate, beside NumPy and torchhd; one thread",
    "brief": "what a session's start is told: with a process and without; with --data LoCoMo's, beside prompts too",
    "communities": "communities beside leidenalg, igraph and networkx: quality, speed, updates, ids over time",
    "contract": "somebody's own actor, named by its class: whether it keeps the contract (exits with 1 if not)",
    "embed": "each encoder beside onnxruntime and torch with the same weights: speed, loading, agreement",
    "engine": "a home on each engine: recall by MCP, beside a heavy job, from a start; resident memory",
    "facts": "facts that change unannounced: whether what holds is found, beside meaning, words, recency and an oracle",
    "faults": "kills and errors at write calls, flipped bits, half requests, hostile folders (exits with 1 on a flaw)",
    "fire": "hooks, and who drains, killed at random: what was acknowledged is kept once (exits with 1 if not)",
    "gate": "a quick run beside the last quick one that was kept: ratios (exits with 1 on a loss beyond noise)",
    "hd": "hypervectors of memories: capacity beside theory, projection, speed beside torchhd, a mind asked by shape",
    "hook": "a hook as a whole process: time, memory and size, beside a bare `true`",
    "ingest": "turns a second into an empty mind and a large one, beside the encoder and plain FTS5 (needs --data)",
    "kill": "random kill -9 under load: what was acknowledged, and how long until it is back (exits with 1 on a loss)",
    "latency": "recall on minds of several sizes: time, opening, memory, disk, beside FTS5, sqlite-vec and NumPy",
    "locomo": "LoCoMo's conversations, captured and asked: quality, speed, size, plaintext (needs --data)",
    "owner": "what the owner of a large mind does: log, erase, backup, restore, rekey, export, import; whole commands",
    "pipe": "a recall by MCP beside the same one in process: what each hop adds, how long an answer is",
    "recall": "unlike sets of labelled questions: quality beside meaning and words alone; whether scores are true",
    "scan": "the best ten of very many vectors: the native scan beside NumPy, sqlite-vec and usearch; one thread",
    "scrub": "taking secrets out of turns, tool output and hostile text, beside detect-secrets; one thread",
    "shape": "questions of structure by shape, meaning and words; what structure adds to recall (--data for LoCoMo's)",
    "sleep": "what nights add to the next session's briefing and to recalls, and how long they take",
    "soak": "very many mixed requests to one process: resident memory and descriptors over time",
}
"""Name and what it measures; a module ``NAME_bench`` in one of the `ROOMS` holds ``run``, which yields rows."""

ROOMS = ("contract", "faults", "quality", "report", "speed")
"""The folders that benches lie in."""

OPTIONS = {
    "at": ("N", "with --only, the case of that number alone"),
    "changes": ("FILE", "quiet changes, a JSON file of worlds"),
    "data": ("FILE", "the data set"),
    "failures": ("FOLDER", "sessions in which calls fail, and labels.json of what mended them"),
    "labels": ("FOLDER", "events that are alike: example.json and locomo.json"),
    "developers": ("FOLDER", "conversations of developers, a JSON file a project"),
    "engine": (None, "which engine (%(default)s)"),
    "every": ("N", "a fault at every so many-th write call (%(default)s)"),
    "flips": ("N", "bits of each kind of file (%(default)s)"),
    "held": (None, "ask those questions that no rule is chosen by, in place of the others"),
    "hypervectors": ("N", "how many are searched (%(default)s)"),
    "languages": ("FOLDER", "conversations in other languages, a JSON file each"),
    "worlds": ("FOLDER", "months of changing talk with questions, and notes that are nearly alike"),
    "fit": (None, "fit what recall weighs validity by anew, and do nothing else"),
    "probe": (None, "see what near subjects and relations add to equal ones, and do nothing else"),
    "into": ("FOLDER", "where the page, its plots and the kept runs lie (%(default)s)"),
    "kills": ("N", "how many, on all engines together (%(default)s)"),
    "lives": ("SEED", "of made lives"),
    "locomo": ("FILE", "LoCoMo's conversations"),
    "longmemeval": ("FILE", "LongMemEval's files"),
    "memories": ("N", "size of the home (%(default)s)"),
    "million": (None, "a million memories as well"),
    "model": ("FOLDER", "another model than the default one"),
    "reranker": ("FOLDER", "a cross-encoder that orders the best 20"),
    "no_model": (None, "words alone"),
    "only": ("NAME", "the attacks whose names begin so"),
    "parts": (None, "only these of it"),
    "mem0": ("PYTHON", "the interpreter of an environment with mem0 in it, which is asked as well"),
    "mempalace": ("PYTHON", "the interpreter of an environment with MemPalace in it, which is asked as well"),
    "plot": ("FILE", "an SVG file to draw into"),
    "quick": (None, "smaller sizes"),
    "questions": ("N", "ask only every so many-th question, N in all"),
    "requests": ("N", "how many (%(default)s)"),
    "rounds": ("N", "how often all take their turn (%(default)s)"),
    "seconds": ("S", "beside a heavy job, in all (%(default)s)"),
    "seed": ("N", "of what is drawn (%(default)s)"),
    "sizes": (
        "N",
        "LoCoMo's questions alone, by its conversations one to all, then with chatter up to so many memories",
    ),
    "statements": ("FILE", "turns with what they state, labelled by hand; nothing else is looked at"),
    "subject": ("package.module:Class", "what is looked at"),
    "texts": ("N", "how many are compared (%(default)s)"),
    "vectors": ("N", "how many, in turn (%(default)s)"),
    "write": (None, "with --quick, keep this run as what later ones are held to"),
}
"""What the parameters of benches stand for, by their names."""


def bench_named(name: str) -> Callable[..., Rows]:
    """Find what runs the bench of a name."""
    (room,) = (room for room in ROOMS if (Path(__file__).parent / room / f"{name}_bench.py").exists())
    run: Callable[..., Rows] = import_module(f"mnemic.bench.{room}.{name}_bench").run
    return run


def main() -> int:
    """Run it; exits with 2 where the input cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m mnemic.bench", description="Measure what Mnemic claims.")
    parser.add_argument("name", choices=BENCHES, help="; ".join(f"{name}: {what}" for name, what in BENCHES.items()))
    parser.add_argument("options", nargs=argparse.REMAINDER, help="its own: NAME --help tells them")
    chosen = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does; before NumPy is loaded
    run = bench_named(chosen.name)
    given = vars(bench_parser(chosen.name, run).parse_args(chosen.options))
    as_json = given.pop("json")
    try:
        rows = list(run(**given))
    except (OSError, ValueError, KeyError, MnemicError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else error
        print(f"bench {chosen.name}: {why}", file=sys.stderr)
        return 2
    about = _about()
    if as_json:
        print(json.dumps({"about": about, "rows": rows}, indent=1))
    else:
        print(" ".join(f"{name}={value}" for name, value in about.items()))
        for row in rows:
            print(_line(row))
    return int(any(row.get("state") == "failed" for row in rows))


def bench_parser(name: str, run: Callable[..., Rows]) -> argparse.ArgumentParser:
    """Read a bench's options off its parameters: those by keyword are options, their types and defaults as declared."""
    parser = argparse.ArgumentParser(prog=f"python -m mnemic.bench {name}", description=BENCHES[name])
    parser.add_argument("--json", action="store_true", help="print JSON")
    hints = get_type_hints(run)
    for parameter in inspect.signature(run).parameters.values():
        metavar, what = OPTIONS[parameter.name]
        kind, settings = hints[parameter.name], dict[str, Any](help=what)
        if kind is bool:
            parser.add_argument(f"--{parameter.name.replace('_', '-')}", action="store_true", **settings)
            continue
        if get_origin(kind) is tuple:
            kind, settings["nargs"] = get_args(kind)[0], "+"
        if get_origin(kind) is Literal:
            settings["choices"] = get_args(kind)
        else:
            kind = (get_args(kind) or (kind,))[0]  # without its None
            settings |= {"metavar": metavar, "type": _count if kind is int and parameter.name != "seed" else kind}
        if parameter.kind is not parameter.KEYWORD_ONLY:
            parser.add_argument(parameter.name, **settings)
        elif parameter.default is parameter.empty:
            parser.add_argument(f"--{parameter.name}", required=True, **settings)
        else:
            parser.add_argument(f"--{parameter.name}", default=parameter.default, **settings)
    return parser


def _count(written: str) -> int:
    if int(written) < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return int(written)


def _about() -> dict[str, Any]:
    """Commit and machine."""
    return {
        "commit": commit(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _line(row: dict[str, Any]) -> str:
    if row.keys() >= {"state", "check", "why"}:  # the contract bench's
        return f"{row['state']:<8}{row['check']:<13}{row['why']}"
    return "  ".join(f"{name}={_short(value)}" for name, value in row.items())


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
