"""Words are cut, folded and stemmed alike on both sides, whatever they are written in."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.algorithms.text.languages.language import Language
from mnemic.algorithms.text.languages.table import BY_CODE, WITH_SPACES, WITHOUT_SPACES
from mnemic.algorithms.text.terms import (
    MAX_CHARS,
    fold,
    fold_letters,
    index_terms,
    language_of,
    question_terms,
    split_words,
    stem_of,
    telling_terms,
    telling_words,
)

ROOT = Path(__file__).parents[3]
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
    assert all(term and " ".join(term.split()) == term and term.encode() for term in terms), (text, terms)
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
def test_a_text_is_met_by_a_question_of_one_of_its_own_words(text: str, others: set[Language]) -> None:
    kept = set(index_terms(text))
    for word in split_words(text):
        (asked,) = question_terms(word, [language_of(text), *others])
        assert not kept.isdisjoint(asked.terms)


@given(TEXTS)
def test_an_accent_that_is_not_typed_hides_nothing(text: str) -> None:
    kept = set(index_terms(text))
    for word in split_words(text):  # which have none
        assert not kept.isdisjoint(question_terms(word, WITH_SPACES)[0].terms)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The shelves, shelved; didn't wi-fi", ["the", "shelv", "shelv", "didn", "t", "wi", "fi"]),
        ("Wir haben die Häuser und die Straße gesehen", ["wir", "hab", "die", "haus", "und", "die", "strass", "geseh"]),
        ("Las canciones y la canción de los niños", ["las", "cancion", "y", "la", "cancion", "de", "los", "nin"]),
        ("Les décisions que nous avons décidées", ["le", "decis", "que", "nous", "avon", "decid", "decide"]),
        ("A organização e as organizações", ["a", "organiz", "organizaca", "e", "as", "organiz", "organizaco"]),
        ("booking_by_boat v2.13 a1f93c0 0x1F naïve", ["book", "by", "boat", "v2", "13", "a1f93c0", "0x1f", "naiv"]),
        ("東京都庁 猫がいる コーヒー", ["東京", "京都", "都庁", "猫", "がい", "いる", "コー", "ーヒ", "ヒー"]),
        ("数据库PostgreSQL", ["数据", "据库", "postgresql"]),
        ("น้ำแข็ง", ["น้ํา", "าแ", "แข็", "ข็ง"]),
        ("ＡＢＣ ﬁle Ŵâłęsa İstanbul Ødegård Æsir", ["abc", "file", "walesa", "istanbul", "odegard", "aesir"]),
        ("हिन्दी में ¿¡… \ud800 \0", ["हिन्दी", "में"]),
        ("x" * (MAX_CHARS + 9), ["x" * MAX_CHARS]),
        ("", []),
    ],
)
def test_words_are_kept_under_their_stems(text: str, terms: list[str]) -> None:
    assert [stem_of(term) for term in index_terms(text)] == terms


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Wo ist der Schlüssel?", "de"),
        ("Kannst du das Backup prüfen?", "de"),
        ("El servidor no arranca desde ayer", "es"),
        ("¿Dónde está la llave?", "es"),
        ("Onde está a chave?", "pt"),
        ("A reunião é amanhã às dez", "pt"),
        ("Où est la clé ?", "fr"),
        ("J'ai déplacé la réunion à jeudi", "fr"),
        ("When did it die in the war?", "en"),
        ("Los Angeles, San Francisco and Las Vegas", "en"),
        ("Müller", "en"),
        ("El Paso", "en"),
        ("import os, sys; from des import die", "en"),
        ("for (const es of las) { el.on('sale', plus) }", "en"),
        ("Hauptspeicher kaputt", "en"),
        ("", "en"),
        ("猫の名前", "en"),
    ],
)
def test_a_text_is_of_the_language_that_its_function_words_tell(text: str, code: str) -> None:
    assert language_of(text).code == code


def test_no_english_conversation_or_code_is_taken_for_another_language() -> None:
    folder = ROOT / "tests/fixtures/developers"
    turns = [
        turn["text"]
        for path in sorted(folder.glob("*.json"))
        for session in json.loads(path.read_bytes())["sessions"]
        for turn in session["turns"]
    ]
    code = [part for path in sorted((ROOT / "runtime").rglob("*.py")) for part in path.read_text("utf-8").split("\n\n")]
    assert len(turns) > 1000
    assert len(code) > 1000
    told = Counter(language_of(text).code for text in turns)
    assert told.total() - told["en"] <= 2, "two quote German"
    assert {language_of(text).code for text in code} == {"en"}


@pytest.mark.parametrize("code", ["de", "es", "pt", "fr"])
def test_conversations_are_told_by_their_language(code: str) -> None:
    whole = json.loads((ROOT / f"tests/fixtures/languages/{code}.json").read_bytes())
    turns = [turn["text"] for session in whole["sessions"] for turn in session["turns"]]
    assert Counter(language_of(text).code for text in turns)[code] > 0.9 * len(turns)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("When did Ana's parser break the parser?", ["ana", "parser", "break", "parser"]),
        ("When did it die?", ["die"]),
        ("Wann hat der Server die Daten gelöscht?", ["server", "daten", "geloscht"]),
        ("¿Cuándo se instaló el servidor?", ["instalo", "servidor"]),
        ("Quando é que foi a reunião?", ["reuniao"]),
        ("Pourquoi l'imprimante n'a-t-elle pas marché ?", ["imprimante", "marche"]),
        ("我们选择了什么数据库？", ["选择", "择了", "数据", "据库"]),
        ("猫の名前は何ですか？", ["猫", "名前", "何"]),
        ("แมวชื่ออะไร", ["แม", "มว", "วชื่", "ชื่อ"]),
        ("who are you", ["who", "are", "you"]),
        ("何ですか", ["何"]),
        ("ですか", ["です", "すか"]),
        ("", []),
    ],
)
def test_a_question_is_looked_up_by_what_tells_in_its_own_language(question: str, words: list[str]) -> None:
    assert [one.word for one in question_terms(question, WITH_SPACES)] == words


def test_a_question_meets_what_any_language_of_the_mind_made_of_its_word() -> None:
    german, english = BY_CODE["de"], BY_CODE["en"]
    (kept,) = index_terms("Servern", german)
    assert kept not in index_terms("Servers", english)
    assert kept in question_terms("Server?", [german])[0].terms
    assert [one.terms for one in question_terms("the books", [english])] == [("book",)]


@pytest.mark.parametrize("language", BY_CODE.values(), ids=BY_CODE)
def test_stop_words_are_words_as_they_are_cut(language: Language) -> None:
    assert all(word.casefold() == word for word in language.stop_words)
    if language in WITHOUT_SPACES:
        assert all(word.isprintable() and " " not in word for word in language.stop_words)
    else:
        assert [word for word in language.stop_words if split_words(word) != [fold(word)]] == []


def test_of_texts_alone_what_tells_is_left() -> None:
    assert telling_terms("Die Server und die Server laufen") == ["serv·de", "lauf·de"]
    assert telling_words("The Häuser, the 猫 and the houses") == ["hauser", "houses"]
    assert telling_terms("the and the") == ["the", "and"]


@given(TEXTS)
@example("İSTANBUL ﬃ Straße e\u0301")
def test_every_place_of_a_text_stays_where_it_is(text: str) -> None:
    assert len(fold_letters(text)) == len(text)
    assert fold_letters("Der ÄRGER mit den Schlüsseln").find("schlussel") == len("Der ÄRGER mit den ")


def test_one_word_is_enough_to_tell_what_is_likely() -> None:
    question = "Quando ficam prontos?"
    assert language_of(question).code == "en"
    assert language_of(question, [BY_CODE["pt"]]).code == "pt"
    assert language_of("When is the war?", [BY_CODE["de"]]).code == "en"


def test_a_stem_of_one_language_meets_no_text_of_another() -> None:
    assert index_terms("Die Spiele und die Namen") == ["die·de", "spiel·de", "und·de", "die·de", "nam·de"]
    assert set(question_terms("names", [BY_CODE["de"]])[0].terms) == {"name", "nam·de"}
    assert index_terms("Wir haben 3 Namen, 0x1F", BY_CODE["de"])[2:] == ["3", "nam·de", "0x1f"], (
        "digits have no language"
    )


@given(text=st.text(alphabet="aé中 のア.𝕏b1_\u0301ก\u0e31 \n", max_size=60), size=st.integers(1, 9))
def test_words_are_the_same_wherever_a_long_text_is_cut(text: str, size: int) -> None:
    whole = index_terms(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mnemic.algorithms.text.terms._SLICE_CHARS", size)
        assert index_terms(text) == whole
