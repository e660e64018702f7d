"""Every error is told alike in every face: a code, one sentence, a remedy."""

from __future__ import annotations

import string

from mnemic.actors.kernel import errors as tree
from mnemic.runtime.api.views import error_view

KINDS = [getattr(tree, name) for name in tree.__all__]


def example(kind: type[tree.MnemicError]) -> tree.MnemicError:
    """One of a kind, with an operand for each place."""
    names = {name for text in (kind.sentence, kind.remedy) for _, name, _, _ in string.Formatter().parse(text) if name}
    return kind(**{name: 3 if name.endswith("_s") else name for name in names})


def test_every_error_is_told_as_code_sentence_and_remedy() -> None:
    errors = [example(kind) for kind in KINDS]
    expected = [{"code": one.code, "error": str(one), "remedy": one.remedy_text} for one in errors]
    assert [error_view(one) for one in errors] == expected
