"""What a text links to is found in order; a plain link is followed to a file that is there, and to nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.hooks.read.note_links import MOST_LINKS, Link, find_links, linked_files


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("[[A b]] and ![[c.png|200]]", [("A b", True), ("c.png", True)]),
        ("[[A#b|c]] [[#b]] [[|x]] [[ ]]", [("A", True)]),
        ('[x](b.md) [x]( <c d.md> "t") [x](e%20f.md#g?h)', [("b.md", False), ("c d.md", False), ("e f.md", False)]),
        ("[x](https://a/b.md) [x](//a/b) [x](mailto:a@b) [x](#a) [x](?a) [x]()", []),
        ("[x](%00)", []),
        ("[[a\nb]] [[a", []),
    ],
)
def test_links_are_found(text: str, found: list[tuple[str, bool]]) -> None:
    assert list(find_links(text)) == [Link(*one) for one in found]


@given(st.text("[]()<>|#^!\\ab/.%0\n", max_size=80))
def test_whatever_is_written_a_target_is_never_empty(text: str) -> None:
    assert all(link.target and "\0" not in link.target for link in find_links(text))


def test_a_file_comes_first_each_once_and_not_too_many() -> None:
    text = " ".join(f"[[{number % 100}]]" for number in range(300))
    found = linked_files("own", ("[[own]] [[7]]", text), lambda link: link.target)
    assert found[:3] == ("own", "7", "0")
    assert len(found) == len(set(found)) == MOST_LINKS


def test_a_note_in_any_folder_names_its_file_and_those_it_links_to(tmp_path: Path, read: Any) -> None:
    (tmp_path / "b.md").write_text("x")
    (tmp_path / "a.md").write_text(f"[b](b.md) [c](c.md) [d]({tmp_path}/b.md) [e](.) [[b]]\n\n# T\n\nnone\n")
    names = [[Path(file).name for file in one.files] for one in read(tmp_path / "a.md")]
    assert names == [["a.md", "b.md"], ["a.md"]]
