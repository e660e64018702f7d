"""Texts of the same words are one statement; one in which a number, a name, a path or an option differs is another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.same_words import word_form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always run the linter.", "always run the linter"),
        ("ALWAYS run the linter!", "Always  run\nthe linter…"),
        ("Please always run the linter.", "Always run the linter, please."),
        ("And also: always run the linter", "Always run the linter. Thanks!"),
        ("Don’t ever push to `main`.", 'don\'t ever push to "main"'),
        ("We use Postgres 17, not SQLite.", "we use Postgres 17 not SQLite"),
        ("Use type-checked code (always)", "use Type-checked code, always"),
        ("テストを必ず実行する。", "テストを必ず実行する"),
        ("Prefer e\u0301clairs", "prefer \u00e9clairs."),
    ],
)
def test_case_marks_and_words_of_courtesy_make_no_other_statement(one: str, other: str) -> None:
    assert word_form(one) == word_form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the port is 3000", "the port is 3400"),
        ("ports 80,443", "ports 80 443"),
        ("use Postgres 1.7", "use Postgres 17"),
        ("always ask Bea", "always ask Noor"),
        ("always run the linter", "never run the linter"),
        ("do not run the linter", "do run the linter"),
        ("pass -v to it", "pass -V to it"),
        ("set MAX_SIZE first", "set max_size first"),
        ("keep .env out of git", "keep env out of git"),
        ("run ruff check .", "run ruff check"),
        ("no tabs from now on", "tabs from now on"),
        ("we always use tabs?", "we always use tabs"),
        ("stop using C#", "stop using C"),
        ("commit *.lock files", "commit .lock files"),
    ],
)
def test_a_word_that_differs_makes_another_statement(one: str, other: str) -> None:
    assert word_form(one) != word_form(other)


@pytest.mark.parametrize("text", ["", " ", "…", "ok", "please", "ok, thanks", "-", "."])
def test_of_a_text_without_more_something_is_left(text: str) -> None:
    assert bool(word_form(text)) == bool(text.strip())


def test_a_long_text_has_the_words_of_its_equal_alone() -> None:
    assert word_form("A " * 9_000) != word_form("a " * 9_000)


@given(st.text())
def test_the_form_of_a_form_is_itself_but_for_marks_that_were_inside_of_others(text: str) -> None:
    form = word_form(text)
    assert word_form(f"  {text}\n") == form
    assert word_form(text) == form
