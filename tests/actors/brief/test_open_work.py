"""What was left open is told until a later turn says that it is done, or a later list of the matter has it no more."""

from __future__ import annotations

import pytest

from mnemic.actors.brief.open_work import Turn, open_work


def left(*texts: str, limit: int = 5) -> list[str]:
    """What is open of texts, each said in a session of its own; newest first."""
    turns = [Turn(text, number, is_last=True) for number, text in enumerate(texts)]
    return [texts[one.turn][one.start : one.stop] for one in open_work(turns, limit)]


@pytest.mark.parametrize(
    ("item", "done"),
    [
        ("todo: cancel kogge on the 30th", "kogge is cancelled btw"),
        ("Open: the csv export for Krume", "the csv export is merged, works in numbers too"),
        ("todo: move the lantern to the pier", "the lantern is moved and the pier is ready"),
    ],
)
def test_an_item_is_open_until_a_later_turn_says_that_it_is_done(item: str, done: str) -> None:
    assert left(item, "we talked of boats") == [item]
    assert left(item, done) == []
    assert left(done, item) == [item], "what was done before is another thing"


def test_what_is_half_done_or_asked_for_is_not_done() -> None:
    item = "todo: the dashboard for the office"
    half = "the dashboard for the office is half done"
    assert left(item, half) == [half], "what says how far it is stands for the item"
    assert left(item, "is the dashboard for the office done?") == [item]


def test_a_later_list_of_the_same_matter_stands_for_the_earlier() -> None:
    assert left("still open in the app: export, icon for ios", "Then for the app only the icon remains.") == [
        "Then for the app only the icon remains."
    ]


def test_a_list_is_told_with_the_sentence_that_announces_it() -> None:
    said = "All good. Next steps:\n- paint the pier\n- ask Bea"
    assert left(said) == ["Next steps:\n- paint the pier\n- ask Bea"]


def test_what_points_back_is_told_with_what_it_points_at_or_not_at_all() -> None:
    assert left("The drone is a wish. I'd put it on the autumn list.") == [
        "The drone is a wish. I'd put it on the autumn list."
    ]
    assert left("Do that, but after the summer.") == []


def test_only_so_many_and_only_last_words_are_told() -> None:
    assert left("todo: paint", "todo: sand", limit=1) == ["todo: sand"]
    assert open_work([Turn("todo: paint", 1, is_last=False)], 5) == []


def test_long_words_before_what_is_open_are_read_at_once() -> None:
    digests = " ".join(f"{number:x}" * 64 for number in range(10, 14))
    assert left(f"{digests} still missing in the registry.") == [f"{digests} still missing in the registry."]
