"""What is marked private is gone, all of it; everything else stays as it is, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.algorithms.secrets.private import drop_private

PIECES = st.sampled_from(
    [b"<private>", b"</private>", b"<PRIVATE >", b"< / private>", b"<pri", b"vate>", b"</pri", b"`", b"a", b" ", b"\n"]
)
TEXTS = st.lists(PIECES, max_size=16).map(b"".join) | st.binary(max_size=60)


class TestDrop:
    @pytest.mark.parametrize(
        ("text", "left", "count"),
        [
            (b"", b"", 0),
            (b" \n", b" \n", 0),
            (b"a <private>b</private> c", b"a  c", 1),
            (b"a<PRIVATE>b</Private >c<private\n>d</ private>e", b"ace", 2),
            (b'a<private reason="mine">b</private>c', b"ac", 1),
            (b"a<private>b<private>c</private>d</private>e", b"ae", 1),
            (b"a<private>b</private>c</private>d", b"ac</private>d", 1),
            (b"a <private>b", b"a ", 1),
            (b"a <private>b<private>c</private>d", b"a ", 1),
            (b"<privateer> <private-key> private>", b"<privateer> <private-key> private>", 0),
            (b"```\n<private>b</private>\n```", b"```\n\n```", 1),
            (b"`<private>b</private>`", b"``", 1),
        ],
    )
    def test_what_stands_between_the_tags_goes_with_them(self, text: bytes, left: bytes, count: int) -> None:
        assert drop_private(text) == (left, count)

    def test_a_text_that_is_blank_without_it_is_empty(self) -> None:
        assert drop_private(b" <private>a</private>\n\t") == (b"", 1)

    def test_a_tag_alone_between_backticks_is_spoken_of_and_opens_and_closes_nothing(self) -> None:
        text = b"Put it between `<private>` and `</private>`."
        assert drop_private(text) == (text, 0)
        assert drop_private(b"a <private>b `</private>` c</private> d") == (b"a  d", 1)

    def test_two_halves_that_a_drop_brings_together_open_as_well(self) -> None:
        assert drop_private(b"a<pri<private>b</private>vate>c</private>d") == (b"ad", 1)

    @given(TEXTS)
    @example(b"`<pri<private></private>vate>`")
    def test_dropping_twice_is_dropping_once(self, text: bytes) -> None:
        left, _ = drop_private(text)
        assert drop_private(left) == (left, 0)

    @given(TEXTS)
    def test_a_text_without_the_tag_comes_back_as_the_same_object(self, text: bytes) -> None:
        text = text.replace(b"<", b"")
        assert drop_private(text)[0] is text

    @given(st.binary(max_size=30), st.binary(max_size=30), st.binary(max_size=30))
    def test_what_is_around_stays_byte_for_byte(self, before: bytes, hidden: bytes, after: bytes) -> None:
        around = [part.replace(b"<", b"").replace(b"`", b"") for part in (before, hidden, after)]
        before, hidden, after = around
        left, count = drop_private(before + b"<private>" + hidden + b"</private>" + after)
        assert left == (before + after if (before + after).strip() else b"")
        assert count == 1
