"""Which of the names that files are told by stand for one file: its path, ends of that, and its last part alone.

`mnemic.actors.shape.fillers` tells each file under one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_DIGITS = 6


def one_name_a_file(having: Mapping[str, Floats], weights: Floats) -> dict[str, Floats]:
    """Files, each under one name: a path that ends only one other path is the same file, told from another folder.

    The name is the path that most of the records have, as `weights` counts them.
    """
    key_of = {name: name.lower().strip("/") for name in having}
    longer: dict[str, list[str]] = defaultdict(list)
    for name, key in key_of.items():
        parts = key.split("/")
        for start in range(1, len(parts)):
            longer["/".join(parts[start:])].append(name)
    same: dict[str, list[str]] = defaultdict(list)
    for name, key in key_of.items():
        longest = [one for one in longer.get(key, ()) if key_of[one] not in longer]
        same[longest[0] if len(longest) == 1 else name].append(name)

    def rank(name: str) -> tuple[bool, float, int]:
        return "/" in name, round(float(weights @ having[name]), _DIGITS), len(name)

    return {max(names, key=rank): np.maximum.reduce([having[name] for name in names]) for names in same.values()}


def without_last_parts(names: Sequence[str], confidence: Mapping[str, float], tolerance: float) -> list[str]:
    """Files without names that are only the last part of a path that is told, too: both are bound of each file.

    Args:
        tolerance: confidences that differ by less than this are alike.
    """
    longer: dict[str, float] = {}
    for name in names:
        _, slash, last = name.rpartition("/")
        if slash:
            longer[last.lower()] = max(longer.get(last.lower(), 0.0), confidence[name])
    return [name for name in names if longer.get(name.lower(), 0.0) <= confidence[name] - tolerance or "/" in name]
