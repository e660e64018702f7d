"""The role ``community`` of structural queries: which topic, or part of one, a memory is in. Only questions have it.

It is bound to no hypervector, since the table of members tells it exactly: ``community=17`` narrows what is looked
through, and ``community=?`` is answered by counting. `mnemic.actors.shape.patterns` parses it,
`mnemic.actors.shape.shape_recall` and `mnemic.actors.shape.fillers` answer.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.snapshot import Snapshot
from mnemic.actors.shape.messages import RoleView

COMMUNITY = "community"
LEAST_NEAR = 1e-6
"""How near a member is that is nothing like its community: membership is exact, and leaves none out."""
_MAX_DIGITS = 18  # of what SQLite takes for a whole number
_HELP = "Only in questions: the number of a community that the memory is in, as `mnemic communities` lists them."


def parse_community(filler: str) -> int:
    """The number of a community, from 1.

    Raises:
        InvalidValue: it is none.
    """
    digits = filler.strip().removeprefix("#")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS and int(digits)):
        raise InvalidValue(
            name=f"the role {COMMUNITY}",
            value=filler,
            why="it is no number of a community",
            expected="a number from 1, as `mnemic communities` lists them, or ? to ask which communities it is",
        )
    return int(digits)


def members_among(
    snapshot: Snapshot, number: int, rows: NDArray[np.int64], visible: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which of the memories looked through are in a community, those that are placed in it too.

    Args:
        rows: ``(n,) int64``: rows of all memories.
        visible: ``(n,) bool``: those that are looked through.
    """
    return visible & np.isin(rows, np.array(snapshot.members_of(number, sys.maxsize), np.int64))


def none_is_in(number: int) -> str:
    """The warning that no memory looked through is in a community.

    The same whether there is no such community or it is in another scope: that it exists there is not told.
    """
    return f"{COMMUNITY}: no memory looked through is in a community of the number {number}"


def topics_of_records(snapshot: Snapshot, rows: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Of each topic that memories of some records are in, by its number: 1 for the records that are, ``(m,) float64``.

    Args:
        rows: ``(m,) int64``: the row of each record's memory.
    """
    found = snapshot.topics_of(np.unique(rows).tolist())
    topics = np.array([found.get(row, 0) for row in rows.tolist()], np.int64)
    return {str(one): (topics == one).astype(np.float64) for one in np.unique(topics[topics > 0]).tolist()}


def community_role(snapshot: Snapshot) -> RoleView:
    """How the role is listed."""
    return RoleView(name=COMMUNITY, help=_HELP, match="exact", decodes=True, fillers=snapshot.community_counts())
