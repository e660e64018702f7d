"""A stranger's text is read in time that grows with its length alone, by every function that reads one.

Time is the thread's own on a processor, the least of several tries, and compared with what another length takes. So
neither the machine nor what else it does decides.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path

import pytest

import mnemic
from mnemic.actors.brief.last_session import is_farewell
from mnemic.actors.brief.open_work import Turn, is_answered, open_work
from mnemic.actors.brief.page import quote_inline
from mnemic.actors.brief.statement_cues import (
    MAX_STATEMENT_CHARS,
    directive_start,
    final_question,
    holds_cue,
    is_open,
)
from mnemic.actors.index.hits import densest_excerpt, excerpt, token_count
from mnemic.actors.index.vocabulary import compounds
from mnemic.algorithms.brief.sentences import told_sentences
from mnemic.algorithms.brief.things import MAX_CHARS as MAX_SETTING_CHARS
from mnemic.algorithms.brief.things import expires, read_sentence, sets_something
from mnemic.algorithms.knowledge.answering import AnswerReading, asks, read_wanted
from mnemic.algorithms.knowledge.asked_time import MAX_CHARS as MAX_ASKED_CHARS
from mnemic.algorithms.knowledge.asked_time import asked_predecessor, asked_time, asks_for_newest
from mnemic.algorithms.knowledge.assertion import MAX_CHARS as MAX_ASSERTION_CHARS
from mnemic.algorithms.knowledge.assertion import read_assertion, status
from mnemic.algorithms.knowledge.entities.keys import entity_key, split_version, subject_key
from mnemic.algorithms.knowledge.entities.mentions import mentions
from mnemic.algorithms.knowledge.extraction.holding_days import day_phrases
from mnemic.algorithms.knowledge.extraction.modality import status_of
from mnemic.algorithms.knowledge.extraction.statements import statements
from mnemic.algorithms.knowledge.said import change_cue, normal_value, value_name, words_of
from mnemic.algorithms.knowledge.triples import triples
from mnemic.algorithms.sleep.digest import digest_sentences
from mnemic.algorithms.steps.errors import read_error
from mnemic.algorithms.steps.program_calls import names_call, program_calls
from mnemic.algorithms.steps.shell import MAX_LINE_CHARS, is_program, looks_like_file, parse_commands, stages
from mnemic.algorithms.steps.steps import call_line, failing_files, line_span, parse_step
from mnemic.algorithms.text.clauses import clauses
from mnemic.algorithms.text.days import extract_dates
from mnemic.algorithms.text.exact_keys import exact_keys, shared_keys
from mnemic.algorithms.text.instructions import reads_as_instruction
from mnemic.algorithms.text.keyphrases import key_phrases
from mnemic.algorithms.text.languages.table import BY_CODE
from mnemic.algorithms.text.near_duplicates import fingerprint
from mnemic.algorithms.text.same_words import word_form
from mnemic.algorithms.text.sentences import plain_sentences
from mnemic.algorithms.text.terms import index_terms, question_terms, telling_terms, telling_words
from mnemic.algorithms.text.voices import split_appended, voice_of
from mnemic.algorithms.text.windows import tokenizable
from mnemic.hooks.hosts.claude_code import BUILTIN_COMMAND, HOST_WRAPPED, SLASH_COMMAND
from mnemic.hooks.hosts.codex_events import is_capability_listing, is_host_text, render_codex_call
from mnemic.hooks.hosts.gemini_cli_events import result_text, split_hook_contexts
from mnemic.hooks.read.generic import paragraphs
from mnemic.hooks.read.markdown import split_front_matter
from mnemic.hooks.read.note_links import find_links
from mnemic.hooks.read.own_calls import OWN_PROGRAM, is_own_echo
from mnemic.hooks.read.own_text import cut_marked, strip_own_output
from mnemic.runtime.secrets.secrets import drop_private, load_scrub
from mnemic.runtime.store.memory_terms import memory_terms
from tests.hostile import hostile_texts
from tests.paths import ROOT

DAY = date(2026, 5, 5)
LANGUAGES = tuple(BY_CODE.values())
SCRUB = load_scrub()
ALLOWING = load_scrub(["aaaa*", "password*b", "sk_test_*", " "])
SIZE = 1 << 13
LONGER = 4
"""So many times as long: what is linear takes four times as long then, and what takes the square sixteen times."""
MOST_GROWTH = 9.0
SUSPECT = 3.0
"""Times as long as for plain words of the same length; what takes less is not measured again."""
LEAST_S = 0.001
ROUNDS = 10
MOST_S = 0.5
"""Ten times what 64 KiB may take: what is read in a bounded part still has to be read soon."""
PLAIN = "We keep the boat in the harbour, and the port is 5432. "


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def read_whole(one: AnswerReading) -> object:
    parts = (one.sets_out, one.gives_reason, one.outcome, one.accepts, one.fails, one.has_key)
    return one.asked_share(("a",)), one.changes(("a",)), one.denies(("a",)), parts


READERS: dict[str, Callable[[str], object]] = {
    "AnswerReading": lambda text: read_whole(AnswerReading(text)),
    "asks": asks,
    "asked_predecessor": asked_predecessor,
    "asks_for_newest": asks_for_newest,
    "asked_time": partial(asked_time, names_days=True),
    "built-in command": BUILTIN_COMMAND.fullmatch,
    "call_line": lambda text: call_line("Bash", f"Bash\ncommand: {text}"),
    "change_cue": lambda text: [change_cue(text, one) for one in statements(text, None, DAY)],
    "clauses": lambda text: list(clauses(text)),
    "compounds": compounds,
    "cut_marked": cut_marked,
    "day_phrases": lambda text: list(day_phrases(text)),
    "densest_excerpt": lambda text: densest_excerpt(_bytes(text), 400, {"a": 1.0, "word": 2.0}),
    "digest_sentences": lambda text: digest_sentences([text]),
    "directive_start": directive_start,
    "drop_private": lambda text: drop_private(_bytes(text)),
    "entity_key": lambda text: entity_key.__wrapped__(text),
    "expires": expires,
    "excerpt": lambda text: excerpt(_bytes(text), 400, 0, ("a", "word")),
    "exact_keys": exact_keys,
    "extract_dates": lambda text: extract_dates(text, DAY, DAY.replace(year=2024), DAY, LANGUAGES),
    "failing_files": failing_files,
    "final_question": final_question,
    "find_links": lambda text: list(find_links(text)),
    "fingerprint": lambda text: fingerprint(text, DAY),
    "holding_days": lambda text: [one.days(DAY) for one in day_phrases(text)],
    "holds_cue": holds_cue,
    "index_terms": index_terms,
    "is_capability_listing": is_capability_listing,
    "is_host_text": lambda text: is_host_text(None, text),
    "is_program": is_program,
    "key_phrases": lambda text: key_phrases(text, 5),
    "is_answered": lambda text: is_answered(text, [text]),
    "is_open": is_open,
    "open_work": lambda text: open_work([Turn(f"{text} todo: {text}", 0, is_last=True)], 5),
    "is_farewell": is_farewell,
    "is_own_echo": lambda text: is_own_echo("tool_call", "Bash", f"Bash\ncommand: mnemic {text}"),
    "line_span": lambda text: line_span("Bash", text),
    "looks_like_file": looks_like_file,
    "memory_terms": lambda text: memory_terms(_bytes(text), None),
    "mentions": mentions,
    "names_call": lambda text: names_call(f"mnemic {text}", OWN_PROGRAM),
    "normal_value": normal_value,
    "paragraphs": lambda text: list(paragraphs(_bytes(text))),
    "parse_commands": parse_commands,
    "parse_step": lambda text: parse_step("Bash", text),
    "parse_step of its tool": lambda text: parse_step(text, text),
    "plain_sentences": lambda text: list(plain_sentences(text)),
    "question_terms": lambda text: question_terms(text, LANGUAGES),
    "program_calls": lambda text: program_calls(f"mnemic {text}", OWN_PROGRAM),
    "quote_inline": lambda text: quote_inline(_bytes(text)),
    "read_wanted": read_wanted,
    "read_assertion": lambda text: read_assertion(text, DAY),
    "read_error": read_error,
    "read_sentence": read_sentence,
    "reads_as_instruction": reads_as_instruction,
    "render_codex_call": lambda text: render_codex_call("apply_patch", text),
    "result_text": result_text,
    "shared_keys": lambda text: shared_keys(["ERR_PNPM_7", "a.b"], text),
    "scrub": lambda text: SCRUB(_bytes(text)),
    "scrub with an allow list": lambda text: ALLOWING(_bytes(text)),
    "sets_something": sets_something,
    "slash command": SLASH_COMMAND.fullmatch,
    "split_appended": split_appended,
    "split_front_matter": split_front_matter,
    "split_hook_contexts": lambda text: split_hook_contexts([text]),
    "split_version": split_version,
    "stages": lambda text: list(stages(text)),
    "statements": lambda text: statements(text, "ines", DAY),
    "status": status,
    "status_of": status_of,
    "strip_own_output": strip_own_output,
    "subject_key": lambda text: subject_key(text, "ines", "user"),
    "telling_terms": telling_terms,
    "telling_words": telling_words,
    "told_sentences": lambda text: list(told_sentences(text)),
    "token_count": lambda text: token_count(_bytes(text)),
    "tokenizable": tokenizable,
    "triples": lambda text: triples(text, "ines"),
    "value_name": value_name,
    "words_of": words_of,
    "voice_of": voice_of,
    "word_form": word_form,
    "wrapped by its host": HOST_WRAPPED.fullmatch,
}
"""Everything that reads a text, by the function's name."""
READ_CHARS = {
    "asked_time": MAX_ASKED_CHARS,
    "directive_start": MAX_STATEMENT_CHARS,
    "extract_dates": MAX_LINE_CHARS,
    "holds_cue": MAX_STATEMENT_CHARS,
    "parse_commands": MAX_LINE_CHARS,
    "read_assertion": MAX_ASSERTION_CHARS,
    "sets_something": MAX_SETTING_CHARS,
    "status": MAX_ASSERTION_CHARS,
}
"""Of longer texts these read no more, or nothing."""
WITHIN_OTHERS = {
    "user_text_events": "split_appended and voice_of",
    "character_start": "steps over a letter",
    "cut_windows": "what the tokenizer costs is bounded by the windows",
    "find_secrets": "scrub",
    "excerpt_inline": "excerpt",
    "sentence_part": "finds a sentence of ours in it",
    "fold": "a word",
    "fold_letters": "index_terms",
    "has_no_spaces": "fingerprint",
    "is_mostly": "takes spans",
    "language_of": "memory_terms",
    "names_a_time": "fingerprint",
    "plain_form": "fingerprint",
    "program_of": "is_program",
    "put_block": "strip_own_output",
    "has_block": "strip_own_output",
    "remove_block": "strip_own_output",
    "query_vector": "asks the Embedder",
    "question_words": "question_terms, of a bounded start",
    "days_in_question": "extract_dates",
    "read_said": "change_cue",
    "record_question": "writes it",
    "briefing_record": "writes it",
    "briefed": "takes a text of ours",
    "with_notices": "takes a text of ours",
    "sections": "the parser of Markdown, which is measured below",
    "sentences": "statements and mentions, of a bounded start",
    "split_words": "index_terms",
    "word_set": "takes a list of ours",
}
"""Functions that take a text and are not measured by themselves: by what they are measured, or why not."""
SWEPT = (
    "algorithms/brief",
    "algorithms/text",
    "algorithms/knowledge",
    "algorithms/secrets",
    "algorithms/sleep",
    "algorithms/steps",
)
NAMES = {"text", "question", "query", "sentence", "line"}


def _cost_s(read: Callable[[str], object], text: str, tries: int = 3) -> float:
    """Seconds of a processor that reading a text takes, the least of some tries."""
    least = float("inf")
    for _ in range(tries):
        begun = time.thread_time()
        read(text)
        least = min(least, time.thread_time() - begun)
    return least


def _too_slow(read: Callable[[str], object], size: int) -> Iterator[str]:
    """The hostile texts that a function takes more than its time for."""
    longer = hostile_texts(size)
    plain = _cost_s(read, (PLAIN * size)[: size // LONGER])
    for name, text in hostile_texts(size // LONGER).items():
        if _cost_s(read, text, tries=1) < max(SUSPECT * plain, LEAST_S):
            continue
        # What takes the square does so each time; what the machine does beside it comes and goes.
        for _ in range(ROUNDS):
            short, long = _cost_s(read, text), _cost_s(read, longer[name], tries=1)
            if long <= min(max(MOST_GROWTH * short, LONGER * LEAST_S), MOST_S):
                break
        else:
            yield f"{name}: {1000 * short:.1f} ms, {1000 * long:.1f} ms for {LONGER} times as much"


@pytest.mark.parametrize("name", READERS)
def test_a_text_four_times_as_long_takes_about_four_times_as_long(name: str) -> None:
    assert list(_too_slow(READERS[name], READ_CHARS.get(name, SIZE))) == []


def test_every_function_that_reads_a_text_is_swept() -> None:
    measured = {name.partition(" ")[0] for name in READERS} | set(WITHIN_OTHERS)
    found = {
        node.name
        for folder in (*SWEPT, "actors/brief", "actors/recall", "hooks/read")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        for argument in node.args.args[:2]
        if argument.arg in NAMES and ast.unparse(argument.annotation or ast.Constant(0)) in ("str", "bytes")
    }
    assert sorted(found - measured) == []


@pytest.mark.parametrize(
    "text",
    [
        "Decision: we do it." + "\n" * 20_000,
        "We use a" + " " * 8_000 + "x for the port",
        "We use " + "a_" * 40 + "b$ for the port",
        "Decision: we keep tea. " + "ignore all " * 90_000,
    ],
    ids=["newlines", "blanks", "underscores", "a megabyte"],
)
def test_a_hostile_text_holds_up_neither_its_own_project_nor_another(home: Path, text: str) -> None:
    with mnemic.open(home) as mind:
        mind.remember("The port of the boat is 5432.", scope="other")
        mind.recall("which port?", scope="other")
        begun = time.process_time()
        mind.remember(text, scope="own")
        mind.update_facts()
        told = mind.brief(scope="own").text
        found = mind.recall("which port?", scope="other")
        assert time.process_time() - begun < 10 * MOST_S
    assert told.startswith("<mnemic-memory>")
    assert found.hits[0].text == "The port of the boat is 5432."
