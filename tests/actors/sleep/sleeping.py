"""What tests of nights share: whole nights over a mind, and conversations that are given memories."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.changes import MemoryLabels, Relabel
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.log.changes import DeliveredSpan
from mnemic.actors.log.messages import NoteDelivery
from mnemic.actors.recall.messages import Recalled
from mnemic.actors.sleep.messages import NightReport, Sleep
from mnemic.actors.sleep.registry import ENTRY_POINT_GROUP
from mnemic.actors.store.messages import Apply
from tests.harness import ActorHarness
from tests.waiting import until

SHELF = ScopeRef(path="shelf", project=None, found="named")
_runs = itertools.count()


def whole_night(mind: ActorHarness, **fields: Any) -> NightReport:
    """A night, once all that waits awake is done."""
    mind.embed()
    run = f"whole night {next(_runs)}"
    for _ in range(2000):
        report: NightReport = mind.ask(Sleep(run=run, budget_s=600.0, **fields))
        if report.finished:
            until(lambda: not mind.supervisor.is_busy())
            return report
    raise AssertionError("it never ends")


def ask_as(mind: ActorHarness, session: str, query: str, **fields: Any) -> Recalled:
    """What an assistant is given that asks in a conversation; that is kept."""
    mind.clock.advance(1)
    found = mind.recall(query, observe=True, assistant="claude", asking_session=session, **fields)
    until(lambda: not mind.supervisor.is_busy())
    return found


def open_as(mind: ActorHarness, session: str, id: bytes, *, named: bool = True) -> None:
    """An assistant looks at a whole memory in a conversation, or reads what is made of it."""
    mind.clock.advance(1)
    part = DeliveredSpan(memory=id, start=0, stop=1, why="asked")
    mind.supervisor.tell(NoteDelivery(assistant="claude", session=session, parts=(part,), named=named))
    until(lambda: not mind.supervisor.is_busy())


def reply_as(mind: ActorHarness, session: str, text: str) -> bytes:
    """What an assistant says in a conversation."""
    mind.clock.advance(1)
    return mind.keep(text, session=session, role="assistant", place=SHELF, assistant="claude").id


def forget_labels(mind: ActorHarness, **fields: Any) -> None:
    """Have all memories be as they were before memories had labels."""
    kept = mind.look(lambda snapshot: snapshot.load_memories(snapshot.memory_columns(0).row.tolist()))
    names = [name for name in MemoryLabels.__struct_fields__ if name not in ("memory", "author")]
    before = (
        MemoryLabels(memory=one.id, author=None, **({name: getattr(one, name) for name in names} | fields))
        for one in kept
    )
    change = Relabel(labels=tuple(before))
    mind.ask(Apply(changes=(change,), key=b"before %d" % next(_runs), author="test", run="test"))


def offer_stages(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str = "strangers", **stages: str) -> None:
    """Have an installed package offer stages: names with ``_`` for ``-``, and ``module:Class``."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8")
    offered = "".join(f"{name.replace('_', '-')} = {path}\n" for name, path in stages.items())
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n{offered}", "utf-8")
    monkeypatch.syspath_prepend(folder)
