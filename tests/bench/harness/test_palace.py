"""MemPalace is given what was said as transcripts; one that does not run is told of."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

from mnemic.bench.harness.palace import STRATEGIES, conversation_name, mempalace, write_transcripts
from mnemic.runtime.models.models import default_model_folder

TURNS = [
    {
        "session": "a/1",
        "scope": "work/a",
        "role": "user",
        "said_at": "2026-03-02T09:00:00Z",
        "text": "Where is the kiln?",
    },
    {
        "session": "a/1",
        "scope": "work/a",
        "role": "tool",
        "said_at": "2026-03-02T09:01:00Z",
        "text": "It is in the barn.",
    },
    {
        "session": "b/1",
        "scope": "work/b",
        "role": "user",
        "said_at": "2026-03-02T09:02:00Z",
        "text": "Who paints boats?",
    },
    {"session": "b/1", "scope": "work/b", "role": "assistant", "said_at": "2026-03-02T09:03:00Z", "text": "Ida does."},
]


def test_a_scope_is_a_folder_and_a_conversation_a_transcript_in_the_order_of_what_was_said(tmp_path: Path) -> None:
    write_transcripts(TURNS, tmp_path)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.jsonl"))
    assert files == ["work_a/a_1.jsonl", "work_b/b_1.jsonl"]
    lines = [json.loads(line) for line in (tmp_path / files[0]).read_text("utf-8").splitlines()]
    assert [line["message"] for line in lines] == [
        {"role": "user", "content": "Where is the kiln?"},
        {"role": "assistant", "content": "It is in the barn."},
    ]
    assert conversation_name("a/1") == Path(files[0]).stem


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_what_exports_its_model_the_remedy_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match=r"torch is missing: pip install 'mnemic\[bench\]'"),
        mempalace(Path(sys.executable), default_model_folder(), TURNS, tmp_path),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_an_environment_without_it_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.bench.harness.palace.check_installed", lambda: None)
    monkeypatch.setattr("mnemic.bench.harness.palace.export_bert", lambda folder, to: to.write_bytes(b""))
    with (
        pytest.raises(ChildProcessError, match="MemPalace ended with 1"),
        mempalace(Path(sys.executable), default_model_folder(), TURNS, tmp_path),
    ):
        pass


@pytest.mark.torch
def test_what_was_mined_is_found_by_its_conversation(tmp_path: Path) -> None:
    python = os.environ.get("MNEMIC_MEMPALACE", "")
    if not python:
        pytest.skip("MNEMIC_MEMPALACE names no interpreter of an environment with MemPalace in it")
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; install mnemic[bench] for this test")
    with mempalace(Path(python), default_model_folder(), TURNS, tmp_path, padded=False) as palace:
        for strategy in STRATEGIES:
            ((name, similarity), *_) = palace.search("who paints the boats?", None, 5, strategy)["hits"]
            assert (name, 0 < similarity <= 1) == ("b_1", True)
        assert [name for name, _ in palace.search("who paints the boats?", "work/a", 5, "vector")["hits"]] == ["a_1"]
        assert palace.wake_up("work/a") > 0
