"""The LoCoMo bench: a real home, filled by the real command, asked through the real actors.

Rows: capture (turns a second), quality of the production rule and of its competitors (each signal alone, reciprocal
rank) pooled and in each conversation's own scope, latency of a recall warm and as a whole command beside a plain FTS5
query, size on disk, and how much of the corpus stands in clear in the home's files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.actors.recall.messages import Recall, Recalled, SignalName
from mnemic.bench.harness.homes import actors_of, store_of
from mnemic.bench.harness.measure import Row, quantiles, time_each
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.harness.statistics import paired_test
from mnemic.bench.quality.locomo import Question, RankedHit, convert, evaluate, mean, read_questions
from mnemic.bench.speed.engine_bench import full_text_search, index_full_text
from mnemic.runtime.engine.supervisor import Supervisor

DEPTH = 300
"""Hits asked for when quality is measured, so that reciprocal ranks are not cut off."""
RRF_K = 60
ALL_SIGNALS: tuple[SignalName, ...] = ("dense", "lexical", "session", "structural", "answer", "validity", "use")
"""The signals of a recall that says nothing of them."""
RANKING_SIGNALS: tuple[SignalName, ...] = ("dense", "lexical", "session")
"""Those that rank every memory, for any question."""
RUN_BYTES = 16

Rule = Callable[[str], list[RankedHit]]


def run(*, data: Path, questions: int | None = None) -> Iterator[Row]:
    """Run everything on one file of LoCoMo's.

    Raises:
        ValueError: it is none of LoCoMo's, or it asks nothing.
        KeyError: it is none of LoCoMo's.
    """
    lines, asked = list(convert(data)), read_questions(data)
    if not asked:
        raise ValueError(f"{data} asks nothing that can be measured")
    if questions:
        asked = asked[:: max(1, len(asked) // questions)]
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        yield _capture(home, corpus, len(lines))
        yield from _space(home, lines)
        with actors_of(home) as actors:
            yield from _quality(actors, asked)
            yield from _latency(actors, home, [question.text for question in asked[:: max(1, len(asked) // 200)]])


def _capture(home: Path, corpus: Path, turns: int) -> Row:
    words_s = run_mnemic(home, "capture", corpus, "--no-meaning")[0]["took_s"]
    took_s = words_s + run_mnemic(home, "capture", corpus)[0]["took_s"]
    return {
        "what": "capture",
        "turns": turns,
        "words_turns_per_s": turns / words_s,
        "words_and_meaning_turns_per_s": turns / took_s,
        "took_s": took_s,
    }


def _space(home: Path, lines: Sequence[dict[str, Any]]) -> Iterator[Row]:
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    texts = [line["text"].encode() for line in lines]
    size, text_size = sum(map(len, files)), sum(map(len, texts))
    yield {"what": "size", "home_bytes": size, "text_bytes": text_size, "ratio": size / text_size}
    runs = {run for text in texts for run in _runs(text)}
    in_clear = sum(run in runs for data in files for run in _runs(data))
    about = {"runs_of_16_bytes_in_clear": in_clear, "runs_looked_for": len(runs), "files": len(files)}
    yield {"what": "plaintext", **about}


def _runs(data: bytes) -> Iterator[bytes]:
    return (data[at : at + RUN_BYTES] for at in range(len(data) - RUN_BYTES + 1))


def _quality(actors: Supervisor, asked: Sequence[Question]) -> Iterator[Row]:
    def ranked(signals: tuple[SignalName, ...], scope: str = "*") -> Rule:
        return lambda query: [
            RankedHit(hit.session, hit.source_id) for hit in _ask(actors, query, DEPTH, scope, signals).hits
        ]

    def reciprocal(query: str) -> list[RankedHit]:
        total: dict[RankedHit, float] = defaultdict(float)
        for signal in RANKING_SIGNALS:
            for place, one in enumerate(ranked((signal,))(query)):
                total[one] += 1 / (RRF_K + place + 1)
        return sorted(total, key=total.__getitem__, reverse=True)

    rules: dict[str, Rule] = {
        "fused": ranked(ALL_SIGNALS),
        "fused, without structure": ranked(RANKING_SIGNALS),
        "reciprocal rank": reciprocal,
        "dense only": ranked(("dense",)),
        "words only": ranked(("lexical", "session")),
        "turn words only": ranked(("lexical",)),
    }
    scores = {name: evaluate(rule, asked) for name, rule in rules.items()}
    mrr = {name: np.array([one["mrr"] for one in each]) for name, each in scores.items()}
    for name, each in scores.items():
        row = {"what": "quality, pooled", "rule": name, "questions": len(asked), **mean(each)}
        if name != "fused":
            row["fused_minus_this_mrr"], row["p"] = paired_test(mrr["fused"], mrr[name], seed=1)
        yield row
    talks = sorted({question.conversation for question in asked})
    for talk in talks:
        of_it = [one for one, question in zip(scores["fused"], asked, strict=True) if question.conversation == talk]
        yield {"what": "quality, pooled, by conversation", "conversation": talk, **mean(of_it)}
    every = []
    for talk in talks:
        of_it = evaluate(ranked(ALL_SIGNALS, f"locomo/{talk}"), [one for one in asked if one.conversation == talk])
        every += of_it
        yield {"what": "quality, own scope", "conversation": talk, **mean(of_it)}
    yield {"what": "quality, own scope", "conversation": "all", **mean(every)}


def _latency(actors: Supervisor, home: Path, texts: Sequence[str]) -> Iterator[Row]:
    def row(what: str, act: Callable[[str], Any], given: Sequence[str], hits: int = 10) -> Row:
        return {"what": what, "hits": hits} | quantiles(time_each(act, given))

    words: tuple[SignalName, ...] = ("lexical", "session")
    yield row("recall, warm, through the actors", lambda text: _ask(actors, text, 10, "*", ALL_SIGNALS), texts)
    yield row("recall, warm, words only", lambda text: _ask(actors, text, 10, "*", words), texts)
    with store_of(home) as connection:
        index_full_text(connection)
        what = "competitor: one FTS5 query on the same sealed file, no meaning"
        yield row(what, lambda text: full_text_search(connection, text), texts)
    whole = texts[::10]
    yield row("mnemic recall, whole command", lambda text: run_mnemic(home, "recall", text, "--scope", "*"), whole)
    numpy = (sys.executable, "-c", "import numpy")
    yield row("competitor: python -c 'import numpy'", lambda _: subprocess.run(numpy, check=True), whole, hits=0)


def _ask(actors: Supervisor, query: str, k: int, scope: str, signals: tuple[SignalName, ...]) -> Recalled:
    answer = actors.ask(Recall(query=query, k=k, scope=scope, signals=signals, observe=False))
    assert isinstance(answer, Recalled)
    return answer
