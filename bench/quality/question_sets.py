"""Labelled questions of unlike kinds, each set with the memories that answer them, as generic JSON Lines.

LoCoMo's long conversations of two people (`mnemic.bench.quality.locomo`); conversations of four software projects
(``tests/fixtures/developers``), written and labelled before any ranking was seen, by authors who had not seen the code
that ranks; small conversations in languages other than English (``tests/fixtures/languages``), labelled before any
ranking was seen; and quiet changes, short statements about attributes of people and things, in the midst of chatter.
Above stands `mnemic.bench.quality.recall_bench`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mnemic.bench.quality.locomo import convert, read_questions

CHATTER = 500
"""Turns of a conversation that each world of quiet changes is mixed with."""
_LOCOMO_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


class LabelledQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One question, and the turns that answer it."""

    question: str
    """As it is asked."""
    kind: str
    """Which kind of question, in the words of its set."""
    answers: frozenset[str]
    """Ids of the turns that answer it."""
    scope: str
    """Where they are."""
    part: str
    """What it is averaged over: a conversation, a project, a half."""
    sessions: frozenset[str] = frozenset()
    """The conversations that they are of, where these count."""


class QuestionSet(msgspec.Struct, frozen=True, kw_only=True):
    """Memories, and what is asked of them."""

    name: str
    """What it is called; all its scopes lie below ``name``."""
    turns: Sequence[dict[str, Any]]
    """The memories, as `mnemic capture` takes them."""
    questions: Sequence[LabelledQuestion]
    """What is asked."""

    def elsewhere(self) -> dict[str, str]:
        """For each scope one of another part, which does not answer its questions; none where all are of one."""
        parts = {one.scope: one.part for one in self.questions}
        scopes = sorted(parts)
        found = {}
        for place, scope in enumerate(scopes):
            others = [one for one in scopes[place:] + scopes[:place] if parts[one] != parts[scope]]
            if others:
                found[scope] = others[0]
        return found


def locomo_set(path: Path) -> QuestionSet:
    """LoCoMo's conversations. Raises as `mnemic.bench.quality.locomo.convert`."""
    questions = [
        LabelledQuestion(
            question=one.text,
            kind=_LOCOMO_KINDS[one.category],
            answers=one.turns,
            scope=f"locomo/{one.conversation}",
            part=one.conversation,
            sessions=one.sessions,
        )
        for one in read_questions(path)
    ]
    return QuestionSet(name="locomo", turns=list(convert(path)), questions=questions)


def changes_set(path: Path, chatter: Path) -> QuestionSet:
    """Quiet changes: what is asked now, and every statement about that attribute of that subject counts as an answer.

    Args:
        chatter: a file of LoCoMo's, whose conversations the worlds are mixed with in turn.

    Raises:
        OSError: a file cannot be read.
        ValueError, KeyError: it holds something else.
    """
    talks = defaultdict(list)
    for line in convert(chatter):
        talks[line["scope"]].append(line)
    turns: list[dict[str, Any]] = []
    questions: list[LabelledQuestion] = []
    for number, world in enumerate(json.loads(path.read_bytes())["worlds"]):
        scope = f"changes/{world['world']}{'-dense' if world['dense'] else ''}"
        slots = defaultdict(set)
        for one in world["statements"]:
            slots[one["label"]["attribute"], one["label"]["subject"]].add(f"{scope}/{one['id']}")
            turns.append({name: one[name] for name in ("session", "role", "said_at", "text")} | {"scope": scope})
            turns[-1]["id"] = f"{scope}/{one['id']}"
        talk = sorted(talks)[number % len(talks)]
        for line in talks[talk][:CHATTER]:
            turns.append(
                line | {"scope": scope, "id": f"{scope}/{line['id']}", "session": f"{scope}/{line['session']}"}
            )
        questions += [
            LabelledQuestion(
                question=one["question"],
                kind="now",
                answers=frozenset(slots[one["attribute"], one["subject"]]),
                scope=scope,
                part=f"half {world['half']}",
            )
            for one in world["questions"]
            if one["kind"] == "now"
        ]
    return QuestionSet(name="changes", turns=turns, questions=questions)


def developers_set(folder: Path, held: bool) -> QuestionSet:
    """Conversations of software projects, a file for each.

    Args:
        held: whether the questions are those that no rule is chosen by, in place of the others.

    Raises:
        OSError: a file cannot be read.
        ValueError: one holds something else, or a question names a turn that is not there.
    """
    return _conversations("developers", "project", folder, held)


def languages_set(folder: Path) -> QuestionSet:
    """Small conversations and questions in other languages, a file for each. Raises as `developers_set`."""
    return _conversations("languages", "language", folder, None)


def _conversations(name: str, part: str, folder: Path, held: bool | None) -> QuestionSet:
    """A set of JSON files, each with its part's name, its sessions and its questions.

    Args:
        held: which questions, where they say whether they are held back.
    """
    turns: list[dict[str, Any]] = []
    questions: list[LabelledQuestion] = []
    for path in sorted(folder.glob("*.json")):
        try:
            whole = json.loads(path.read_bytes())
            scope = f"{name}/{whole[part]}"
            lines = [
                {
                    "session": session["id"],
                    "scope": scope,
                    "said_at": turn["at"],
                    **{field: turn[field] for field in ("id", "role", "kind", "text", "tool") if field in turn},
                }
                for session in whole["sessions"]
                for turn in session["turns"]
            ]
            asked = [
                msgspec.convert({**one, "scope": scope, "part": whole[part]}, LabelledQuestion)
                for one in whole["questions"]
                if held is None or one["held"] == held
            ]
        except (KeyError, TypeError, ValueError) as error:  # msgspec's errors are ValueErrors
            raise ValueError(f"{path} holds no conversations: {error}") from error
        known = {turn["id"] for turn in lines}
        for one in asked:
            if not one.answers or not known.issuperset(one.answers):
                raise ValueError(f"{path}: the question {one.question!r} names no turn that is there")
        turns += lines
        questions += asked
    return QuestionSet(name=name, turns=turns, questions=questions)
