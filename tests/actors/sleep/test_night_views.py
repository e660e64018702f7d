"""What a stage derived is told in its own words, or in those it points to, as long as these stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.recall.messages import Memory
from mnemic.actors.sleep.changes import SourceSpan
from mnemic.actors.sleep.messages import DerivedListed, ListDerived, ListProcedures
from mnemic.actors.sleep.queries import DerivedRecord
from mnemic.actors.sleep.stages import Derivation, Told
from tests.actors.sleep.sleeping import SHELF, offer_stages, whole_night
from tests.actors.sleep.test_registry import Quiet
from tests.harness import ActorHarness

BOARD = ScopeRef(path="board", project=None, found="named")


class Plain(Quiet):
    """A stage that points to the first memory of each scope, and to the second."""

    name: ClassVar[str] = "plain"

    def sources(self, snapshot: Any) -> Mapping[bytes, bytes]:
        return {b"project:%d" % scope: b"" for scope in snapshot.scopes()}

    def read(self, key: bytes, snapshot: Any) -> Any:
        columns = snapshot.memory_columns(0)
        return columns.row[columns.scope == int(key.partition(b":")[2])][:2].tolist()

    def plan(self, state: Any) -> Derivation:
        return Derivation(b"", tuple(SourceSpan(row, 0, 4) for row in state))


class Telling(Plain):
    """One that says something of each; the longer, the more it weighs."""

    name: ClassVar[str] = "telling"

    @staticmethod
    def tell(item: DerivedRecord, memories: Mapping[int, Memory]) -> Iterable[Told]:
        return [Told(f"row {span.row}", (span,), len(memories[span.row].data)) for span in item.sources]


class Broken(Plain):
    name: ClassVar[str] = "broken"

    @staticmethod
    def tell(item: DerivedRecord, memories: Mapping[int, Memory]) -> Iterable[Told]:
        raise ZeroDivisionError("words of a memory")


@pytest.fixture
def mind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ActorHarness]:
    named = {kind.name: f"{__name__}:{kind.__name__}" for kind in (Plain, Telling, Broken)}
    offer_stages(tmp_path / "installed", monkeypatch, **named)
    with ActorHarness(tmp_path / "home", **{"sleep.stages": " ".join(named)}) as mind:
        yield mind


def listed(mind: ActorHarness, stage: str, **fields: Any) -> DerivedListed:
    found = mind.ask(ListDerived(stage=stage, **fields))
    assert isinstance(found, DerivedListed)
    return found


def test_a_stage_without_words_of_its_own_is_told_by_what_it_points_to(mind: ActorHarness) -> None:
    ids = [mind.keep(text, place=SHELF).id for text in ("crane one", "barge two")]
    mind.keep("otter", place=BOARD)
    whole_night(mind)
    (one,) = listed(mind, "plain", scope="shelf").derived
    assert (one.of, one.scope, one.text, one.night) == ("project shelf", "shelf", "", 1)
    assert (one.memories, one.quotes) == (tuple(ids), ("cran", "barg"))
    assert {one.scope for one in listed(mind, "plain").derived} == {"shelf", "board"}
    mind.ask(Forget(ids=(ids[0],), reason="test"))
    assert listed(mind, "plain", scope="shelf").derived[0].quotes == ("barg",)


def test_what_a_stage_says_is_told_by_weight_while_what_it_rests_on_stands(mind: ActorHarness) -> None:
    short, long = (mind.keep(text, place=SHELF).id for text in ("crane", "barge at the quay"))
    other = mind.keep("otter in the harbour", place=BOARD).id
    whole_night(mind)
    assert [one.memories for one in listed(mind, "telling").derived] == [(other,), (long,), (short,)]
    assert [one.text for one in listed(mind, "telling", scope="shelf", k=1).derived] == ["row 2"]


def test_a_stage_that_cannot_tell_is_refused_without_its_words(mind: ActorHarness) -> None:
    mind.keep("crane", place=SHELF)
    whole_night(mind)
    with pytest.raises(InvalidValue, match="ZeroDivisionError in tell") as raised:
        listed(mind, "broken")
    assert "words" not in str(raised.value)


def test_a_stage_is_asked_for_by_its_name_alone_so_that_nobody_has_a_module_loaded(mind: ActorHarness) -> None:
    with pytest.raises(InvalidValue, match="what it derived is not found so"):
        listed(mind, f"{__name__}:Plain")
    with pytest.raises(InvalidValue, match="k cannot be 0"):
        listed(mind, "plain", k=0)


def test_procedures_are_what_the_stage_of_that_name_derived(
    mind: ActorHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidValue, match="mnemic-more-stages"):
        mind.ask(ListProcedures())
    offer_stages(tmp_path / "more", monkeypatch, "more", procedures=f"{__name__}:Plain")
    mind.keep("crane", place=SHELF)
    whole_night(mind, stages=("procedures",))
    found = mind.ask(ListProcedures(scope="shelf"))
    assert isinstance(found, DerivedListed)
    assert (found.stage, [one.quotes for one in found.derived]) == ("procedures", [("cran",)])
