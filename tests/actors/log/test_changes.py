"""A field of a memory keeps its name on its way from an event to what is shown and exported."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.actors.kernel.events import Event
from mnemic.actors.log.changes import MEMORY_FIELDS, AddMemory
from mnemic.actors.recall.messages import Memory
from mnemic.runtime.transfer.export_format import ExportedMemory
from tests.harness import ActorHarness


@pytest.mark.parametrize("kind", [Event, AddMemory, Memory, ExportedMemory])
def test_every_field_that_is_passed_on_is_one_of_each_struct(kind: type[Event]) -> None:
    assert set(MEMORY_FIELDS) <= set(kind.__struct_fields__)


def test_what_a_change_a_memory_and_an_export_share_is_passed_on(tmp_path: Path) -> None:
    shared = set(AddMemory.__struct_fields__) & set(Memory.__struct_fields__) & set(ExportedMemory.__struct_fields__)
    apart = {"id", "assistant", "session", "files"}  # each is kept in another form
    assert shared - apart == set(MEMORY_FIELDS)
    with ActorHarness(tmp_path) as mind:
        columns = mind.look(lambda now: [name for _, name, *_ in now._db.execute("PRAGMA table_info(memories)")])
    assert set(MEMORY_FIELDS) <= set(columns)
