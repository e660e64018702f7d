"""Records: what is known of a memory, a fact or a step, as pairs of role and filler, and its one hypervector.

Each pair is bound (role and filler, rotated by `shift` where the order of things matters) and the pairs are bundled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Filler", "Pair", "Record"]

Filler = str | NDArray[np.float32]
"""A canonical name, or an embedding of unit length, ``(space.embedding,) float32``."""


class Pair(NamedTuple):
    """One role and what fills it."""

    role: str
    """Its name."""
    filler: Filler
    """What fills it, canonical as the role's encoder has it."""
    shift: int = 0
    """So often it is permuted: of a step, how many steps back."""


Record = tuple[Pair, ...]
"""What one hypervector says; the order does not matter, and no pair is in it twice."""
