"""The page of the HTTP API: whole, readable without anything else, and on it all that is answered."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mnemic.runtime.client.wire import ASK_MESSAGES
from mnemic.runtime.serve.http.endpoints import ENDPOINTS
from mnemic.runtime.serve.http.page import docs_page
from tests.processes.hosted import Hosted, hosted

VOID = ("meta",)


class Page(HTMLParser):
    """What stands on a page: its links, its anchors, its tags, its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.tags: set[str] = set()
        self.words = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        self.anchors += [given["id"] or ""] if "id" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture
def faces(home: Path) -> Iterator[Hosted]:
    """Faces of a home without a model."""
    with hosted(home) as faces:
        yield faces


@pytest.mark.parametrize("over_tcp", [False, True])
def test_the_page_is_whole_and_leads_nowhere_else(over_tcp: bool) -> None:
    page = Page(docs_page(over_tcp))
    assert page.open == []
    assert not page.tags & {"script", "link", "img", "iframe", "form"}
    assert len(page.anchors) == len(set(page.anchors))
    assert {link for link in page.links if link[0] != "#"} == {"/openapi.json"}
    assert {link[1:] for link in page.links if link[0] == "#"} <= set(page.anchors)


@pytest.mark.parametrize("over_tcp", [False, True])
def test_every_path_is_on_it_with_the_fields_that_it_takes(over_tcp: bool) -> None:
    words = Page(docs_page(over_tcp)).words
    for one in ENDPOINTS:
        assert (f"{one.method} {one.path}" in words) is (one.access != "socket" or not over_tcp), one.path
    for field in ASK_MESSAGES["recall"].__struct_fields__:
        assert field in words
    assert "The question or the words." in words


def test_a_browser_is_given_it_and_is_led_to_it_and_told_to_load_nothing(faces: Hosted) -> None:
    answer = faces.request("GET", "/docs", headers={"Accept": "text/html"})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.body.decode() == docs_page(False)
    assert answer.headers["content-security-policy"].startswith("default-src 'none';")
    led = faces.request("GET", "/", headers={"Accept": "text/html"})
    assert (led.status, led.headers["location"]) == (307, "/docs")
