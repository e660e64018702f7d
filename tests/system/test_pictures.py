"""The pictures of the documentation show what the command prints now; `make pictures` draws them anew."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.system

PICTURES = ROOT / "docs" / "pictures"
DIFFERS = [
    (re.compile(r"\b[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\d+ ms"), "TIME"),
    (re.compile(r"\b\d\.\d\d\b"), "FIT"),
    (re.compile(r"(user  )20\d\d-\d\d-\d\d \d\d:\d\d(  slipway  note)"), r"\1NOW\2"),
]
"""What differs from run to run: ids, times, the moment of the demo's correction."""


def normalised(path: Path) -> str:
    text = path.read_text("utf-8")
    for pattern, name in DIFFERS:
        text = pattern.sub(name, text)
    return text


def test_each_picture_shows_what_is_printed_now(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("draw_pictures", PICTURES / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    draw.draw(tmp_path)
    for name in draw.PICTURES:
        assert normalised(tmp_path / f"{name}.txt") == normalised(PICTURES / f"{name}.txt")
        for svg in (tmp_path / f"{name}.svg", PICTURES / f"{name}.svg"):
            drawn = svg.read_text("utf-8")
            assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")  # a page loads nothing from elsewhere
            assert f"mnemic&#160;{draw.PICTURES[name][0].split()[1]}" in drawn


def test_no_picture_is_left_from_before() -> None:
    kept = {path.stem for path in PICTURES.iterdir() if path.suffix in (".svg", ".txt")}
    readme = (ROOT / "README.md").read_text("utf-8") + (ROOT / "docs" / "setup.md").read_text("utf-8")
    assert kept == set(re.findall(r"pictures/(\w+)\.svg", readme))
