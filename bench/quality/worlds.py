"""Questions about months of changing talk, and about short notes that are nearly alike: the first hit, and stale ones.

A world is what one person and an assistant said over some months, written and labelled by authors who had not seen the
code that ranks (``tests/fixtures/worlds``). What holds changes in passing, somebody asked in the question's very words
before, and much says only what is not so. Each question names the turns that answer it as the first hit, and those that
answered it once or seem to. The worlds under ``held`` chose no rule. ``records.json`` has notes of five projects, kept
one by one, and nine times as many that are near to them and say nothing. Part of `mnemic.bench.quality.recall_bench`.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from mnemic.actors.recall.messages import Recall, Recalled
from mnemic.bench.harness.homes import actors_of
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.metrics import any_at, reciprocal_rank
from mnemic.bench.harness.processes import name_models, run_mnemic
from mnemic.bench.quality.asking import RULES
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.engine.supervisor import Supervisor

_DEPTH, _AMONG = 10, 5
_MINUTE = timedelta(minutes=1)


class _WorldClock(SystemClock):
    """The clock of a world's last day, in UTC."""

    at = 0

    def now_us(self) -> int:
        """World time, microseconds since 1970 UTC."""
        return self.at or super().now_us()

    def utc_offset_min(self, at_us: int) -> int:
        """Minutes east of UTC."""
        return 0


def world_turns(world: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The turns of a world, as `mnemic capture` takes them, a minute apart in their session."""
    for session in world["sessions"]:
        for number, turn in enumerate(session["turns"]):
            said_at = _moment(session["at"]) + number * _MINUTE
            line = {
                "id": f"{world['world']}/{turn['id']}",
                "session": f"{world['world']}/{session['id']}",
                "scope": f"worlds/{world['world']}",
                "said_at": said_at.isoformat(),
            }
            if turn["by"] == "tool":
                tool = {"kind": "tool_call", "tool": "Bash"}
                yield line | tool | {"id": f"{line['id']}.call", "role": "assistant", "text": turn["command"]}
                tool["kind"] = "tool_result"
                outcome = "failed" if turn.get("failed") else "ok"
                yield line | tool | {"role": "tool", "outcome": outcome, "text": turn.get("output", "")}
            elif turn["by"] == "note":
                yield line | {"role": "assistant", "kind": "note", "text": turn["text"]}
            else:
                yield line | {"role": turn["by"], "text": turn["text"]}


def world_rows(folder: Path, held: bool, model: Path | None = None, reranker: Path | None = None) -> Iterator[Row]:
    """A row for each rule and kind of question, over all worlds of a folder; and how nonsense is told from questions.

    Args:
        held: whether those are asked that no rule is chosen by.
        model: a folder of another model than the default one.
        reranker: a folder of a cross-encoder that orders the best.

    Raises:
        OSError: a file cannot be read.
        ValueError: there is none, or one holds something else.
    """
    part = "held" if held else "seen"
    worlds = [json.loads(path.read_bytes()) for path in sorted((folder / part).glob("*.json"))]
    if not worlds:
        raise ValueError(f"{folder / part} holds no worlds")
    scores: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    own, foreign = [], []
    clock = _WorldClock()
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as temporary:
        home = _captured(Path(temporary), (model, reranker), [line for world in worlds for line in world_turns(world)])
        with actors_of(home, clock) as actors:
            for world in worlds:
                clock.at = _microseconds(world["now"])
                for one in world["questions"]:
                    for rule in RULES:
                        found = _ask_world(actors, world, one, rule)
                        scored = _score(found, world, one)
                        scores[rule, "all"].append(scored)
                        scores[rule, one["kind"]].append(scored)
                        if rule == "fused":
                            own.append(found.hits[0].score if found.hits else 0.0)
                for question in world["unanswerable"]:
                    found = _ask_world(actors, world, {"question": question}, "fused")
                    foreign.append(found.hits[0].score if found.hits else 0.0)
    for (rule, kind), each in sorted(scores.items()):
        if kind == "all" or rule == "fused":
            means = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
            yield {"what": "worlds", "set": part, "rule": rule, "kind": kind, "questions": len(each), **means}
    above = np.array(own)[:, None] - np.array(foreign)[None, :]
    told = float((above > 0).mean() + (above == 0).mean() / 2)
    yield {"what": "worlds, nothing fits", "set": part, "questions": len(own), "others": len(foreign), "auroc": told}


def record_rows(path: Path, model: Path | None = None, reranker: Path | None = None) -> Iterator[Row]:
    """A row for each rule over notes alone, and among nine times as many that say nothing; in their project and in all.

    Raises:
        OSError: the file cannot be read.
        ValueError, KeyError: it holds something else.
    """
    whole = json.loads(path.read_bytes())
    sets = {"notes": whole["records"], "notes among others": whole["records"] + whole["distractors"]}
    clock = _WorldClock()
    clock.at = _microseconds(whole["now"])
    for name, records in sets.items():
        with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as temporary:
            lines = [_record_line(one) for one in sorted(records, key=lambda one: one["at"])]
            home = _captured(Path(temporary), (model, reranker), lines)
            with actors_of(home, clock) as actors:
                for rule in RULES:
                    for where in ("own scope", "*"):
                        scores = [_score_record(actors, one, rule, where) for one in whole["questions"]]
                        means = {key: float(np.nanmean([one[key] for one in scores])) for key in scores[0]}
                        about = {"what": "records", "set": name, "where": where, "rule": rule}
                        yield about | {"questions": len(scores), **means}


def _record_line(record: dict[str, Any]) -> dict[str, Any]:
    kind = "decision" if record["kind"] == "decision" else "note"
    about = {"scope": f"records/{record['project']}", "session": "kept", "role": "assistant", "kind": kind}
    return about | {"id": record["id"], "said_at": _moment(record["at"]).isoformat(), "text": record["text"]}


def _captured(folder: Path, models: tuple[Path | None, Path | None], lines: Sequence[dict[str, Any]]) -> Path:
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    name_models(folder / "home", *models)
    run_mnemic(folder / "home", "capture", corpus)
    return folder / "home"


def _ask_world(actors: Supervisor, world: dict[str, Any], asked: dict[str, Any], rule: str) -> Recalled:
    found = actors.ask(
        Recall(
            query=asked["question"],
            k=_DEPTH,
            scope=f"worlds/{world['world']}",
            signals=RULES[rule],
            observe=False,
            at=_microseconds(f"{asked['at'][:10]}T12:00") if "at" in asked else None,
            asking_session=f"{world['world']}/{asked['in_session']}" if "in_session" in asked else "",
        )
    )
    assert isinstance(found, Recalled)
    return found


def _score(found: Recalled, world: dict[str, Any], asked: dict[str, Any]) -> dict[str, float]:
    turns = [hit.source_id or "" for hit in found.hits]
    first, stale = ({f"{world['world']}/{id}" for id in asked.get(name, ())} for name in ("first", "stale"))
    return {
        "any@1": any_at(turns, first, 1),
        "stale@1": any_at(turns, stale, 1),
        "any@3": any_at(turns, first, 3),
        "mrr": reciprocal_rank(turns, first),
    }


def _score_record(actors: Supervisor, asked: dict[str, Any], rule: str, where: str) -> dict[str, float]:
    scope = "*" if where == "*" else f"records/{asked['project']}"
    found = actors.ask(Recall(query=asked["question"], k=_AMONG, scope=scope, signals=RULES[rule], observe=False))
    assert isinstance(found, Recalled)
    ids = [hit.source_id or "" for hit in found.hits]
    places = {name: min((ids.index(id) for id in asked[name] if id in ids), default=_AMONG) for name in _LABELS}
    is_before = places["relevant"] < places["harmful"] if asked["harmful"] else np.nan
    return {
        "any@1": any_at(ids, set(asked["relevant"]), 1),
        "any@5": any_at(ids, set(asked["relevant"]), _AMONG),
        "all@5": float(set(asked["relevant"]) <= set(ids)),
        "useful_before_harmful": float(is_before),
    }


_LABELS = ("relevant", "harmful")


def _moment(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)


def _microseconds(written: str) -> int:
    return int(_moment(written).timestamp() * 1e6)
