"""LoCoMo's questions in minds of growing size: one of its conversations, two and so on, and all of them with chatter.

Every question counts at every size. Of fewer than all conversations there are as many minds as conversations: each
begins with another one, is asked that one's questions, and takes in the next. Chatter is drawn: words as often as the
conversations have them, in turns as long as theirs, by their speakers and on their days, so that it shares words, names
and days with the questions and answers none of them. Above stands `mnemic.bench.quality.recall_bench`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.plot import Line
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.asking import RULES, Score, ask_each, rule_rows
from mnemic.bench.quality.question_sets import LabelledQuestion, QuestionSet

_SESSION_TURNS = 22  # of chatter; LoCoMo's have as many
_METRICS = {"any@5": ("any@5", ":"), "mrr": ("MRR", "-"), "any@1": ("any@1", "--")}
_TITLES = {"fused": "Mnemic", "meaning alone": "cosine alone", "words alone": "BM25 alone"}


def size_rows(
    of: QuestionSet, asked: Sequence[LabelledQuestion], memories: Sequence[int], folder: Path, seed: int = 0
) -> Iterator[Row]:
    """Measure minds of each number of conversations, and of all with chatter up to so many memories.

    Args:
        of: LoCoMo's.
        asked: those of its questions that are asked.
        memories: sizes with chatter.
        folder: an empty one, for the homes.

    Raises:
        ValueError: a size is less than the conversations have themselves.
    """
    talks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for turn in of.turns:
        talks[turn["scope"]].append(turn)
    if min(memories) < len(of.turns):
        raise ValueError(f"a mind of {min(memories)} memories has no room for the {len(of.turns)} turns of LoCoMo's")
    names = list(talks)
    by_count: dict[int, dict[str, list[Score]]] = {
        count: {rule: [] for rule in RULES} for count in range(1, len(talks))
    }
    sizes: dict[int, list[int]] = defaultdict(list)
    for first, name in enumerate(names):
        own = [one for one in asked if one.scope == name]
        held = 0
        for count in range(1, len(talks)):
            taken = talks[names[(first + count - 1) % len(names)]]
            held += len(taken)
            sizes[count].append(held)
            for rule, scores in _asked(folder / str(first), taken, own).items():
                by_count[count][rule] += scores
    about: Row = {"what": "size", "set": of.name}
    for count, all_of_them in by_count.items():
        yield from rule_rows(about | {"conversations": count, "memories": round(np.mean(sizes[count]))}, all_of_them)
    home = folder / "0"  # which lacks the last of them
    about["conversations"] = len(talks)
    yield from rule_rows(about | {"memories": len(of.turns)}, _asked(home, talks[names[-1]], asked))
    chatter = draw_chatter(of.turns, max(memories) - len(of.turns), seed)
    kept = 0
    for size in sorted(memories):
        more, kept = chatter[kept : size - len(of.turns)], size - len(of.turns)
        yield from rule_rows(about | {"memories": size}, _asked(home, more, asked))


def draw_chatter(turns: Sequence[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """So many turns, as `mnemic capture` takes them: words drawn as often as the given ones have them, and as many."""
    random = np.random.default_rng(seed)
    words = [turn["text"].split() for turn in turns]
    known, often = np.unique([word for each in words for word in each], return_counts=True)
    ends = np.cumsum([0, *(max(1, len(words[at])) for at in random.integers(len(words), size=count))])
    drawn = random.choice(known, ends[-1], p=often / often.sum())
    begun = [turns[at] for at in random.integers(len(turns), size=-(-count // _SESSION_TURNS))]
    return [
        {
            "session": f"chatter/{number // _SESSION_TURNS}",
            "role": ("user", "assistant")[number % 2],
            "text": " ".join(drawn[ends[number] : ends[number + 1]]),
            "speaker": begun[number // _SESSION_TURNS]["speaker"],
            "said_at": (
                datetime.fromisoformat(begun[number // _SESSION_TURNS]["said_at"])
                + timedelta(minutes=number % _SESSION_TURNS)
            ).isoformat(),
            "scope": "chatter",
            "id": f"chatter/{number}",
        }
        for number in range(count)
    ]


def size_lines(rows: Sequence[Row]) -> list[Line]:
    """What is drawn of these rows: a colour for each rule, a dash for each metric."""
    return [
        Line(
            f"{title}, {name}",
            [(row["memories"], row[metric]) for row in rows if row["rule"] == rule],
            colour=number,
            style=style,
        )
        for number, (rule, title) in enumerate(_TITLES.items())
        for metric, (name, style) in _METRICS.items()
    ]


def _asked(home: Path, more: Sequence[dict[str, Any]], asked: Sequence[LabelledQuestion]) -> dict[str, list[Score]]:
    """Take in more turns, then ask in the whole mind."""
    if more:
        corpus = home.with_suffix(".jsonl")
        corpus.write_text("".join(json.dumps(turn) + "\n" for turn in more), "utf-8")
        run_mnemic(home, "capture", corpus)
    with actors_of(home) as actors:
        return ask_each(actors, asked, "*")
