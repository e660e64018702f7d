"""Words are cut, folded and stemmed alike on both sides, whatever they are written in."""

from __future__ import annotations

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.algorithms.text.languages.table import WITH_SPACES
from mnemic.algorithms.text.terms import (
    index_terms,
    language_of,
    question_terms,
    split_words,
)

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.text(st.sampled_from("aAäÄßẞıİœøéñçãΣσςàñ'’_-. 7²ﬁＡが猫黒コーヒ中文ที่น้ำहिन्दी\u0301\u0308\u3099\ud800\0")),
    st.lists(
        st.sampled_from(
            [
                *["der", "die", "wo", "ist", "où", "est", "la", "clé", "qué", "es", "não", "foi", "the", "is"],
                "Häuser",
                "führte",
            ]
        )
    ).map(" ".join),
)


@given(TEXTS)
def test_any_string_has_terms_which_the_word_index_keeps_whole(text: str) -> None:
    terms = index_terms(text)
    assert terms == index_terms(text)
    assert all(term and " ".join(term.split()) == term and term.encode() for term in terms)
    assert all(sign.isalnum() for term in terms for sign in term if sign.isascii())


@given(TEXTS)
@example("ΐ ǰ ﬃ ϓ İ")
def test_composed_or_decomposed_is_the_same(text: str) -> None:
    whole = unicodedata.normalize("NFC", text)
    for form in ("NFD", "NFKC", "NFKD"):
        assert index_terms(unicodedata.normalize(form, text)) == index_terms(whole)


@given(TEXTS)
@example("Straße STRASSE ŉ ΐ ΣΊΣΥΦΟΣ ǆ ﬅ")
def test_case_does_not_matter(text: str) -> None:
    for written in (text.upper(), text.lower(), text.title()):
        assert index_terms(written) == index_terms(text)


@given(TEXTS, st.sets(st.sampled_from(WITH_SPACES)))
def test_a_text_is_met_by_a_question_of_one_of_its_own_words(text: str, others: set) -> None:
    kept = set(index_terms(text))
    for word in split_words(text):
        (asked,) = question_terms(word, [language_of(text), *others])
        assert not kept.isdisjoint(asked.terms)
