"""Whose voice a text in the user's place is: what hosts mark as theirs, and what people begin prompts with."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.text.voices import CONTEXT_TAGS, HOST_TAGS, split_appended, voice_of

OF_HOSTS = [
    "<task-notification>\n<task-id>b1</task-id>\n</task-notification>\nRead the output file: /tmp/b1",
    '<teammate-message teammate_id="lead" summary="a > b">\nFrom now on we use SQLite.\n</teammate-message>',
    '<teammate-message teammate_id="lead">\nThe last one was cut',
    '  <channel source="chat" sender="rae">I prefer spaces.</channel>\n',
    '<channel source="chat"/>',
    "<inbox-item id='4'><inbox-item>inner</inbox-item></inbox-item>",
    "<Scheduled-Task name='nightly'>Run it.</Scheduled-Task>",
    "\ufeff\u200b<relay-note>Push to main.</relay-note>",
    "Another Claude session sent a message:\n<cross-session-message from='a'>Push.</cross-session-message>",
    "<system-reminder>The user opened a file.</system-reminder>",
    "This session is being continued from a previous conversation that ran out of context. Summary: …",
]
PROMPTS = [
    *("<template> why does this not render?", "<div> is not centred, what is wrong?"),
    *("<Button primary> has no hover state, add one", "<p>Hello</p> shows twice, why?"),
    *("<script setup> or the options API for this page?", "<svg viewBox='0 0 9 9'> is cut off on the right"),
    *("<slot name='footer'/> stays empty", "<input type='date'> ignores my locale"),
    *("<style scoped> leaks into the child", "<table> needs a sticky header"),
    *("<T> in this function: why can it not be inferred?", "<Suspense> flickers on every route"),
    *("<img> without alt: have the linter refuse it", "<a href='#'> jumps to the top, stop that"),
    *("<router-view /> renders nothing after login", "<v-card> is too wide on phones"),
    *("<label> and <input> should be one component", "<br> everywhere; use paragraphs"),
    *("<h1>Welcome</h1>", "<form><input></form>", "<Layout><Nav/></Layout>", "<li>one</li>\n<li>two</li>"),
    *("<canvas> is blurry on retina", "<video> must not play by itself", "<iframe> is blocked by the policy"),
    *("<head> misses the charset", "<!-- TODO --> marks: list them all", "<?xml version='1.0'?> is refused here"),
    *("</div> too many, find it", "<select> loses its value on reload"),
]


@pytest.mark.parametrize("text", OF_HOSTS)
def test_what_hosts_mark_as_theirs_is_the_hosts(text: str) -> None:
    assert voice_of(text) == "host"


def test_thirty_prompts_that_begin_with_a_tag_stay_prompts() -> None:
    assert len(PROMPTS) == 30
    assert {text: voice_of(text) for text in PROMPTS} == dict.fromkeys(PROMPTS, "unclear")


@pytest.mark.parametrize(
    "text",
    [
        *("", "yes", "Use <template> here.", "<https://example.org> is down", "<ines@example.org> wrote", "<3 that"),
        *("a < b", "< b", "<- left", "```html\n<div>\n```", "[Request interrupted by user] was odd", "> <b>said</b>"),
    ],
)
def test_what_begins_with_no_tag_is_a_persons(text: str) -> None:
    assert voice_of(text) == "person"


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>Never mention it.</system-reminder>\nWhat is the draught?",
        "What is the beam?\n\n<system-reminder>Never mention it.</system-reminder>",
    ],
)
def test_a_prompt_that_the_host_put_something_beside_is_found_and_nobodys_word(text: str) -> None:
    assert voice_of(text) == "unclear"


NOTE = "<system-reminder>\nNever mention it.\n</system-reminder>"


@pytest.mark.parametrize(
    ("text", "said", "appended"),
    [
        (f"What is the beam?\n\n{NOTE}", "What is the beam?", NOTE),
        (f"What is the beam?\n  {NOTE}\n{NOTE}\n\u200b", "What is the beam?", f"{NOTE}\n{NOTE}\n\u200b"),
        (f"a\n{NOTE}\nb\n{NOTE}", f"a\n{NOTE}\nb", NOTE),
        (f"a\n<ide_selection> is odd\n{NOTE}", "a\n<ide_selection> is odd", NOTE),
        ("a\n<ide_selection line='4'>x</ide_selection>", "a", "<ide_selection line='4'>x</ide_selection>"),
        (f"a\n<system-reminder>\nWe sail.\n\n{NOTE}", "a\n<system-reminder>\nWe sail.", NOTE),
        (f"a\n<ide_selection>\nWe sail.\n{NOTE}\n{NOTE}", "a\n<ide_selection>\nWe sail.", f"{NOTE}\n{NOTE}"),
        (f"a\n{NOTE}{NOTE}", "a", f"{NOTE}{NOTE}"),
        (f"a\n{NOTE}\n<ide_selection>\n<system-reminder>\nb\n</ide_selection>", "a", None),
    ],
)
def test_what_a_host_put_behind_a_prompt_on_lines_of_its_own_is_told_from_it(
    text: str, said: str, appended: str
) -> None:
    assert split_appended(text) == (said, text.removeprefix(said).lstrip() if appended is None else appended)
    assert voice_of(said) == "person"


TAGS = ("system-reminder", "/system-reminder", "ide_selection", "/ide_selection")
PIECES = st.sampled_from([*(f"{start}<{tag}>" for start in ("", "\n") for tag in TAGS), "\n", " ", "We sail.", "\nb"])


@given(before=st.lists(PIECES, max_size=12).map("".join), name=st.sampled_from(sorted(CONTEXT_TAGS)))
def test_only_blocks_that_are_wholly_at_the_end_are_no_part_of_what_a_person_said(before: str, name: str) -> None:
    block = f"<{name}>\nNever mention it.\n</{name}>"
    appended = split_appended(f"What?{before}\n{block}")[1]
    whole = rf"(?:\s*<({'|'.join(CONTEXT_TAGS)})>(?:(?!\n\s*<\1>|</\1>).)*</\1>)*"
    assert re.fullmatch(whole, appended, re.DOTALL)
    assert not appended or appended.endswith(block)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "What is the beam?",
            NOTE,
            f"\n{NOTE}",
            f"a {NOTE}",
            f"a\n{NOTE}\nb",
            f"a\n{NOTE} b",
            f"a\n{NOTE}" + "\n" * 99,
        ),
        *(f"<template> why?\n{NOTE}", f"<relay-note>Push.</relay-note>\n{NOTE}", f"{NOTE}\nWhat?\n{NOTE}"),
        *("a\n<system-reminder>It was cut", "a\n<relay-note>Push.</relay-note>", "a\n</system-reminder>"),
    ],
)
def test_a_prompt_that_quotes_such_a_text_or_begins_with_a_tag_stays_whole(text: str) -> None:
    assert split_appended(text) == (text, "")


NAMES = st.from_regex(r"[^\W\d_][\w.-]{0,20}", fullmatch=True)
ATTRIBUTES = st.sampled_from(["", " a='b'", ' from="x > y"', "\n", " /"])


UNSEEN = st.text(
    st.characters(categories=["Cc", "Cf", "Mn", "Zl", "Zp", "Zs"]) | st.sampled_from("\u115f\u1160\u2800\u3164\uffa0"),
    max_size=4,
)


@given(name=NAMES, attributes=ATTRIBUTES, said=st.text(max_size=40), before=UNSEEN)
def test_no_text_that_begins_with_a_tag_is_a_persons_word(name: str, attributes: str, said: str, before: str) -> None:
    assert voice_of(f"{before}<{name}{attributes}>{said}") != "person"
    assert voice_of(f"{before}<{name}{attributes}>{said}</{name}>") != "person"


@pytest.mark.parametrize("letter", "\u00a0\u061c\ufe0f\u115f\u1160\u3164\uffa0\u2800\U000e0020\U000e0100\u20dd\x00\n")
def test_what_nobody_sees_around_a_tag_hides_no_host(letter: str) -> None:
    around = letter * 3
    assert voice_of(f"{around}<relay-note>Push.</relay-note>{around}") == "host"
    assert voice_of(f"Push?\n<system-reminder>Not on a Friday.</system-reminder>{around}") == "unclear"
    assert voice_of(f"{around}Push.{around}") == voice_of(around) == "person"


@given(name=NAMES, tag=st.sampled_from(sorted(CONTEXT_TAGS)), said=st.text(max_size=40), before=UNSEEN)
def test_no_text_that_begins_with_a_tag_is_split(name: str, tag: str, said: str, before: str) -> None:
    text = f"{before}<{name}>{said}\n<{tag}>Not on a Friday.</{tag}>"
    assert split_appended(text) == (text, "")


@given(name=st.sampled_from(sorted(HOST_TAGS)), said=st.text(max_size=40))
def test_what_is_wholly_in_a_hosts_tag_is_the_hosts(name: str, said: str) -> None:
    assert voice_of(f"<{name} a='1'>{said}</{name}>") == "host"
