"""Who quotes what goes: found for any texts, as trying every run of sixteen bytes finds it."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from mnemic.runtime.runs import RUN_BYTES, quoting

PIECES = st.sampled_from([b"the otter ", b"sleeps in the ", b"harbour", b"\x00\xff", b"a"])
TEXTS = st.lists(st.one_of(st.lists(PIECES, max_size=6).map(b"".join), st.binary(max_size=40)), max_size=5)


def runs(texts: list[bytes]) -> set[bytes]:
    return {text[n : n + RUN_BYTES] for text in texts for n in range(len(text) - RUN_BYTES + 1)}


@given(TEXTS, TEXTS, TEXTS)
def test_those_that_hold_what_only_the_gone_had_are_named_and_no_others(
    candidates: list[bytes], gone: list[bytes], staying: list[bytes]
) -> None:
    alone = runs(gone) - runs(staying)
    expected = {number for number, text in enumerate(candidates) if runs([text]) & alone}
    assert quoting(enumerate(candidates), gone, staying) == expected


def test_a_run_is_found_wherever_it_lies_in_more_than_one_batch() -> None:
    filler = [bytes([n % 251]) * 70_000 for n in range(40)]
    mark = b"0123456789abcdef"
    for place in (0, 19, 39):
        gone = [*filler[:place], b"xx" + mark, *filler[place:]]
        assert quoting([("a", mark), ("b", mark[:-1]), ("c", b"")], gone, filler) == {"a"}
        assert quoting([("a", mark)], gone, [*filler, mark]) == set()


def test_what_stays_is_not_read_where_nothing_is_shared() -> None:
    read: list[str] = []

    def staying() -> Iterator[bytes]:
        read.append("it is read")
        yield b"z" * 99

    assert quoting([("a", b"y" * 99)], [b"x" * 99], staying()) == set()
    assert read == []
    assert quoting([("a", b"x" * 99)], [b"x" * 99], staying()) == {"a"}
    assert read != []
