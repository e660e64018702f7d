"""The pages for people hang together: links lead somewhere, the map has all of them, each says at once what it is."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, PAGES, anchors, links
from tests.paths import ROOT

INDEX = DOCS / "index.md"
OPENING_CHARS = 240


def test_every_link_leads_to_a_file_and_a_heading_that_are_there() -> None:
    found = [(page, target) for page, path in PAGES.items() for target in links(path)]
    assert len(found) > 100
    broken = []
    for page, target in found:
        name, _, anchor = target.partition("#")
        path = (PAGES[page].parent / name).resolve() if name else PAGES[page]
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append((page, target))
    assert broken == []


def test_the_map_has_every_page_once_and_nothing_else() -> None:
    listed = re.findall(r"^\* \[[^\]]+\]\(([^)]+)\): \S.*\.$", INDEX.read_text("utf-8"), re.MULTILINE)
    pages = [path.name for path in PAGES.values() if path.parent == DOCS and path != INDEX]
    assert sorted(listed) == sorted([*pages, "decisions", "../CONTRIBUTING.md"])
    assert "](docs/index.md)" in (ROOT / "README.md").read_text("utf-8")


def test_every_page_begins_with_a_short_sentence() -> None:
    wrong = []
    for page, path in PAGES.items():
        title, opening, *_ = path.read_text("utf-8").split("\n\n")
        sentence = re.match(r"(?![|#>\s-]|\* |```).*?[.:;](?=[*\s]|$)", opening, re.DOTALL)
        if not title.startswith("# ") or "\n" in title or sentence is None or len(sentence[0]) > OPENING_CHARS:
            wrong.append(page)
    assert wrong == []
