"""Actors that somebody else might write, most of them wrong in one way."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from mnemic.actors.brief.messages import Brief
from mnemic.actors.kernel.contract import Setting
from mnemic.actors.kernel.errors import DamagedStore, InvalidValue
from mnemic.actors.kernel.ports import Ports
from mnemic.actors.recall.messages import GetMemories, Recall
from mnemic.actors.recall.retriever import RetrieverActor
from mnemic.actors.scopes.messages import FindScope
from mnemic.actors.sleep.consolidator import ConsolidatorActor
from mnemic.actors.sleep.messages import NightReport, Preempt, Sleep
from mnemic.actors.store.messages import Committed, Count

NO_CLASS = 3


class Fine(ConsolidatorActor):
    """Nothing is wrong with it."""

    takes = (*ConsolidatorActor.takes, Committed)
    settings = (
        Setting("fine.depth", 3, "levels", "How deep.", 1),
        Setting("fine.eager", False, "-", "Whether at once."),
    )
    pinned = True

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth

    @classmethod
    def make(cls, ports: Ports) -> Any:
        return cls(ports.settings["fine.depth"])

    def handle(self, message: Any, context: Any) -> NightReport | None:
        run = message.run if isinstance(message, Sleep) else ""
        return NightReport(run=run, steps=(), changes=0, finished=True) if run else None

    def close(self) -> None:
        """It holds nothing."""

    class Within(ConsolidatorActor):
        """A class in a class."""


class Heir(RetrieverActor):
    """Inherits a built-in one's settings, and adds one."""

    settings = (*RetrieverActor.settings, Setting("heir.share", 0.5, "-", "How much.", 0.0))


class OtherContract(ConsolidatorActor):
    contract = 2


class NoContract:
    takes = ConsolidatorActor.takes


class TakesNothing(ConsolidatorActor):
    takes = ()


class TakesAList(ConsolidatorActor):
    takes: ClassVar[Any] = [Sleep, Preempt]


class Mutable(msgspec.Struct):
    """No message: it can be changed."""


class TakesWords(ConsolidatorActor):
    takes = (*ConsolidatorActor.takes, str)


class TakesMutable(ConsolidatorActor):
    takes = (*ConsolidatorActor.takes, Mutable)


class NeverWakes(ConsolidatorActor):
    takes = (Sleep,)


class RecallsAlone(RetrieverActor):
    takes = (Recall, GetMemories, FindScope, Count, Brief)


class Greedy(ConsolidatorActor):
    takes = (*ConsolidatorActor.takes, Count)


class Own(msgspec.Struct, frozen=True):
    """A message that two strangers take."""


class One(ConsolidatorActor):
    takes = (*ConsolidatorActor.takes, Own)


class Two(RetrieverActor):
    takes = (*RetrieverActor.takes, Own)


class SettingClashes(ConsolidatorActor):
    settings = (Setting("recall.k", 3, "memories", "How many."),)


class SettingInOurs(ConsolidatorActor):
    settings = (Setting("recall.depth", 3, "levels", "How deep."),)


class SettingTwice(ConsolidatorActor):
    settings = (Setting("twice.a", 3, "-", "One."), Setting("twice.a", 4, "-", "Two."))


class SettingWithoutSection(ConsolidatorActor):
    settings = (Setting("depth", 3, "-", "How deep."),)


class SettingOfAList(ConsolidatorActor):
    settings = (Setting("alist.a", (1, 2), "-", "Some."),)


class SettingsOfWords(ConsolidatorActor):
    settings: Any = ("depth",)


class SettingNamesAnActor(ConsolidatorActor):
    settings = (Setting("actors.dreamer", "", "class", "Who dreams."),)


class NoHandle:
    contract = 1
    takes = ConsolidatorActor.takes
    settings: ClassVar[tuple[Setting, ...]] = ()

    @classmethod
    def make(cls, ports: Ports) -> Any:
        return cls()


class NoMake:
    contract = 1
    takes = ConsolidatorActor.takes
    settings: ClassVar[tuple[Setting, ...]] = ()

    def handle(self, message: Any, context: Any) -> None:
        return None


class CannotBeMade(ConsolidatorActor):
    @classmethod
    def make(cls, ports: Ports) -> Any:
        raise ValueError("the tea is in the blue tin")


class MisconfiguredSaysSo(ConsolidatorActor):
    @classmethod
    def make(cls, ports: Ports) -> Any:
        raise InvalidValue(name="tea.tin", value="blue", why="it is empty", expected="a full one")


class MeetsADamagedStore(ConsolidatorActor):
    @classmethod
    def make(cls, ports: Ports) -> Any:
        raise DamagedStore(path="/a/store", why="a page is gone")
