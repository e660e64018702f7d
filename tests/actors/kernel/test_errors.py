"""Every error is one sentence with a remedy, has a code of its own, and crosses a process unchanged."""

from __future__ import annotations

import pickle
import re
import string
from typing import Any

import mnemic.errors
from mnemic.actors.kernel import errors
from mnemic.actors.kernel.errors import BadInput, MnemicError, ModelError, RuntimeFault, StoreError

OPERANDS: dict[str, Any] = {"waited_s": 20.0, "timeout_s": 0.5, "capacity": 8, "failures": 3, "found": 2, "known": 1}


def family(kind: type[MnemicError]) -> list[type[MnemicError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in family(child))]


ALL = [kind for kind in family(MnemicError) if kind.__module__ == errors.__name__]  # other tests may make more
ROOTS = (BadInput, StoreError, ModelError, RuntimeFault)


def made(kind: type[MnemicError]) -> MnemicError:
    named = {name for text in (kind.sentence, kind.remedy) for _, name, _, _ in string.Formatter().parse(text) if name}
    return kind(**{name: OPERANDS.get(name, f"the {name}") for name in named})


def test_the_tree_is_published_whole() -> None:
    assert set(errors.__all__) == {kind.__name__ for kind in ALL}
    assert sorted(mnemic.errors.__all__) == sorted(errors.__all__)
    for kind in ALL:
        assert getattr(mnemic.errors, kind.__name__) is kind


def test_each_kind_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in ALL]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch("[a-z_]+", code) for code in codes)


def test_every_error_is_a_sentence_and_a_remedy() -> None:
    texts = [(kind.code, text) for kind in ALL for text in (str(made(kind)), made(kind).remedy_text)]
    sentence = re.compile(r"(?:[A-Z]|the |')[^\n{}]*\.")
    assert [one for one in texts if not sentence.fullmatch(one[1])] == []


def test_every_error_crosses_a_process_unchanged() -> None:
    changed = []
    for kind in ALL:
        error = made(kind)
        copy = pickle.loads(pickle.dumps(error))
        same = (str(copy), copy.remedy_text, copy.operands) == (str(error), error.remedy_text, error.operands)
        changed += [] if same and type(copy) is kind else [kind.code]
    assert changed == []


def test_an_operand_may_hold_braces() -> None:
    error = errors.InvalidValue(name="{x}", value="{0}", why="{why}", expected="{}")
    assert str(error) == "{x} cannot be '{0}': {why}."
    assert error.remedy_text == "Give {}."


def test_what_was_given_is_quoted_whole_or_by_its_beginning_and_its_end() -> None:
    error = errors.InvalidValue(name="n", value="a" * 50_000 + "z", why="w", expected="e")
    assert str(error) == f"n cannot be '{'a' * 160} … {'a' * 39}z': w."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert (
        str(errors.InvalidValue(name="n", value="a" * 200, why="w", expected="e")) == f"n cannot be '{'a' * 200}': w."
    )
    assert len(str(errors.InvalidValue(name="n", value=b"\0" * 50_000, why="w", expected="e"))) < 1_000
    for kind, name in ((errors.UnknownRole, "role"), (errors.UnknownScope, "scope"), (errors.BadTime, "value")):
        assert len(str(kind(**({"near": "", "known": ""} | {name: "x" * 9_999})))) < 300


def test_the_exit_code_says_what_kind_it_was() -> None:
    codes = {root: number for number, root in enumerate(ROOTS, start=2)}
    expected = {kind.code: next((codes[root] for root in ROOTS if issubclass(kind, root)), 1) for kind in ALL}
    assert {kind.code: kind.exit_code for kind in ALL} == expected
