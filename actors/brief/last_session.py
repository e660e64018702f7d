"""Tells how the last session of a project ended: its last prompt, its last replies, and a call that failed.

Prompts that only say goodbye are told apart in English and a little in German. Below `mnemic.actors.brief.gather`;
nothing is imported here that is slow to load.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from mnemic.actors.brief import queries
from mnemic.actors.brief.memories import BriefMemories
from mnemic.actors.brief.messages import LastSession, Quote, UnresolvedFailure
from mnemic.actors.brief.open_work import is_answered
from mnemic.actors.brief.queries import Author, MemoryRow, SessionEnd
from mnemic.actors.brief.statement_cues import final_question
from mnemic.actors.kernel.events import to_text
from mnemic.algorithms.text.terms import telling_terms

_PROMPTS = 8
"""So many of a session's last prompts are looked at for one that says more than goodbye."""
_REPLIES = 3
"""So many of a session's last replies may say what is left to do."""
_STEPS = 200
"""So many of the last memories of a session are looked at for a call that failed."""
_PARTING_CHARS = 160
"""A longer prompt says more than goodbye."""
_LEAST_TERMS = 2
_TASK = re.compile(
    r"\b(?:switch|rename|deploy|add|fix|change|use|make|run|write|update|remove|delete|create|set|move|please|merge|check|put"
    r"|build|test|look|show|no|never|always|don['’]?t)\b",
    re.IGNORECASE,
)
"""Words of one who wants something yet: ``thanks, now rename the flag``."""
_PARTING = re.compile(
    r"\b(?:bye|goodbye|good ?night|night|see (?:you|ya)|cheers|thanks|thank you|thx|that['’]?s (?:it|all)"
    r"|done for (?:today|now)|(?:until|till) (?:tomorrow|monday|next)|have a (?:nice|good)|enjoy (?:the|your)"
    r"|close the laptop|good work|well done|off to|stopping here|end of (?:the )?day|weekend|tschüss|danke"
    r"|bis (?:dann|bald|morgen|später|\w+tag)|ciao|feierabend|schönes? \w+)\b",
    re.IGNORECASE,
)


def last_session(
    end: SessionEnd, kept: Sequence[MemoryRow], here: Sequence[MemoryRow], memories: BriefMemories
) -> LastSession:
    """Tell how a session ended: with the last prompt that tells something, and the last replies.

    Args:
        kept: what the user kept; what is newer may answer what the session asks.
        here: what was said in the session that starts: its user has heard what the other one asked.
    """
    prompts = _last_said(end.session, "owner", _PROMPTS, memories)
    replies = _last_said(end.session, "assistant", _REPLIES, memories)
    answered = not prompts or (bool(replies) and (replies[0].at, replies[0].row) > (prompts[0].at, prompts[0].row))
    quotes = [_last_quote(prompt, memories) for prompt in prompts]
    prompt = informative_prompt(quotes)
    last = [_last_quote(reply, memories) for reply in replies]
    asks = bool(last) and answered and not here
    if asks and (question := final_question(to_text(last[0].text))):
        since = [to_text(memories.start_of(one)[0]) for one in kept if one.at > replies[0].at]
        asks = not is_answered(question, since)
    return LastSession(
        assistant=memories.assistant_of(end.session),
        at=end.at,
        prompt=prompt,
        replies=tuple(last),
        answered=answered or (prompt is not None and prompt is not quotes[0]),
        asks=asks,
        failure=_unresolved_failure(end.session, memories),
    )


def _last_said(session: int, author: Author, count: int, memories: BriefMemories) -> list[MemoryRow]:
    return memories.snapshot.ask(queries.SessionTurns(session, memories.in_project, (author,), count))


def _last_quote(one: MemoryRow, memories: BriefMemories) -> Quote:
    """Return what was said last, and whether it was replaced since."""
    return msgspec.structs.replace(memories.quote(one), is_superseded=not memories.is_current(one))


def _unresolved_failure(session: int, memories: BriefMemories) -> UnresolvedFailure | None:
    """The last call that failed and that none of the same kind followed which succeeded.

    Of the same kind are calls of one tool whose first argument starts with the same word: the same program, the
    same file. A result belongs to the first call of its tool before it that has none yet.
    """
    calls: dict[str, list[MemoryRow]] = {}
    ended: list[tuple[MemoryRow, MemoryRow | None]] = []
    for step in reversed(memories.snapshot.ask(queries.SessionSteps(session, memories.in_project, _STEPS))):
        if step.kind == "tool_call":
            calls.setdefault(step.tool or "", []).append(step)
        else:
            waiting = calls.get(step.tool or "")
            ended.append((step, waiting.pop(0) if waiting else None))
    succeeded: set[tuple[str, str]] = set()
    for result, call in reversed(ended):
        kind = (result.tool or "", "" if call is None else _call_target(memories.start_of(call)[0]))
        if result.outcome != "failed":
            succeeded.add(kind)
        elif kind not in succeeded:
            quote = None if call is None else memories.quote(call)
            return UnresolvedFailure(tool=result.tool or "a tool", call=quote, answer=result.id)
    return None


def _call_target(call: bytes) -> str:
    """What a call is about: the first word of its first argument, as `mnemic.hooks.read.lines.render_call` writes
    it.
    """
    lines = call.decode("utf-8", "surrogatepass").split("\n", 2)
    words = lines[1].partition(": ")[2].split() if len(lines) > 1 else []
    while len(words) > 3 and words[0] == "cd" and words[2] == "&&":  # where it runs is not what runs
        words = words[3:]
    return next((word for word in words if "=" not in word), "")


def is_farewell(text: str) -> bool:
    """Say whether a prompt says little more than goodbye, or yes."""
    if len(text) > _PARTING_CHARS or text.rstrip().endswith("?"):
        return False
    rest = _PARTING.sub(" ", text)
    return len(telling_terms(text)) < _LEAST_TERMS or (rest != text and _TASK.search(rest) is None)


def informative_prompt(prompts: Sequence[Quote]) -> Quote | None:
    """The first of some prompts that says something; the first of all where none does."""
    telling = (one for one in prompts if not is_farewell(to_text(one.text)))
    return next(telling, prompts[0] if prompts else None)
