"""Notes that link to each other by name are joined; what is no note, and what leads out of the folder, stays out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import SourceUnreadable
from mnemic.actors.kernel.events import Event, MalformedLine, SourceItem, to_text
from mnemic.algorithms.graph.edges import target_edges
from mnemic.hooks import open_transcript
from mnemic.hooks.imports.vault import NoteIndex, is_basic_memory, is_vault
from mnemic.hooks.read.note_links import Link
from tests.harness import ActorHarness
from tests.paths import FIXTURES

BASIC_MEMORY = FIXTURES / "imports" / "basic-memory"
"""What the command `basic-memory tool write-note` of basic-memory 0.24.1 made of three notes."""


def items(path: Path, format: str = "auto") -> list[SourceItem]:
    source = open_transcript(str(path), format)
    try:
        return list(source)
    finally:
        source.close()


def files(path: Path) -> dict[str, list[str]]:
    """What each note names, its own file first, by the headings it is under."""
    found = [one for one in items(path) if isinstance(one, Event)]
    return {str(one.source_id): [os.path.relpath(file, path) for file in one.files] for one in found}


@pytest.fixture
def vault(tmp_path: Path) -> Callable[..., Path]:
    """A vault of these files."""

    def make(**notes: str) -> Path:
        root = tmp_path / "vault"
        (root / ".obsidian").mkdir(parents=True, exist_ok=True)
        for name, text in notes.items():
            path = root / name.replace("__", "/")
            path = path if path.suffix else path.with_suffix(".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return root

    return make


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_link_names_the_note_it_leads_to_by_path_by_name_or_beside_it(vault: Callable[..., Path]) -> None:
    root = vault(
        a="[[Heron]] [[club/Pier#Costs|the pier]] ![[plan.pdf]] [[nobody]] [[#here]]",
        club__Pier="[x](../a.md) [y](<Heron.md#Keel>) [z](Heron%2Emd) [[./Heron]] [[../a]] [w](https://x/a.md) [v](#a)",
        club__Heron="| [[a\\|A]] |\n[[HERON.md]] [[pier^b1]]",
        deep__er__club__Heron="[[Heron]]",
    )
    (root / "plan.pdf").write_bytes(b"%PDF")
    found = [[os.path.relpath(file, root) for file in one.files] for one in items(root) if isinstance(one, Event)]
    assert found == [
        ["a.md", "club/Heron.md", "club/Pier.md", "plan.pdf"],
        ["club/Heron.md", "a.md", "club/Pier.md"],
        ["club/Pier.md", "a.md", "club/Heron.md"],
        ["deep/er/club/Heron.md"],
    ]


def test_links_in_the_front_matter_are_the_first_sections(vault: Callable[..., Path]) -> None:
    root = vault(a="---\nup: '[[b]]'\naliases: [Alpha, First]\n---\none\n\n# Two\n\ntwo\n", b="x")
    assert files(root) == {"a": ["a.md", "b.md"], "Two": ["a.md"], "b": ["b.md"]}
    assert (
        next(to_text(one.text) for one in items(root) if isinstance(one, Event))
        == "a\naliases: Alpha, First\nup: '[[b]]'\n\none"
    )


def test_links_go_around_in_circles_and_never_out_of_the_vault(vault: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    root = vault(a="[[b]] [[../secret]] [s](../secret.md) [p](/etc/passwd)", b="[[a]] [[b]]")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "folder").symlink_to(tmp_path)
    (root / "loop").symlink_to(root)
    assert files(root) == {"a": ["a.md", "b.md"], "b": ["b.md", "a.md"]}


def test_two_notes_that_link_are_joined_by_their_target(vault: Callable[..., Path], home: Path) -> None:
    root = vault(a="about herons [[b]]", b="about piers", c="about nothing")
    with ActorHarness(home) as actors:
        actors.open_source = open_transcript
        actors.take(str(root))
        rows = actors.look(lambda now: now.memory_columns(0).row)
        targets = actors.look(lambda now: now.node_sources(rows)).targets
    edges = target_edges(rows, (rows * 0).astype("int32"), targets)
    assert (edges.sources.tolist(), edges.targets.tolist()) == ([rows[0]], [rows[1]])


def test_a_vault_taken_in_parts_by_two_runs_replaces_only_what_was_edited(
    vault: Callable[..., Path], home: Path
) -> None:
    root = vault(a="# Same\n\none [[b]]\n\n# Own\n\ntwo", b="# Same\n\nthree\n\n# Own\n\nfour", c="five")

    def take(actors: ActorHarness) -> tuple[int, int]:
        parts = actors.take(str(root))
        return sum(one.new for one in parts), sum(one.known for one in parts)

    with ActorHarness(home, batch_events=2) as actors:
        actors.open_source = open_transcript
        actors.take_part(str(root))  # and then it is killed
    with ActorHarness(home, batch_events=2) as actors:
        actors.open_source = open_transcript
        assert take(actors) == (3, 2)
        vault(a="# Same\n\none [[b]]\n\n# Own\n\nnew", b="# Same\n\nthree\n\n# Own\n\nfour", c="five")
        assert take(actors) == (1, 4)
        held = actors.look(lambda now: now.document_notes("generic", str(root / "a.md")))
        assert [(one.source_id, one.holds) for one in held] == [("Same", True), ("Own", False), ("Own", True)]
        assert all(one.holds for one in actors.look(lambda now: now.document_notes("generic", str(root / "b.md"))))


NAMES = st.text("ab/", min_size=1, max_size=8).map(lambda name: "/".join(filter(None, name.split("/"))) or "a")


@given(st.lists(NAMES, min_size=1, max_size=12, unique=True), st.data())
def test_a_path_from_the_top_leads_to_its_note_and_any_end_of_it_to_one_that_ends_so(
    names: list[str], data: st.DataObject
) -> None:
    index = NoteIndex("/v", [f"{name}.md" for name in names])
    name = data.draw(st.sampled_from(names))
    resolve = index.resolver("elsewhere/x.md")
    assert resolve(Link(name, True)) == f"/v/{name}.md"
    end = "/".join(name.split("/")[data.draw(st.integers(0, name.count("/"))) :])
    found = resolve(Link(end, True))
    assert found is not None
    assert found.endswith(f"/{end}.md")


# --- what is a note --------------------------------------------------------------------------------------------------


def test_hidden_folders_templates_and_other_files_are_no_notes(vault: Callable[..., Path]) -> None:
    root = vault(a="x", forms__daily="{{title}}", tp__t="<% x %>", board__canvas="x")
    (root / ".trash").mkdir()
    (root / ".trash" / "gone.md").write_text("gone")
    (root / "b.canvas").write_text("{}")
    (root / ".obsidian" / "templates.json").write_text(json.dumps({"folder": "forms/"}))
    (root / ".obsidian" / "plugins" / "templater-obsidian").mkdir(parents=True)
    (root / ".obsidian" / "plugins" / "templater-obsidian" / "data.json").write_text('{"templates_folder": "tp"}')
    assert sorted(files(root)) == ["a", "canvas"]
    (root / ".obsidian" / "templates.json").write_text("[" * 100_000)
    assert sorted(files(root)) == ["a", "canvas", "daily"]


def test_a_note_that_cannot_be_read_is_said_and_the_others_are_kept(vault: Callable[..., Path]) -> None:
    root = vault(a="x", b="---\ndate: soon\n---\ny")
    (root / "aa.md").write_bytes(b"ok \xff")
    with open(root / "huge.md", "wb") as huge:
        huge.truncate(1 << 30)
    found = items(root)
    assert [to_text(one.text) for one in found if isinstance(one, Event)] == ["a\n\nx", "b\ndate: soon\n\ny"]
    assert [one.why for one in found if isinstance(one, MalformedLine)] == [
        "aa.md: byte 3 is no UTF-8",
        "b.md: its front matter: its date is no ISO 8601 time",
        "huge.md: it is longer than 536,870,912 bytes",
    ]


def test_a_folder_is_a_vault_by_its_settings_and_none_is_refused(vault: Callable[..., Path], tmp_path: Path) -> None:
    assert is_vault(str(vault(a="x")))
    assert not is_vault(str(tmp_path))
    with pytest.raises(SourceUnreadable, match="Not a directory"):
        open_transcript(str(tmp_path / "vault" / "a.md"), "obsidian")
    assert len(items(tmp_path, "obsidian")) == 1  # any folder of notes may be read as one


def test_twice_gives_the_same_and_what_is_read_is_measured(vault: Callable[..., Path]) -> None:
    root = vault(a="[[b]]", b="# B\n\nx\n\n# C\n\n[[a]]")
    source = open_transcript(str(root), "auto")
    assert list(source) == items(root)
    assert (source.format, source.position_bytes) == ("obsidian", source.size_bytes)


# --- basic-memory ----------------------------------------------------------------------------------------------------


def test_basic_memorys_notes_are_known_by_their_front_matter(tmp_path: Path) -> None:
    assert is_basic_memory(str(BASIC_MEMORY))
    (tmp_path / "a.md").write_text("---\ntitle: A\npermalink: a\n---\ntype: x\n")
    assert not is_basic_memory(str(tmp_path))
    assert not is_basic_memory(str(tmp_path / "a.md"))


def test_observations_and_relations_are_kept_and_relations_are_links() -> None:
    assert files(BASIC_MEMORY) == {
        "Heron Repairs": ["boats/Heron Repairs.md"],
        "Heron Repairs > Observations": ["boats/Heron Repairs.md"],
        "Heron Repairs > Relations": ["boats/Heron Repairs.md", "club/Boat Club.md"],
        "Boat Club": ["club/Boat Club.md", "boats/Heron Repairs.md"],
        "Tallow Supplier: who/what?": ["club/Tallow Supplier- who-what.md", "boats/Heron Repairs.md"],
    }
    said = [to_text(one.text) for one in items(BASIC_MEMORY) if isinstance(one, Event)]
    assert said[0] == "Heron Repairs\ntags: club, wood\ntype: note\n\nThe heron leaks at the keel."
    assert "- [decision] We caulk it with tallow instead of resin #method (resin cracks)" in said[1]
    assert "- part_of [[Boat Club]]" in said[2]


def test_a_title_that_is_no_file_name_and_a_permalink_are_found(tmp_path: Path) -> None:
    front = "---\ntitle: 'Who/what?'\ntype: note\npermalink: main/club/who-what\n---\n"
    (tmp_path / "Who-what.md").write_text(f"{front}x")
    (tmp_path / "b.md").write_text("[[Who/what?]]\n\n# P\n\n[[club/who-what]]\n\n# Q\n\n[[main/club/who-what]] [[]]\n")
    assert [one[1:] for one in files(tmp_path).values()] == [[], *[["Who-what.md"]] * 3]
