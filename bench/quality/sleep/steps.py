"""How many of the steps of a session the procedures of those before it told.

Session by session a conversation is captured and a night is had; of each step that follows another in the next session
it is looked up whether `mnemic procedures` gave it, and beside that whether it is what came most often after that step,
ever, which needs no three times. Part of `mnemic.bench.quality.sleep_bench`.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mnemic.actors.protocol.sleep.messages import ListProcedures
from mnemic.actors.sleep.procedures import MOST_PROCEDURES
from mnemic.algorithms.sleep.procedures import step_name, steps_that_follow
from mnemic.algorithms.steps.steps import ToolEvent
from mnemic.bench.harness.homes import MIND_NAME, actors_of, lexical_settings
from mnemic.bench.harness.measure import Row
from mnemic.bench.harness.processes import run_mnemic
from mnemic.bench.quality.question_sets import QuestionSet
from mnemic.bench.quality.sleep.nights import have_night
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import create_mind

_STAGES = ("session-steps", "procedures")
Follows = tuple[str, bool, str]


def step_rows(of: QuestionSet) -> Iterator[Row]:
    """One row over the sessions of a set, but for each scope's first; none where no tools are used."""
    by_scope: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for turn in of.turns:
        if turn.get("kind") in ("tool_call", "tool_result"):
            by_scope[turn["scope"]][turn["session"]].append(turn)
    counts: Counter[str] = Counter()
    for scope, sessions in sorted(by_scope.items()):
        with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
            home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
            create_mind(home, MIND_NAME, SystemClock())
            (home / "mnemic.toml").write_text(lexical_settings(home), "utf-8")
            seen: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
            told: set[Follows] = set()
            for number, turns in enumerate(sorted(sessions.values(), key=lambda turns: str(turns[0]["said_at"]))):
                done = _steps(turns)
                if number:
                    counts["sessions"] += 1
                    counts["steps"] += len(done)
                    counts["told"] += sum(step in told for step in done)
                    most = {key: then.most_common(1)[0][0] for key, then in seen.items()}
                    counts["most_often"] += sum(most.get(step[:2]) == step[2] for step in done)
                for step in done:
                    seen[step[:2]][step[2]] += 1
                corpus.write_text("".join(json.dumps(turn) + "\n" for turn in turns), "utf-8")
                run_mnemic(home, "capture", corpus)
                with actors_of(home) as actors:
                    have_night(actors, f"{number}", _STAGES)
                    listed = actors.ask(ListProcedures(scope=scope, k=MOST_PROCEDURES)).procedures
                told = {(one.before, one.failed, one.then) for one in listed}
    if counts["sessions"]:
        yield {"what": "steps", "set": of.name, **counts}


def _steps(turns: Sequence[dict[str, Any]]) -> list[Follows]:
    events = [
        ToolEvent(turn["kind"] == "tool_call", turn["tool"], turn.get("outcome"), (), turn["text"]) for turn in turns
    ]
    names = [step_name(one.tool, one.text) if one.is_call else "" for one in events]
    return [(names[one.before], one.failed, names[one.then]) for one in steps_that_follow(events)]
