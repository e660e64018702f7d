"""Secrets are found by shape, place and name, and replaced by a mark; what is none stays byte for byte.

Every sample is put together here, so that no file holds anything a scanner would take for a secret.
"""

from __future__ import annotations

import base64
import random
import string
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.algorithms.secrets.rules import SecretRules, compile_allowed, compile_rules
from mnemic.algorithms.secrets.scrub import find_secrets, redaction_mark, scrub
from mnemic.runtime.secrets.secrets import compile_for_bytes

HEX = "0123456789abcdef"
LETTERS = string.ascii_letters + string.digits


def made(length: int, alphabet: str = LETTERS) -> str:
    """Random characters, the same in every run: at least one digit, evenly drawn."""
    return "".join(random.Random(f"{length}{alphabet}").choices(alphabet, k=length))


DATA: dict[str, Any] = {
    "shaped": [
        {"id": "ring", "pattern": "ring_[A-Za-z0-9]{20}", "entropy": 3},
        {"id": "wide", "pattern": "(?:ring|any)_[A-Za-z0-9]{8,}", "generic": True},
        {"id": "block", "pattern": "<<[a-z]*>>", "anywhere": True, "entropy": 0},
    ],
    "placed": [{"id": "site", "pattern": r"://[a-z]{1,20}:([^\s@]{3,})@", "judge": "url"}],
    "named": [
        {"id": "cloud", "words": ["secret[_-]?key"], "names": "(?i)cloud", "value": "[a-z0-9]{16}", "judge": "key"},
        {"id": "password", "words": ["password", "pass"], "judge": "password"},
        {"id": "key", "words": ["secret[_-]?key", "token", "secret"], "judge": "key"},
    ],
}
RING = "ring_" + made(20)
WORD = "tr0ub" + "4dor"


@pytest.fixture(scope="module")
def rules() -> SecretRules:
    return compile_rules(DATA, compile_for_bytes)


def kinds(text: str, rules: SecretRules) -> list[tuple[str, str]]:
    """The types found in a text, each with what it was found in."""
    data = text.encode()
    return [(finding.kind, data[finding.start : finding.end].decode()) for finding in find_secrets(data, rules)]


class TestFind:
    def test_a_shape_is_found_where_it_stands_alone(self, rules: SecretRules) -> None:
        for around in ("{}", "({})", '"{}"', "a {}.", r"a\n{}\n", "\x1b[31m{}\x1b[0m", "?q=%20{}", "[{}]", "{}[0]"):
            assert kinds(around.format(RING), rules) == [("ring", RING)], around
        assert kinds(f"b{RING}", rules) == kinds(f"{RING}_b", rules) == []

    def test_the_more_specific_of_two_shapes_names_it(self, rules: SecretRules) -> None:
        assert kinds(f"any_{made(12)}", rules) == [("wide", f"any_{made(12)}")]
        assert kinds(f"token = {RING}", rules) == [("ring", RING)]

    def test_a_shape_filled_with_a_placeholder_is_left(self, rules: SecretRules) -> None:
        assert kinds("ring_" + "x" * 20, rules) == kinds("ring_" + "a1" * 10, rules) == []
        assert kinds("ring_" + made(13) + "EXAMPLE", rules) == []

    def test_of_what_is_known_by_its_place_only_the_secret_is_taken(self, rules: SecretRules) -> None:
        assert kinds(f"see ftp://me:{WORD}@host/x", rules) == [("site", WORD)]
        assert kinds("see ftp://me:$PASSWORD@host/x", rules) == []

    @pytest.mark.parametrize(
        "form",
        [
            "token={}",
            "TOKEN = '{}'",
            '"token": "{}"',
            r"{{\"token\": \"{}\"}}",
            "my_token: {}",
            "authToken => `{}`",
            'token: str = "{}"',
            '["token"] = "{}"',
            "<token>{}</token>",
            'setenv("TOKEN", "{}")',
            "token: Bearer {}",
            "?token={}&page=2",
            "the token is {}.",
            r"TOKEN={}\nNEXT=1",
        ],
    )
    def test_a_value_behind_a_name_is_taken_and_nothing_around_it(self, form: str, rules: SecretRules) -> None:
        value = made(24)
        assert kinds(form.format(value), rules) == [("key", value)]

    @pytest.mark.parametrize(
        "text",
        [
            "token_count = " + made(24),
            "max_token: " + made(24),
            "tokenizer = " + made(24),
            "compass: north12",
            "token = read_token_2(file)",
            "token = tokens2[0]",
            "token = settings.my_own_token2",
            "token = first_token_of_2",
            "token: ${TOKEN_NUMBER_2_HERE}",
            "token: 550e8400-e29b-41d4-a716-446655440000",
            'token = "<your token number 2>"',
            'token = "your-token-goes-here-2"',
            'secret = "/etc/ssl/private/mine2.pem"',
            'password: "required"',
            "password = password2",
            "password = form.field2",
            "password: str",
            "commit " + made(40, HEX),
        ],
    )
    def test_what_only_stands_where_a_secret_would_is_left(self, text: str, rules: SecretRules) -> None:
        assert kinds(text, rules) == []

    def test_a_uuid_is_a_secret_where_the_name_leaves_no_doubt(self, rules: SecretRules) -> None:
        value = "550e8400-e29b-41d4-a716-446655440000"
        assert kinds(f"secret: {value}", rules) == [("key", value)]

    def test_the_first_rule_that_fits_name_and_value_gives_the_type(self, rules: SecretRules) -> None:
        value = made(16, string.ascii_lowercase + string.digits)
        assert kinds(f"cloud_secret_key={value}", rules) == [("cloud", value)]
        assert kinds(f"secret_key={value}", rules) == [("key", value)]

    def test_a_secret_within_what_is_none_is_found(self, rules: SecretRules) -> None:
        assert kinds(f"secret=ftp://x/?password={WORD}", rules) == [("password", WORD)]

    def test_a_password_goes_on_after_an_ampersand_and_a_parameter_does_not(self, rules: SecretRules) -> None:
        assert kinds(f"password: {WORD}&4you", rules) == [("password", f"{WORD}&4you")]
        assert kinds(f"?password={WORD}&page=2", rules) == [("password", WORD)]

    def test_findings_that_overlap_are_one(self, rules: SecretRules) -> None:
        assert kinds(f'password="{RING}-tail"', rules) == [("ring", f"{RING}-tail")]


class TestScrub:
    def test_a_mark_takes_the_place_of_each_and_they_are_counted_by_type(self, rules: SecretRules) -> None:
        text = f"{RING} <<block>> {RING} password={WORD}\0".encode() + "\ud800".encode("utf-8", "surrogatepass")
        assert scrub(text, rules) == (
            b"[secret: ring] [secret: block] [secret: ring] password=[secret: password]\0\xed\xa0\x80",
            (("block", 1), ("password", 1), ("ring", 2)),
        )

    @given(text=st.binary(max_size=200) | st.text(st.characters(exclude_categories=()), max_size=100).map(
        lambda text: text.encode("utf-8", "surrogatepass")))  # fmt: skip
    @example(text=b"")
    def test_a_text_without_any_comes_back_as_the_same_object(self, rules: SecretRules, text: bytes) -> None:
        if not find_secrets(text, rules):
            assert scrub(text, rules)[0] is text

    @given(before=st.binary(max_size=40), after=st.binary(max_size=40))
    def test_what_is_around_a_secret_stays_byte_for_byte(self, rules: SecretRules, before: bytes, after: bytes) -> None:
        before, after = (part.translate(None, b"[=:@") for part in (before, after))
        text = before + b" " + RING.encode() + b" " + after
        assert scrub(text, rules)[0] == before + b" " + redaction_mark("ring") + b" " + after

    @given(
        text=st.lists(
            st.sampled_from(
                [
                    *(RING, made(20), "ring_", "[secret: ring]", "[secret", "[", "]", "<<a>>", "example", WORD),
                    *("password", "token", "secret_key", "://a:", "@", "=", ": ", " ", '"', "\\n", "&", "\n", "-", ","),
                ]
            ),
            max_size=10,
        ).map(lambda parts: "".join(parts).encode())
    )
    def test_scrubbing_twice_is_scrubbing_once(self, rules: SecretRules, text: bytes) -> None:
        scrubbed, _ = scrub(text, rules)
        assert scrub(scrubbed, rules) == (scrubbed, ())

    def test_a_user_and_a_password_in_base64_are_found_by_what_they_say(self) -> None:
        data = {"shaped": [], "placed": [{"id": "basic", "pattern": "Basic ([A-Za-z0-9+/=]+)", "judge": "basic"}]}
        rules = compile_rules({**data, "named": [DATA["named"][1]]}, compile_for_bytes)
        assert kinds("Basic " + base64.b64encode(b"me:tr0ub4dor").decode(), rules)
        assert not kinds("Basic " + base64.b64encode(b"nothing here").decode(), rules)
        assert not kinds("Basic instinct", rules)


def left(text: str, rules: SecretRules, *allow: str) -> str:
    """What is left of a text where some texts are allowed."""
    return scrub(text.encode(), rules, compile_allowed(allow, compile_for_bytes))[0].decode()


PIECES = [
    *(RING, made(20), "ring_", "[secret: ring]", "[secret", "]", "<<a>>", WORD, "any_" + made(12)),
    *("password", "token", "secret_key", "://a:", "@", "=", ": ", " ", '"', "\\n", "&", "\n", "-", ",", "b"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


class TestAllowed:
    def test_a_secret_within_an_allowed_text_stays_and_others_go(self, rules: SecretRules) -> None:
        text = f"password={WORD} password={WORD}-2"
        assert left(text, rules, WORD) == f"password={WORD} password=[secret: password]"
        assert left(text, rules, f"d={WORD}-2") == f"password=[secret: password] password={WORD}-2"

    def test_a_secret_that_is_longer_than_what_is_allowed_goes(self, rules: SecretRules) -> None:
        assert left(f"password={WORD}9 {RING}", rules, WORD, RING[:-1]) == "password=[secret: password] [secret: ring]"

    def test_a_star_is_a_part_of_a_word_and_every_other_sign_is_itself(self, rules: SecretRules) -> None:
        assert left(f"{RING} any_{made(12)}", rules, "ring_*") == f"{RING} [secret: wide]"
        assert left("password=a.1b*c?", rules, "a.1b*c?") == "password=a.1b*c?"
        assert left("password=ax1bbc!", rules, "a.1b*c!") == "password=[secret: password]"
        assert left(f"password=ring_:{WORD}", rules, "ring_*") == "password=[secret: password]"

    @given(value=st.text(min_size=1))
    def test_every_allowed_text_is_found_as_it_stands(self, value: str) -> None:
        allowed = compile_allowed([value], compile_for_bytes)
        assert allowed is not None
        assert allowed.search(value.encode()).span() == (0, len(value.encode()))

    @given(text=TEXTS, allow=st.lists(TEXTS.filter(str.strip), max_size=3))
    def test_scrubbing_twice_is_scrubbing_once_whatever_is_allowed(
        self, rules: SecretRules, text: str, allow: list[str]
    ) -> None:
        allowed = compile_allowed(allow, compile_for_bytes)
        once, _ = scrub(text.encode(), rules, allowed)
        assert scrub(once, rules, allowed) == (once, ())

    def test_a_mark_that_cuts_an_allowed_text_leaves_nothing_to_be_found_later(self, rules: SecretRules) -> None:
        text = f"password={WORD} token={made(24)}"
        assert left(text, rules, text[:-4]) == "password=[secret: password] token=[secret: key]"

    def test_nothing_is_allowed_where_the_list_is_empty(self) -> None:
        assert compile_allowed([], compile_for_bytes) is None
