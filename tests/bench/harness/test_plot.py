"""A plot has every point of every line at its place, and is well-formed whatever lines are called."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from mnemic.bench.harness.plot import Line, draw_lines

SVG = "{http://www.w3.org/2000/svg}"


def test_each_point_lies_where_its_powers_of_ten_have_it(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    draw_lines(path, "ms", "size", [Line("<this> & that", [(10, 1), (100, 10), (1000, 100)]), Line("one", [(10, 100)])])
    root = ET.fromstring(path.read_text("utf-8"))
    lines = [
        [tuple(map(float, point.split(","))) for point in one.get("points", "").split()]
        for one in root.iter(f"{SVG}polyline")
    ]
    (first, middle, last), (lone,) = lines
    assert middle == (pytest.approx((first[0] + last[0]) / 2), pytest.approx((first[1] + last[1]) / 2))
    assert first[0] < last[0]
    assert first[1] > last[1], "upwards is more"
    assert lone == (first[0], last[1])
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert {"<this> & that", "one", "ms", "size", "10", "1,000", "0.1"} - set(texts) == {"0.1"}


def test_one_point_is_drawn_and_none_is_refused(tmp_path: Path) -> None:
    draw_lines(tmp_path / "plot.svg", "ms", "size", [Line("one", [(1000, 3)])])
    assert len(list(ET.fromstring((tmp_path / "plot.svg").read_text("utf-8")).iter(f"{SVG}circle"))) == 1
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_lines(tmp_path / "other.svg", "ms", "size", [Line("none", [])])
