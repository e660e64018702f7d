"""Every command in the pages for people is one that can be typed, and prints what stands below it.

Commands of a page are run in their order, in a home that holds the example. `MNEMIC_DOCS=write` has what stands below
them written anew, where it is not what they print.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.bench.__main__ import bench_named, bench_parser
from mnemic.cli.context import cli
from mnemic.experiment.spec import load_spec
from mnemic.runtime.engine.settings import load_settings
from tests.docs.pages import PAGES, Block, Command, blocks, commands, with_shown
from tests.docs.typed import YES, User, accepts, named_command
from tests.paths import ROOT
from tests.processes.faces import Outcome

pytestmark = pytest.mark.system

WRITE = os.environ.get("MNEMIC_DOCS") == "write"
TEXTS = {name: path.read_text("utf-8") for name, path in PAGES.items()}
TYPED = {name: list(commands(text)) for name, text in TEXTS.items()}

SERVES = "it serves until it is told to stop (tests/mnemic/test_serve.py)"
MINUTES = "it takes a minute or more, or looks at what took that long (tests/mnemic/experiment/test_page.py)"
FETCHES = "it fetches a model, or uses one that was fetched (tests/mnemic/cli/test_model.py)"
LOCKED = "it starts a process that holds the key of a locked mind (tests/mnemic/cli/test_keys.py)"
NOT_RUN = {
    "mnemic model get e5-small-v2": FETCHES,
    "mnemic model use e5-small-v2": FETCHES,
    "mnemic serve": SERVES,
    "mnemic serve --engine embedded": SERVES,
    "mnemic serve --http 127.0.0.1:8765": SERVES,
    "mnemic hooks status --json": "it starts the home's process (tests/docs/test_install_page.py)",
    "mnemic service uninstall --apply": "it has the user's systemd read it (tests/system/test_service.py)",
    "mnemic service install --apply": "it has the user's systemd read it (tests/system/test_service.py)",
    "mnemic hooks status": "it starts the home's process (tests/mnemic/cli/hooks/test_commands.py)",
    "mnemic unlock": LOCKED,
    "mnemic lock": LOCKED,
    "mnemic restore ~/mind.mnemic --recovery": "it asks for the recovery key (tests/mnemic/cli/test_keys.py)",
    "mnemic conflicts 3fa9c01b older": "the name of a conflict is a mind's own (docs/facts.md settles one)",
    "mnemic experiment run practice": MINUTES,
    "mnemic experiment show practice": MINUTES,
    "mnemic experiment compare practice other": MINUTES,
    "mnemic experiment run experiment.toml": MINUTES,
}
"""Commands that the pages name and that are only parsed here, and why."""
PASSPHRASE = "nine otters under the pier\n"
SAID = {
    "mnemic forget --scope slipway --before 2026-09-22": YES,
    "mnemic forget --session call --erase": YES,
    "mnemic rekey --passphrase": PASSPHRASE,
    "mnemic rekey --key-file": PASSPHRASE,
}
"""What somebody says to what a command asks."""
OTHER_PROGRAMS = {
    "claude": "another program",
    "codex": "another program",
    "gemini": "another program",
    "curl": "needs a home that is served (tests/system/test_served_pages.py)",
    "pip": "installs packages",
    "pipx": "installs packages",
    "uv": "installs packages",
    "source": "changes the shell that it is typed in",
    "export": "changes the shell that it is typed in",
    "cd": "changes the shell that it is typed in",
}
"""Programs that the pages name and that are not run here, and why."""
OTHER_TABLES = {"build-system": "what a package is built by", "mcp_servers": "settings of Codex"}
"""What a block of TOML begins with that is nothing of Mnemic's."""
FRAGMENTS = {"CONTRIBUTING.md": ROOT / "actors" / "capture" / "forget_messages.py"}
"""Pages whose Python is a part of a file."""


def of_mnemic(page: str) -> list[Command]:
    return [one for one in TYPED[page] if one.words[0] == "mnemic"]


def languages(page: str) -> set[str]:
    return {block.language for block in blocks(TEXTS[page])}


def keep_files(page: str, user: User) -> list[Block]:
    """Write the files that a page shows whole; its blocks."""
    found = list(blocks(TEXTS[page]))
    for block in found:
        if block.file:
            (user.folder / block.file).write_text(block.text, "utf-8")
    return found


@pytest.fixture
def user(tmp_path: Path, captured_example: tuple[Path, Outcome], monkeypatch: pytest.MonkeyPatch) -> User:
    """Somebody with the example in their memory."""
    return User(tmp_path, captured_example[0], monkeypatch)


@pytest.mark.skipif(not NATIVE, reason="the native extension is not built, and NumPy gives other scores")
@pytest.mark.parametrize("page", [page for page in PAGES if of_mnemic(page)])
def test_the_commands_of_a_page_run_and_print_what_stands_there(page: str, user: User) -> None:
    keep_files(page, user)
    wrong: list[str] = []
    printed: list[tuple[Command, list[str]]] = []
    for one in of_mnemic(page):
        if one.text in NOT_RUN:
            accepts(one.words[1:])
            continue
        code, lines = user.type(one, SAID.get(one.text, ""))
        if code != one.exit_code:
            wrong += [f"{page}:{one.line}: {one.text}: it ends with {code}", *lines]
        elif one.shown is not None and (found := user.differences(one.shown, lines)):
            wrong += [f"{page}:{one.line}: {one.text}", *found] if not WRITE else []
            printed.append((one, lines))
    if WRITE and printed:
        text = TEXTS[page]
        for one, lines in reversed(printed):
            text = with_shown(text, one, lines)
        PAGES[page].write_text(text, "utf-8")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("page", [page for page in PAGES if "python" in languages(page)])
def test_the_python_of_a_page_runs(page: str, user: User) -> None:
    written = [block for block in keep_files(page, user) if block.language == "python"]
    if page in FRAGMENTS:
        assert all(block.text in FRAGMENTS[page].read_text("utf-8") for block in written)
        return
    script = "\n".join(block.text for block in written)
    command = [sys.executable, "-P", "-W", "error", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if "toml" in languages(page)])
def test_the_settings_of_a_page_are_taken(page: str, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples" / "generative_agents")
    monkeypatch.syspath_prepend(user.folder)
    before = set(sys.modules)
    written = keep_files(page, user)
    for number, block in enumerate(block for block in written if block.language == "toml"):
        path = user.folder / f"settings-{number}.toml"
        path.write_text(block.text, "utf-8")
        tables = tomllib.loads(block.text)
        if "arms" in tables:
            load_spec(path)
        elif not tables.keys() & OTHER_TABLES.keys():
            load_settings(path)
    for name in set(sys.modules) - before:
        if str(sys.modules[name].__file__).startswith((str(user.folder), str(ROOT / "examples"))):
            del sys.modules[name]


def test_json_in_pages_is_json() -> None:
    found = [block for text in TEXTS.values() for block in blocks(text) if block.language in ("json", "jsonl")]
    assert found
    for block in found:
        for part in block.lines if block.language == "jsonl" else [block.text]:
            json.loads(part)


def test_code_says_its_language_where_it_is_no_shells() -> None:
    code = re.compile(r"(import|from|with|class|def) \w.*|\[\[?[\w.]+\]?\]|\{\"?.*")
    found = [(page, block.line) for page, text in TEXTS.items() for block in blocks(text) if not block.language]
    unnamed = [(page, line) for page, line in found if code.fullmatch(TEXTS[page].split("\n")[line - 1].strip())]
    assert unnamed == []


@pytest.mark.parametrize("page", [page for page in PAGES if any(one.words[0] == "python" for one in TYPED[page])])
def test_the_benches_of_a_page_take_what_it_gives_them(page: str) -> None:
    for one in TYPED[page]:
        if one.words[0] == "python":
            assert one.words[1:3] == ["-m", "mnemic.bench"], one
            name, *options = (word for word in re.sub(r"[\[\]]|\.\.\.", "", one.text).split()[3:])
            parser = bench_parser(name, bench_named(name))
            for words in itertools.product(*(_alternatives(option) for option in options)):
                parser.parse_args(words)


def _alternatives(option: str) -> list[str]:
    """What a word of a synopsis stands for: each of its alternatives, a number for N."""
    return ["1" if one == "N" else one for one in option.split("|")]


def test_what_a_sentence_names_is_a_command_and_has_these_options() -> None:
    wrong = []
    for page, text in TEXTS.items():
        for span in re.findall(r"`mnemic ([a-z][^`]*)`", text):
            command, words = named_command(span.split())
            options = (*cli.params, *command.params)
            known = {name for option in options for name in (*option.opts, *option.secondary_opts)}
            given = {option for word in words for option in re.findall(r"^\[?(--?[a-z][\w-]*)", word)}
            if command is cli or not given <= known | {"--help"}:
                wrong.append((page, span, given - known))
    assert wrong == []


def test_other_programs_are_known_and_make_has_its_targets() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    seen = set()
    for page, typed in TYPED.items():
        for one in typed:
            program, *words = one.words
            seen.add(program)
            if program == "make":
                assert {word for word in words if "=" not in word} <= targets, (page, one)
            elif program not in ("mnemic", "python"):
                assert program in OTHER_PROGRAMS, (page, one)
                assert set(re.findall(r"^\.\[(\w+)\]$", one.text, re.MULTILINE)) <= extras.keys(), (page, one)
    assert OTHER_PROGRAMS.keys() <= seen


def test_what_is_not_run_stands_on_a_page_and_what_runs_it_is_there() -> None:
    typed = {one.text for page in PAGES for one in of_mnemic(page)}
    assert len(typed) > 80
    assert {text for text in (*NOT_RUN, *SAID) if text not in typed} == set()
    reasons = " ".join((*NOT_RUN.values(), *OTHER_PROGRAMS.values()))
    assert {path for path in re.findall(r"[\w/]+\.(?:py|md)", reasons) if not (ROOT / path).exists()} == set()
