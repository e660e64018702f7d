"""How much of what the next session says its briefing holds, with what a night made and with other sentences instead.

A conversation is captured up to a session, a night is had, and what the next session would be told at its start is
composed by the product itself, with and without what the night made, and with as many bytes of the newest sentences, or
of sentences drawn by chance, in its place. What the user says in that session is then looked up in it: the share of the
rarity of its words, of those that had been said before, that the briefing holds, and the cosine of each turn with the
nearest stretch that is told. The one counts words, as the choice of sentences does; the other knows nothing of them.
Part of `mnemic.bench.quality.sleep_bench`.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from mnemic.actors.brief.compose import BUDGET_TOKENS, compose_session_start
from mnemic.actors.brief.gather import gather_sources
from mnemic.actors.brief.messages import Brief, BriefingSources, Quote
from mnemic.actors.kernel.ports import Encoder
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.algorithms.sleep.digest import digest_sentences
from mnemic.algorithms.text.terms import telling_terms
from mnemic.bench.harness.homes import MIND_NAME, actors_of, lexical_settings
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.harness.statistics import paired_test
from mnemic.bench.quality.question_sets import QuestionSet
from mnemic.bench.quality.sleep.nights import have_night
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind, open_mind
from mnemic.runtime.store.reader import open_reader

_FIRST_CUT, _EACH = 4, 2  # sessions
_LEAST_ASKED_CHARS = 30
_STAGES = ("session-digests", "project-digests")
_ARMS = ("with the night", "without", "the newest sentences instead", "sentences by chance instead")


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


def brief_rows(of: QuestionSet, encoder: Encoder, seed: int) -> Iterator[Row]:
    """A row for each arm, over the sessions of a set."""
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
                    have_night(actors, f"{len(cut.before)}", _STAGES)
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
            clock = SystemClock()
            return gather_sources(snapshot, asked, clock.now_us(), clock)
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
