"""How often the context given beside a prompt is right, on LoCoMo's questions and on small talk.

What is told counts as right where it is of a session that holds the answer. Prompts that nothing is known about must be
told nothing: questions about one conversation asked in another one, and small talk. Below
`mnemic.bench.speed.brief_bench`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mnemic.actors.protocol.ambient_messages import Brief, Briefed
from mnemic.actors.protocol.changes import ScopeRef
from mnemic.actors.protocol.messages import GetMemories, Memories
from mnemic.bench.harness.homes import MIND_NAME
from mnemic.bench.harness.processes import COMMAND, served
from mnemic.bench.quality.locomo import Question, convert, read_questions
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.clock import SystemClock

__all__ = ["SMALL_TALK", "measure_prompt_recall"]

SMALL_TALK = (
    *("thanks", "yes", "no", "ok", "go on", "perfect, thank you!", "do it", "looks good to me", "why?", "try again"),
    *("run the tests", "commit this", "fix the failing test", "now push it to main", "show me the diff", "undo that"),
    *("what does this error mean?", "add a test for that", "rename the variable", "refactor this function"),
    *("hello", "good morning", "how are you today?", "what do you think?", "is that all?", "hmm, not quite", "wait"),
    *("can you make it shorter?", "please explain that", "I don't understand", "never mind", "next", "open the file"),
)
"""What says nothing that a memory could be about."""


def measure_prompt_recall(data: Path) -> Iterator[dict[str, Any]]:
    """Rows of one file of LoCoMo's.

    Raises:
        OSError, ValueError, KeyError: it cannot be read, or is none of LoCoMo's.
    """
    lines, asked = list(convert(data)), read_questions(data).kept
    talks = sorted({question.conversation for question in asked})
    with tempfile.TemporaryDirectory(prefix="mnemic-prompts-") as folder:
        home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        home.mkdir(mode=0o700)
        subprocess.run([*COMMAND, "capture", str(corpus), "--home", str(home)], capture_output=True, check=True)
        with served(home, "embedded"):
            actor_system = RemoteActorSystem(home, MIND_NAME, False, SystemClock())
            try:
                own = [(question, _told(actor_system, question.text, question.conversation)) for question in asked]
                yield _row("all conversations", own)
                for talk in talks:
                    yield _row(talk, [(question, told) for question, told in own if question.conversation == talk])
                away = [
                    _told(actor_system, question.text, talks[(talks.index(question.conversation) + 1) % len(talks)])
                    for question in asked
                ]
                yield _silence_row("questions about another conversation", away)
                yield _silence_row(
                    "small talk", [_told(actor_system, text, talk) for text in SMALL_TALK for talk in talks]
                )
            finally:
                actor_system.stop()


def _told(actor_system: RemoteActorSystem, prompt: str, talk: str) -> list[tuple[str, str | None]]:
    """Session and source id of what is told beside a prompt, to a session of its own."""
    place = ScopeRef(path=f"locomo/{talk}", project=None, found="named")
    session = f"{talk}: {prompt}".replace("/", "-")
    brief = actor_system.ask(Brief(occasion="prompt", place=place, assistant="bench", session=session, prompt=prompt))
    assert isinstance(brief, Briefed)
    if not brief.memories:
        return []
    found = actor_system.ask(GetMemories(ids=brief.memories))
    assert isinstance(found, Memories)
    return [(memory.session, memory.source_id) for memory in found.memories]


def _row(what: str, told: Sequence[tuple[Question, list[tuple[str, str | None]]]]) -> dict[str, Any]:
    given = [(question, one) for question, ones in told for one in ones]
    of = max(1, len(given))
    return {
        "what": "told beside a prompt",
        "of": what,
        "prompts": len(told),
        "told_something": sum(bool(ones) for _, ones in told) / max(1, len(told)),
        "memories": len(given),
        "right_session": sum(session in question.sessions for question, (session, _) in given) / of,
        "right_turn": sum(turn in question.turns for question, (_, turn) in given) / of,
    }


def _silence_row(what: str, told: Sequence[list[Any]]) -> dict[str, Any]:
    share = sum(map(bool, told)) / max(1, len(told))
    return {"what": "told beside a prompt", "of": what, "prompts": len(told), "told_something": share}
