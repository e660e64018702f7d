"""Tells whether a statement can be read alone, without the words around it.

What only points at something ("it", "a real one", "such bookings"), what a bracket or a comma cut in two, lines of
code and an assistant's report of its own steps are found by recall all the same. Pure; English. Above stands
`mnemic.actors.knowledge.fact_views`.
"""

from __future__ import annotations

import re

from mnemic.algorithms.knowledge.extraction.clause_values import CHANGES
from mnemic.algorithms.knowledge.extraction.sentences import word_set
from mnemic.algorithms.knowledge.slots import noun_of_name

_PRONOUNS = word_set("it them they him he she")
_POINTING = _PRONOUNS | word_set("this that these those such there then afterwards")
_VAGUE = word_set("thing things something anything nothing everything")
_ASKING = word_set("how why what where when")
_UNNAMED = re.compile(
    r"\w+ ones?|(?:most|half|some|all|none|any|part) of (?:it|them|that|this)|(?:that|this|these|those)(?: myself)?"
)
_UNNAMED_AT_END = re.compile(r"\b(?:it|them|that|this|those|these|there|ones?|more)\W*$", re.IGNORECASE)
_CODE = re.compile(
    r"\s*(?:const|let|var|def|class|import|function|fn|#include)\s+[\w.*<]+\s*(?:[=({;]|:\s*$)|.*(?:[{};]\s*$|\s//\s|==|=>)"
)
_SAYING = word_set("suggest guess mean point say")
"""Verbs of what who speaks says for the moment."""
_STEPS = word_set("see owe feel finish start")
"""Verbs of what an assistant does or feels for the moment."""
_MAKING = frozenset(CHANGES) | word_set("make set add pick choose adopt use")
"""Verbs of steps whose result stays."""
_HAPPENING = word_set("ask book come die fall fire get give hear happen meet offer pass pause replace see send vote")
"""Verbs of what happened once."""
_MOMENTS = word_set("right wrong broken down up fine okay ok ready back done over")
"""What something is for the moment."""
_CHECKS = word_set("test tests ci build builds check checks pipeline suite")
"""What is green or red for the moment; any other thing has that colour."""
_CUT = re.compile(r"(?:\W*(?:\d+|[a-z])[)\]]\s)?+[^(\[{]*(?<![:;-])[)\]}]", re.IGNORECASE)
"""Closes what was opened before, which the label of a list (``2)``) and a smiley do not."""
_WORD = re.compile(r"[\w'’-]+")


def is_self_contained(subject: str, relation: str, value: str, clause: str, *, happened: bool, by_user: bool) -> bool:
    """Say whether a statement can be read alone, and tells more than what happened once or is so for the moment.

    Args:
        happened: whether its verb tells of the past.
        by_user: whether its user says so: what an assistant did itself is over.
    """
    about, verb, told = (_WORD.findall(one.lower()) for one in (subject, relation, value))
    first = verb[0] if verb else ""
    is_named = bool(about) and about[0] not in _POINTING and about[-1] not in _VAGUE and about[:2] != ["the", "thing"]
    if not told or not (is_named or noun_of_name(value)):  # "it's Postgres now"
        return False
    if told[0] in _PRONOUNS | _ASKING or not _POINTING.isdisjoint(verb) or _UNNAMED.fullmatch(value.lower()):
        return False
    if (not verb or len(told) == len(_WORD.findall(clause))) and _UNNAMED_AT_END.search(clause):
        return False
    is_step = not by_user and (first in _STEPS or (happened and first not in _MAKING))
    if about == ["i"] and (first in _SAYING or is_step):
        return False
    if happened and (first in _HAPPENING or not {"was", "were"}.isdisjoint(_WORD.findall(clause))):
        return False
    is_state = (first, len(told)) == ("be", 1)
    if is_state and (told[0] in _MOMENTS or (told[0] in ("green", "red") and about[-1] in _CHECKS)):
        return False
    return not (_CODE.match(clause) or _CUT.match(clause))
