"""The sleep bench: whether a night helps the next session, and what it costs.

*Briefs.* A conversation is captured up to a session, a night is had, and what the next session would be told at its
start is composed by the product itself, with and without what the night made, and with as many bytes of the newest
sentences, or of sentences drawn by chance, in its place. What the user says in that session is then looked up in it:
the share of the rarity of its words, of those that had been said before, that the briefing holds, and the cosine of
each turn with the nearest stretch that is told. The one counts words, as the choice of sentences does; the other knows
nothing of them.

*Cost.* A night over a synthetic mind, another one with nothing new, memory above idle, and how long a recall takes that
finds a night on in the same process, which it wakes.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import psutil

from mnemic.actors.brief.compose import BUDGET_TOKENS, compose_session_start
from mnemic.actors.protocol.ambient_messages import Brief, BriefingSources, Quote
from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.messages import Recall
from mnemic.actors.protocol.ports import Encoder
from mnemic.actors.protocol.sleep.messages import NightReport, Sleep
from mnemic.algorithms.sleep.digest import digest_sentences
from mnemic.algorithms.text.terms import telling_terms
from mnemic.bench.harness.homes import IDLE_SETTINGS, MIND_NAME, SyntheticCorpus, actors_of, fill_home, lexical_settings
from mnemic.bench.harness.measure import Row, goal, milliseconds
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.locomo import convert, paired_test
from mnemic.bench.quality.question_sets import QuestionSet, developers_set, locomo_set
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.engine import SWITCH_S
from mnemic.runtime.engine.supervisor import Supervisor
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.store.read.reader import open_reader

GOAL_NIGHT_S = 60.0
"""Of 10,000 memories."""
GOAL_NOTHING_S = 1.0
GOAL_RATIO = 1.5
"""Of the p95 of recalls that find a night on to that of recalls awake."""
GOAL_RSS_MIB = 300.0
"""Above idle."""
_FIRST_CUT, _EACH = 4, 2  # sessions
_LEAST_ASKED_CHARS = 30
_ASKED, _NAP_AFTER_S, _APART_S = 60, 0.1, 0.16
_STAGES = ("session-digests", "project-digests")
_ARMS = ("with the night", "without", "the newest sentences instead", "sentences by chance instead")


def run(
    *,
    locomo: Path | None = None,
    developers: Path | None = None,
    sizes: tuple[int, ...] = (1_000, 10_000),
    seed: int = 0,
) -> Iterator[Row]:
    """Brief and measure each set that is named; then time nights over minds of so many memories.

    Raises:
        ValueError: a file holds something else.
        OSError: a file cannot be read.
    """
    sets = []
    if locomo is not None:
        sets.append(locomo_set(locomo))
    if developers is not None:
        sets.append(developers_set(developers, held=False))
    encoder = load_encoder(None) if sets else None
    for one in sets:
        assert encoder is not None
        yield from _briefs(one, encoder, seed)
    texts = [str(turn["text"]) for turn in convert(locomo)] if locomo is not None else []
    for size in sizes:
        yield from _cost(size, texts, seed)


# --- briefs ----------------------------------------------------------------------------------------------------------


class _Cut(NamedTuple):
    """A session, and what was said before it."""

    scope: str
    before: Sequence[dict[str, Any]]
    asked: Sequence[str]


def _cuts(of: QuestionSet) -> Iterator[_Cut]:
    by_scope: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for turn in of.turns:
        if turn.get("kind", "turn") == "turn":
            by_scope[turn["scope"]][turn["session"]].append(turn)
    for scope, sessions in sorted(by_scope.items()):
        ordered = sorted(sessions.values(), key=lambda turns: str(turns[0]["said_at"]))
        for cut in range(_FIRST_CUT, len(ordered), _EACH):
            before = [turn for turns in ordered[:cut] for turn in turns]
            asked = [turn["text"] for turn in ordered[cut] if turn["role"] == "user"]
            yield _Cut(scope, before, asked)


def _briefs(of: QuestionSet, encoder: Encoder, seed: int) -> Iterator[Row]:
    scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
    tokens: dict[str, list[int]] = defaultdict(list)
    by_scope: dict[str, list[_Cut]] = defaultdict(list)
    for cut in _cuts(of):
        by_scope[cut.scope].append(cut)
    for scope, cuts in by_scope.items():
        with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
            home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
            create_mind(home, MIND_NAME, SystemClock())
            (home / "mnemic.toml").write_text(lexical_settings(home), "utf-8")
            for cut in cuts:
                corpus.write_text("".join(json.dumps(turn) + "\n" for turn in cut.before), "utf-8")
                run_mnemic(home, "capture", corpus)
                with actors_of(home) as actors:
                    _night(actors, f"{len(cut.before)}", _STAGES)
                material = _material(home, scope)
                rows = cut.before
                for arm in _ARMS:
                    told, cost = _told(material, arm, rows, seed)
                    scores[arm].append(_score(told, cut, encoder))
                    tokens[arm].append(cost)
    first = np.array(scores[_ARMS[0]])
    for arm in _ARMS:
        found = np.array(scores[arm])
        row: Row = {"what": "brief", "set": of.name, "of": arm, "sessions": len(found), "tokens": np.mean(tokens[arm])}
        for place, name in enumerate(("words", "nearest")):
            row[name] = float(found[:, place].mean())
            if arm != _ARMS[0]:
                row[f"night_minus_this_{name}"], row[f"p_{name}"] = paired_test(
                    first[:, place], found[:, place], seed=1
                )
        yield row


def _material(home: Path, scope: str) -> BriefingSources:
    asked = Brief(
        occasion="session-start",
        assistant="bench",
        session="next",
        place=ScopeRef(path=scope, project=None, found="named"),
    )
    folder, keys = open_mind(home, MIND_NAME)
    reader = open_reader(folder.store, keys)
    try:
        with reader.snapshot() as snapshot:
            return snapshot.briefing_sources(asked, SystemClock().now_us())
    finally:
        reader.close()


def _told(material: BriefingSources, arm: str, before: Sequence[dict[str, Any]], seed: int) -> tuple[list[str], int]:
    """The stretches that a briefing quotes, and how long it is."""
    digest = material.digest
    if arm == "without":
        digest = ()
    elif arm != _ARMS[0]:
        texts = [str(turn["text"]) for turn in before]
        sentences = digest_sentences(texts)
        order = (
            np.arange(len(sentences))[::-1]
            if "newest" in arm
            else np.random.default_rng(seed).permutation(len(sentences))
        )
        digest = tuple(_quote(texts[sentences[n].text], sentences[n].start, sentences[n].stop, int(n)) for n in order)
    text, _ = compose_session_start(msgspec.structs.replace(material, digest=digest), BUDGET_TOKENS)
    lines = [line for line in text.split("\n") if line.startswith("- ")]
    return [line.partition('"')[2].rpartition('"')[0] or line for line in lines], len(text.encode()) // 4


def _quote(text: str, start: int, stop: int, number: int) -> Quote:
    said = text.encode()[start:stop]
    about: dict[str, Any] = {"role": "user", "kind": "turn", "at": number, "size_bytes": len(said), "start_byte": start}
    return Quote(id=number.to_bytes(16, "big"), text=said, **about)


def _score(told: Sequence[str], cut: _Cut, encoder: Encoder) -> tuple[float, float]:
    """How much of what the next session says is in a briefing: of its words, and of its turns by their meaning."""
    earlier = [frozenset(telling_terms(str(turn["text"]))) for turn in cut.before]
    holding = Counter(term for terms in earlier for term in terms)
    wanted = {term for text in cut.asked for term in telling_terms(text) if term in holding}
    rarity = {term: math.log1p(len(earlier) / holding[term]) for term in wanted}
    held = {term for one in told for term in telling_terms(one)}
    words = math.fsum(rarity[term] for term in sorted(wanted & held)) / max(1e-9, math.fsum(rarity.values()))
    asked = [text for text in cut.asked if len(text) >= _LEAST_ASKED_CHARS]
    if not asked or not told:
        return words, 0.0
    cosines = _embed(encoder, asked) @ _embed(encoder, told).T
    return words, float(cosines.max(axis=1).mean())


def _embed(encoder: Encoder, texts: Sequence[str]) -> Any:
    windows = [encoder.windows(text, 1)[0][0] for text in texts]
    return np.concatenate([encoder.encode(windows[at : at + 16]) for at in range(0, len(windows), 16)])


# --- cost ------------------------------------------------------------------------------------------------------------


def _night(actors: Supervisor, run: str, stages: Sequence[str] = ()) -> NightReport:
    while True:
        report = actors.ask(Sleep(run=run, budget_s=3600.0, stages=tuple(stages)), 3600.0)
        assert isinstance(report, NightReport)
        if report.finished:
            return report


class _Turns(SyntheticCorpus):
    """Turns that were given, again and again, each time with another number in it."""

    def __init__(self, seed: int, texts: Sequence[str]) -> None:
        super().__init__(seed)
        self._given = texts

    def texts(self, count: int) -> list[str]:
        """So many of them."""
        given = self._given
        return (
            [f"{given[n % len(given)]} Number {n // len(given)}." for n in range(count)]
            if given
            else super().texts(count)
        )


def _cost(memories: int, texts: Sequence[str], seed: int) -> Iterator[Row]:
    """How long a first night takes, stage by stage, and one with nothing new."""
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home = Path(folder) / "home"
        encoder = load_encoder(None)
        fill_home(home, memories, seed=seed, encoder=encoder, projects=5, corpus=_Turns(seed, texts))
        with actors_of(home) as actors:
            process = psutil.Process()
            idle = process.memory_info().rss
            began_s = time.perf_counter()
            report = _night(actors, "first")
            took_s = time.perf_counter() - began_s
            above = (process.memory_info().rss - idle) / (1 << 20)
            about: Row = {"what": "cost", "memories": memories}
            for one in report.stages:
                yield {**about, "of": one.stage, "took_s": one.took_us / 1e6, "changes": one.changes, "note": one.note}
            row: Row = {**about, "of": "a first night", "took_s": took_s, "above_idle_mib": above}
            if memories == 10_000:
                row |= goal("s", took_s, GOAL_NIGHT_S) | {"rss_met": above <= GOAL_RSS_MIB}
            yield row
            began_s = time.perf_counter()
            again = _night(actors, "second")
            took_s = time.perf_counter() - began_s
            assert not again.changes, again
            yield {**about, "of": "nothing new", "took_s": took_s, **goal("s", took_s, GOAL_NOTHING_S)}
    interval = sys.getswitchinterval()
    for switch_s in (interval, SWITCH_S):  # as Python has it, and as a home's process does
        sys.setswitchinterval(switch_s)
        try:
            yield from _beside(memories, texts, seed)
        finally:
            sys.setswitchinterval(interval)


def _beside(memories: int, texts: Sequence[str], seed: int) -> Iterator[Row]:
    """How long recalls take awake, and as those that wake a night: each finds one that has just gone on."""
    corpus, encoder = _Turns(seed, texts), load_encoder(None)
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        home = Path(folder) / "home"
        settings = IDLE_SETTINGS.replace("sleep_after_s = 86400.0", f"sleep_after_s = {_NAP_AFTER_S}")
        filled = fill_home(home, memories, seed=seed, encoder=encoder, projects=5, corpus=corpus, settings=settings)
        asked = corpus.questions(filled, _ASKED)
        with actors_of(home) as actors:

            def recall(question: str) -> float:
                return milliseconds(actors.ask, Recall(query=question, k=10, observe=False))

            for question in asked[:20]:  # what is loaded once
                recall(question)
            # what others do for a night they do awake as well, and go on with it when it is woken
            _night(actors, "before", ("meaning", "facts", "communities"))
            awake = [recall(question) for question in asked]
            actors.start_ticking(0.01)
            waking = []
            for question in asked:
                time.sleep(_APART_S)
                night = actors.report().night
                waking.append((recall(question), night is not None and not night.finished))
        asleep = [took for took, was_on in waking if was_on]
        p95 = [float(np.quantile(one, 0.95)) for one in (awake, asleep)]
        ratio = p95[1] / p95[0]
        switch_ms = 1e3 * sys.getswitchinterval()
        row: Row = {
            "what": "recall",
            "memories": memories,
            "switch_ms": switch_ms,
            "awake_p95_ms": p95[0],
            "waking_p95_ms": p95[1],
        }
        yield {**row, "n": len(asleep), "ratio": ratio, **goal("ratio", ratio, GOAL_RATIO)}
