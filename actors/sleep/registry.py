"""Finds stages by name: the built-in ones, and somebody's own by ``module:Class``.

Above stands `mnemic.actors.sleep.consolidator`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

from mnemic.actors.protocol.contract import Context, Setting
from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.sleep.digests import ProjectDigests, SessionDigests, TopicDigests
from mnemic.actors.sleep.duplicates import Duplicates, Fingerprints
from mnemic.actors.sleep.others import Communities, Facts, Labels, Meaning
from mnemic.actors.sleep.procedures import Procedures, SessionSteps
from mnemic.actors.sleep.profile import Profile
from mnemic.actors.sleep.stages import Asked, Stage, settings_of
from mnemic.actors.sleep.uses import Strengths, Uses

BUILT_IN_STAGES: dict[str, type[Stage]] = {
    stage.name: stage
    for stage in (
        *(Labels, Meaning),
        *(Fingerprints, Duplicates, Uses, Strengths),
        *(Facts, Communities),  # facts take twice as long once there are communities, which follow each commit
        *(SessionDigests, TopicDigests, ProjectDigests),
        *(SessionSteps, Procedures),
        Profile,
    )
}
"""The stages there are without a stranger's, in the order in which a night has them."""
DEFAULT_STAGES = tuple(
    name for name in BUILT_IN_STAGES if name not in (TopicDigests.name, SessionSteps.name, Procedures.name)
)
"""Those that a night has unless the settings say otherwise: the others help no measure of ours (docs/sleep.md)."""
_MEMBERS = ({"name", "version", "sources", "read", "plan"}, {"name", "waiting", "ask"})  # of the two kinds of stages


def find_stage(name: str) -> type[Stage]:
    """The class of a stage: a built-in one, or ``module:Class``.

    Raises:
        InvalidValue: there is none of that name, or it is no stage.
    """
    if name in BUILT_IN_STAGES:
        return BUILT_IN_STAGES[name]
    module, colon, member = name.partition(":")
    expected = f"{', '.join(BUILT_IN_STAGES)}, or module:Class"
    if not colon:
        raise InvalidValue(name="a stage", value=name, why="there is none of that name", expected=expected)
    try:
        found = getattr(import_module(module), member)
    except Exception as error:  # whatever a stranger's module does when it is loaded
        why = f"it cannot be loaded ({type(error).__name__})"
        raise InvalidValue(name="a stage", value=name, why=why, expected=expected) from error
    has = set(dir(found)) if isinstance(found, type) else set()
    if "make" not in has or not any(members <= has for members in _MEMBERS):
        raise InvalidValue(name="a stage", value=name, why="it is no class of a stage", expected=expected)
    return found  # type: ignore[no-any-return]


def settings_of_stages(names: Iterable[str]) -> tuple[Setting, ...]:
    """The settings of the built-in stages, and of those among some others that can be had."""
    kinds = dict(BUILT_IN_STAGES)
    for name in names:
        with suppress(InvalidValue):  # it fails at night, which the doctor tells
            kinds[name] = find_stage(name)
    return tuple(setting for kind in kinds.values() for setting in settings_of(kind))


class MissingStage:
    """A stage that cannot be had: it fails, so that nights and the doctor say so."""

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self._error = error

    def waiting(self, snapshot: Any) -> int:
        """Nothing: it cannot be had."""
        return 0

    def ask(self, context: Context, timeout_s: float, *, is_first: bool) -> Asked:
        """Fail for the reason for which it cannot be had."""
        raise self._error
