"""The table of verbs knows each form once, and asks only after verbs that it has."""

from __future__ import annotations

from mnemic.algorithms.text.clauses import COPULA_PARTICLES, LEMMAS, REQUIRED_PARTICLES


def test_each_form_leads_to_a_verb_that_leads_to_itself() -> None:
    assert [form for form, lemma in LEMMAS.items() if lemma != "last" and LEMMAS[lemma] != lemma] == []


def test_regular_and_irregular_forms_are_made_as_english_makes_them() -> None:
    forms = {
        "tries",
        "tried",
        "trying",
        "uses",
        "using",
        "reaches",
        "fixes",
        "shipped",
        "planning",
        "enjoyed",
        "written",
    }
    assert {form: LEMMAS[form] for form in forms} == {
        "enjoyed": "enjoy",
        "fixes": "fix",
        "planning": "plan",
        "reaches": "reach",
        "shipped": "ship",
        "tried": "try",
        "tries": "try",
        "trying": "try",
        "uses": "use",
        "using": "use",
        "written": "write",
    }


def test_what_has_to_follow_is_asked_of_known_verbs_only() -> None:
    assert set(REQUIRED_PARTICLES) <= set(LEMMAS.values())


def test_the_first_that_fits_is_the_longest_that_fits() -> None:
    for needed in (COPULA_PARTICLES, *REQUIRED_PARTICLES.values()):
        for place, one in enumerate(needed):
            assert not any(later.split()[: len(one.split())] == one.split() for later in needed[place + 1 :])
