"""A section of Markdown is a note, word for word, that says where it stands; a file says when it was written."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine, to_text
from mnemic.actors.kernel.times import WrittenTime
from mnemic.hooks.read.markdown import FrontMatter, sections, split_front_matter
from mnemic.hooks.read.own_text import put_block

DAY_US = 86_400_000_000
WRITTEN_S = 1_790_000_000
LINES = [
    *("# A", "## B", "### C", "words", "- item", "  more", "> # quoted", "```", "~~~", "", "===", "---", "<div>"),
    *("\x0b", "a\u2028b"),
]


def cut(text: str) -> list[tuple[str, str]]:
    return [(" > ".join(one.path), part) for one in sections(text) for part in one.parts]


@pytest.fixture
def notes(write: Any, read: Any) -> Any:
    """The notes of a text in a file that was written at a fixed time."""

    def of(text: str | bytes, name: str = "boats.md") -> list[Event]:
        path = write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), name=name)
        os.utime(path, (WRITTEN_S, WRITTEN_S))
        return [one for one in read(path) if isinstance(one, Event)]

    return of


# --- sections --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n \n", []),
        ("only words\n", [("", "only words")]),
        ("# A\none\n## B\ntwo\n# C\nthree", [("A", "one"), ("A > B", "two"), ("C", "three")]),
        ("### deep\nx\n## B\ny\n", [("deep", "x"), ("B", "y")]),
        ("# A\n\n## B\n\ntwo\n", [("A > B", "two")]),
        ("# A\n\n## B\n\n## C\nx\n", [("A > B", ""), ("A > C", "x")]),
        ("Title\n=====\nx\n\nSub\n---\ny\n", [("Title", "x"), ("Title > Sub", "y")]),
        ("# A #\n```sh\n# no heading\n```\n", [("A", "```sh\n# no heading\n```")]),
        ("# A\n~~~\n# no\n", [("A", "~~~\n# no")]),
        ("# A\n    # code\n", [("A", "    # code")]),
        ("# A\n- # in a list\n> # quoted\n", [("A", "- # in a list\n> # quoted")]),
        ("# A\n<!--\n# no\n-->\n", [("A", "<!--\n# no\n-->")]),
        ("#no heading\n", [("", "#no heading")]),
        ("#\nx\n", [("", "x")]),
        ("# A\n#\n## \n# B\n", [("A", ""), ("B", "")]),
        ("# A\r\n\r\nx\r\ny\r\n## B\r\nz", [("A", "x\r\ny"), ("A > B", "z")]),
        ("# `code` and *stars*\nx\n", [("`code` and *stars*", "x")]),
        ("# A\n\n  indented stays\n", [("A", "  indented stays")]),
    ],
)
def test_a_heading_belongs_to_its_section(text: str, expected: list[tuple[str, str]]) -> None:
    assert cut(text) == expected


def test_many_headings_in_a_row_with_nothing_under_them_are_one_note_as_they_are_written() -> None:
    outline = "".join(f"## Pier {number}\n### Crane\n" for number in range(9))
    assert cut(f"# Boats\nwords\n{outline}## Last\nx\n") == [
        ("Boats", "words"),
        ("Boats", outline.rstrip()),
        ("Boats > Last", "x"),
    ]


def test_headings_without_words_are_no_memories_and_those_of_a_letter_are_few() -> None:
    assert cut("#\n" * 4_000) == []
    assert len(cut("# a\n" * 4_000)) == 4, "16 kB, cut every 4"


@given(st.lists(st.sampled_from(LINES), max_size=30), st.sampled_from(["\n", "\r\n", "\r"]))
def test_every_line_that_is_no_heading_is_in_one_section_as_it_was(lines: list[str], eol: str) -> None:
    text = eol.join(lines)
    words = [line.strip() for _, part in cut(text) for line in re.split("\r\n|\r|\n", part)]
    assert words.count("words") + sum(head.count("words") for head, _ in cut(text)) >= lines.count("words")
    assert words.count("- item") == lines.count("- item")
    assert all(part in text for _, part in cut(text))


def test_a_long_section_is_cut_between_paragraphs_and_items_and_never_within_them(notes: Any) -> None:
    paragraphs = [f"{number} {'word ' * 300}".strip() for number in range(6)]
    items = "\n".join(f"- {number} {'item ' * 300}".strip() for number in range(4))
    fence = "```\n" + "# code\n\n" * 1000 + "```"
    found = notes("# Long\n\n" + "\n\n".join([*paragraphs, items, fence]) + "\n")
    texts = [to_text(one.text) for one in found]
    assert all(text.startswith("Long\n\n") for text in texts)
    assert [one.source_id for one in found] == ["Long", *(f"Long #{number}" for number in range(2, len(found) + 1))]
    assert all(len(text) < 4100 for text in texts[:-1])
    assert texts[-1] == f"Long\n\n{fence}"
    assert sum(f"\n{paragraph}" in text for paragraph in paragraphs for text in texts) == 6
    assert all(part.split("\n\n")[-1] for part in texts)


# --- a note ----------------------------------------------------------------------------------------------------------


def test_a_note_has_its_headings_its_file_and_the_time_of_that(notes: Any, tmp_path: Path) -> None:
    first, second = notes("Kept by Ines.\n\n# Repairs\n\nThe heron leaks.\n")
    assert first == Event(
        assistant="generic",
        session=str(tmp_path / "boats.md"),
        kind="note",
        role="user",
        text=b"boats\n\nKept by Ines.",
        source_id="boats",
        said_at=WRITTEN_S * 1_000_000,
        cwd=str(tmp_path),
        files=(str(tmp_path / "boats.md"),),
    )
    assert (second.text, second.source_id) == (b"Repairs\n\nThe heron leaks.", "Repairs")


def test_sections_of_one_name_are_told_apart(notes: Any) -> None:
    found = notes("# A\n## Notes\none\n# A\n## Notes\ntwo\n")
    assert [one.source_id for one in found] == ["A > Notes", "A > Notes (2)"]


def test_what_this_memory_put_into_a_file_is_left_out(notes: Any) -> None:
    own = put_block("# Rules\n\nBe brief.\n", "# Memory\n\nCall memory_recall.")
    assert [one.text for one in notes(own, "CLAUDE.md")] == [b"Rules\n\nBe brief."]


def test_what_is_no_utf_8_leaves_no_note(notes: Any) -> None:
    with pytest.raises(SourceUnreadable, match="byte 4 is no UTF-8"):
        notes(b"# A\n\xff\n")
    assert [one.text for one in notes("# A\n\ud800 \x00\n")] == ["A\n\n\ud800 \x00".encode("utf-8", "surrogatepass")]


# --- front matter ----------------------------------------------------------------------------------------------------


MAY_DAY = WrittenTime(20574 * DAY_US, None, is_local=True)
AT_TEN = WrittenTime(20574 * DAY_US + 28_800_000_000, 120, is_local=False)


@pytest.mark.parametrize(
    ("written", "when"),
    [
        ("date: 2026-05-01", MAY_DAY),
        ("created: 2026-05-01T10:00", MAY_DAY._replace(at=MAY_DAY.at + 36_000_000_000)),
        ("updated: 2026-05-01 10:00:00 +0200", AT_TEN),
        ("updated: 2026-06-01\ndate: 2026-05-01", MAY_DAY),
        ('"date": "2026-05-01"', MAY_DAY),
    ],
)
def test_front_matter_gives_the_day(written: str, when: WrittenTime | None) -> None:
    told = (FrontMatter(written=when), "words\n")
    assert split_front_matter(f"---\n{written}\n---\nwords\n") == told
    assert split_front_matter(f"---\r\n{written}\r\n...\r\nwords\n") == told


def test_front_matter_may_be_toml() -> None:
    text = '+++\ntitle = "The boats"\ndate = 2026-05-01T10:00:00+02:00\ntags = ["a", "b"]\n+++\nwords'
    told = FrontMatter(title="The boats", tags=("a", "b"), written=AT_TEN)
    assert split_front_matter(text) == (told, "words")
    assert split_front_matter("+++\nday = 2026-05-01\ndate = 2026-05-01\n+++\n")[0].written == MAY_DAY


@pytest.mark.parametrize("tags", ["[club, water]", "club, water", "club water", "\n  - club\n  - '#water'"])
def test_the_title_and_the_tags_stand_in_the_notes(notes: Any, tags: str) -> None:
    intro, section = notes(f"---\ntitle: The boats\ntags: {tags}\n---\nIntro.\n\n# Repairs\n\nShe leaks.\n")
    assert intro.text == b"The boats\ntags: club, water\n\nIntro."
    assert section.text == b"The boats > Repairs\n\nShe leaks."
    (same,) = notes("---\ntitle: Repairs\n---\n# Repairs\n\nShe leaks.\n")
    assert same.text == b"Repairs\n\nShe leaks."


@pytest.mark.parametrize(
    ("front", "why", "kept"),
    [
        ("---\na: : b\n---\n", "it is no YAML (mapping values are not allowed here)", "a: : b"),
        ("---\na: " + "[" * 2000 + "\n---\n", "it is no YAML (RecursionError)", "a: " + "[" * 2000),
        ("---\ndate: soon\n---\n", "its date is no ISO 8601 time", "date: soon"),
        ("---\ndate: [2026]\n---\n", "its date is no ISO 8601 time", "date: [2026]"),
        ("+++\na = \n+++\n", "it is no TOML: Invalid value (at line 1, column 5)", "a ="),
        ("+++\ndate = 7\n+++\n", "its date is no ISO 8601 time", "date: 7"),
    ],
)
def test_what_of_it_cannot_be_understood_is_said_and_the_words_are_kept(
    write: Any, read: Any, front: str, why: str, kept: str
) -> None:
    bad, note = read(write(f"{front}# A\nwords\n".encode(), name="a.md"))
    assert bad == MalformedLine(line=1, why=f"its front matter: {why}")
    assert to_text(note.text) == f"A\n{kept}\n\nwords"


@pytest.mark.parametrize(
    ("front", "kept"),
    [
        (
            "---\ntitle: Berth\ndescription: The berth is 17.\nphone: '0123'\ntags: [a]\nowner:\n---\n",
            "tags: a\ndescription: The berth is 17.\nphone: '0123'",
        ),
        (
            "---\ncrew:\n  - Ada\n  - name: Ben\n    berth: 3\ntitle: Berth\n---\n",
            "crew:\n  - Ada\n  - name: Ben\n    berth: 3",
        ),
        (
            "---\nsummary: >\n  Lead keel,\n  oak mast.\n\ndate: 2026-05-01\n---\n",
            "summary: >\n  Lead keel,\n  oak mast.",
        ),
        ("---\r\ndue: 2026-12-24\r\nlinks: {a: [b, c]}\r\n---\r\n", "due: 2026-12-24\nlinks: {a: [b, c]}"),
        ("---\n{title: Berth, due: soon}\n---\n", "{title: Berth, due: soon}"),
        (
            "---\nWe asked Ada: the keel is lead.\n# A plan\nAda: yes\nAda: but later\n---\n",
            "We asked Ada: the keel is lead.\n# A plan\nAda: yes\nAda: but later",
        ),
        (
            '+++\ntitle = "Berth"\ncrew = ["Ada", "Ben"]\ndraft = true\nday = 2026-05-02\n[at]\nx = 1\n+++\n',
            'crew: Ada, Ben\ndraft: true\nday: "2026-05-02"\nat: {"x": 1}',
        ),
    ],
)
def test_properties_that_are_not_known_stand_in_the_first_note(notes: Any, front: str, kept: str) -> None:
    first, second = notes(f"{front}Words.\n\n# More\n\nwords\n", name="Berth.md")
    assert to_text(first.text).removeprefix("Berth\n") == f"{kept}\n\nWords."
    assert kept not in to_text(second.text)
    (alone,) = notes(front, name="Berth.md")
    assert to_text(alone.text) == f"Berth\n{kept}"


@given(st.lists(st.text(st.sampled_from("ab:#- \t'[]{}>|&*!\u2028"), min_size=1, max_size=12), max_size=6))
def test_no_word_between_two_rules_is_lost(lines: list[str]) -> None:
    text = "---\n" + "".join(f"{line}\n" for line in lines) + "---\nmore\n"
    front, rest = split_front_matter(text)
    kept = "\n".join(front.others) + rest
    words = [word for line in lines if not re.fullmatch(r"\w+:\W*", line) for word in re.findall("[ab]+", line)]
    assert all(kept.count(word) >= 1 for word in words)


@pytest.mark.parametrize(
    "text", ["---\nwords\n---\nmore\n", "---\n", "--- x\na: b\n---\n", "+++\nwords\n", "a: b\n---\n"]
)
def test_what_only_looks_like_front_matter_is_text(text: str) -> None:
    assert split_front_matter(text) == (FrontMatter(), text)


@pytest.mark.parametrize(
    ("name", "said_at"),
    [
        ("2026-05-01.md", 20574 * DAY_US),
        ("2026-05-01 boats.md", 20574 * DAY_US),
        ("2026-13-01.md", None),
        ("v2.md", None),
    ],
)
def test_a_day_in_the_files_name_is_the_day(notes: Any, name: str, said_at: int | None) -> None:
    (note,) = notes("words", name)
    assert note.said_at == (WRITTEN_S * 1_000_000 if said_at is None else said_at)
    (dated,) = notes("---\ndate: 1970-01-02\n---\nwords", name)
    assert dated.said_at == DAY_US


@pytest.mark.parametrize(
    ("front", "author", "speaker"),
    [
        ("title: Piers", None, None),
        ("author: Ines", None, None),
        ("source: the harbour's archive", None, None),
        ('source: "https://example.org/piers"\nauthor:\n  - "[[Rae Holm]]"\n  - Odo', "other", "Rae Holm, Odo"),
        ("url: http://example.org/piers", "unknown", None),
    ],
)
def test_a_clipping_holds_the_words_of_who_wrote_the_page(
    notes: Any, front: str, author: str | None, speaker: str | None
) -> None:
    (note,) = notes(f"---\n{front}\n---\nAlways paint piers green.\n")
    assert (note.role, note.author, note.speaker) == ("user", author, speaker)
