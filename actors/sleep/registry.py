"""Finds stages by name: the built-in ones, those that installed packages offer, and others by ``module:Class``.

Above stands `mnemic.actors.sleep.consolidator`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from mnemic.actors.kernel.contract import Context, Setting
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.sleep.asking_stages import Communities, Facts, Labels, Meaning
from mnemic.actors.sleep.digests import ProjectDigests, SessionDigests
from mnemic.actors.sleep.duplicates import Duplicates, Fingerprints
from mnemic.actors.sleep.profile import Profile
from mnemic.actors.sleep.stages import Asked, Stage, settings_of
from mnemic.actors.sleep.uses import Strengths, Uses

BUILT_IN_STAGES: dict[str, type[Stage]] = {
    stage.name: stage
    for stage in (
        *(Labels, Meaning),
        *(Fingerprints, Duplicates, Uses, Strengths),
        *(Facts, Communities),  # facts take twice as long once there are communities, which follow each commit
        *(SessionDigests, ProjectDigests),
        Profile,
    )
}
"""The stages that need no other package, in the order in which a night has them unless the settings say otherwise."""
ENTRY_POINT_GROUP = "mnemic.stages"
"""The entry-point group by which a package offers stages."""
MORE_STAGES = ("topic-digests", "session-steps", "procedures")
"""The stages of the package mnemic-more-stages: they were built in until 0.2.0."""
MORE_SETTINGS = (
    Setting("sleep.procedure_times", 3, "times", "What is done less often in a project is no procedure.", 2),
    Setting("sleep.topic_digest_bytes", 1200, "bytes", "Length of a topic's digest.", 100, maximum=256 << 10),
)
"""Settings of these: a file that holds them is read without that package, too."""
_MORE = "Run `pip install ./examples/more_stages` in a copy of Mnemic's source (docs/sleep.md)"
_MEMBERS = ({"name", "version", "sources", "read", "plan"}, {"name", "waiting", "ask"})  # of the two kinds of stages


def find_stage(name: str) -> type[Stage]:
    """Find the class of a stage: a built-in one, one that an installed package offers, or ``module:Class``.

    Raises:
        InvalidValue: there is none of that name, or it is no stage.
    """
    if name in BUILT_IN_STAGES:
        return BUILT_IN_STAGES[name]
    expected = f"{', '.join(BUILT_IN_STAGES)}, one that an installed package offers, or module:Class"
    offered = {name} if ":" in name else {one.value for one in entry_points(group=ENTRY_POINT_GROUP, name=name)}
    if not offered and name in MORE_STAGES:
        why = "the package mnemic-more-stages has it, and is not installed"
        raise InvalidValue(name="a stage", value=name, why=why, expected=expected, remedy=_MORE)
    if len(offered) != 1:
        why = "several installed packages offer it" if offered else "there is none of that name"
        raise InvalidValue(name="a stage", value=name, why=why, expected=expected)
    module, _, member = offered.pop().partition(":")
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


def absent_stages(names: Iterable[str]) -> list[InvalidValue]:
    """List why stages are not there, of some that are named."""
    found = []
    for name in names:
        try:
            find_stage(name)
        except InvalidValue as error:
            found.append(error)
    return found


class MissingStage:
    """A stage that cannot be had: it fails, so that nights and the doctor say so.

    One that is named as a package offers it does nothing, and its report says why: once it is installed, it works.
    """

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self._error = error

    def waiting(self, snapshot: Any) -> int:
        """Nothing: it cannot be had."""
        return 0

    def ask(self, context: Context, timeout_s: float, *, is_first: bool) -> Asked:
        """Fail for the reason for which it cannot be had."""
        if isinstance(self._error, InvalidValue) and ":" not in self.name:
            return Asked(0, 0, f"{self._error} {self._error.remedy_text}")
        raise self._error
