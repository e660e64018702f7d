"""Who says goodbye last has said before what the session was about."""

from __future__ import annotations

import pytest

from mnemic.actors.brief.last_session import informative_prompt, is_farewell
from mnemic.actors.brief.messages import Quote


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("bis montag!", True),
        ("thanks, bye", True),
        ("That's it. Henrike's mother brought cherry cake.", True),
        ("ok", True),
        ("Thanks, now switch the database to MySQL", False),
        ("cheers, rename the flag to --dry", False),
        ("No deploys on the weekend, please", False),
        ("please move the backup timer to 04:10", False),
        ("who can do it on the weekend, thanks?", False),
        ("thanks. " + "and the backup timer moves to 04:10 UTC " * 5, False),
    ],
)
def test_a_goodbye_is_told_from_a_prompt(text: str, parts: bool) -> None:
    assert is_farewell(text) == parts


def test_the_last_prompt_that_says_something_is_taken_and_the_last_of_all_where_none_does() -> None:
    last, said = (
        Quote(id=bytes([number]) * 16, text=text, size_bytes=len(text), at=number, role="user", kind="turn")
        for number, text in ((2, b"bye!"), (1, b"move the backup timer"))
    )
    assert informative_prompt([last, said]) == said
    assert informative_prompt([last]) == last
    assert informative_prompt([]) is None
