"""What of a call is this memory's own: its tools, its command in a shell, and what that printed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.cli.context import cli
from mnemic.hooks.read.lines import render_call
from mnemic.hooks.read.own_calls import COMMANDS, OWN_PROGRAM, CallShares, Share, TypedCommands, call_share, is_own_echo
from mnemic.hooks.read.own_text import cut_marked
from tests.hooks.shells import MARKED, MEMORY


def test_each_command_of_the_command_line_is_known_as_one() -> None:
    assert COMMANDS.split() == sorted(cli.load_all())


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "mnemic recall mast"}),
        ("exec_command", {"cmd": "cd /srv && ./.venv/bin/mnemic recall mast --scope '*'", "workdir": "/srv"}),
        ("shell", {"command": ["bash", "-lc", "python -m mnemic recall 'how high is the mast'"]}),
        ("local_shell", {"type": "exec", "command": ["mnemic", "show", "@1"]}),
        ("write_stdin", {"session_id": 7, "chars": "mnemic recall mast\n"}),
        ("run_shell_command", {"command": "uv run mnemic log | tail -3", "description": "what was kept"}),
        ("mcp__desktop__start_process", {"command": "mnemic facts Heron"}),
        ("Bash", {"command": "mnemic remember - <<END\nThe mast is high.\nmake it so\nEND"}),
        ("Bash", {"command": 'mnemic-hook claude-code session-start --ask <<< "{}"'}),
        ("exec", 'const r = await tools.exec_command({cmd: "cd /srv && mnemic recall mast"}); text(r.output)'),
        ("mcp__mnemic__memory_recall", {"query": "mast"}),
    ],
)
def test_a_call_that_runs_only_the_memorys_command_is_its_own(tool: str, arguments: object) -> None:
    assert call_share(tool, arguments) is None
    assert is_own_echo("tool_call", tool, render_call(tool, arguments))
    assert is_own_echo("tool_result", tool, "anything", call=render_call(tool, arguments))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "git log -- mnemic && ls mnemic hooks"}),
        ("Bash", {"command": 'git commit -m "mnemic recall: order"', "description": "mnemic recall is ordered"}),
        ("Bash", {"command": "cat > README.md <<END\nmnemic recall mast\nEND"}),
        ("Read", {"file_path": "/srv/mnemic/recall.py"}),
        ("apply_patch", "*** Begin Patch\n+mnemic recall mast\n*** End Patch"),
        ("Task", {"prompt": "try mnemic recall"}),
        ("Write", {"file_path": "/srv/compose.yaml", "content": "service:\ncommand: mnemic recall mast"}),
        ("Bash", None),
    ],
)
def test_a_call_that_only_names_it_is_kept_as_it_is(tool: str, arguments: object) -> None:
    assert call_share(tool, arguments) == Share(arguments)
    assert not is_own_echo("tool_call", tool, render_call(tool, arguments))


def share(line: str) -> Share:
    found = call_share("Bash", {"command": line, "description": "look"})
    assert found is not None
    return found


def test_of_a_mixed_line_the_other_commands_and_what_they_printed_are_kept() -> None:
    found = share("git log -1; mnemic recall mast; make")
    assert found.arguments == {"command": "git log -1\nmake", "description": "look"}
    assert found.result(f"one\n{MARKED}two\n") == "one\ntwo\n"
    assert is_own_echo("tool_call", "Bash", "Bash\ndescription: look\ncommand: git log -1; mnemic recall mast; make")


@pytest.mark.parametrize(
    ("line", "printed", "kept"),
    [
        ("git log; mnemic recall mast", f"one\n{MEMORY}\n", None),
        ("git log; mnemic recall mast --json", f'one\n{{"text": "{MEMORY}"}}\n', None),
        ("git log; mnemic recall a; mnemic recall b", f"one\n{MARKED}{MEMORY}\n", None),
        ("git log; mnemic recall mast | grep mast; make", f"one\n{MARKED}two\n", None),
        ("git log; echo $(mnemic recall mast); make", f"one\n{MEMORY}\ntwo\n", None),
        ("git log; mnemic recall mast > f; grep mast f", f"one\n{MEMORY}\n", None),
        ("mnemic recall mast > f; make; cat f", f"one\n{MARKED}", "one\n"),
        ("git log; mnemic recall mast", f"one\n{MARKED[:-12]}", "one\n"),
        ("make; ./ask.sh", f"one\n{MARKED}two", "one\ntwo"),
        ("./ask.sh", MARKED, None),
        ("cat out.txt", f"{MEMORY}\n</mnemic-memory>\ntwo", "two"),
        ("cat -n out.txt", "1\t<mnemic-memory>\n2\tmast\n3\t</mnemic-memory>\n4\ttwo", "1\t4\ttwo"),
        ("shell", f'{{"output": "one\\n{json.dumps(MARKED)[1:-1]}two"}}', '{"output": "one\\ntwo"}'),
        ("cat CLAUDE.md", "one\n<!-- mnemic: begin -->\nmast\n<!-- mnemic: end -->\ntwo", "one\ntwo"),
        (
            "cat a.md",
            "between `<mnemic-memory>` and `</mnemic-memory>`",
            "between `<mnemic-memory>` and `</mnemic-memory>`",
        ),
        ("make", "one", "one"),
    ],
)
def test_where_a_mark_may_be_missing_nothing_that_was_printed_is_kept(
    line: str, printed: str, kept: str | None
) -> None:
    assert share(line).result(printed) == kept


HARMLESS = [
    "mnemic --version",
    "mnemic status",
    "mnemic --home /x --json status",
    ".venv/bin/mnemic hooks status --json",
    "python -m mnemic doctor --repair",
    "mnemic recall --help",
    "mnemic help recall",
    "bash -c 'mnemic --version'",
    "sudo mnemic minds 2>&1 | head -2",
    'echo "$(mnemic --version)"',
]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_command_that_prints_no_memory_takes_nothing_of_the_others_with_it(line: str) -> None:
    found = share(f"{line} && make test")
    assert (found.arguments, found.marks) == ({"command": "make test", "description": "look"}, 0)
    assert found.result("mnemic, version 1\nbuilt\n") == "mnemic, version 1\nbuilt\n"
    assert found.result("<mnemic-memory>\nmind\n</mnemic-memory>\nbuilt\n") == "built\n"
    assert not is_own_echo("tool_call", "Bash", f"Bash\ncommand: {line} && make test")
    assert call_share("Bash", {"command": line}) is None


@pytest.mark.parametrize(
    ("line", "marks"),
    [
        ("mnemic --version; mnemic recall mast", 1),
        ("mnemic status; mnemic recall mast", 2),
        ("mnemic status; mnemic recall mast | head -3", None),
        ("mnemic --home status recall mast", 1),
        ("mnemic hooks export agents-md", 1),
        ("mnemic capture --preview notes", 1),
        ("mnemic $VERB status", 1),
        ("mnemic 'recall mast' --help", 1),
        ("M='mnemic recall'; $M status", 1),
        ("alias m='mnemic recall'; m status", 1),
        ("mnemic", 1),
    ],
)
def test_one_that_may_print_a_memory_hides_it_whatever_stands_beside_it(line: str, marks: int | None) -> None:
    assert share(f"make; {line}").marks == marks


def test_what_was_kept_is_told_by_its_text_whatever_follows_the_line() -> None:
    line = "cat > a.yaml <<END\nname: x\nEND\nmnemic recall mast"
    for arguments in (
        {"description": "ask", "command": line},
        {"command": line, "timeout": 5},
        {"command": ["sh", "-c", line]},
    ):
        assert is_own_echo("tool_call", "Bash", render_call("Bash", arguments))
    assert is_own_echo("tool_result", "Bash", f"one\n{MARKED}")
    assert not is_own_echo("tool_result", "Bash", MEMORY, call="Bash\ncommand: ./ask.sh")
    assert not is_own_echo("tool_call", "Bash", f"Bash\ncommand: {'[' * 100_000}")
    assert not is_own_echo("turn", None, "<bash-input>mnemic log</bash-input> is what I typed")


def test_a_shell_in_the_background_is_known_by_its_name() -> None:
    shares = CallShares()
    assert shares.call("1", "Bash", {"command": "mnemic recall mast", "run_in_background": True}) is None
    assert shares.result("1", "Command running in background with ID: b7k. Output: /tmp/tasks/b7k.output.") is None
    for arguments in ({"bash_id": "b7k"}, {"task_id": "b7k", "block": True}, {"file_path": "/tmp/a/tasks/b7k.output"}):
        assert shares.call("2", "any", arguments) is None
        assert shares.result("2", MEMORY) is None
    assert shares.call("3", "TaskOutput", {"task_id": "b8"}) == Share({"task_id": "b8"})
    assert shares.result("3", "built") == "built"
    assert shares.call("4", "exec_command", {"cmd": "make; mnemic recall mast"}) is not None
    assert shares.result("4", "Process running with session ID 15514\nOutput:\n") is None
    told = {"session_id": 15514, "chars": ""}
    assert shares.call("5", "write_stdin", told) == Share(told, 1)
    assert shares.result("5", f"built\n{MARKED}") == "built\n"
    assert shares.call("6", "write_stdin", told) is not None
    assert shares.result("6", MEMORY) is None


RAN = "I ran the following shell command:"
GIT_LOG = "<bash-input>git log</bash-input>"


def printed(text: str, before: str = "") -> str:
    return f"<bash-stdout>{before}{text}</bash-stdout>"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<bash-input>mnemic recall mast</bash-input>", ""),
        (
            f"<bash-input>git log &amp;&amp; mnemic log</bash-input>{printed(MARKED, 'one: ')}",
            f"{GIT_LOG}{printed('', 'one: ')}",
        ),
        (printed(MARKED.replace("<", "&lt;").replace(">", "&gt;")), printed("")),
        (
            f"<user_shell_command>\n<command>\nmnemic log\n</command>\n<result>{MEMORY}</result></user_shell_command>",
            "",
        ),
        (f"{RAN}\n```sh\nmnemic log\n```\n\nThis produced the following result:\n```\n{MEMORY}\n```", ""),
        ('<summary>Background command "mnemic remember mast" completed (exit code 0)</summary>', ""),
        (
            f"<bash-input>ls mnemic</bash-input>{printed(MEMORY)}",
            f"<bash-input>ls mnemic</bash-input>{printed(MEMORY)}",
        ),
    ],
)
def test_commands_that_the_user_has_the_host_run_are_its_own_too(text: str, kept: str) -> None:
    assert TypedCommands().kept(text) == kept
    assert is_own_echo("injected", None, text) is (kept != text)


def test_an_answer_to_what_was_typed_goes_with_it() -> None:
    typed = TypedCommands()
    asked, answered = (
        "<bash-input>mnemic log</bash-input>",
        f"<bash-stdout>{MEMORY}</bash-stdout><bash-stderr></bash-stderr>",
    )
    assert (typed.kept(asked), typed.kept(answered)) == ("", "")
    assert typed.kept("<bash-input>ls</bash-input>") + typed.kept(answered) == f"<bash-input>ls</bash-input>{answered}"
    assert is_own_echo("injected", None, answered, call=asked)
    assert not is_own_echo("injected", None, answered, call="<bash-input>ls</bash-input>")


BEFORE = [
    "",
    "cd /srv && ",
    "git log; ",
    "sudo -u ana ",
    "env A=b ",
    "time ",
    "uv run ",
    "make || ",
    "(",
    "! ",
    "x=1; ",
    "echo $(",
]
PROGRAMS = ["mnemic", "/opt/bin/mnemic", "./.venv/bin/mnemic", "python -m mnemic", "pipx run mnemic", "M=mnemic; $M"]
AFTER = [
    "",
    " | head -3",
    " | tee f | sort",
    " && make",
    "; git status",
    " > f; cat f",
    " 2>&1 &",
    ")",
    " || true",
    ") | jq .",
]
HARMLESS_VERBS = {verb for verb in COMMANDS.split() if OWN_PROGRAM.harmless.fullmatch(verb)}
ASKED = st.builds(
    "{}{} {} {}{}".format,
    st.sampled_from(BEFORE),
    st.sampled_from(PROGRAMS),
    st.sampled_from(sorted(set(COMMANDS.split()) - HARMLESS_VERBS)),
    st.text(st.sampled_from("ab '\"$-"), max_size=8),
    st.sampled_from(AFTER),
)


@given(ASKED, st.sampled_from([list, str]), st.sampled_from(["", "one\n"]), st.sampled_from(["", "two\n"]))
def test_whatever_stands_around_the_command_no_memory_is_kept(line: str, form: Any, before: str, after: str) -> None:
    found = call_share("shell", {"command": ["bash", "-lc", line] if form is list else line})
    for answer in (MEMORY, f"{before}{MEMORY}\n{after}", f"{before}{MARKED}{after}", f"{before}{MARKED[:-9]}"):
        kept = None if found is None else found.result(answer)
        assert kept is None or MEMORY not in kept
    assert found is None or "mnemic" not in json.dumps(found.arguments)


@given(st.lists(st.sampled_from(["a", "\n", "<mnemic-memory>\n", "\n</mnemic-memory>", "mnemic-memory", "\\n", " "])))
def test_cutting_marks_is_quick_and_whole(parts: list[str]) -> None:
    kept, marked = cut_marked("".join(parts))
    assert "<mnemic-memory>\n" not in kept or marked
