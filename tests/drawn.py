"""Reads back what a plot shows: the points of each line, as they lie in the SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"


def drawn_lines(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Each line that has a name, with its points: to the right and downwards is more."""
    found = {}
    for group in ET.fromstring(path.read_text("utf-8")).iter(f"{SVG}g"):
        line = group.find(f"{SVG}path")
        if line is not None and not re.match(r"\w+_\d+$", group.get("id", "_0")):
            points = re.findall(r"[ML] (\S+) (\S+)", line.get("d", ""))
            found[group.get("id", "")] = [(float(x), float(y)) for x, y in points]
    return found


def drawn_words(path: Path) -> set[str]:
    """All that is written in it."""
    return {one.text or "" for one in ET.fromstring(path.read_text("utf-8")).iter(f"{SVG}text")}
