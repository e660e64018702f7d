"""Codebooks draw the same random hypervectors for the same names, and unrelated ones for any others."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.hd.codebook import MAX_NAME_CHARS, draw_bytes, draw_hypervector, draw_ranks
from mnemic.hd.encoders import RecordEncoder, canonical
from tests.hd.spaces import NOISE, similarities, similarity, space

NAMES = st.text(st.characters(), max_size=20) | st.sampled_from(["", "\0", "\ud800", "a\0b"])


@given(NAMES, NAMES)
def test_a_name_always_draws_the_same_bits_and_half_of_them_are_set(namespace: str, symbol: str) -> None:
    drawn = draw_hypervector(space(), namespace, symbol)
    assert drawn.dtype == np.uint64
    assert drawn.shape == (160,)
    assert np.array_equal(drawn, draw_hypervector(space(), namespace, symbol))
    assert abs(similarity(drawn, np.zeros_like(drawn))) < NOISE


@given(st.lists(st.tuples(NAMES, NAMES), min_size=2, max_size=2, unique=True))
def test_two_names_have_nothing_to_do_with_each_other(names: list[tuple[str, str]]) -> None:
    one, other = (draw_hypervector(space(), *name) for name in names)
    assert abs(similarity(one, other)) < NOISE


def test_where_the_namespace_ends_makes_a_difference() -> None:
    assert abs(similarity(draw_hypervector(space(), "ab", "c"), draw_hypervector(space(), "a", "bc"))) < NOISE


def test_another_seed_draws_other_bits() -> None:
    other = msgspec.structs.replace(space(), seed=bytes(32))
    assert abs(similarity(draw_hypervector(space(), "who", "ada"), draw_hypervector(other, "who", "ada"))) < NOISE


def test_what_is_bound_and_the_version_do_not_change_what_a_name_draws() -> None:
    other = msgspec.structs.replace(space(), roles=("who",), model="beef", embedding_dimensions=3)
    assert np.array_equal(draw_hypervector(space(), "who", "ada"), draw_hypervector(other, "who", "ada"))


@pytest.mark.parametrize("dimensions", [64, 128, 1024])
def test_a_longer_draw_begins_with_a_shorter_one(dimensions: int) -> None:
    long = draw_bytes(space(), "who", "ada", 1280)
    assert len(long) == 1280
    assert long.startswith(draw_bytes(space(), "who", "ada", dimensions // 8))
    assert draw_hypervector(space(dimensions=dimensions), "who", "ada").tobytes() == long[: dimensions // 8]


@pytest.mark.parametrize("dimensions", [64, 10_240])
def test_ranks_have_every_place_once_and_are_in_disorder(dimensions: int) -> None:
    order = draw_ranks(space(dimensions=dimensions), "date")
    assert sorted(order) == list(range(dimensions))
    assert abs(np.corrcoef(order, np.arange(dimensions))[0, 1]) < 5 / np.sqrt(dimensions)


# --- symbols ----------------------------------------------------------------------------------------------------------

ENCODERS = RecordEncoder(space())
TEXTS = st.text(st.characters() | st.sampled_from("/\\. a"), max_size=300).filter(str.strip)


@pytest.mark.parametrize("role", ["who", "file"])
@given(text=TEXTS)
@example(text="/")
@example(text="./" * 500)
@example(text="e\u0301" * 200)
@example(text="\u0130\u0301")
@example(text="./")
@example(text="a./b" + "c" * 117)
@example(text="\ud800")
@example(text="\u0130" * 200)
def test_the_form_of_a_name_is_its_own_form_and_not_too_long(role: str, text: str) -> None:
    kept = canonical(role, text)
    assert 0 < len(kept) <= MAX_NAME_CHARS
    assert canonical(role, kept) == kept
    assert ENCODERS.encode_fillers(role, [kept]).shape == (1, 160)


@pytest.mark.parametrize("role", ["who", "file"])
@pytest.mark.parametrize("nothing", ["", " ", "\n\t"])
def test_nothing_is_no_name(role: str, nothing: str) -> None:
    with pytest.raises(ValueError, match="a name is expected"):
        canonical(role, nothing)


def test_a_symbol_has_its_words_in_lower_case() -> None:
    assert canonical("who", "  Ada\n Lovelace ") == "ada lovelace"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("README.md", "README.md"),
        ("./src/Auth.py", "src/Auth.py"),
        ("src//auth/", "src/auth"),
        ("C:\\Work\\a.py", "C:/Work/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("my notes/a  b.md", "my notes/a b.md"),
        ("/", "/"),
        (".", "."),
        ("../up.py", "../up.py"),
    ],
)
def test_a_path_has_one_form_and_keeps_its_case(given: str, kept: str) -> None:
    assert canonical("file", given) == kept


def test_of_a_long_path_the_last_parts_are_taken_and_of_a_long_name_the_end() -> None:
    kept = canonical("file", "/home/" + "deep/" * 40 + "test_auth.py")
    assert kept.startswith("deep/deep/")
    assert kept.endswith("/deep/test_auth.py")
    assert canonical("file", "x" * 500 + ".py") == "x" * (MAX_NAME_CHARS - 3) + ".py"
    assert canonical("who", "a" + "b" * 500) == "b" * MAX_NAME_CHARS


def test_a_path_of_a_million_parts_is_cut_off_at_once() -> None:
    assert canonical("file", "ab/" * 1_000_000 + "c.py") == "ab/" * 38 + "c.py"


@pytest.mark.parametrize("role", ["who", "file"])
def test_a_letter_and_its_accent_are_the_letter_that_has_it(role: str) -> None:
    assert canonical(role, "cafe\u0301.py") == canonical(role, "caf\u00e9.py") == "caf\u00e9.py"


def test_paths_that_differ_in_case_alone_have_the_same_bits() -> None:
    one, other = ENCODERS.encode_fillers("file", ["docs/README.md", "docs/readme.MD"])
    assert np.array_equal(one, other)


@given(st.lists(TEXTS.map(lambda text: canonical("who", text)), min_size=2, max_size=2, unique=True))
def test_two_names_have_nothing_in_common(names: list[str]) -> None:
    assert abs(similarities(ENCODERS, "who", names)[1]) < NOISE


def test_a_name_in_one_role_has_nothing_to_do_with_it_in_another() -> None:
    assert (
        abs(similarity(ENCODERS.encode_fillers("who", ["ada"])[0], ENCODERS.encode_fillers("to", ["ada"])[0])) < NOISE
    )
