"""Every error is told alike in every face: a code, one sentence, a remedy, an exit code."""

from __future__ import annotations

import pickle
import re
import string

import pytest

from mnemic import errors
from mnemic.actors.protocol import errors as tree
from mnemic.errors import exit_code
from mnemic.runtime.api.views import error_view

KINDS = [getattr(tree, name) for name in tree.__all__]
CODES = {tree.BadInput: 2, tree.StoreError: 3, tree.ModelError: 4, tree.RuntimeFault: 5}


def example(kind: type[tree.MnemicError]) -> tree.MnemicError:
    """One of a kind, with an operand for each place."""
    names = {name for text in (kind.sentence, kind.remedy) for _, name, _, _ in string.Formatter().parse(text) if name}
    return kind(**{name: 3 if name.endswith("_s") else name for name in names})


def test_the_whole_tree_is_published() -> None:
    assert set(errors.__all__) == {*tree.__all__, "exit_code"}
    for name in tree.__all__:
        assert getattr(errors, name) is getattr(tree, name)


def test_every_kind_that_is_raised_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_one_sentence_and_a_remedy(kind: type[tree.MnemicError]) -> None:
    view = error_view(example(kind))
    assert set(view) == {"code", "error", "remedy"}
    for text in (view["error"], view["remedy"]):
        assert text.endswith(".")
        assert "\n" not in text
        assert "{" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_the_exit_code_is_the_families(kind: type[tree.MnemicError]) -> None:
    expected = next((code for family, code in CODES.items() if issubclass(kind, family)), 1)
    assert exit_code(example(kind)) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_crosses_processes_as_it_is(kind: type[tree.MnemicError]) -> None:
    error = example(kind)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is kind
    assert error_view(back) == error_view(error)
