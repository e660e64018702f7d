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


def test_shares_go_from_0_to_1_in_equal_steps_and_lines_may_share_a_colour(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    lines = [Line("a", [(10, 0), (100, 0.5), (1000, 1)]), Line("b", [(10, 0.2), (1000, 0.4)], colour=0, dash="2 3")]
    draw_lines(path, "share", "size", lines, share=True)
    root = ET.fromstring(path.read_text("utf-8"))
    first, second = root.iter(f"{SVG}polyline")
    points = [[float(one) for one in point.split(",")] for point in first.get("points", "").split()]
    assert points[1] == [pytest.approx((points[0][axis] + points[2][axis]) / 2) for axis in (0, 1)]
    assert (first.get("stroke"), first.get("stroke-dasharray")) == (second.get("stroke"), None)
    assert second.get("stroke-dasharray") == "2 3"
    assert {"0", "0.2", "0.4", "0.6", "0.8", "1"} <= {one.text for one in root.iter(f"{SVG}text")}
