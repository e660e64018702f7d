"""Keys are one for all spellings of a name, and the key of a key is itself."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.entities.keys import (
    ABBREVIATIONS,
    WHOLE_ABBREVIATIONS,
    entity_key,
    is_file,
    split_version,
    subject_key,
)

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=40)
WORDS = (
    *("Nadia", "Élodie", "San", "Marco", "DB", "staging", "Postgres", "v17", "17", "Müller's", "auth.py", "src/a-b.py"),
    *("the", "my", "own", "k8s", "Ångström", "session_ttl", "C++", "it", "'s", "`x`", '"Q"', "-", "node.js", "@ines"),
)
NAMES = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
LETTERS = st.text("abcdefgxyz éöñçåÉÖ-_'", max_size=20)
DETERMINERS = st.sampled_from(("the", "a", "an", "my", "our", "My own", "THIS", "that"))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Nadia Keller", "nadia keller"),
        ("  NADIA   keller ", "nadia keller"),
        ("Nadia’s", "nadia"),
        ("NADIA’S car", "nadia's car"),
        ("Élodie", "elodie"),
        ("the Database", "database"),
        ("our staging DB", "staging database"),
        ("my own bike", "bike"),
        ("San-Marco", "san marco"),
        ("`session_ttl`", "session ttl"),
        ("session TTL", "session ttl"),
        ("issue_link()", "issue link"),
        ("“Long Day”", "long day"),
        ("Postgres v17", "postgresql 17"),
        ("python3.11", "python 3.11"),
        ("py", "python"),
        ("created_ts", "created ts"),
        ("k8s", "kubernetes"),
        ("README.md", "readme.md"),
        ("./src/Auth_x/log-in.py", "src/auth_x/log-in.py"),
        ("src\\auth.py", "src/auth.py"),
        ("Node.js", "node.js"),
        ("C++", "c++"),
        ("@nadia", "nadia"),
        ("Dr. Weber", "weber"),
        ("uncle Bernd", "bernd"),
        ("my uncle", "uncle"),
        ("it", ""),
        ("They", ""),
        ("the", ""),
        ("", ""),
        (" -- ", ""),
    ],
)
def test_spellings_of_one_name_have_one_key(name: str, key: str) -> None:
    assert entity_key(name) == key


@given(ANYTHING | NAMES)
def test_the_key_of_a_key_is_the_key(name: str) -> None:
    key = entity_key(name)
    assert entity_key(key) == key
    assert key == key.strip()
    assert not key.startswith("@")


@given(NAMES | LETTERS)
def test_case_accents_spaces_and_marks_change_no_key(name: str) -> None:
    key = entity_key(name)
    assert entity_key(name.upper()) == key
    assert entity_key(unicodedata.normalize("NFD", name)) == key
    assert entity_key(f"  {name.replace(' ', '   ')}\n") == key
    bare = "".join(one for one in unicodedata.normalize("NFD", name) if not unicodedata.combining(one))
    assert entity_key(bare) == key


@given(NAMES | LETTERS, DETERMINERS)
def test_a_determiner_before_it_changes_no_key(name: str, determiner: str) -> None:
    assert entity_key(f"{determiner} {name}") == entity_key(name)


def test_the_abbreviations_are_few_and_lead_to_keys() -> None:
    table = ABBREVIATIONS | WHOLE_ABBREVIATIONS
    assert len(table) <= 25
    assert all(entity_key(short) == whole == entity_key(whole) for short, whole in table.items())


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Postgres 17", ("Postgres", "17")),
        ("python3.11", ("python", "3.11")),
        ("Ledger v2.1", ("Ledger", "2.1")),
        ("Ubuntu 22.04", ("Ubuntu", "22.04")),
        ("k8s", ("k8s", "")),
        ("utf8", ("utf8", "")),
        ("Office 2019", ("Office 2019", "")),
        ("17", ("17", "")),
        ("12 17", ("12 17", "")),
        ("", ("", "")),
    ],
)
def test_a_version_at_the_end_is_told_apart(name: str, parts: tuple[str, str]) -> None:
    assert split_version(name) == parts


@given(ANYTHING | NAMES)
def test_what_is_split_is_the_beginning_and_the_end_of_the_name(name: str) -> None:
    plain, version = split_version(name)
    assert name.strip().startswith(plain)
    assert name.strip().endswith(version)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("auth.py", True),
        ("src/auth", True),
        (".env", True),
        ("nadia", False),
        ("e.g", False),
        ("a b.py", False),
        ("", False),
    ],
)
def test_files_are_told_by_a_slash_or_an_ending(key: str, told: bool) -> None:
    assert is_file(key) is told


@pytest.mark.parametrize(
    ("subject", "key"),
    [
        ("I", "@ines"),
        ("me", "@ines"),
        ("My bike", "@ines's bike"),
        ("my own DB", "@ines's database"),
        ("my", "@ines"),
        ("my team", "@ines's team"),
        ("We", "@we"),
        ("our team", "@we"),
        ("our server", "server"),
        ("the Server", "server"),
        ("NADIA's car", "nadia's car"),
        ("Nadia", "nadia"),
        ("it", ""),
        ("They", ""),
        ("she", ""),
        ("you", ""),
        ("this", ""),
        ("her bike", ""),
        ("your server", ""),
        ("I myself", ""),
        ("", ""),
    ],
)
def test_what_a_statement_is_said_of_has_a_key_where_the_words_tell_it(subject: str, key: str) -> None:
    assert subject_key(subject, "Inés", "user") == key


def test_without_a_speaker_the_role_speaks() -> None:
    assert subject_key("I", None, "user") == subject_key("I", "the", "user") == "@user"
    assert subject_key("my bike", None, "assistant") == "@assistant's bike"


@given(ANYTHING | NAMES)
def test_only_the_speaker_and_his_have_a_key_with_the_mark(subject: str) -> None:
    key = subject_key(subject, "Ines", "user")
    assert key == "@we" or key.startswith("@ines") or key in ("", entity_key(subject))
    assert subject_key(subject.upper(), "INES", "user") == subject_key(subject, "Ines", "user") or not subject.isascii()
