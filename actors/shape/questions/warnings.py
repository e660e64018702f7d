"""What an answer tells beside its hits: names that no memory has, days that nothing is near to, memories half bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.actors.shape.fillers import ShapeSearch
from mnemic.actors.shape.patterns import PatternQuery
from mnemic.actors.shape.questions.partial import meant_by
from mnemic.hd.query import Matches
from mnemic.hd.roles import BUILT_IN_ROLES, ROLES


def warn_unknown_fillers(question: PatternQuery, looking: ShapeSearch) -> None:
    """Tell of names that no memory has, and which are like them: a name that is misspelt matches nothing."""
    for asked, pair in question.exact:
        if not looking.knows(pair):
            role, filler = pair.role, pair.filler
            near = meant_by(looking, pair, 3)
            meant = f": did you mean {', '.join(near)}?" if near else ""
            looking.warn(f"{asked}: no memory has {filler!r} as its {role}{meant}")


def warn_nothing_near(question: PatternQuery, matches: Matches, looking: ShapeSearch) -> None:
    """Tell of days, hours and numbers that nothing is near to: what matches them the more by chance is no hit."""
    near = matches.shares[:, len(question.exact) :]
    for column, one in enumerate(question.near):
        if len(near) and not near[:, column].any():
            looking.warn(f"{one.asked_role}: nothing that has the rest is near {str(one.pair.filler)!r}")


def warn_partly_bound(question: PatternQuery, looking: ShapeSearch, rows: NDArray[np.int64]) -> None:
    """Tell of memories that may lack what is asked for or by, since what finds it failed on them.

    Args:
        rows: of all memories, ascending.
    """
    named = [one.pair.role for one in (*question.exact, *question.near)]
    asked = dict.fromkeys((*named, *question.unknown, *(role for role, _ in question.similar_texts)))
    found = ["facts"] if question.tier == "fact" else []
    found += [role for role in asked if role in ROLES and role not in BUILT_IN_ROLES]
    if not found:
        return
    unread = np.isin(rows, looking.snapshot.failed_binding_rows())
    count = int(np.count_nonzero(unread & looking.visible_memories))
    if count:
        looking.warn(
            f"{', '.join(found)}: what reads memories failed on {count} of those looked through, so some may be"
            " missing (mnemic.log or serve.log in the home says why); once it is mended, `mnemic doctor --repair`"
            " binds them again"
        )
