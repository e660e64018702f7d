"""A plot has every point of every line at its place, and is well-formed whatever lines are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import ExtraMissing
from mnemic.bench.harness.plot import Interval, Line, draw_intervals, draw_lines
from tests.drawn import drawn_lines, drawn_words


def test_each_point_lies_where_its_powers_of_ten_have_it(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    draw_lines(path, "ms", "size", [Line("<this> & that", [(10, 1), (100, 10), (1000, 100)]), Line("one", [(10, 100)])])
    (first, middle, last), (lone,) = (drawn_lines(path)[name] for name in ("<this> & that", "one"))
    assert middle == (pytest.approx((first[0] + last[0]) / 2), pytest.approx((first[1] + last[1]) / 2))
    assert first[0] < last[0]
    assert first[1] > last[1], "upwards is more"
    assert lone == (first[0], last[1])
    assert {"<this> & that", "one", "ms", "size", "10", "1,000"} <= drawn_words(path)


def test_one_point_is_drawn_and_none_is_refused(tmp_path: Path) -> None:
    draw_lines(tmp_path / "plot.svg", "ms", "size", [Line("one", [(1000, 3)])])
    assert [len(points) for points in drawn_lines(tmp_path / "plot.svg").values()] == [1]
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_lines(tmp_path / "other.svg", "ms", "size", [Line("none", [])])
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_intervals(tmp_path / "other.svg", "MRR", [])


def test_shares_and_runs_go_in_equal_steps(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    lines = [Line("a", [(1, 0), (2, 0.5), (3, 1)]), Line("b", [(1, 0.2), (3, 0.4)], colour=0, style=":")]
    draw_lines(path, "share", "run", lines, share=True, counted=True)
    points = drawn_lines(path)["a"]
    assert points[1] == tuple(pytest.approx((points[0][axis] + points[2][axis]) / 2) for axis in (0, 1))
    assert {"0", "0.2", "0.4", "0.6", "0.8", "1", "2", "3"} <= drawn_words(path)


def test_an_interval_is_where_its_value_is(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    draw_intervals(path, "MRR", [Interval("a", 0.4, 0.3, 0.5), Interval("b", 0.8, 0.8, 0.8)])
    ((a_x, a_y),), ((b_x, b_y),) = (drawn_lines(path)[name] for name in ("a", "b"))
    assert (a_x < b_x, a_y < b_y) == (True, True), "the first is on top"
    assert {"a", "b", "MRR"} <= drawn_words(path)


def test_two_drawings_of_the_same_are_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        draw_lines(tmp_path / name, "ms", "size", [Line("one", [(10, 1), (100, 2)])])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_without_matplotlib_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.bench.harness.plot.find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match="matplotlib"):
        draw_lines(tmp_path / "plot.svg", "ms", "size", [Line("one", [(1, 1)])])
