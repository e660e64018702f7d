"""The ingest bench, run small: all that is captured is kept, and each figure has what bounds it beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.actors.kernel.ports import Window
from mnemic.bench.speed.ingest_bench import _steps, run

CONVERSATION = {
    "speaker_a": "Ida",
    "speaker_b": "Oto",
    "session_1_date_time": "9:05 am on 7 May, 2023",
    "session_1": [
        {"speaker": "Ida", "dia_id": "D1:1", "text": "The kiln is hot."},
        {"speaker": "Oto", "dia_id": "D1:2", "text": "Then the glaze can wait."},
        {"speaker": "Ida", "dia_id": "D1:3", "text": "A new boat has come."},
    ],
}


@pytest.mark.system
def test_a_short_run_tells_both_minds_beside_the_encoder_and_a_plain_index(tmp_path: Path) -> None:
    data = tmp_path / "made-up.json"
    data.write_text(json.dumps([{"sample_id": "conv-1", "conversation": CONVERSATION, "qa": []}]), "utf-8")
    rows = {(row["what"], row["mind"]): row for row in run(data=data, memories=50, rounds=2)}
    whole = "words, meaning and binding"
    assert rows.keys() >= {(whole, 0), (whole, 50), ("words", 0), ("words", 50)}
    assert {what for what, _ in rows} > {"baseline: the encoder alone", "competitor: plain FTS5"}
    assert all(row["turns"] == 3 and row["turns_per_s"] > 0 and row["rounds"] == 2 for row in rows.values())
    for mind in (0, 50):
        row = rows[whole, mind]
        assert row["of_encoder"] == row["turns_per_s"] / rows["baseline: the encoder alone", 0]["turns_per_s"]
        assert row["met"] is (row["turns_per_s"] >= 500)


def test_a_file_without_turns_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "empty.json"
    data.write_text("[]", "utf-8")
    with pytest.raises(ValueError, match="has no turns"):
        list(run(data=data))


def test_windows_are_taken_together_up_to_a_number_of_tokens_and_a_longer_one_alone() -> None:
    windows = [Window(0, 1, (0,) * size) for size in (3, 4, 20, 1, 1, 6)]
    assert [[len(one.token_ids) for one in step] for step in _steps(windows, 8)] == [[3, 4], [20], [1, 1, 6]]
