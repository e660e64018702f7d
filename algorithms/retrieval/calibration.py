"""How probably a memory answers a question, from what its signals add up to: Platt's scaling.

Above stands `mnemic.actors.recall.recaller`. The curves were fitted on half of the questions of three unlike sets,
each asked where its answer is and where it is not, and checked on the other half: docs/decisions/0013-recall.md.

Source: J. Platt, "Probabilistic Outputs for Support Vector Machines" (1999).
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Calibration(NamedTuple):
    """A logistic curve: the log-odds of an answer are ``slope * evidence + intercept``."""

    slope: float
    """What evidence of 1 adds to the log-odds."""
    intercept: float
    """The log-odds without any."""

    def probability(self, evidence: float) -> float:
        """How probably a memory with so much evidence answers, between 0 and 1; the more, the more."""
        return 1.0 / (1.0 + math.exp(-min(max(self.slope * evidence + self.intercept, -700.0), 700.0)))

    def with_unknown(self, share: float) -> Calibration:
        """The curve for a question of whose words so much, 0 to 1, is known to nobody; it ranks as before.

        Known are words that a memory holds, or that the model has whole; the vectors of others are made of pieces, and
        are near to something whatever they mean.
        """
        return self._replace(intercept=self.intercept - _UNKNOWN * share)


FULL = Calibration(2.2, -5.3)
"""Of meaning and words together, looked at twice."""
MEANING = Calibration(4.8, -6.8)
"""Of meaning alone."""
WORDS = Calibration(3.0, -3.7)
"""Of words alone."""
_UNKNOWN = 1.0  # of the log-odds; docs/decisions/0027-what-fits.md
UNLIKELY = 0.02
"""Below this, what is best hardly answers: so with 4 of 1,104 questions that were asked where their answer is (whose
first hit was wrong), with 95 to 100 % of those in words that are none, and with an eighth to a fifth of those asked in
another conversation about people, projects or attributes of the same kinds."""
