"""Rules in gitleaks' format beside our own: RE2 runs them, the laws of scrubbing hold, and a bad file is said.

The rules here are written for these tests, in the forms that gitleaks' own have: a prefix that stands alone, a name
before a value, a name anywhere in the text, what words allow.
"""

from __future__ import annotations

import random
import re
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.actors.protocol.ports import Scrub, Scrubbed
from mnemic.runtime.secrets.secrets import load_scrub
from tests.paths import ROOT
from tests.waiting import BOUND_S

RULES = r"""
[allowlist]
paths = ['\.png$']
regexes = ['^(?i:x+|true|null)$']
stopwords = ["abcdefgh"]

[[rules]]
id = "acme-deploy-key"
regex = '\b(acme-[a-z0-9]{12,})(?:[^a-z0-9]|$)'
entropy = 2.0
keywords = ["acme-"]

[[rules]]
id = "Road API_token"
regex = '(?i)road(?:[ _-]{0,2}(?:key|token))?["\s]{0,2}[=:]["\s]{0,2}([a-z0-9]{8})(?:["\s;]|$)'
keywords = ["road"]

[[rules]]
id = "generic-thing"
regex = '(?i)(?:thing|secret|token)[ \t]{0,8}[=:][ \t"]{0,4}([\w.=-]{10,150})(?:["\s;]|$)'
entropy = 3.0
keywords = ["thing", "secret", "token"]
[[rules.allowlists]]
regexTarget = "line"
regexes = ['^import ']

[[rules]]
id = "far-id"
regex = 'FA[0-9]{6}'
keywords = ["farcorp"]

[[rules]]
id = "word"
regex = '\bqz[a-z]{3}'

[[rules]]
id = "php-key"
regex = 'define'
path = '\.php$'
"""
PAT = "gh" + "p_" + "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=36))
OWN = load_scrub()


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Puts rules into a file and names it."""

    def written(rules: str) -> str:
        path = tmp_path_factory.mktemp("rules") / "rules.toml"
        path.write_text(rules, "utf-8")
        return str(path)

    return written


@pytest.fixture(scope="module")
def both(write: Callable[[str], str]) -> Scrub:
    return load_scrub(write(RULES))


def scrubbed(scrub: Scrub, text: str) -> tuple[str, dict[str, int]]:
    done = scrub(text.encode())
    return done.text.decode(), dict(done.found)


# --- what is found ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left", "found"),
    [
        ("use xacme-9f8a7d6c5b4e", "use xacme-9f8a7d6c5b4e", {}),
        ('use "acme-9f8a7d6c5b4e"', 'use "[secret: acme-deploy-key]"', {"acme-deploy-key": 1}),
        ("ROAD_KEY = a1b2c3d4\n", "ROAD_KEY = [secret: road-api-token]\n", {"road-api-token": 1}),
        ("road: xxxxxxxx", "road: xxxxxxxx", {}),
        ("road: abcdefgh", "road: abcdefgh", {}),
        ("FA123456", "FA123456", {}),
        ("FA123456 of FarCorp", "[secret: far-id] of FarCorp", {"far-id": 1}),
        ("thing: é-über-wörter-über", "thing: é-über-wörter-über", {}),
        ("import thing=9f8a7d6c5b4e32", "import thing=9f8a7d6c5b4e32", {}),
        ("define", "define", {}),
        (f"{PAT} qzabc", "[secret: github-pat] [secret: word]", {"github-pat": 1, "word": 1}),
    ],
)
def test_what_others_find_is_marked_and_counted_like_what_we_find(
    both: Scrub, text: str, left: str, found: dict[str, int]
) -> None:
    assert scrubbed(both, text) == (left, found)


def test_the_better_of_two_types_names_a_secret(both: Scrub) -> None:
    assert scrubbed(both, f"thing={PAT}")[1] == {"github-pat": 1}  # our shapes before theirs
    assert scrubbed(both, 'secret="acme-9f8a7d6c5b4e3210"')[1] == {"acme-deploy-key": 1}  # a type before a name
    assert scrubbed(both, "token = 9f8a7d6c5b4e3210ab")[1] == {"generic-api-key": 1}  # our name before theirs
    assert scrubbed(both, "thing = 9f8a7d6c5b4e3210ab")[1] == {"generic-thing": 1}


def test_nothing_is_looked_for_in_what_is_private(both: Scrub) -> None:
    assert scrubbed(both, "a <private>qzabc</private> qzabc") == ("a  [secret: word]", {"private": 1, "word": 1})


def test_the_keywords_in_marks_are_none(both: Scrub) -> None:
    assert scrubbed(both, "[secret: farcorp-id] FA123456") == ("[secret: farcorp-id] FA123456", {})


def test_without_rules_of_others_nothing_changes(both: Scrub) -> None:
    text = f"password=tr0ub4dor {PAT} <private>a</private>".encode()
    assert both(text) == OWN(text)


# --- the laws --------------------------------------------------------------------------------------------------------

TEXTS = st.lists(
    st.sampled_from(
        [
            *("acme-", "9f8a7d6c5b4e", "road", "ROAD ", "thing", "secret", "token", "a1b2c3d4", "FA123456", "FarCorp"),
            *(
                "qzabc",
                "qz",
                "abc",
                PAT,
                "password",
                "tr0ub4dor",
                "import ",
                "null",
                "xxxxxxxx",
                "abcdefgh",
                "é",
                "\ud800",
            ),
            *("=", ": ", " ", '"', "`", "\n", "\\n", ";", "-", "[secret: word]", "[secret: ", "[secret", "]", "["),
            *("<private>", "</private>", "`<private>`", "<private ", ">", "://a:", "@b"),
        ]
    ),
    max_size=12,
).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))


@given(text=TEXTS)
def test_scrubbing_twice_is_scrubbing_once(both: Scrub, text: bytes) -> None:
    once = both(text)
    twice = both(once.text)
    assert twice == Scrubbed(once.text, ())
    assert twice.text is once.text


@given(text=TEXTS)
def test_marks_are_neither_touched_nor_entered(both: Scrub, text: bytes) -> None:
    marks = re.compile(rb"\[secret: [a-z0-9-]{1,60}\]")
    text = text.replace(b"private", b"")
    kept = iter(marks.findall(both(text).text))
    assert all(mark in kept for mark in marks.findall(text))


@given(text=TEXTS | st.binary(max_size=60) | st.text(st.characters(exclude_categories=())).map(
    lambda text: text.encode("utf-8", "surrogatepass")))  # fmt: skip
def test_what_is_left_of_a_text_is_a_text_and_without_findings_the_same_object(both: Scrub, text: bytes) -> None:
    done = both(text)
    if not done.found:
        assert done.text is text
    if text == text.decode("utf-8", "replace").encode():
        done.text.decode()


@given(before=st.text(), after=st.text())
def test_around_a_secret_everything_stays_byte_for_byte(both: Scrub, before: str, after: str) -> None:
    before, after = (part.translate(dict.fromkeys(map(ord, "[=:@<q"))) for part in (before, after))
    text = f"{before} qzabc {after}"
    assert scrubbed(both, text) == (f"{before} [secret: word] {after}", {"word": 1})


@pytest.mark.parametrize(
    "piece",
    [
        *(b"a", b"road", b"thing=", b"token ", b"acme-", b"acme-9f8a7d6c5b4e ", b"qzabc", b"FA123456", b"\xff", b"\n"),
        *(b"[secret: word]", b"road: a1b2c3d4\n", b"import thing=9f8a7d6c5b4e32 ", b"<private ", b"`<private>`"),
    ],
)
def test_a_long_hostile_text_is_gone_through_in_time(both: Scrub, piece: bytes) -> None:
    """A quadratic step would take many minutes."""
    text = b"farcorp " + piece * (70_000 // len(piece))
    done = both(text)
    assert both(done.text) == Scrubbed(done.text, ())


# --- the file --------------------------------------------------------------------------------------------------------


def test_a_home_is_named_by_its_sign(write: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(write(RULES))
    monkeypatch.setenv("HOME", str(path.parent))
    assert scrubbed(load_scrub("~/rules.toml"), "qzabc")[1] == {"word": 1}


def test_a_file_may_stand_on_another_beside_it(write: Callable[[str], str]) -> None:
    base = Path(write(RULES))
    own = base.with_name("own.toml")
    own.write_text('[extend]\npath = "rules.toml"\ndisabledRules = ["word"]\n[[rules]]\nid="z"\nregex = "zzz"', "utf-8")
    assert scrubbed(load_scrub(str(own)), "qzabc zzz acme-9f8a7d6c5b4e")[1] == {"acme-deploy-key": 1, "z": 1}


def test_a_file_that_was_renewed_is_read_anew(write: Callable[[str], str]) -> None:
    path = write("[[rules]]\nid = 'one'\nregex = 'zzz'")
    assert scrubbed(load_scrub(path), "zzz")[1] == {"one": 1}
    Path(path).write_text("[[rules]]\nid = 'two'\nregex = 'zzz'", "utf-8")
    assert scrubbed(load_scrub(path), "zzz")[1] == {"two": 1}


def refused(named: str) -> InvalidValue:
    with pytest.raises(InvalidValue) as caught:
        load_scrub(named)
    assert caught.value.operands["name"] == "capture.secret_rules"
    assert caught.value.operands["value"] == named
    assert "gitleaks' format" in caught.value.remedy_text
    return caught.value


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ("", "there is no rule in it that finds anything in a text"),
        ("[[rules]", "it is no TOML: "),
        ("[[rules]]\nid = 'a'\nregex = '(?=b)'", "RE2 refuses a regex of its rule 'a' (invalid perl operator: (?=)"),
        ("[[rules]]\nid = 'a'\nregex = 'b{9999}'", "RE2 refuses a regex of its rule 'a' (invalid repetition size: "),
        ("[[rules]]\nid = 'a'\nregex = true", "Expected str, got bool - at $.rules[0].regex"),
        ("[extend]\nuseDefault = true", "stands on gitleaks' own rules, which are not here"),
        ("[extend]\npath = 'rules.toml'", "more than 3 files stand on one another"),
        ("[extend]\npath = 'nowhere.toml'", "nowhere.toml cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_said_in_one_sentence(write: Callable[[str], str], rules: str, why: str) -> None:
    said = str(refused(write(rules)))
    assert why in said
    assert "\n" not in said


def test_a_path_that_leads_to_no_file_is_said(tmp_path: Path) -> None:
    for named, why in (
        (str(tmp_path / "x.toml"), "x.toml cannot be read: No such file or directory"),
        (str(tmp_path), "it is no regular file"),
        ("rules.toml", "it is no absolute path"),
        ("~nobody-of-that-name/x", "there is no such user"),
        ("/a\0b", "it is no path"),
    ):
        assert why in str(refused(named)), named


def test_a_file_that_is_no_text_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xff")
    assert "it is no TOML: it is not in UTF-8" in str(refused(str(path)))


def test_more_words_than_there_is_room_for_are_refused_and_not_left_out(write: Callable[[str], str]) -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices(string.ascii_lowercase, k=9)) for _ in range(100_000)]
    said = str(refused(write(f"[[rules]]\nid = 'a'\nregex = 'b'\nkeywords = {words}")))
    assert "it has too many keywords or stopwords (RE2 has no room for 100000 words)" in said


def test_nothing_of_others_is_read_where_none_are_named() -> None:
    code = (
        "import sys; from mnemic.runtime.secrets.secrets import load_scrub; load_scrub(); print('re2' in sys.modules);"
        " load_scrub(sys.argv[1])"
    )
    rules = ROOT / "pyproject.toml"
    done = subprocess.run([sys.executable, "-c", code, str(rules)], capture_output=True, text=True, timeout=BOUND_S)
    assert done.stdout.split() == ["False"]
    assert "there is no rule in it" in done.stderr
