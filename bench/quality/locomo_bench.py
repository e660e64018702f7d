"""The LoCoMo bench: a real home, filled by the real command, asked through the real actors.

Rows: capture (turns a second), quality of the production rule and of its competitors (each signal alone, reciprocal
rank) pooled and in each conversation's own scope, latency of a recall warm and as a whole command beside a plain FTS5
query, size on disk, and how much of the corpus stands in clear in the home's files.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.actors.protocol.messages import Recall, Recalled, SignalName
from mnemic.actors.protocol.ports import Source
from mnemic.bench.harness.metrics import paired_test
from mnemic.bench.quality.locomo import METRICS, Question, RankedHit, convert, evaluate, read_questions
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import open_mind
from mnemic.runtime.store.schema import connect

__all__ = ["run"]

DEPTH = 300
"""Hits asked for when quality is measured, so that reciprocal ranks are not cut off."""
RRF_K = 60
ALL_SIGNALS: tuple[SignalName, ...] = ("dense", "lexical", "session", "structural")
"""The signals of a recall that says nothing of them."""
RANKING_SIGNALS: tuple[SignalName, ...] = ("dense", "lexical", "session")
"""Those that rank every memory, for any question."""
RUN_BYTES = 16


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Run everything on one file of LoCoMo's.

    Raises:
        ValueError: no file is given, or it is none of LoCoMo's, or it asks nothing.
        KeyError: it is none of LoCoMo's.
    """
    if arguments.data is None:
        raise ValueError("name LoCoMo's file with --data")
    lines = list(convert(arguments.data))
    asked = read_questions(arguments.data).kept
    if not asked:
        raise ValueError(f"{arguments.data} asks nothing that can be measured")
    if arguments.questions:
        asked = asked[:: max(1, len(asked) // arguments.questions)]
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        rows = [_capture(home, corpus, len(lines)), *_space(home, lines)]
        found, keys = open_mind(home, "default")
        actor_system = start_actor_system(found, keys, Settings(), SystemClock(), opener=_no_transcripts, code="bench")
        try:
            rows += _quality(actor_system, asked)
            rows += _latency(actor_system, home, asked, lambda: connect(found.store, keys))
        finally:
            actor_system.stop()
    return rows


def _capture(home: Path, corpus: Path, turns: int) -> dict[str, Any]:
    words_s = _command(home, "capture", str(corpus), "--no-meaning")["took_s"]
    meaning_s = _command(home, "capture", str(corpus))["took_s"]
    return {
        "what": "capture",
        "turns": turns,
        "words_turns_per_s": turns / words_s,
        "words_and_meaning_turns_per_s": turns / (words_s + meaning_s),
        "took_s": words_s + meaning_s,
    }


def _space(home: Path, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    files = [path for path in home.rglob("*") if path.is_file()]
    texts = [line["text"].encode() for line in lines]
    runs = {text[i : i + RUN_BYTES] for text in texts for i in range(len(text) - RUN_BYTES + 1)}
    in_clear = 0
    for path in files:
        data = path.read_bytes()
        in_clear += sum(data[i : i + RUN_BYTES] in runs for i in range(len(data) - RUN_BYTES + 1))
    size = sum(path.stat().st_size for path in files)
    text_size = sum(map(len, texts))
    return [
        {"what": "size", "home_bytes": size, "text_bytes": text_size, "ratio": size / text_size},
        {"what": "plaintext", "runs_of_16_bytes_in_clear": in_clear, "runs_looked_for": len(runs), "files": len(files)},
    ]


def _quality(actor_system: Supervisor, asked: Sequence[Question]) -> list[dict[str, Any]]:
    def ranked(scope: str, signals: tuple[SignalName, ...]) -> Callable[[str], list[RankedHit]]:
        return lambda query: [
            RankedHit(hit.session, hit.source_id) for hit in _ask(actor_system, query, DEPTH, scope, signals).hits
        ]

    def reciprocal(query: str) -> list[RankedHit]:
        total: dict[RankedHit, float] = defaultdict(float)
        for signal in RANKING_SIGNALS:
            for place, one in enumerate(ranked("*", (signal,))(query)):
                total[one] += 1 / (RRF_K + place + 1)
        return sorted(total, key=total.__getitem__, reverse=True)

    rules: dict[str, Callable[[str], list[RankedHit]]] = {
        "fused": ranked("*", ALL_SIGNALS),
        "fused, without structure": ranked("*", RANKING_SIGNALS),
        "reciprocal rank": reciprocal,
        "dense only": ranked("*", ("dense",)),
        "words only": ranked("*", ("lexical", "session")),
        "turn words only": ranked("*", ("lexical",)),
    }
    results = {name: evaluate(rule, asked) for name, rule in rules.items()}
    rows = []
    for name, result in results.items():
        row = {"what": "quality, pooled", "rule": name, "questions": len(asked), **result["mean"]}
        if name != "fused":
            paired = paired_test(np.array(results["fused"]["each"]["mrr"]), np.array(result["each"]["mrr"]), seed=1)
            row |= {"fused_minus_this_mrr": paired.difference, "p": paired.p}
        rows.append(row)
    for conversation, one in results["fused"]["by_conversation"].items():
        rows.append({"what": "quality, pooled, by conversation", "conversation": conversation, **one["mean"]})
    own = []
    for conversation in sorted({question.conversation for question in asked}):
        of_it = [question for question in asked if question.conversation == conversation]
        result = evaluate(ranked(f"locomo/{conversation}", ALL_SIGNALS), of_it)
        own.append((len(of_it), result["mean"]))
        rows.append({"what": "quality, own scope", "conversation": conversation, **result["mean"]})
    weights = [count for count, _ in own]
    rows.append(
        {
            "what": "quality, own scope",
            "conversation": "all",
            **{metric: float(np.average([mean[metric] for _, mean in own], weights=weights)) for metric in METRICS},
        }
    )
    return rows


def _latency(
    actor_system: Supervisor, home: Path, asked: Sequence[Question], open_store: Callable[[], Any]
) -> list[dict[str, Any]]:
    sample = asked[:: max(1, len(asked) // 200)]
    rows = [
        {"what": "recall, warm, through the actors", "hits": 10}
        | _quantiles(lambda text: _ask(actor_system, text, 10, "*", ALL_SIGNALS), sample),
        {"what": "recall, warm, words only", "hits": 10}
        | _quantiles(lambda text: _ask(actor_system, text, 10, "*", ("lexical", "session")), sample),
    ]
    connection = open_store()
    match = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"

    def words(text: str) -> str:
        return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text)) or '"x"'

    rows.append(
        {"what": "competitor: one FTS5 query on the same sealed file, no meaning", "hits": 10}
        | _quantiles(lambda text: connection.execute(match, (words(text),)).fetchall(), sample)
    )
    connection.close()
    rows.append(
        {"what": "mnemic recall, whole command", "hits": 10}
        | _quantiles(lambda text: _command(home, "recall", text, "--scope", "*"), sample[::10])
    )
    rows.append(
        {"what": "competitor: python -c 'import numpy'", "hits": 0}
        | _quantiles(lambda _: subprocess.run([sys.executable, "-c", "import numpy"], check=True), sample[::10])
    )
    return rows


def _ask(actor_system: Supervisor, query: str, k: int, scope: str, signals: tuple[SignalName, ...]) -> Recalled:
    answer = actor_system.ask(Recall(query=query, k=k, scope=scope, signals=signals, observe=False))
    assert isinstance(answer, Recalled)
    return answer


def _quantiles(act: Callable[[str], Any], asked: Sequence[Question]) -> dict[str, float]:
    act(asked[0].text)  # the first one loads
    took = []
    for question in asked:
        started = time.perf_counter()
        act(question.text)
        took.append(1e3 * (time.perf_counter() - started))
    return {"p50_ms": float(np.quantile(took, 0.5)), "p95_ms": float(np.quantile(took, 0.95)), "n": len(took)}


def _command(home: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "mnemic", *arguments, "--home", str(home), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"mnemic {arguments[0]} failed: {done.stdout} {done.stderr}")
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def _no_transcripts(path: str, format: str) -> Source:
    raise ValueError("this bench captures by the command")
