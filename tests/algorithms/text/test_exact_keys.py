"""What two texts share when they are about the same thing: keys that only machines write, and no words of people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.exact_keys import exact_keys, shared_keys


@pytest.mark.parametrize(
    "key",
    [
        *("203/EXEC", "ERR_PNPM_OUTDATED_LOCKFILE", "TS2345", "E0425", "ORA-00942", "SQLITE_BUSY"),
        *("test_calendar_lists_leap_days", "src/auth/login.ts", "tools/seed.py", "de.example.loans.model"),
        *("NoSuchMethodException", "UnicodeDecodeError", "booking.spec.ts:40"),
    ],
)
def test_what_only_machines_write_is_a_key(key: str) -> None:
    assert exact_keys(f"it ends with `{key}`, help. ({key}!)") == [key]


@pytest.mark.parametrize(
    "word",
    [
        *(
            "harbour",
            "JavaScript",
            "GitHub",
            "2026-03-01",
            "2026-03-01T09:10",
            "12th",
            "1.2.3",
            "v2.10",
            "09:30",
            "500ms",
        ),
        *("utf-8", "mid-2023", "24-hour", "base64", "wetter1", "and/or", "e.g.", "deploy.yml", "IMPORTANT", "a_b"),
        *("https://example.org/a_b/c", "9,000", "3/4"),
    ],
)
def test_what_people_write_anywhere_is_no_key(word: str) -> None:
    assert exact_keys(f"look at {word} please") == []


def test_a_key_is_shared_as_a_whole_and_as_it_is_spelt() -> None:
    keys = exact_keys("the unit fails: 203/EXEC, test_tide_table")
    assert keys == ["203/EXEC", "test_tide_table"]
    assert shared_keys(keys, "203/EXEC means that the file cannot be run") == ["203/EXEC"]
    assert shared_keys(keys, "1203/EXEC, 203/exec and test_tide_tables are others") == []


@given(st.text())
def test_any_text_has_at_most_sixteen_keys_each_of_which_it_shares_with_itself(text: str) -> None:
    keys = exact_keys(text)
    assert len(keys) == len(set(keys)) <= 16
    assert all(key in text for key in keys)
