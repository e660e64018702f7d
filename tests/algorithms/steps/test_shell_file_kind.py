"""A file is of the kind that its name says; a test is a test whatever it is written in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.steps.shell import file_kind, looks_like_file, program_language


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/slipway/auth.py", "python"),
        ("src/main.rs", "rust"),
        ("web/App.tsx", "typescript"),
        ("C:\\web\\app.js", "javascript"),
        ("tests/test_auth.py", "test"),
        ("test_auth.py::test_link", "test"),
        ("tests/helpers.py", "test"),
        ("web/app.spec.ts", "test"),
        ("pkg/auth_test.go", "test"),
        ("src/AuthTest.java", "test"),
        ("conftest.py", "test"),
        ("latest.py", "python"),
        ("contest.rs", "rust"),
        ("tests/data.json", "config"),
        ("README.md", "docs"),
        ("LICENSE", "docs"),
        ("Makefile", "config"),
        ("Dockerfile", "config"),
        ("requirements.txt", "config"),
        ("notes.txt", "docs"),
        ("pyproject.toml", "config"),
        ("migrations/0007.sql", "sql"),
        ("data/tides.csv", "data"),
        ("logo.png", "image"),
        ("bin/ship", ""),
        ("a.unheardof", ""),
        ("", ""),
    ],
)
def test_a_name_tells_its_kind(path: str, kind: str) -> None:
    assert file_kind([path]) == kind


def test_the_first_file_of_a_known_kind_decides() -> None:
    assert file_kind(["bin/ship", "notes.md", "auth.py"]) == "docs"
    assert file_kind([]) == ""


@pytest.mark.parametrize("word", ["tests/test_auth.py", "./a b.md", "~/notes.txt", "/srv/x.toml"])
def test_a_path_of_a_known_kind_is_a_file(word: str) -> None:
    assert looks_like_file(word)


@pytest.mark.parametrize(
    "word", ["https://example.com/a.py", "*.py", "$HOME/a.py", "v1.2", "slipway", "example.com", ""]
)
def test_addresses_patterns_and_plain_words_are_no_files(word: str) -> None:
    assert not looks_like_file(word)


def test_programs_tell_their_language() -> None:
    assert [program_language(program) for program in ("pytest", "cargo", "psql", "ship")] == [
        "python",
        "rust",
        "sql",
        "",
    ]


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_name_has_a_kind_or_none(name: str) -> None:
    assert file_kind([name, name]) == file_kind([name])
    assert not looks_like_file(name) or file_kind([name])
