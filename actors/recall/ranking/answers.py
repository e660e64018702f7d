"""The answer signal of a recall: whether each of its best tells something, or only asks, denies, tries or guesses.

Beside the others in `mnemic.actors.recall.recaller`, and of the same unit: what it adds to a score. What a text asks
answers nothing, so what it has in common with the question counts as far as it tells; and what follows a question of
the same words in its conversation is likely to answer it, so it is looked at as well and gains a part of that. What is
read of a text is in `mnemic.algorithms.knowledge.answering`, and how it was judged in
docs/decisions/0035-what-answers.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.index.recall_index import RecallIndex
from mnemic.actors.kernel.events import KINDS
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.recall.ranking.asked_when import AskedWhen
from mnemic.algorithms.knowledge.answering import MAX_CHARS, AnswerReading, find_worked, read_wanted
from mnemic.algorithms.retrieval.calibration import FULL
from mnemic.algorithms.text.terms import telling_terms

_ASKING = 5  # of the best that ask, so many may have those that follow them looked at
_FOLLOWING = 4  # turns after one that asks
_LEAST_ASKED = 0.3  # what asks less has no followers
_LEAST_EVIDENCE = 0.9  # nor has what has less in common with the question, of a score
_FOLLOWER_SHARE, _DECAY = 0.15, 0.7  # of that, what the next turn gains, and each later one of the one before it
_DONE_ONLY = 0.75 / FULL.slope  # what a call of a tool loses where what holds now is asked for: it was said elsewhere
_DENIED = 2.0 / FULL.slope  # what a denial loses
_REASON = 0.35  # of what it has in common with the question, what a reason gains where one is wanted
_WORKED, _FAILED, _REPORTED = 0.5, -0.3, -0.6  # the same of what worked, of what failed, and of a mere report of it
_CHANGED = 0.3  # the same of what tells of a change, where what holds now is asked for in so many words
_JUST_US = 15 * 60_000_000  # what was typed so lately may be the very question that an assistant hands on
_MOST_JUST = 64  # of these, so many are looked at, the latest
_MENDED = 12  # of the best, so many may report what something after them mended
_EPISODE = 10  # turns after one that reports or tries, in which it may be told what worked
_MOST_KNOWN = 8_000  # texts that are kept as they were read

_DONE = [KINDS.index(kind) for kind in ("tool_call", "tool_result")]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Remedy(NamedTuple):
    """What worked in a conversation about a failure."""

    report: int
    """Position of another turn of it: one that reports the failure, tries what failed, or tells that it is over."""
    worked: int
    """Position of the one that worked."""
    is_sure: bool
    """Whether the user says so or accepts it."""


class Answers:
    """Weighs the best of a recall by what they tell."""

    def __init__(self, index: RecallIndex) -> None:
        self._index = index
        self._generation = -1
        self._known: dict[int, AnswerReading] = {}
        self._speakers: dict[int, tuple[str, str | None]] = {}

    def just_asked(
        self, words: Collection[Collection[str]], visible: NDArray[np.bool_], now_us: int, snapshot: Snapshot
    ) -> Ints:
        """Users' turns of the last quarter of an hour that only ask the question itself, ``(m,)``.

        That is where all telling words of the one are in the other, and no sentence that shares one tells something.

        Args:
            words: of each of the question's words, what it may be kept under.
        """
        said_at, turns = self._index.columns.said_at, self._index.columns.kind == KINDS.index("turn")
        late = np.flatnonzero(visible & turns & (said_at > now_us - _JUST_US) & (said_at <= now_us))[-_MOST_JUST:]
        late = late[self._is_user(late, snapshot)]
        terms = frozenset(term for one in words for term in one)
        alike = []
        texts = snapshot.text_starts(self._index.columns.row[late].tolist(), MAX_CHARS, with_speaker=False)
        for text, read in zip(texts, self._read(late, snapshot), strict=True):
            told = frozenset(telling_terms(text))
            within = told <= terms or (bool(words) and all(not told.isdisjoint(one) for one in words))
            asks = any(one.asks for one in read.sentences)
            alike.append(asks and within and all(one.asks or terms.isdisjoint(one.terms) for one in read.sentences))
        return late[np.array(alike, np.bool_)]

    def followers(self, best: Ints, terms: Collection[str], visible: NDArray[np.bool_], snapshot: Snapshot) -> Ints:
        """Return what follows those of the best that ask, and is not among the best, ``(m,)``.

        Args:
            best: ``(n,)``: positions, best first.
            terms: what the question's words may be kept under.
        """
        shares = self._asked_shares(best, terms, snapshot)
        asking = best[shares >= _LEAST_ASKED][:_ASKING]
        return np.setdiff1d(np.concatenate([best[:0], *self._after(asking, visible)]), best)

    def remedies(self, best: Ints, question: str, visible: NDArray[np.bool_], snapshot: Snapshot) -> list[Remedy]:
        """Return what worked in the end after each of the best that reports or tries, where a remedy is asked for.

        Args:
            best: ``(n,)``: positions, best first.
        """
        if not read_wanted(question).remedy:
            return []
        spoken = visible & ~np.isin(self._index.columns.kind, _DONE)
        begin = best[spoken[best]][:_MENDED]
        talks = np.stack([begin, *self._after(begin, spoken, _EPISODE, whole=True)], axis=1)
        found = []
        for talk in talks:
            turns = talk[talk >= 0]
            told = list(zip(self._is_user(turns, snapshot).tolist(), self._read(turns, snapshot), strict=True))
            is_user, first = told[0]
            if is_user and not (first.fails or first.has_key):
                continue
            worked = find_worked(told)
            others = np.delete(turns[: worked.last + 1], worked.turns).tolist()
            found += [Remedy(other, int(turns[one]), worked.is_sure) for one in worked.turns for other in others]
        return found

    def contributions(
        self,
        candidates: Ints,
        question: str,
        terms: Collection[str],
        shares: Mapping[str, NDArray[np.floating[Any]]],
        visible: NDArray[np.bool_],
        snapshot: Snapshot,
        when: AskedWhen,
    ) -> Floats:
        """Return what it adds to the score of each candidate, ``(m,)``.

        Args:
            candidates: ``(m,)``: positions.
            question: as it is asked.
            terms: what its words may be kept under.
            shares: what each signal contributes for each candidate, ``(m,)``.
            when: the time that is asked for.
        """
        if not len(candidates):
            return np.zeros(0)
        wanted, read = read_wanted(question), self._read(candidates, snapshot)
        asked = np.array([one.asked_share(terms) for one in read])
        evidence: Floats = np.zeros(len(candidates))
        for name in ("dense", "lexical"):
            evidence += shares.get(name, 0.0)
        is_denied = not (wanted.denial or wanted.reason)
        denying = np.array([is_denied and one.denies(terms) for one in read])
        np.maximum(evidence, 0.0, out=evidence)
        added: Floats = -asked * evidence - _DENIED * denying
        added += self._follower_gains(candidates, read, asked, denying, evidence, visible, snapshot)
        is_done = np.isin(self._index.columns.kind[candidates], _DONE)
        if wanted.remedy:
            added += evidence * self._outcomes(candidates, read, visible, snapshot)
        if wanted.reason:
            added += _REASON * evidence * (np.array([one.gives_reason for one in read]) & ~is_done)
        if when.kind == "now":
            added -= _DONE_ONLY * is_done
        if when.newest:
            added += _CHANGED * evidence * (np.array([one.changes(terms) for one in read]) & ~is_done)
        return added

    def _follower_gains(
        self,
        candidates: Ints,
        read: list[AnswerReading],
        asked: Floats,
        denying: NDArray[np.bool_],
        evidence: Floats,
        visible: NDArray[np.bool_],
        snapshot: Snapshot,
    ) -> Floats:
        """Return what those that follow a question of the same words gain: the most that any of these hands on."""
        gained = np.zeros(len(candidates))
        asking = np.flatnonzero((asked >= _LEAST_ASKED) & (evidence >= _LEAST_EVIDENCE))
        place = {position: number for number, position in enumerate(candidates.tolist())}
        share = _FOLLOWER_SHARE
        for step in self._after(candidates[asking], visible, whole=True):
            for number, position in zip(asking.tolist(), step.tolist(), strict=True):
                at = place.get(position)
                if at is not None and self._is_reply(position, candidates[number], snapshot):
                    telling = (1.0 - asked[at]) * (not denying[at]) * (not read[at].sets_out)
                    gained[at] = max(gained[at], share * asked[number] * evidence[number] * telling)
            share *= _DECAY
        return gained

    def _outcomes(
        self, candidates: Ints, read: list[AnswerReading], visible: NDArray[np.bool_], snapshot: Snapshot
    ) -> Floats:
        """What worked gains, what failed and what only reports it loses, as a share of what each has in common with the
        question; itself or one of the user's next two turns tells it.
        """
        own = np.array([one.outcome for one in read])
        later = np.zeros(len(candidates), np.int64)
        is_user = self._is_user(candidates, snapshot)
        for step in reversed(self._after(candidates, visible, whole=True)[:2]):
            told = np.flatnonzero(step >= 0)
            told = told[self._is_user(step[told], snapshot)]
            later[told] = [one.outcome for one in self._read(step[told], snapshot)]
        outcome = np.where((later != 0) & ~is_user, later, own)
        gained: Floats = _WORKED * (outcome > 0) + _FAILED * (outcome < 0) + _REPORTED * (is_user & (own <= 0))
        return gained

    def _is_reply(self, position: int, asking: int, snapshot: Snapshot) -> bool:
        """Say whether somebody else says it than who asked, and not to a tool."""
        if self._index.columns.kind[position] in _DONE:
            return False
        own, other = self._said_by(np.array((position, asking)), snapshot)
        return own != other

    def _is_user(self, positions: Ints, snapshot: Snapshot) -> NDArray[np.bool_]:
        return np.array([role == "user" for role, _ in self._said_by(positions, snapshot)], np.bool_)

    def _said_by(self, positions: Ints, snapshot: Snapshot) -> list[tuple[str, str | None]]:
        """Return the role and the name of who said each memory."""
        self._forget_others(snapshot)
        rows = self._index.columns.row[positions].tolist()
        for row in rows:
            if row not in self._speakers:
                one = snapshot.memory_attributes(row, row)[0]
                self._speakers[row] = one.role, one.speaker
        return [self._speakers[row] for row in rows]

    def _after(
        self, positions: Ints, visible: NDArray[np.bool_], most: int = _FOLLOWING, *, whole: bool = False
    ) -> list[Ints]:
        """The turns after some, step by step; those that are there, or with `whole` -1 for one that is not."""
        steps = []
        at = positions
        for _ in range(most):
            following = np.full(len(positions), -1)
            there = at >= 0
            following[there] = self._index.neighbours(at[there], visible)[1]
            steps.append(following if whole else following[following >= 0])
            at = following
        return steps

    def _asked_shares(self, positions: Ints, terms: Collection[str], snapshot: Snapshot) -> Floats:
        return np.array([one.asked_share(terms) for one in self._read(positions, snapshot)], np.float64)

    def _read(self, positions: Ints, snapshot: Snapshot) -> list[AnswerReading]:
        rows = self._index.columns.row[positions].tolist()
        self._forget_others(snapshot)
        unknown = [row for row in rows if row not in self._known]
        texts = snapshot.text_prefixes(unknown, MAX_CHARS)
        self._known |= {
            row: AnswerReading(text.decode("utf-8", "replace")) for row, text in zip(unknown, texts, strict=True)
        }
        return [self._known[row] for row in rows]

    def _forget_others(self, snapshot: Snapshot) -> None:
        """Forget what was read of another generation of the store, or all where it grew too large."""
        if snapshot.generation != self._generation or max(len(self._known), len(self._speakers)) > _MOST_KNOWN:
            self._generation, self._known, self._speakers = snapshot.generation, {}, {}
