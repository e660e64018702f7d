"""What opens a mind opens it, and nothing else does; a slip, a wrong key and damage are told from each other."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import (
    DamagedStore,
    InvalidValue,
    KeyMismatch,
    NewerSchema,
    WrongPassphrase,
    WrongRecoveryKey,
)
from mnemic.runtime.keys import key_slots
from mnemic.runtime.keys.key_slots import (
    KeyHeader,
    check_passphrase,
    format_recovery_key,
    is_locked,
    is_recovery_key,
    key_header_bytes,
    new_key_header,
    open_by_file,
    open_by_passphrase,
    open_by_recovery,
    parse_key_header,
    parse_recovery_key,
    shares_slot,
    slot_of,
    with_slot,
)
from mnemic.runtime.keys.keys import Keys, Secrets
from tests.runtime.building import said

PATH = Path("minds/default/mind.json")
KEYS = Keys(Secrets(root=bytes(range(32)), identities=bytes(32), seed=b"s" * 32, spools=(b"p" * 32,)))
FILE = b"f" * 32
RECOVERY = b"r" * 32
WORDS = "nine books on a shelf"
keys_32 = st.binary(min_size=32, max_size=32)


def a_header() -> KeyHeader:
    return new_key_header(KEYS, 7, file=FILE, passphrase=WORDS, recovery=RECOVERY)


def test_each_slot_opens_the_same_secrets() -> None:
    header = parse_key_header(key_header_bytes(a_header()), PATH)
    for keys in (
        open_by_file(header, FILE, PATH),
        open_by_passphrase(header, WORDS, PATH),
        open_by_recovery(header, format_recovery_key(RECOVERY), PATH),
        open_by_passphrase(header, format_recovery_key(RECOVERY).lower(), PATH),
    ):
        assert keys.secrets == KEYS.secrets
        assert keys.check == header.check


@given(keys_32)
@settings(max_examples=25)
def test_no_other_key_opens_a_slot(key: bytes) -> None:
    header = a_header()
    for own, opens in (
        (FILE, lambda: open_by_file(header, key, PATH)),
        (RECOVERY, lambda: open_by_recovery(header, format_recovery_key(key), PATH)),
    ):
        if key != own:
            with pytest.raises((KeyMismatch, WrongRecoveryKey)):
                opens()


def test_a_wrong_passphrase_is_no_damage() -> None:
    with pytest.raises(WrongPassphrase) as caught:
        open_by_passphrase(a_header(), WORDS + " ", PATH)
    assert said(caught.value) == "That is not the passphrase of the mind 'default'."


def test_a_passphrase_is_the_same_from_every_keyboard() -> None:
    said_so, typed = (unicodedata.normalize(form, "neun Bücher im Café") for form in ("NFC", "NFD"))
    assert said_so != typed
    assert open_by_passphrase(new_key_header(KEYS, 7, passphrase=said_so), typed, PATH).check == KEYS.check


@given(st.data())
@settings(max_examples=50)
def test_a_changed_key_header_is_damaged_and_opens_nothing(data: st.DataObject) -> None:
    header = a_header()
    number = data.draw(st.integers(0, 2))
    slot = header.slots[number]
    opens = (
        lambda header: open_by_file(header, FILE, PATH),
        lambda header: open_by_passphrase(header, WORDS, PATH),
        lambda header: open_by_recovery(header, format_recovery_key(RECOVERY), PATH),
    )[number]
    if data.draw(st.booleans()):
        at, flip = data.draw(st.integers(0, len(slot.sealed) // 2 - 1)), data.draw(st.integers(1, 255))
        sealed = bytearray.fromhex(slot.sealed)
        sealed[at] ^= flip
        changed = msgspec.structs.replace(slot, sealed=sealed.hex())
        header = msgspec.structs.replace(header, slots=(*header.slots[:number], changed, *header.slots[number + 1 :]))
    else:
        field = data.draw(st.sampled_from([{"made_at_us": 8}, {"check": "00" * 32}]))
        header = msgspec.structs.replace(header, **field)
    with pytest.raises(DamagedStore, match="was altered"):
        opens(header)


def test_a_slot_fits_no_other_key_header_though_the_same_key_opens_both() -> None:
    one, other = new_key_header(KEYS, 7, file=FILE), new_key_header(Keys(Secrets.generate()), 7, file=FILE)
    with pytest.raises(DamagedStore):
        open_by_file(msgspec.structs.replace(one, slots=other.slots), FILE, PATH)


@pytest.mark.parametrize(
    "cost", [{"n": 0}, {"n": 1}, {"n": 3}, {"n": 1 << 40}, {"r": 0}, {"r": 1 << 20}, {"p": 0}, {"p": 1 << 20}]
)
def test_a_key_header_cannot_ask_for_all_memory_or_none(cost: dict[str, int]) -> None:
    header = new_key_header(KEYS, 7, passphrase=WORDS)
    header = msgspec.structs.replace(header, slots=(msgspec.structs.replace(header.slots[0], **cost),))
    with pytest.raises(DamagedStore, match="cannot be"):
        open_by_passphrase(header, WORDS, PATH)


def test_what_a_passphrase_costs_is_read_from_the_key_header(monkeypatch: pytest.MonkeyPatch) -> None:
    header = new_key_header(KEYS, 7, passphrase=WORDS)
    monkeypatch.setattr(key_slots, "SCRYPT", (1 << 5, 4, 2))
    assert open_by_passphrase(header, WORDS, PATH).check == KEYS.check
    again = new_key_header(KEYS, 7, passphrase=WORDS)
    assert (again.slots[0].n, again.slots[0].r, again.slots[0].p) == (32, 4, 2)
    assert again.slots[0].salt != header.slots[0].salt


def test_the_cost_of_a_passphrase_is_what_the_page_says() -> None:
    monkeypatched, key_slots.SCRYPT = key_slots.SCRYPT, (1 << 17, 8, 1)
    try:
        slot = new_key_header(KEYS, 7, passphrase=WORDS).slots[0]
        assert (slot.n, slot.r, slot.p, len(bytes.fromhex(slot.salt))) == (131072, 8, 1, 16)
    finally:
        key_slots.SCRYPT = monkeypatched


def test_a_key_file_takes_the_place_of_the_one_before_and_leaves_the_others() -> None:
    header = with_slot(a_header(), KEYS, file=b"g" * 32)
    assert sorted(slot.kind for slot in header.slots) == ["file", "passphrase", "recovery"]
    assert open_by_file(header, b"g" * 32, PATH).secrets == KEYS.secrets
    with pytest.raises(KeyMismatch):
        open_by_file(header, FILE, PATH)
    assert open_by_passphrase(header, WORDS, PATH).secrets == KEYS.secrets


def test_a_recovery_key_is_one_more_and_each_of_them_opens_the_key_header() -> None:
    header = with_slot(a_header(), KEYS, recovery=b"s" * 32)
    for key in (RECOVERY, b"s" * 32):
        assert open_by_recovery(header, format_recovery_key(key), PATH).secrets == KEYS.secrets
    with pytest.raises(WrongRecoveryKey, match="from before a rekey"):
        open_by_recovery(header, format_recovery_key(b"t" * 32), PATH)


def test_key_headers_share_a_slot_where_one_thing_opens_both_and_a_passphrase_set_anew_is_another_one() -> None:
    header = a_header()
    assert shares_slot(header, with_slot(header, KEYS, file=b"g" * 32))
    other = Keys(Secrets.generate())
    assert shares_slot(header, new_key_header(other, 7, file=FILE))
    assert not shares_slot(header, new_key_header(other, 7, file=b"g" * 32, passphrase=WORDS))


def test_a_mind_is_locked_where_no_key_file_opens_it() -> None:
    assert is_locked(new_key_header(KEYS, 7, passphrase=WORDS, recovery=RECOVERY))
    assert not is_locked(a_header())
    with pytest.raises(KeyMismatch, match="no key file"):
        open_by_file(new_key_header(KEYS, 7, passphrase=WORDS), FILE, PATH)
    with pytest.raises(WrongRecoveryKey, match="has no recovery key"):
        open_by_recovery(new_key_header(KEYS, 7, passphrase=WORDS), format_recovery_key(RECOVERY), PATH)
    assert slot_of(a_header(), "recovery") is not None


@pytest.mark.parametrize("word", ["", "books", "x" * 7])
def test_a_short_passphrase_is_refused_and_not_repeated(word: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        check_passphrase(word)
    assert not word or word not in said(caught.value)
    assert check_passphrase("x" * 8) == "x" * 8


# --- the recovery key, as people write it ----------------------------------------------------------------------------


@given(keys_32)
def test_a_recovery_key_is_read_as_it_was_printed_and_as_people_type_it(key: bytes) -> None:
    text = format_recovery_key(key)
    assert [len(group) for group in text.split("-")] == [4] * 14
    typed = text.lower().replace("-", " ").replace("o", "0").replace("i", "1").replace("b", "8")
    assert parse_recovery_key(text) == parse_recovery_key(typed) == parse_recovery_key(f"  {text}\n") == key


@given(keys_32, st.data())
def test_one_slip_in_a_recovery_key_is_told(key: bytes, data: st.DataObject) -> None:
    letters = format_recovery_key(key).replace("-", "")
    at = data.draw(st.integers(0, len(letters) - 1))
    other = data.draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567").filter(lambda one: one != letters[at]))
    for slip in (letters[:at] + other + letters[at + 1 :], letters[:at] + letters[at + 1 :], letters + other):
        assert not is_recovery_key(slip)
        with pytest.raises(WrongRecoveryKey, match="mistyped"):
            parse_recovery_key(slip, "default")


@given(st.text(max_size=80))
def test_whatever_is_typed_is_a_recovery_key_or_is_not(text: str) -> None:
    assert is_recovery_key(text) is False


# --- key headers that are none ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"version": "x", "check": ""}',
        b'{"version": 1}',
        b'{"version": 0, "check": ""}',
        b'{"version": 1, "check": ""}',
        b'{"version": 1, "check": "", "slots": [{"kind": "tea", "check": "", "sealed": ""}]}',
        b'{"version": 1, "check": "", "slots": [{"kind": "file", "check": "xy", "sealed": ""}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_key_header_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(DamagedStore):
        parse_key_header(data, PATH)


def test_a_newer_key_header_is_not_guessed_at() -> None:
    with pytest.raises(NewerSchema):
        parse_key_header(json.dumps({"version": 2, "anything": []}).encode(), PATH)
