"""A value is a secret or it is not, by what it looks like."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.secrets import rules as values


@given(st.binary(max_size=300))
def test_entropy_lies_between_nothing_and_eight_bits(value: bytes) -> None:
    assert -1e-9 <= values.entropy_bits(value) <= 8


def test_entropy_is_that_of_the_characters() -> None:
    assert values.entropy_bits(b"") == values.entropy_bits(b"aaaa") == 0
    assert values.entropy_bits(b"abcd") == pytest.approx(2)
    assert values.entropy_bits(bytes(range(256))) == pytest.approx(8)


@pytest.mark.parametrize("value", [b"hunter2", b"Tr0ub4dor&3", b"p@ss-phrase", b"849302", b"x7/kk:q"])
def test_a_password_has_more_than_letters(value: bytes) -> None:
    assert values.is_password(value, quoted=False)


@pytest.mark.parametrize(
    "value",
    [b"a1", b"required", b"changeme1", b"********", b"$DB_PASSWORD1", b"{password1}", b"~/pass1.txt", b"https://x1.org",
     b"123456", b"12345678", b"key1.pem", b"a" * 5000 + b"1"],
)  # fmt: skip
def test_what_is_no_password_even_in_quotes(value: bytes) -> None:
    assert not values.is_password(value, quoted=True)


@pytest.mark.parametrize("value", [b"password2", b"old_password1", b"args.field2", b"@param.name1"])
def test_without_quotes_a_variable_is_no_password(value: bytes) -> None:
    assert not values.is_password(value, quoted=False)


def test_a_key_is_long_and_uneven_and_no_words() -> None:
    assert values.is_key(b"9f8a7d6c5b4e3210", quoted=False)
    for value in (b"9f8a7d6c", b"a1a1a1a1a1a1a1a1a1", b"the-key-of-my-house-2", b"abcdefgh9f8a7d6c5b4e3210", b"1" * 20):
        assert not values.is_key(value, quoted=True), value


def test_without_quotes_an_attribute_or_the_name_of_a_type_is_no_key() -> None:
    for value in (b"settings.service2.my_value", b"ed25519.Ed25519PrivateKey", b"MLKEM768X25519PrivateKey"):
        assert not values.is_key(value, quoted=False), value


def test_a_uuid_is_a_key_only_behind_a_strong_name() -> None:
    value = b"550e8400-e29b-41d4-a716-446655440000"
    assert [values.is_key(value, quoted=True, strong=strong) for strong in (False, True)] == [False, True]


def test_basic_authentication_is_a_user_and_a_password() -> None:
    assert values.is_basic(base64.b64encode(b"me:hunter2"))
    for value in (base64.b64encode(b"me"), base64.b64encode(b":hunter2"), base64.b64encode(b"me:password"), b"a?b="):
        assert not values.is_basic(value)


def test_the_passwords_of_documentation_are_none_in_an_address() -> None:
    assert values.is_url_password(b"swordfish")
    for value in (b"password", b"mypassword", b"${PASSWORD}", b"<password>", b"xxxx", b"secret"):
        assert not values.is_url_password(value), value


def test_what_documentation_shows_in_a_secrets_shape_is_a_template() -> None:
    assert values.is_template(b"AK7EXAMPLE")
    assert values.is_template(b"ab_xxxxxxxx")
    assert not values.is_template(b"ab_9f8a7d6c")


def test_a_type_is_no_password_even_in_quotes() -> None:
    assert not values.is_password(b"VARCHAR(255)", quoted=True)


def test_a_cell_a_dash_and_a_new_line_leave_a_value_apart_from_its_name() -> None:
    for between in (b" | ", b" - ", " – „".encode(), b":\n  ", b":\r\n", b"</td><td>", b"</td>\n  <td><b>", b": ```\n"):
        assert values.is_apart(between), between
    for between in (
        b": ",
        b"=",
        b" => ",
        b" for the x - y is ",
        b"</b>: <code>",
        b"**:** `",
        b"\x1b[0m=\x1b[1m",
        b'", "',
    ):
        assert not values.is_apart(between), between


def test_what_stands_apart_must_look_like_a_secret_by_itself() -> None:
    for value in (b"hunter2-x9", b"Priel.tief40", b"9f8a7d6c5b4e3210"):
        assert values.is_clear(value), value
    for value in (
        b"required",
        b"varchar2",
        b"HMAC-SHA256",
        b"aes-256-gcm",
        b"v2.4.1-rc2",
        b"2026-01-03T10",
        b"utf_8mb4",
    ):
        assert not values.is_clear(value), value
