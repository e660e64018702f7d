"""Somebody's own actor runs where it is named, on every engine; one that breaks the contract is refused."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.kernel.errors import ActorRefused, BadSettings, DamagedStore, InvalidValue
from mnemic.actors.sleep.messages import Sleep
from mnemic.runtime.engine.actor_system import start_actor_system
from mnemic.runtime.engine.plugins import (
    BUILT_IN_ACTORS,
    SLOTS,
    class_path,
    contract_violation,
    load_actor,
    slot_messages,
)
from mnemic.runtime.engine.settings import Settings, load_settings, settings_table
from mnemic.runtime.files.atomic_replace import lock_exclusive
from mnemic.runtime.minds.homes import create_mind, open_mind
from tests.clocks import ManualClock
from tests.harness import START_US
from tests.processes.faces import Outcome
from tests.runtime import strangers
from tests.runtime.building import ROOT, said
from tests.waiting import BOUND_S

HERE = strangers.__name__
SECRET = "the tea is in the blue tin"


def settings_of(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "mnemic.toml").write_text(text, "utf-8")
    return load_settings(tmp_path / "mnemic.toml")


def no_transcripts(path: str, format: str) -> Any:
    raise AssertionError(path)


def start(home: Path, settings: Settings) -> Any:
    clock = ManualClock(START_US)
    if not (home / "minds").exists():
        create_mind(home, "default", clock)
    return start_actor_system(*open_mind(home, "default"), settings, clock, opener=no_transcripts, code="test")


# --- what is taken ---------------------------------------------------------------------------------------------------


def test_every_slot_has_a_built_in_actor_that_takes_what_the_slot_is_asked_for() -> None:
    assert list(BUILT_IN_ACTORS) == list(SLOTS)
    for slot, kind in BUILT_IN_ACTORS.items():
        assert contract_violation(kind, slot) is None
        assert load_actor(class_path(kind), slot) is kind
    table = [setting.name for setting in settings_table()]
    assert {name for name in table if name.startswith("actors.")} == {f"actors.{slot}" for slot in SLOTS}
    assert Settings().actors == BUILT_IN_ACTORS


def test_what_a_slot_is_asked_for_is_all_that_faces_and_other_actors_send_it() -> None:
    known_absent = {"Committed", "VectorsChanged", "CommunitiesChanged", "MindOpened", "WorkOn"}
    calls: dict[str, set[str]] = {}
    for folder in ("runtime", "mnemic", "hooks", "actors"):
        for path in (ROOT / folder).rglob("*.py"):
            nodes = ast.walk(ast.parse(path.read_text("utf-8")))
            made = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
            # `question` and `verb` make the message that they are given first.
            makers = [
                node.args[0] if node.func.id in {"question", "verb"} and node.args else node.func for node in made
            ]
            names = {maker.id for maker in makers if isinstance(maker, ast.Name)}
            calls["mnemic." + ".".join(path.relative_to(ROOT).with_suffix("").parts)] = names
    for slot, kind in BUILT_IN_ACTORS.items():
        sent = set().union(*(names for module, names in calls.items() if module != kind.__module__))
        asked = {message.__name__ for message in kind.takes} & sent - known_absent
        assert asked == {message.__name__ for message in slot_messages(slot)}, slot


def test_an_actor_that_lacks_what_a_verb_sends_is_refused_with_the_names() -> None:
    why = contract_violation(strangers.RecallsAlone, "retriever")
    assert why is not None
    assert why.startswith("it does not take ")
    assert {"Shape", "FindSimilar", "ShowMemories", "ListMemories", "CountUse"} <= set(re.split(r"[ ,]+", why))


def test_a_named_class_fills_its_slot_and_brings_its_settings(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, f'[actors]\nconsolidator = "{HERE}:Fine"\n[fine]\ndepth = 5\n')
    assert settings.actors == dict(BUILT_IN_ACTORS) | {"consolidator": strangers.Fine}
    assert (settings["fine.depth"], settings["fine.eager"]) == (5, False)
    running = start(tmp_path / "home", settings)
    assert running.ask(Sleep(run="n", seed=bytes(32), budget_s=60.0)).finished
    assert [actor.kind for actor in running.report().actors][-1] == f"{HERE}:Fine"
    running.stop()


def test_a_class_within_a_class_can_be_named() -> None:
    assert load_actor(f"{HERE}:Fine.Within", "consolidator") is strangers.Fine.Within


def test_an_heir_of_a_built_in_actor_keeps_its_settings(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, f'[actors]\nretriever = "{HERE}:Heir"\n[recall]\nk = 3\n')
    assert (settings["recall.k"], settings["heir.share"]) == (3, 0.5)


def test_another_actor_is_another_hash() -> None:
    assert Settings({"actors.consolidator": f"{HERE}:Fine"}).hash() != Settings().hash()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[fine]\ndepth = 0\n", "it is not 1 or more"),
        ("[fine]\ndepth = 'x'\n", "it is not a whole number"),
        ("[fine]\neager = 1\n", "it is not true or false"),
        ("[fine]\nbreadth = 1\n", "there is no such setting"),
    ],
)
def test_a_strangers_settings_are_checked_like_all_others(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        settings_of(tmp_path, f'[actors]\nconsolidator = "{HERE}:Fine"\n{text}')


def test_a_strangers_settings_are_unknown_where_it_is_not_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="there is no such setting"):
        settings_of(tmp_path, "[fine]\ndepth = 5\n")


# --- what is refused -------------------------------------------------------------------------------------------------

REFUSED = {
    "no_such_package:Actor": r"no_such_package cannot be imported \(ModuleNotFoundError: No module named 'no_such_pac",
    ":Actor": "its module cannot be imported",
    f"{HERE}:Absent": "there is no class 'Absent' in ",
    f"{HERE}:": "there is no class '' in ",
    f"{HERE}:NO_CLASS": "there is no class 'NO_CLASS' in ",
    "no-such-entry-point": r"no installed package offers an actor of that name \(offered: ",
    f"{HERE}:OtherContract": "it keeps contract 2, and this is contract 1",
    f"{HERE}:NoContract": "it does not say which contract it keeps",
    f"{HERE}:TakesNothing": "it takes no messages",
    f"{HERE}:TakesAList": "it takes no messages",
    f"{HERE}:TakesWords": "it takes 'str', which is no message type",
    f"{HERE}:TakesMutable": "it takes 'Mutable', which is no message type",
    f"{HERE}:NeverWakes": "it does not take Preempt",
    f"{HERE}:Heir": "it does not take Sleep, Preempt",
    f"{HERE}:Greedy": "it takes Count, and the retriever is asked for that",
    f"{HERE}:SettingClashes": "there is a setting 'recall.k' already",
    f"{HERE}:SettingInOurs": "its setting 'recall.depth' is in a section that is not its own",
    f"{HERE}:SettingTwice": "two of its settings have one name",
    f"{HERE}:SettingWithoutSection": "its setting 'depth' has no name such as section.key",
    f"{HERE}:SettingOfAList": (
        "its setting 'alist.a' has a default that is no number, text, truth value or tuple of texts"
    ),
    f"{HERE}:SettingsOfWords": "its settings are no tuple of Setting",
    f"{HERE}:SettingNamesAnActor": "its setting 'actors.dreamer' is in the section that names actors",
    f"{HERE}:NoHandle": r"it has no handle\(message, context\)",
    f"{HERE}:NoMake": r"it has no classmethod make\(ports\)",
}


@pytest.mark.parametrize("name", REFUSED)
def test_who_does_not_keep_the_contract_is_refused_before_anything_is_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(ActorRefused, match=REFUSED[name]) as caught:
        settings_of(tmp_path, f'[actors]\nconsolidator = "{name}"\n')
    assert said(caught.value).startswith(f"The actor {name!r} cannot be used as consolidator: ")


def test_two_strangers_may_not_take_one_message() -> None:
    with pytest.raises(ActorRefused, match="it takes Own, and the retriever is asked for that"):
        Settings({"actors.consolidator": f"{HERE}:One", "actors.retriever": f"{HERE}:Two"})


def test_a_module_that_fails_or_exits_when_it_is_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for number, code in enumerate(("raise SystemExit(3)", "1 / 0", "def (")):
        (tmp_path / f"bad_module_{number}.py").write_text(code, "utf-8")
        with pytest.raises(ActorRefused, match="cannot be imported") as caught:
            load_actor(f"bad_module_{number}:Actor", "consolidator")
        said(caught.value)


@pytest.mark.parametrize("value", ["3", "true", "[]"])
def test_what_is_no_name_is_refused_as_any_setting(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidValue, match="it is not a text"):
        settings_of(tmp_path, f"[actors]\nconsolidator = {value}\n")


def test_a_slot_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="there is no such setting"):
        settings_of(tmp_path, f'[actors]\ndreamer = "{HERE}:Fine"\n')
    with pytest.raises(BadSettings):
        settings_of(tmp_path, "[actors\n")


@pytest.mark.parametrize(
    ("name", "error", "why"),
    [
        ("CannotBeMade", ActorRefused, r"its make\(\) failed: ValueError at make \(strangers.py:\d+\)\.$"),
        ("MisconfiguredSaysSo", ActorRefused, r"failed: tea.tin cannot be 'blue': it is empty\.$"),
        ("MeetsADamagedStore", DamagedStore, "a page is gone"),
    ],
)
def test_one_that_cannot_be_made_is_refused_and_nothing_runs(
    tmp_path: Path, name: str, error: type[Exception], why: str
) -> None:
    settings = Settings({"actors.consolidator": f"{HERE}:{name}"})
    with pytest.raises(error, match=why) as caught:
        start(tmp_path / "home", settings)
    assert SECRET not in str(caught.value)
    with lock_exclusive(tmp_path / "home" / "minds" / "default", 0.0):
        pass  # nobody has the store open any more


# --- from another package --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of docs/actors.md, word for word, installed into a folder of its own."""
    source, target = tmp_path_factory.mktemp("tally"), tmp_path_factory.mktemp("installed")
    text = (ROOT / "docs" / "actors.md").read_text("utf-8")
    for name in ("mnemic_tally.py", "pyproject.toml"):
        block = re.search(rf"^`{re.escape(name)}`:\n\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        assert block is not None
        (source / name).write_text(block[1], "utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, *options, str(source)], check=True, capture_output=True)
    return target


def run_with(installed: Path, *command: object) -> Outcome:
    """Run Python where the package is installed."""
    path = os.pathsep.join([str(installed), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    ended = subprocess.run(
        [sys.executable, *map(str, command)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    return Outcome(ended.returncode, ended.stdout, ended.stderr)


NIGHT = """
import json, sys
from pathlib import Path
from mnemic.actors.recall.messages import Recall
from mnemic.actors.sleep.messages import Sleep
from mnemic.compose import engine_factory, open_actor_system
from mnemic.runtime.clock import SystemClock

if __name__ == "__main__":
    home, engine = Path(sys.argv[1]), sys.argv[2]
    clock = SystemClock()
    actor_system = open_actor_system(home, "default", engine_factory(engine, clock), clock=clock, create=False)
    try:
        nights = [actor_system.ask(Sleep(run="night", seed=bytes(32), budget_s=1.0)) for _ in range(2)]
        found = actor_system.ask(Recall(query="lines", kinds=("summary",), signals=("lexical",), observe=False))
        kinds = {actor.actor: actor.kind for actor in actor_system.report().actors}
    finally:
        actor_system.stop()
    print(json.dumps([[night.steps for night in nights], [hit.text for hit in found.hits], kinds]))
"""


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("embedded", "tally"),
        pytest.param("embedded", "mnemic_tally:Tally", marks=pytest.mark.system),
        pytest.param("ray", "mnemic_tally:Tally", marks=pytest.mark.system),
    ],
)
def test_an_actor_of_another_package_runs_and_is_shown(
    command: Callable[..., Outcome], home: Path, tmp_path: Path, installed: Path, engine: str, name: str
) -> None:
    (tmp_path / "said.jsonl").write_text(
        "".join(json.dumps({"session": "s", "role": "user", "text": f"line {n}"}) + "\n" for n in range(3)), "utf-8"
    )
    assert command("capture", tmp_path / "said.jsonl", "--home", home, "--no-meaning").code == 0
    settings = (home / "mnemic.toml").read_text("utf-8")
    (home / "mnemic.toml").write_text(f'{settings}[actors]\nconsolidator = "{name}"\n[tally]\nnoun = "line"\n', "utf-8")
    (tmp_path / "night.py").write_text(NIGHT, "utf-8")
    slept = run_with(installed, tmp_path / "night.py", home, engine)
    assert slept.code == 0, slept.err
    nights, found, kinds = json.loads(slept.out.splitlines()[-1])
    assert nights == [["tally"], ["tally"]]
    assert found == ["3 lines so far"], "twice is once"
    assert kinds["consolidator"] == "mnemic_tally:Tally"
    shown = run_with(installed, "-m", "mnemic", "status", "--home", home, "--json")
    assert shown.code == 0, shown.err
    assert {actor["actor"]: actor["kind"] for actor in shown.json["actor_system"]["actors"]} == kinds
    assert shown.json["counts"]["kinds"] == {"summary": 1, "turn": 3}


@pytest.mark.system
def test_the_package_of_the_documentation_keeps_the_contract(installed: Path) -> None:
    ended = run_with(installed, "-m", "mnemic.bench", "contract", "tally")
    assert (ended.code, ended.err) == (0, "")
    assert {line.split()[0] for line in ended.out.splitlines()[1:]} == {"ok"}


def test_where_the_package_is_gone_every_command_says_so(home: Path, tmp_path: Path) -> None:
    (home / "mnemic.toml").write_text('[actors]\nconsolidator = "tally"\n', "utf-8")
    (tmp_path / "a.txt").write_text("a line", "utf-8")
    ended = run_with(tmp_path, "-m", "mnemic", "capture", tmp_path / "a.txt", "--home", home)
    assert ended.code != 0
    assert "The actor 'tally' cannot be used as consolidator: no installed package offers" in ended.err
    assert "Traceback" not in ended.err
    assert not (home / "minds").exists()
