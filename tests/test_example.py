"""The example that ships: real line structure, one torn line, and questions whose answers are where they say.

The demo, other tests and the docs lean on `mnemic/example`; what they lean on is proved here, without any adapter.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mnemic.algorithms.text.keyphrases import STOP_WORDS
from tests.paths import ROOT

EXAMPLE = ROOT / "mnemic" / "example"
FILES = sorted(EXAMPLE.rglob("*.jsonl"))
QUESTIONS: list[dict[str, Any]] = json.loads((EXAMPLE / "questions.json").read_text("utf-8"))
LIMIT_BYTES = 250_000
COMPANIES = re.compile(
    r"\b(?:amazon|apple|aws|azure|cloudflare|digitalocean|dropbox|facebook|fastly|github|gitlab|gmail|google|heroku|"
    r"hetzner|ibm|mailchimp|mailgun|microsoft|netlify|nvidia|openai|oracle|outlook|ovh|paypal|sendgrid|slack|stripe|"
    r"twilio|vercel|whatsapp|yahoo)\b",
    re.IGNORECASE,
)
KEYS = re.compile(
    r"sk-[A-Za-z0-9]{8}|ghp_|github_pat_|xox[abp]-|AKIA[0-9A-Z]{12}|AIza[\w-]{20}|eyJ[\w-]{20}|BEGIN [A-Z ]*PRIVATE KEY"
    r"|(?:password|passwd|api_?key|secret)\s*[=:]\s*['\"]\w{6}"
)
SUFFIXES = ("ations", "ation", "ings", "ing", "ers", "ies", "ied", "ed", "er", "es", "ly", "s", "e", "y")


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Number and object of each line; ``None`` for one that is no JSON."""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            yield number, json.loads(line)
        except ValueError:
            yield number, None


def whole(path: Path) -> list[dict[str, Any]]:
    return [line for _, line in lines(path) if line is not None]


def session_of(path: Path) -> str:
    """The session a file belongs to; a subagent's is its parent's."""
    first = whole(path)[0]
    if "payload" in first:
        return str(first["payload"]["id"])
    return str(first.get("sessionId") or first["session"])


def blocks(content: Any) -> Iterator[str]:
    """The texts in a message's content, whatever its shape."""
    if isinstance(content, str):
        yield content
        return
    for block in content or ():
        if "content" in block:
            yield from blocks(block["content"])
        elif "text" in block:
            yield block["text"]


def message_blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    """The typed blocks of a Claude Code line; none where its content is plain text."""
    content = line.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def texts(path: Path) -> list[str]:
    """What was said in a file, and what tools answered, one entry an event."""
    found: list[str] = []
    for line in whole(path):
        if line.get("type") == "response_item":
            payload = line["payload"]
            found.extend(blocks(payload.get("content") or payload.get("output")))
        elif "message" in line:
            if not line.get("isCompactSummary"):
                found.extend(blocks(line["message"]["content"]))
        elif "speaker" in line:
            found.append(line["text"])
    return found


TEXTS = {
    session: [t for p in FILES if session_of(p) == session for t in texts(p)] for session in map(session_of, FILES)
}


def holders(part: str) -> dict[str, list[str]]:
    """Session -> its texts that hold `part`."""
    found = {session: [text for text in said if part in text] for session, said in TEXTS.items()}
    return {session: said for session, said in found.items() if said}


def stem(word: str) -> str:
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def content_stems(text: str) -> set[str]:
    return {stem(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOP_WORDS}


def test_every_line_is_json_but_for_the_one_torn_by_a_crash() -> None:
    torn = [(path, number) for path in FILES for number, line in lines(path) if line is None]
    assert len(torn) == 1
    path, number = torn[0]
    assert path.parent.name == "claude"
    assert 1 < number < len(path.read_text("utf-8").splitlines()), "the session goes on after the tear"


def test_everything_a_host_writes_is_there() -> None:
    claude = [line for path in EXAMPLE.glob("claude/**/*.jsonl") for line in whole(path)]
    content = [block for line in claude for block in message_blocks(line)]
    assert {block["type"] for block in content} == {"text", "thinking", "tool_use", "tool_result"}
    assert any(block.get("is_error") for block in content)
    assert {"user", "assistant", "attachment", "queue-operation", "system", "last-prompt", "mode"} == {
        line["type"] for line in claude
    }
    assert sum(bool(line.get("isCompactSummary")) for line in claude) == 1
    assert sum(line.get("attachment", {}).get("type") == "hook_additional_context" for line in claude) == 1
    assert len(list(EXAMPLE.glob("claude/*/subagents/agent-*.jsonl"))) == 1
    assert len(list(EXAMPLE.glob("codex/rollout-*.jsonl"))) == 1
    assert len({line["speaker"] for line in whole(EXAMPLE / "call.jsonl")}) == 2
    assert max(text.count("\n") for said in TEXTS.values() for text in said) >= 55, "a long stack trace"


def test_a_file_is_named_after_its_session() -> None:
    for path in EXAMPLE.glob("claude/*.jsonl"):
        assert {line["sessionId"] for line in whole(path)} == {path.stem}
    for path in EXAMPLE.glob("claude/*/subagents/agent-*.jsonl"):
        assert {line["sessionId"] for line in whole(path)} == {path.parents[1].name}
        assert {f"agent-{line['agentId']}" for line in whole(path)} == {path.stem}
    for path in EXAMPLE.glob("codex/*.jsonl"):
        assert path.stem.endswith(session_of(path))


def test_ids_are_unique_and_every_line_hangs_on_an_earlier_one() -> None:
    ids = [line["uuid"] for path in EXAMPLE.glob("claude/**/*.jsonl") for line in whole(path) if "uuid" in line]
    ids += [line["id"] for line in whole(EXAMPLE / "call.jsonl")]
    rollout = [line for path in EXAMPLE.glob("codex/*.jsonl") for line in whole(path)]
    ids += [line["payload"]["id"] for line in rollout if line["type"] == "response_item"]
    assert [key for key, times in Counter(ids).items() if times > 1] == []
    for path in EXAMPLE.glob("claude/**/*.jsonl"):
        seen: set[str | None] = {None}
        for line in whole(path):
            if "uuid" in line:
                assert line["parentUuid"] in seen
                seen.add(line["uuid"])


def test_every_call_has_its_one_result() -> None:
    for path in EXAMPLE.glob("claude/**/*.jsonl"):
        content = [block for line in whole(path) for block in message_blocks(line)]
        assert [b["id"] for b in content if b["type"] == "tool_use"] == [
            b["tool_use_id"] for b in content if b["type"] == "tool_result"
        ]
    for path in EXAMPLE.glob("codex/*.jsonl"):
        items = [line["payload"] for line in whole(path) if line["type"] == "response_item"]
        assert [i["call_id"] for i in items if i["type"] == "function_call"] == [
            i["call_id"] for i in items if i["type"] == "function_call_output"
        ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:16])
def test_time_goes_forward_within_a_session(path: Path) -> None:
    stamps = [line.get("timestamp") or line.get("said_at") for line in whole(path)]
    times = [datetime.fromisoformat(stamp) for stamp in stamps if stamp]
    assert times == sorted(times)
    assert all(time.tzinfo for time in times)


def test_the_whole_spans_five_weeks_and_stays_small() -> None:
    stamps = sorted(line.get("timestamp") or line.get("said_at") or "" for path in FILES for line in whole(path))
    days = datetime.fromisoformat(stamps[-1]) - datetime.fromisoformat(next(stamp for stamp in stamps if stamp))
    assert 33 <= days.days <= 40
    assert 8 <= len(TEXTS) <= 12
    assert 150 <= sum(map(len, TEXTS.values())) <= 280
    assert sum(path.stat().st_size for path in EXAMPLE.rglob("*") if path.is_file()) < LIMIT_BYTES


def test_there_are_questions_of_every_kind_and_one_each_for_the_demo() -> None:
    kinds = Counter(question["kind"] for question in QUESTIONS)
    assert set(kinds) == {"meaning", "words", "changed", "time"}
    assert min(kinds.values()) >= 4
    assert len(QUESTIONS) >= 24
    assert len({question["question"] for question in QUESTIONS}) == len(QUESTIONS)
    demo = [question for question in QUESTIONS if question.get("demo")]
    assert sorted(question["kind"] for question in demo) == ["changed", "meaning", "words"]
    for question in demo:
        answer = min(holders(question["answer_contains"])[question["answer_session"]], key=len)
        assert len(answer) <= 200, "short enough to look good on a terminal"
        assert "\n" not in answer


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["question"][:40])
def test_an_answer_is_in_its_session_and_no_other(question: dict[str, Any]) -> None:
    assert list(holders(question["answer_contains"])) == [question["answer_session"]]
    if question["kind"] == "changed":
        assert question["new_contains"] == question["answer_contains"]
        assert list(holders(question["old_contains"])) == [question["old_session"]]
    if question["kind"] == "time":
        path = next(path for path in FILES if session_of(path) == question["answer_session"])
        since, until = (datetime.fromisoformat(question[key]) for key in ("since", "until"))
        stamps = [line.get("timestamp") or line.get("said_at") for line in whole(path)]
        assert all(since <= datetime.fromisoformat(stamp) < until for stamp in stamps if stamp)


@pytest.mark.parametrize(
    "question", [q for q in QUESTIONS if q["kind"] == "meaning"], ids=lambda question: question["question"][:40]
)
def test_a_question_by_meaning_shares_no_word_with_its_answer(question: dict[str, Any]) -> None:
    for answer in holders(question["answer_contains"])[question["answer_session"]]:
        assert content_stems(question["question"]) & content_stems(answer) == set()


@pytest.mark.parametrize(
    "question", [q for q in QUESTIONS if q["kind"] == "words"], ids=lambda question: question["question"][:40]
)
def test_a_question_by_words_is_spelled_in_its_answer(question: dict[str, Any]) -> None:
    for answer in holders(question["answer_contains"])[question["answer_session"]]:
        assert content_stems(question["question"]) <= content_stems(answer)


@pytest.mark.parametrize("path", [*FILES, EXAMPLE / "questions.json"], ids=lambda path: path.name[:16])
def test_nobody_real_is_named_and_nothing_looks_like_a_key(path: Path) -> None:
    text = path.read_text("utf-8")
    assert KEYS.findall(text) == []
    assert COMPANIES.findall(text) == []
    assert set(re.findall(r"(?<![\\\w])[\w.]+@[\w.]+\.[a-z]{2,}", text)) <= {
        "bea@penmarrow.example",
        "tomasz@penmarrow.example",
    }
