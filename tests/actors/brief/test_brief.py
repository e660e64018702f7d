"""What is told unasked: at a session's start what is known, beside a prompt only what is surely about it, and once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.brief.brief import MOST_RECALLED, RECALLED_BYTES, Telling, tell_unasked
from mnemic.actors.protocol.ambient_messages import Brief, Briefed
from mnemic.actors.protocol.changes import Place
from mnemic.actors.protocol.errors import ModelMissing, StoreBusy
from mnemic.actors.protocol.messages import Apply, EmbedQuery
from mnemic.actors.recall.retriever import RetrieverActor
from tests.society import START_US, Society, turns

PLACE = Place(path="shelf", project=None, found="named")
PROMPT = "where does the harbour keep the copper lantern?"
LANTERN = "the harbour keeps the copper lantern behind the pilot's door"


def filler(count: int = 250) -> list[str]:
    """Turns about nothing in particular, so that words may be rare."""
    return [f"number {number} says word{number} and word{number * 7 % 251}" for number in range(count)]


@pytest.fixture
def society(tmp_path: Path) -> Iterator[Society]:
    with Society(tmp_path, sources={"f": turns(filler(), session="filler", scope="shelf")}) as society:
        society.take("f")
        yield society


def keep(society: Society, text: str, **fields: Any) -> bytes:
    kept = society.keep(text, **({"place": PLACE, "session": "old", "said_at": START_US} | fields)).id
    society.embed()
    return kept


def prompted(society: Society, prompt: str = PROMPT, session: str = "new", **fields: Any) -> Briefed:
    given = {"occasion": "prompt", "place": PLACE, "assistant": "codex", "session": session, "prompt": prompt}
    answer = society.ask(Brief(**(given | fields)))
    assert isinstance(answer, Briefed)
    return answer


def started(society: Society, session: str = "new", **fields: Any) -> Briefed:
    given = {"occasion": "session-start", "place": PLACE, "assistant": "codex", "session": session}
    answer = society.ask(Brief(**(given | fields)))
    assert isinstance(answer, Briefed)
    return answer


def given_to(society: Society, session: str) -> list[tuple[str, str, bytes]]:
    def look(snapshot: Any) -> list[tuple[str, str, bytes]]:
        found = snapshot._db.execute(
            "SELECT g.assistant, g.occasion, m.uuid FROM givings g JOIN given_parts p ON p.giving = g.id"
            " JOIN memories m ON m.id = p.memory WHERE g.session = ? ORDER BY g.id, p.place",
            (session,),
        )
        return list(found)

    found = society.look(look)
    assert isinstance(found, list)
    return found


# --- beside a prompt -------------------------------------------------------------------------------------------------


def test_what_is_surely_about_a_prompt_is_told_to_a_session_once(society: Society) -> None:
    lantern = keep(society, LANTERN)
    first = prompted(society)
    assert first.memories == (lantern,)
    assert f'- 2025-10-09, the user: "{LANTERN}"' in first.text
    assert first.tokens == -(-len(first.text.encode()) // 4)
    assert prompted(society) == Briefed(text="", memories=(), tokens=0)
    assert prompted(society, session="another").memories == (lantern,)
    assert given_to(society, "new") == [("codex", "prompt", lantern)]


@pytest.mark.parametrize(
    "prompt", ["thanks", "yes", "run the tests", "", "   ", "?!", "go on with the lantern", "what says number 17?"]
)
def test_small_talk_and_what_shares_little_is_told_nothing(society: Society, prompt: str) -> None:
    keep(society, LANTERN)
    assert prompted(society, prompt) == Briefed(text="", memories=(), tokens=0)
    assert given_to(society, "new") == []


def test_three_at_most_are_told_the_surest_first(society: Society) -> None:
    for number in range(5):
        keep(society, f"the harbour keeps copper lantern {number} there", session=f"old{number}")
    assert len(prompted(society).memories) == MOST_RECALLED


def test_what_the_session_holds_itself_is_not_told_it(society: Society) -> None:
    keep(society, LANTERN, session="new")
    keep(society, LANTERN + " still", session="new/agent")
    assert prompted(society).memories == ()


def test_what_the_prompt_quotes_is_not_told_again(society: Society) -> None:
    keep(society, LANTERN)
    assert prompted(society, f"{PROMPT} you said: {LANTERN}").memories == ()


def test_of_what_was_corrected_only_the_correction_is_told(society: Society) -> None:
    old = keep(society, LANTERN)
    new = keep(society, LANTERN + ", no, before it", supersedes=old)
    assert prompted(society).memories == (new,)


def test_another_project_and_an_unknown_one_are_told_nothing(society: Society) -> None:
    keep(society, LANTERN, place=Place(path="elsewhere", project=None, found="named"))
    assert prompted(society).memories == ()
    assert prompted(society, place=Place(path="nowhere", project=None, found="named")).memories == ()
    assert prompted(society, place=Place(path="", project=None, found="none")).memories == ()


def test_of_a_long_memory_the_stretch_that_is_told_must_be_about_it(society: Society) -> None:
    spread = f"harbour {'x ' * RECALLED_BYTES} copper {'x ' * RECALLED_BYTES} lantern"
    keep(society, spread)
    assert prompted(society).memories == ()
    near = keep(society, f"{'y' * RECALLED_BYTES} {LANTERN} {'y' * RECALLED_BYTES}")
    told = prompted(society)
    assert told.memories == (near,)
    assert LANTERN in told.text


def test_a_prompt_of_very_many_words_is_told_nothing(society: Society) -> None:
    keep(society, LANTERN)
    assert prompted(society, " ".join([PROMPT, *filler(100)])).memories == ()


def test_without_a_model_nothing_is_sure_and_it_says_so(tmp_path: Path) -> None:
    with Society(tmp_path, sources={"f": turns(filler(), scope="shelf")}) as society:

        def missing() -> Any:
            raise ModelMissing(path="/nowhere", why="it is gone")

        society.load = missing
        society.take("f")
        society.keep(LANTERN, place=PLACE, session="old")
        told = prompted(society)
        assert told.memories == ()
        assert told.degraded[0].startswith("meaning: ")


# --- at the start of a session ---------------------------------------------------------------------------------------


def test_at_the_start_of_a_session_what_is_told_is_noted_and_is_not_told_again_beside_a_prompt(
    society: Society,
) -> None:
    lantern = keep(society, LANTERN, kind="decision", said_at=START_US + 9)
    told = started(society)
    assert lantern in told.memories
    assert [memory for _, _, memory in given_to(society, "new")] == list(told.memories)
    assert {(assistant, occasion) for assistant, occasion, _ in given_to(society, "new")} == {
        ("codex", "session-start")
    }
    assert prompted(society).memories == ()
    assert started(society).text == told.text  # the same state, the same bytes
    assert started(society, "another").text == told.text


def test_a_start_is_inside_the_budget_that_is_asked_for_else_the_settings(tmp_path: Path) -> None:
    with Society(tmp_path, **{"brief.budget_tokens": 120}) as society:
        society.sources["f"] = turns([f"Rule: {number}. " + "x" * 300 for number in range(9)], scope="shelf")
        society.take("f")
        assert 60 < started(society).tokens <= 120
        assert 120 < started(society, budget_tokens=400).tokens <= 400
        assert started(society, budget_tokens=0) == Briefed(text="", memories=(), tokens=0)


def test_subagents_are_told_nothing_unless_the_settings_say_so(society: Society, tmp_path: Path) -> None:
    keep(society, LANTERN, kind="decision")
    assert started(society, "new/agent") == Briefed(text="", memories=(), tokens=0)
    assert prompted(society, session="new/agent").memories == ()
    with Society(tmp_path, **{"brief.subagents": True}) as asked_for:
        assert started(asked_for, "new/agent").memories


def test_a_scope_that_the_repository_names_is_told_of_only_if_the_settings_say_so(
    society: Society, tmp_path: Path
) -> None:
    keep(society, LANTERN, kind="decision")
    assert started(society, tracked=True) == Briefed(text="", memories=(), tokens=0)
    assert prompted(society, tracked=True) == Briefed(text="", memories=(), tokens=0)
    assert given_to(society, "new") == []
    with Society(tmp_path, **{"brief.tracked_scopes": True}) as heeded:
        assert started(heeded, tracked=True).memories


def test_settings_of_nothing_are_nothing() -> None:
    brief = Brief(occasion="session-start", place=PLACE, assistant="codex", session="s")
    assert Telling(0).budget(brief) == 0
    assert Telling(7).budget(brief) == 7


# --- both ------------------------------------------------------------------------------------------------------------


def test_a_store_that_cannot_write_leaves_the_assistant_told_and_says_so(society: Society) -> None:
    keep(society, LANTERN, kind="decision")

    class Context:
        trace = "t"

        def ask(self, message: Any, timeout_s: float) -> Any:
            assert isinstance(message, Apply)
            raise StoreBusy(path="store.db", waited_s=1.0)

    reader = society.reader()
    brief = Brief(occasion="session-start", place=PLACE, assistant="codex", session="s")
    try:
        told = tell_unasked(brief, Telling(), reader, None, Context())  # type: ignore[arg-type]
    finally:
        reader.close()
    assert LANTERN in told.text
    assert told.degraded[0].startswith("what was given is not in the log: ")


def test_a_prompts_vector_is_foreseen_and_a_starts_is_not() -> None:
    brief = Brief(occasion="prompt", place=PLACE, assistant="codex", session="s", prompt="hello")
    assert RetrieverActor.foresees(brief) == (EmbedQuery(text="hello"),)
    start = Brief(occasion="session-start", place=PLACE, assistant="codex", session="s")
    assert RetrieverActor.foresees(start) == ()
