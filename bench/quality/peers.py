"""Labelled questions asked of Mnemic and of whatever stands beside it, each given the same conversations in this run.

Mnemic and its peers are filled by their own paths. Plain lines need no product: BM25 over whole conversations, the
cosine of each turn, and the sum of both. Figures: any@1, any@5, any@10, NDCG@10 and reciprocal rank over conversations,
`any@10` over turns where a peer names these, turns taken in a second, bytes on disk, and the tokens that a session's
start is told. Above stands `mnemic.bench.report`.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
import numpy as np
from numpy.typing import NDArray

from mnemic.actors.brief.messages import Brief, Briefed
from mnemic.actors.index.hits import BYTES_PER_TOKEN
from mnemic.actors.kernel.ports import Encoder
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.bench.harness.figures import OURS, Figure, mean_figure
from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.mem0 import NOT_AS_IT_SHIPS
from mnemic.bench.harness.mem0 import mem0 as filled_mem0
from mnemic.bench.harness.metrics import any_at, distinct, ndcg_at, reciprocal_rank
from mnemic.bench.harness.palace import STRATEGIES, conversation_name
from mnemic.bench.harness.palace import mempalace as mined_palace
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.harness.statistics import holm, paired_test
from mnemic.bench.quality.asking import DEPTH, RULES, ask
from mnemic.bench.quality.question_sets import LabelledQuestion, QuestionSet
from mnemic.runtime.models.models import default_model_folder

WORTH = "MRR"
"""What paired tests are of."""
_TOKENS = f"tokens of {BYTES_PER_TOKEN} bytes"
_WINDOWS = 16
_PALACE_HITS = 50  # several may be of one conversation
_PEERS = ("MemPalace", "mem0")
_PLAIN = ("BM25 over whole conversations", "cosine of each turn", "sum of both, as z-scores")

Found = list[tuple[str, str | None]]
"""Conversation and id of turns, best first; no id where only the conversation is known."""


class Ranker(NamedTuple):
    """Something that conversations were put into."""

    rank: Callable[[LabelledQuestion], Found] | None
    """Asks it, where the answer is; none where it only tells at a session's start."""
    took_s: float | None = None
    """Seconds that filling it took, where that is of its own."""
    disk_bytes: int | None = None
    """What it takes on the disk, likewise."""
    start_tokens: Callable[[str], float] | None = None
    """How much the start of a session in a scope is told, where it tells any."""


class _Tally:
    """What was measured of one of them, over the sets of a file."""

    def __init__(self) -> None:
        self.scores: dict[str, list[float]] = defaultdict(list)
        self.answered: list[str] = []  # the group of each question whose turns are known
        self.rates: list[float] = []
        self.disk: list[float] = []
        self.tokens: list[float] = []


def peer_figures(
    name: str,
    sets: Iterable[QuestionSet],
    encoder: Encoder,
    peers: Mapping[str, Path],
    missing: Mapping[str, str],
    **common: Any,
) -> Iterator[Figure]:
    """Ask the questions of some sets of one data set, of all that there is.

    Args:
        name: the data set's.
        encoder: Mnemic's.
        peers: the interpreter of the environment of each, by ``MemPalace`` and ``mem0``.
        missing: what is not there, and why, by its title.
        common: fields of every figure: its part and parameters.

    Raises:
        ValueError: not all turns were kept.
        OSError: there is no room.
    """
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    groups: list[str] = []
    failed = {"mem0, as it ships": NOT_AS_IT_SHIPS, **missing}
    turns = 0
    for of in sets:
        groups += [one.part for one in of.questions]
        turns += len(of.turns)
        with tempfile.TemporaryDirectory(prefix="mnemic-peers-") as folder:
            for title, fill in _entrances(of, encoder, peers, Path(folder)).items():
                if title in failed:
                    continue
                try:
                    with fill() as rankers:
                        for each, ranker in rankers.items():
                            _measure(tallies[each], ranker, of)
                except (OSError, ValueError, KeyError) as error:  # a peer that answers something else, too
                    if title not in _PEERS:
                        raise
                    failed[title] = f"it could not be asked: {error}"
    parameters = common.pop("parameters", {}) | {"turns": turns}
    asked_all = {
        title: tally
        for title, tally in tallies.items()
        if not tally.scores or len(tally.scores[WORTH]) == len(groups)  # not one that ended on the way
    }
    yield from _figures(name, asked_all, groups, parameters=parameters, **common)
    for title, why in failed.items():
        yield Figure(what=name, of=title, unit="", state="skipped", why=why, parameters=parameters, **common)


def _measure(tally: _Tally, ranker: Ranker, of: QuestionSet) -> None:
    session_of = {str(turn["id"]): str(turn["session"]) for turn in of.turns}
    for one in of.questions if ranker.rank is not None else ():
        assert ranker.rank is not None
        found = ranker.rank(one)
        gold = one.sessions or {session_of[turn] for turn in one.answers}
        ranking = distinct(session for session, _ in found)
        tally.scores[WORTH].append(reciprocal_rank(ranking, gold))
        for k in (1, 5, 10):
            tally.scores[f"any@{k}"].append(any_at(ranking, gold, k))
        tally.scores["NDCG@10"].append(ndcg_at(ranking, gold, 10))
        turns = [turn for _, turn in found if turn is not None]
        if one.answers and len(turns) == len(found):
            tally.scores["turn any@10"].append(any_at(turns, one.answers, 10))
            tally.answered.append(one.part)
    if ranker.took_s:
        tally.rates.append(len(of.turns) / ranker.took_s)
    if ranker.disk_bytes is not None:
        tally.disk.append(ranker.disk_bytes / len(of.turns))
    if ranker.start_tokens is not None:
        tally.tokens += [ranker.start_tokens(scope) for scope in sorted({str(turn["scope"]) for turn in of.turns})]


def _figures(name: str, tallies: Mapping[str, _Tally], groups: Sequence[str], **common: Any) -> Iterator[Figure]:
    worth = {title: np.array(tally.scores[WORTH]) for title, tally in tallies.items() if tally.scores}
    others = [title for title in worth if title != OURS]
    chances = holm([paired_test(worth[OURS], worth[title], seed=1)[1] for title in others])
    p = dict(zip(others, chances, strict=True))
    for title, tally in tallies.items():
        for metric, scores in tally.scores.items():
            of_whom = groups if len(scores) == len(groups) else tally.answered
            figure = mean_figure(scores, of_whom, what=f"{name}: {metric}", of=title, unit="share", **common)
            yield msgspec.structs.replace(figure, p=p.get(title) if metric == WORTH else None)
        single: tuple[tuple[str, str, list[float]], ...] = (
            ("turns/s", "taken in", tally.rates),
            ("bytes a turn", "on disk", tally.disk),
        )
        for unit, what, each in single:
            if each:
                better = "more" if unit == "turns/s" else "less"
                about: dict[str, Any] = {"what": f"{name}: {what}", "of": title, "unit": unit, "better": better}
                yield Figure(values=(float(np.mean(each)),), n=common["parameters"]["turns"], **about, **common)
        if tally.tokens:
            about = {"what": f"{name}: told at a session's start", "of": title, "unit": _TOKENS, "better": "less"}
            yield mean_figure(tally.tokens, **about, **common)


# --- what is asked ---------------------------------------------------------------------------------------------------


def _entrances(
    of: QuestionSet, encoder: Encoder, peers: Mapping[str, Path], into: Path
) -> dict[str, Callable[[], AbstractContextManager[dict[str, Ranker]]]]:
    """What fills each, by a title for it; a context that gives rankers by their titles."""
    found: dict[str, Callable[[], AbstractContextManager[dict[str, Ranker]]]] = {
        OURS: lambda: _mnemic(of, into / "home"),
        "plain": lambda: _plain(of, encoder),
    }
    if "MemPalace" in peers:
        found["MemPalace"] = lambda: _mempalace(of, peers["MemPalace"], into / "mempalace")
    if "mem0" in peers:
        found["mem0"] = lambda: _mem0(of, encoder, peers["mem0"], into / "mem0")
    return found


@contextmanager
def _mnemic(of: QuestionSet, home: Path) -> Iterator[dict[str, Ranker]]:
    corpus = home.with_suffix(".jsonl")
    corpus.write_text("".join(json.dumps(turn) + "\n" for turn in of.turns), "utf-8")
    report = run_mnemic(home, "capture", corpus)[0]
    if report["new"] != len(of.turns):
        raise ValueError(f"{report['new']} of {len(of.turns)} turns were kept")
    with actors_of(home) as actors:

        def rank(one: LabelledQuestion) -> Found:
            return [(hit.session, hit.source_id) for hit in ask(actors, one.question, one.scope, RULES["fused"]).hits]

        def tokens(scope: str) -> float:
            place = ScopeRef(path=scope, project=None, found="named")
            told = actors.ask(Brief(place=place, assistant="bench", session="bench"))
            assert isinstance(told, Briefed)
            return float(told.tokens)

        yield {OURS: Ranker(rank, float(report["took_s"]), _size_bytes(home), tokens)}


@contextmanager
def _mempalace(of: QuestionSet, python: Path, into: Path) -> Iterator[dict[str, Ranker]]:
    names = {conversation_name(str(turn["session"])): str(turn["session"]) for turn in of.turns}
    with mined_palace(python, default_model_folder(), of.turns, into, padded=False) as palace:

        def ranking(strategy: str) -> Callable[[LabelledQuestion], Found]:
            def rank(one: LabelledQuestion) -> Found:
                found = palace.search(one.question, one.scope, _PALACE_HITS, strategy)["hits"]
                return [(names[name], None) for name, _ in found]

            return rank

        def tokens(scope: str) -> float:
            return palace.wake_up(scope) / BYTES_PER_TOKEN

        first, *others = STRATEGIES
        of_its_own = palace.mined_s, _size_bytes(into / "unpadded"), tokens
        yield {f"MemPalace, {first}": Ranker(ranking(first), *of_its_own)} | {
            f"MemPalace, {strategy}": Ranker(ranking(strategy)) for strategy in others
        }


@contextmanager
def _mem0(of: QuestionSet, encoder: Encoder, python: Path, into: Path) -> Iterator[dict[str, Ranker]]:
    with filled_mem0(python, encoder, of.turns, into) as store:

        def rank(one: LabelledQuestion) -> Found:
            return [(session, turn) for session, turn in store.search(one.question, one.scope, DEPTH)["hits"]]

        yield {"mem0, infer=False": Ranker(rank, store.added_s, _size_bytes(into))}


class _Plain:
    """The turns of one scope, for lines that need no product."""

    def __init__(self, turns: Sequence[Mapping[str, Any]], encoder: Encoder) -> None:
        self._encoder = encoder
        self.sessions = distinct(str(turn["session"]) for turn in turns)
        place = {session: number for number, session in enumerate(self.sessions)}
        self.turns = [(str(turn["session"]), str(turn["id"])) for turn in turns]
        self.of = np.array([place[session] for session, _ in self.turns])
        self._vectors = self._embed([str(turn["text"]) for turn in turns])
        said: dict[str, list[str]] = defaultdict(list)
        for turn in turns:
            said[str(turn["session"])].append(str(turn["text"]))
        self._index = apsw.Connection(":memory:")
        self._index.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
        rows = [(number, "\n".join(said[session])) for number, session in enumerate(self.sessions)]
        self._index.executemany("INSERT INTO t(rowid, text) VALUES(?, ?)", rows)

    def rank(self, title: str, question: str) -> Found:
        """By one of `_PLAIN`."""
        if title == _PLAIN[1]:
            return [self.turns[row] for row in np.argsort(-self._cosines(question), kind="stable")[:DEPTH]]
        scores = self._words(question)
        if title == _PLAIN[2]:
            nearest = np.full(len(self.sessions), -1.0)
            np.maximum.at(nearest, self.of, self._cosines(question))
            scores = _z(scores) + _z(nearest)
            return [(self.sessions[row], None) for row in np.argsort(-scores, kind="stable")]
        return [(self.sessions[row], None) for row in np.argsort(-scores, kind="stable") if scores[row]]

    def _words(self, question: str) -> NDArray[np.float64]:
        words = "".join(sign if sign.isalnum() else " " for sign in question).split()
        scores = np.zeros(len(self.sessions))
        match = " OR ".join(f'"{word}"' for word in words)
        if match:
            for row, score in self._index.execute("SELECT rowid, bm25(t) FROM t WHERE t MATCH ?", (match,)):
                scores[row] = -score
        return scores

    def _cosines(self, question: str) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._vectors @ self._embed([question], is_question=True)[0]
        return found

    def _embed(self, texts: Sequence[str], *, is_question: bool = False) -> NDArray[np.float64]:
        windows = [self._encoder.windows(text, 1, is_question=is_question)[0][0] for text in texts]
        parts = [self._encoder.encode(windows[at : at + _WINDOWS]) for at in range(0, len(windows), _WINDOWS)]
        return np.concatenate(parts).astype(np.float64)


@contextmanager
def _plain(of: QuestionSet, encoder: Encoder) -> Iterator[dict[str, Ranker]]:
    by_scope: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for turn in of.turns:
        by_scope[str(turn["scope"])].append(turn)
    scopes = {scope: _Plain(turns, encoder) for scope, turns in by_scope.items()}

    def ranking(title: str) -> Callable[[LabelledQuestion], Found]:
        return lambda one: scopes[one.scope].rank(title, one.question)

    def all_of_it(scope: str) -> float:
        return sum(len(str(turn["text"]).encode()) for turn in by_scope[scope]) / BYTES_PER_TOKEN

    yield {title: Ranker(ranking(title)) for title in _PLAIN} | {
        "baseline: all that was said": Ranker(None, start_tokens=all_of_it)
    }


def _z(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = float(scores.std())
    return (scores - scores.mean()) / spread if spread else np.zeros(len(scores))


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
