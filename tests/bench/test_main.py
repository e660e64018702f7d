"""The bench command: what it takes, how it fails, and a whole run on a made-up file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.bench.__main__ import BENCHES, _line, bench_named, bench_parser, main
from mnemic.bench.quality.locomo import METRICS
from tests.paths import ROOT


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-W", "error", "-m", "mnemic.bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def bench_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command in this process."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # which it sets where nothing is set

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["mnemic.bench", *map(str, arguments)])
        try:
            code: object = main()
        except SystemExit as ended:
            code = ended.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(sys.argv, code, *capsys.readouterr())

    return call


def said(speaker: str, number: str, text: str) -> dict[str, str]:
    return {"speaker": speaker, "dia_id": number, "text": text}


MADE_UP = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ida",
            "speaker_b": "Oto",
            "session_1_date_time": "1:00 pm on 1 March, 2024",
            "session_1": [
                said("Ida", "D1:1", "The kiln reached a thousand degrees."),
                said("Oto", "D1:2", "Good news!"),
            ],
            "session_2_date_time": "1:00 pm on 2 March, 2024",
            "session_2": [said("Oto", "D2:1", "My sister bought a red rowing boat."), said("Ida", "D2:2", "Lovely.")],
            "session_3_date_time": "1:00 pm on 3 March, 2024",
            "session_3": [
                said("Ida", "D3:1", "The glaze cracked while it was cooling."),
                said("Oto", "D3:2", "Oh no."),
            ],
        },
        "qa": [
            {"question": "How hot was the kiln?", "evidence": ["D1:1"], "category": 4},
            {"question": "Who bought a rowing boat?", "evidence": ["D2:1"], "category": 1},
            {"question": "When did the glaze crack?", "evidence": ["D3:1"], "category": 2},
        ],
    }
]


def test_help_names_every_bench_and_what_it_measures() -> None:
    shown = bench("--help")
    assert shown.returncode == 0
    text = " ".join(shown.stdout.split()).replace("- ", "-")  # a line may end behind a hyphen
    assert all(f"{name}: {what}" in text for name, what in BENCHES.items())


@pytest.mark.parametrize("name", BENCHES)
def test_every_option_of_a_bench_is_known_and_its_default_is_told(name: str) -> None:
    text = bench_parser(name, bench_named(name)).format_help()
    assert "--json" in text
    assert ("--seed" in text) == ("of what is drawn (0)" in text)


def test_a_row_says_why_something_was_left_out() -> None:
    row = {"what": "all", "of": "competitor: torchhd", "state": "skipped", "why": "torch is not installed"}
    assert _line(row) == "what=all  of=competitor: torchhd  state=skipped  why=torch is not installed"
    said = _line({"check": "replies", "state": "failed", "why": "it hung"})
    assert said.split() == ["failed", "replies", "it", "hung"]


def test_every_bench_is_documented() -> None:
    documented = (ROOT / "docs" / "benches.md").read_text("utf-8")
    assert all(f"\n| `{name}` | " in documented for name in BENCHES)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "the following arguments are required: name"),
        (("speed",), "invalid choice: 'speed'"),
        (("locomo",), "the following arguments are required: --data"),
        (("contract",), "the following arguments are required: package.module:Class"),
        (("contract", "a:B", "--engine", "steam"), "invalid choice: 'steam' (choose from 'embedded', 'ray')"),
        (("hd", "--parts", "size"), "invalid choice: 'size'"),
        (("bits", "--rounds", "0"), "argument --rounds: it must be 1 or more"),
        (("bits", "--kills", "3"), "unrecognized arguments: --kills 3"),
        (("locomo", "--data", "/nowhere.json"), "bench locomo: [Errno 2] No such file or directory: '/nowhere.json'"),
    ],
)
def test_what_cannot_be_run_is_told_in_a_line(
    bench_here: Callable[..., subprocess.CompletedProcess[str]], arguments: tuple[str, ...], why: str
) -> None:
    ended = bench_here(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert why in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("content", ["", "[]", "{}", '[{"sample_id": 3}]', "[3]"])
def test_another_file_is_refused(
    bench_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, content: str
) -> None:
    path = tmp_path / "other.json"
    path.write_text(content, "utf-8")
    ended = bench_here("locomo", "--data", path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("bench locomo: ")
    assert "Traceback" not in ended.stderr


@pytest.mark.system
def test_a_run_measures_quality_speed_size_and_plaintext(tmp_path: Path) -> None:
    path = tmp_path / "made-up.json"
    path.write_text(json.dumps(MADE_UP), "utf-8")
    ended = bench("locomo", "--data", path, "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    result = json.loads(ended.stdout)
    assert set(result["about"]) == {"commit", "machine", "python", "system"}
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in result["rows"]:
        rows.setdefault(row["what"], []).append(row)

    (capture,) = rows["capture"]
    assert capture["turns"] == 6
    assert capture["words_turns_per_s"] > capture["words_and_meaning_turns_per_s"] > 0
    (plaintext,) = rows["plaintext"]
    assert plaintext["runs_looked_for"] > 50
    assert plaintext["runs_of_16_bytes_in_clear"] == 0
    (size,) = rows["size"]
    assert size["ratio"] == pytest.approx(size["home_bytes"] / size["text_bytes"])

    pooled = {row["rule"]: row for row in rows["quality, pooled"]}
    rules = {"fused", "fused, without structure", "reciprocal rank", "dense only", "words only", "turn words only"}
    assert set(pooled) == rules
    assert pooled["fused"]["questions"] == 3
    assert [pooled["fused"][metric] for metric in METRICS] == [1.0] * len(METRICS)
    assert all("p" in row for rule, row in pooled.items() if rule != "fused")
    assert {row["conversation"] for row in rows["quality, own scope"]} == {"conv-1", "all"}
    for what in ("recall, warm, through the actors", "recall, warm, words only", "mnemic recall, whole command"):
        (row,) = rows[what]
        assert 0 < row["p50_ms"] <= row["p95_ms"]
    assert len([what for what in rows if what.startswith("competitor")]) == 2
