"""Whether a change made answers worse, beyond what chance makes of them: a randomisation test of paired differences.

Source: R. Fisher, "The Design of Experiments" (1935), section 21; sampled, with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import default_rng

DRAWS = 10_000


def probability_by_chance(differences: Sequence[float]) -> float:
    """How probably signs dealt out by chance give a mean as low as that of these differences, or lower: 0 to 1."""
    measured = np.asarray(differences, np.float64)
    told = measured[measured != 0.0]
    if not len(told):
        return 1.0
    signs = default_rng(0).integers(0, 2, (DRAWS, len(told)), np.int8) * 2 - 1
    means = signs @ np.abs(told)
    return float((1 + np.count_nonzero(means <= told.sum() + 1e-12)) / (1 + DRAWS))
