"""A step says what was done in one word, whichever host did it; results find their calls; what worked is told."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.events import Event, to_text
from mnemic.algorithms.steps.steps import (
    CHECK_ACTIONS,
    LOOKAHEAD_STEPS,
    MAX_PROGRAMS,
    Step,
    ToolEvent,
    failing_files,
    pair_calls_with_results,
    parse_step,
    step_succeeded,
)
from mnemic.hooks.read.formats import find_transcripts, open_transcript
from tests.paths import FIXTURES

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=80)

CALLS = st.builds(
    ToolEvent,
    is_call=st.booleans(),
    tool=st.sampled_from(["Bash", "Edit", ""]),
    outcome=st.sampled_from([None, "ok", "failed"]),
    files=st.sampled_from([(), ("a.py",), ("b.py",)]),
    text=st.just(""),
)
STEPS = st.builds(Step, st.sampled_from(["edit", "test", "run", "read"]), st.just(""), st.sampled_from([(), ("x",)]))
ENDS = st.sampled_from([None, "ok", "failed"])


def happened(*names: str) -> list[ToolEvent]:
    """``>Bash`` is a call, ``<Bash`` a result; ``>Edit a.py`` names a file."""
    words = [name.split() for name in names]
    return [ToolEvent(one[0][0] == ">", one[0][1:], None, tuple(one[1:]), "") for one in words]


def performed(paths: list[str]) -> dict[str, set[str]]:
    """The first line of each call in transcripts, with the actions it was taken for."""
    found: dict[str, set[str]] = {}
    for path in paths:
        with closing(open_transcript(path, "auto")) as source:
            for event in source:
                if isinstance(event, Event) and event.kind == "tool_call":
                    step = parse_step(event.tool or "", to_text(event.text), event.files)
                    found.setdefault(event.tool or "", set()).add(step.action)
    return found


@pytest.mark.parametrize(
    ("tool", "text", "files", "expected"),
    [
        ("Edit", "Edit\nfile_path: /srv/auth.py", ("/srv/auth.py",), Step("edit", "python")),
        ("Write", "Write\nfile_path: a.md\ncontent: pytest", ("a.md",), Step("edit", "docs")),
        ("NotebookEdit", "NotebookEdit", ("a.ipynb",), Step("edit", "python")),
        ("replace", "replace\nfile_path: loans.py", ("loans.py",), Step("edit", "python")),
        ("search_replace", "search_replace", (), Step("edit", "")),
        ("multiedit", "multiedit", (), Step("edit", "")),
        ("Read", "Read\nfile_path: x.toml", ("x.toml",), Step("read", "config")),
        ("read_many_files", "read_many_files", (), Step("read", "")),
        ("view_image", "view_image", ("a.png",), Step("read", "image")),
        ("search_file_content", "search_file_content", (), Step("search", "")),
        ("LS", "LS", (), Step("list", "")),
        ("WebSearch", "WebSearch\nquery: tides", (), Step("fetch", "")),
        ("webfetch", "webfetch", (), Step("fetch", "")),
        ("TodoWrite", "TodoWrite", (), Step("plan", "")),
        ("update_plan", "update_plan", (), Step("plan", "")),
        ("multi_agent_v1__spawn_agent", "", (), Step("delegate", "")),
        ("AskUserQuestion", "", (), Step("ask", "")),
        ("write_stdin", "", (), Step("call", "")),
        ("mcp__github__create_issue", "", (), Step("call", "")),
        ("MCP:github:create_issue", "", (), Step("call", "")),
        ("", "", (), Step("call", "")),
        ("Bash", "Bash\ncommand: pytest -q\ndescription: git push", (), Step("test", "python", ("pytest",))),
        ("bash", "bash\ndescription: look\ncommand: cat notes.md", (), Step("read", "docs", ("cat",), ("notes.md",))),
        ("run_shell_command", "run_shell_command\ncommand: sleep 5", (), Step("run", "")),
        ("exec_command", "exec_command\ncmd: cargo build\nworkdir: /srv", (), Step("build", "rust", ("cargo",))),
        ("shell", 'shell\ncommand: ["bash", "-lc", "go test ./..."]', (), Step("test", "go", ("go",))),
        ("shell", 'shell\ncommand: ["ls", "-l"]', (), Step("list", "", ("ls",))),
        ("shell", 'shell\ncommand: ["ls", "-l', (), Step("list", "", ("ls",))),
        ("shell", 'shell\ncommand: ["sh", "-c", "pytest -k \\"a b\\" te', (), Step("test", "python", ("pytest",))),
        ("Bash", "pytest -q", (), Step("test", "python", ("pytest",))),
        (
            "exec_command",
            'exec_command\ncmd: apply_patch <<"EOF"\n*** Begin Patch\n*** Update File: loans.py\n*** End Patch\nEOF',
            ("loans.py",),
            Step("edit", "python", (), ("loans.py",)),
        ),
        (
            "apply_patch",
            "apply_patch\n*** Begin Patch\n*** Add File: a.md\n+x",
            (),
            Step("edit", "docs", (), ("a.md",)),
        ),
        (
            "Bash",
            "Bash\ncommand: pytest -q tests/test_auth.py::test_link && git commit -qm x",
            (),
            Step("test", "python", ("pytest", "git"), ("tests/test_auth.py",)),
        ),
    ],
)
def test_each_host_s_word_for_it_becomes_one_word(tool: str, text: str, files: tuple[str, ...], expected: Step) -> None:
    assert parse_step(tool, text, files) == expected


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        ("pytest", "", Step("test", "python", ("pytest",))),
        ("pytest", "2 failed, 31 passed", Step("test", "python", ("pytest",))),
        ("Pytest", "pytest -q tests/test_a.py", Step("test", "python", ("pytest",), ("tests/test_a.py",))),
        ("pytest", "pytest\n-q tests/test_a.py", Step("test", "python", ("pytest",), ("tests/test_a.py",))),
        ("pytest", "pytest\ncommand: pytest -q\ntimeout: 5", Step("test", "python", ("pytest",))),
        ("cargo", "cargo test -p kernels\nerror: no such crate", Step("test", "rust", ("cargo",))),
        ("cargo", "build", Step("build", "rust", ("cargo",))),
        ("cargo", "it went well", Step("run", "rust", ("cargo",))),
        ("cargo test", "ok. 3 passed", Step("test", "rust", ("cargo",))),
        ("npm", "cd web && npm run lint", Step("lint", "javascript", ("npm",))),
        ("npm test", "", Step("test", "javascript", ("npm",))),
        ("eslint", "npx eslint src/a.js", Step("lint", "javascript", ("eslint",), ("src/a.js",))),
        ("python", "python -m pytest -q", Step("test", "python", ("pytest",))),
        ("python", "import pytest\npytest.main()", Step("run", "python", ("python",))),
        ("git", "commit -m x", Step("commit", "git", ("git",))),
        ("go", "golangci-lint run", Step("run", "go", ("go",))),
        ("uv", "run pytest", Step("test", "python", ("pytest",))),
        ("npx", "", Step("run", "")),
        ("booking", "pytest -q", Step("call", "")),
        ("mcp__ci__pytest", "pytest -q", Step("call", "")),
    ],
)
def test_a_tool_that_is_named_as_a_program_does_what_the_program_does(tool: str, text: str, expected: Step) -> None:
    assert parse_step(tool, text) == expected


@given(st.sampled_from(["pytest", "npx", "cargo test", "docker", "python", " ", ""]), ANYTHING)
def test_whatever_is_said_of_its_call_a_program_is_its_own(tool: str, text: str) -> None:
    assert parse_step(tool, text).action
    assert len(parse_step(tool, text).programs) <= MAX_PROGRAMS


def test_the_tools_of_real_transcripts_are_known() -> None:
    paths = find_transcripts(str(FIXTURES / "transcripts"))
    paths += [str(FIXTURES / "hooks" / "opencode" / "export.json")]
    paths += find_transcripts(str(FIXTURES / "hooks" / "gemini-cli" / "chats"))
    found = performed([path for path in paths if not path.endswith("hooks.jsonl")])
    assert {tool: actions for tool, actions in found.items() if len(actions) == 1} == {
        "Agent": {"delegate"},
        "Edit": {"edit"},
        "Read": {"read"},
        "complete_task": {"call"},
        "invoke_agent": {"delegate"},
        "multi_agent_v1__spawn_agent": {"delegate"},
        "read": {"read"},
        "read_file": {"read"},
        "replace": {"edit"},
        "task": {"delegate"},
        "write_file": {"edit"},
    }
    assert found["exec_command"] >= {"edit", "read", "run", "test"}
    assert found["Bash"] >= {"search", "test"}


@given(ANYTHING, ANYTHING, st.lists(ANYTHING, max_size=2))
def test_any_call_is_some_step(tool: str, text: str, files: list[str]) -> None:
    assert parse_step(tool, text, files).action


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        ([], {}),
        ([">Bash"], {}),
        (["<Bash"], {}),
        ([">Bash", "<Bash"], {0: 1}),
        ([">Bash", ">Bash", "<Bash", "<Bash"], {0: 2, 1: 3}),
        ([">Edit a", ">Edit b", "<Edit b", "<Edit a"], {0: 3, 1: 2}),
        ([">Bash", ">Edit", "<Edit", "<Bash"], {0: 3, 1: 2}),
        ([">Bash", "<", ">", "<Edit"], {0: 1, 2: 3}),
        (["<Bash", ">Bash", "<Bash"], {1: 2}),
        ([">Bash", ">Bash", "<Bash", ">Bash", "<Bash", ">Bash", "<Bash"], {0: 2, 3: 4, 5: 6}),
        ([">Edit", "<Bash"], {}),
    ],
)
def test_results_find_their_calls_round_by_round(names: list[str], pairs: dict[int, int]) -> None:
    both = pairs | {result: call for call, result in pairs.items()}
    assert pair_calls_with_results(happened(*names)) == [both.get(place) for place in range(len(names))]


@given(st.lists(CALLS, max_size=12))
def test_partners_are_a_call_and_a_later_result_of_one_tool(sequence: list[ToolEvent]) -> None:
    found = pair_calls_with_results(sequence)
    for place, other in enumerate(found):
        if other is not None:
            assert found[other] == place
            assert sequence[place].is_call == (place < other)
            assert sequence[place].is_call != sequence[other].is_call
            assert sequence[place].tool == sequence[other].tool or "" in (sequence[place].tool, sequence[other].tool)


EDIT, TEST, READ = Step("edit", "python"), Step("test", "python", ("pytest",)), Step("read", "docs")
RUN, OTHER = Step("run", "", ("ship",)), Step("run", "", ("flask",))


@pytest.mark.parametrize(
    ("step", "outcome", "later", "expected"),
    [
        (TEST, "ok", [], True),
        (TEST, "failed", [(TEST, "ok")], False),
        (TEST, None, [(TEST, "ok")], None),
        (EDIT, "failed", [(TEST, "ok")], False),
        (EDIT, "ok", [], None),
        (EDIT, "ok", [(TEST, "ok")], True),
        (EDIT, "ok", [(TEST, "failed"), (TEST, "ok")], False),
        (EDIT, "ok", [(EDIT, "ok"), (TEST, "ok")], True),
        (EDIT, "ok", [(EDIT, "ok")], None),
        (EDIT, "ok", [(READ, "failed"), (EDIT, "failed"), (TEST, "ok")], True),
        (EDIT, "ok", [(RUN, "failed"), (TEST, "ok")], False),
        (EDIT, None, [(TEST, None), (TEST, "ok")], True),
        (RUN, "ok", [(OTHER, "ok")], None),
        (RUN, "ok", [(OTHER, "ok"), (RUN, "ok")], True),
        (EDIT, "ok", [(READ, "ok")] * LOOKAHEAD_STEPS + [(TEST, "ok")], None),
    ],
)
def test_a_step_worked_if_the_next_check_ends_well_before_anything_fails(
    step: Step, outcome: str | None, later: list[tuple[Step, str | None]], expected: bool | None
) -> None:
    assert step_succeeded(step, outcome, later) is expected


@given(STEPS, ENDS, st.lists(st.tuples(STEPS, ENDS), max_size=6))
def test_what_comes_after_something_told_changes_nothing(
    step: Step, outcome: str | None, later: list[tuple[Step, str | None]]
) -> None:
    known = step_succeeded(step, outcome, later)
    if known is not None:
        assert step_succeeded(step, outcome, [*later, (Step("test", ""), "failed")]) is known
    if step.action in CHECK_ACTIONS:
        assert known is {None: None, "ok": True, "failed": False}[outcome]


def test_a_failed_check_names_files() -> None:
    printed = """tests/test_auth.py:12: AssertionError
FAILED tests/test_auth.py::test_link - assert 1 == 2
FAILED tests/test_ids.py::test_keys
 --> src/main.rs:3:5
src/app.ts(3,5): error TS2322
see https://example.com:80 and 12:30
"""
    assert failing_files(printed) == ["tests/test_auth.py", "tests/test_ids.py", "src/main.rs", "src/app.ts"]
    assert failing_files("") == []


def test_output_without_a_blank_is_looked_through_once() -> None:
    printed = "a" * 200_000  # where each letter begins anew, this takes minutes
    assert failing_files(f"{printed}\nsrc/main.rs:3:5") == ["src/main.rs"]
