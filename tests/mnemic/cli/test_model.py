"""`mnemic model` lists, fetches and uses models by name, and words alone are a choice that no command calls a fault."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemic.runtime.models.catalogue import FILES, MODELS
from tests.modelling import SMALL, write_model
from tests.processes.faces import Outcome, lines, run, turn

Command = Callable[..., Outcome]
NAMED = "e5-small-v2"


def named(home: Path) -> object:
    """What the settings of a home name."""
    return tomllib.loads((home / "mnemic.toml").read_text("utf-8"))["embedder"]["model"]


@pytest.fixture
def home(home: Path) -> Path:
    """A home whose settings name the default model."""
    (home / "mnemic.toml").write_text('# mine\n[embedder]\nmodel = ""\n', "utf-8")
    return home


def test_all_are_listed_with_the_one_in_use(command: Command, home: Path) -> None:
    listed = command("model", "list", "--home", home)
    assert [line.split()[0] for line in listed.out.splitlines()] == [one.name for one in MODELS]
    assert listed.out.splitlines()[0].endswith("in use")
    assert listed.out.splitlines()[2].endswith(f"`mnemic model get {NAMED}` fetches it")


def test_what_brings_a_model_by_hand_is_said(command: Command, home: Path) -> None:
    told = command("model", "folder", NAMED, "--home", home)
    assert told.out.splitlines()[0] == str(home / "models" / NAMED)
    assert all(file in told.out for file in FILES)
    refused = command("model", "folder", "default", "--home", home)
    assert (refused.code, "none of that name is fetched" in refused.err) == (2, True)


def test_another_model_is_used_by_name_and_the_former_one_taken_back(
    command: Command, home: Path, tmp_path: Path
) -> None:
    command("capture", lines(tmp_path / "t.jsonl", turn("an otter", id="1")), "--home", home)
    absent = command("model", "use", NAMED, "--home", home)
    assert (absent.code, "there is no such folder" in absent.err) == (4, True)
    assert named(home) == ""
    place = write_model(home / "models" / NAMED, SMALL)
    used = command("model", "use", NAMED, "--home", home)
    assert (used.code, used.out.startswith(f"from now on {place} embeds")) == (0, True)
    assert named(home) == str(place)
    prompts = json.loads((place / "config_sentence_transformers.json").read_text("utf-8"))["prompts"]
    assert prompts == {"passage": "passage: ", "query": "query: "}
    command("capture", lines(tmp_path / "u.jsonl", turn("a heron", id="2")), "--home", home)
    status = command("status", "--home", home, "--json").json
    assert (status["counts"]["embedded"], status["degraded"]) == (2, [])
    assert command("model", "list", "--home", home, "--json").json["models"][2]["used"] is True
    assert command("model", "use", "default", "--home", home).code == 0
    assert named(home) == ""
    assert command("model", "use", "Default", "--home", home).out == "default is in use already\n"


def test_other_weights_under_a_name_are_refused(command: Command, home: Path) -> None:
    place = write_model(home / "models" / NAMED, SMALL)
    assert command("model", "use", NAMED, "--home", home).code == 0
    command("model", "use", "default", "--home", home)
    weights = place / "model.safetensors"
    seen = hashlib.sha256(weights.read_bytes()).hexdigest()
    weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    refused = command("model", "use", NAMED, "--home", home)
    assert (refused.code, f"expected {seen}" in refused.err) == (4, True)
    assert named(home) == ""


def test_a_folder_that_holds_no_model_changes_nothing(command: Command, home: Path, tmp_path: Path) -> None:
    place = write_model(tmp_path / "mine", SMALL)
    (place / "tokenizer.json").write_text("{", "utf-8")
    refused = command("model", "use", place, "--home", home)
    assert (refused.code, "it is no tokenizer" in refused.err) == (4, True)
    assert named(home) == ""


def test_a_name_that_is_none_is_told_with_those_there_are(command: Command, home: Path) -> None:
    refused = command("model", "use", "e5-smal-v2", "--home", home)
    assert (refused.code, "default, off, " in refused.err, NAMED in refused.err) == (2, True, True)
    (home / "models" / NAMED).mkdir(parents=True)
    (home / "models" / NAMED / "model.safetensors").touch()
    assert command("model", "list", "--home", home, "--json").json["models"][2]["there"] is False


def test_words_alone_are_a_choice_and_no_fault(command: Command, home: Path, tmp_path: Path) -> None:
    assert command("model", "use", "off", "--home", home).out.startswith("words alone answer from now on")
    captured = command("capture", lines(tmp_path / "t.jsonl", turn("an otter", id="1")), "--home", home)
    assert (captured.code, "meaning:" in captured.out, "wait" in captured.out) == (0, False, False)
    status = command("status", "--home", home)
    assert "meaning is switched off in the settings: words alone answer; " in status.out
    assert status.out.splitlines()[-1] == "degraded: nothing"
    found = command("recall", "otter", "--home", home, "--scope", "*", "--json").json
    assert ([one["text"] for one in found["hits"]], found["degraded"]) == (["an otter"], [])
    checks = {one["name"]: one for one in command("doctor", "--home", home, "--json").json["checks"]}
    assert checks["model"]["detail"] == "switched off in the settings: words alone answer"
    assert checks["meaning"]["state"] == "ok"
    assert "in use: none, words alone answer" in command("model", "list", "--home", home).out


class Hub:
    """A stand-in for the hub: one repository, at one commit."""

    def __init__(self, repository: str, folder: Path) -> None:
        self.repository, self.folder = repository, folder
        self.commit = "1" * 40

    def handler(hub) -> type[http.server.BaseHTTPRequestHandler]:  # noqa: N805
        class Answers(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(whole=False)

            def do_GET(self) -> None:
                self.answer(whole=True)

            def answer(self, *, whole: bool) -> None:
                path = self.path.partition("?")[0]
                files = sorted(str(one.relative_to(hub.folder)) for one in hub.folder.rglob("*") if one.is_file())
                if path.startswith(f"/api/models/{hub.repository}"):
                    tree = [
                        {"type": "file", "path": one, "size": (hub.folder / one).stat().st_size, "oid": "0" * 40}
                        for one in files
                    ]
                    info = {"id": hub.repository, "sha": hub.commit, "siblings": [{"rfilename": one} for one in files]}
                    body = json.dumps(tree if "/tree/" in path else info).encode()
                    self.send(200, body, {"Content-Type": "application/json"}, whole=whole)
                    return
                name = path.rpartition("/resolve/")[2].partition("/")[2]
                if name not in files:
                    self.send(404, b"", {"X-Error-Code": "EntryNotFound"}, whole=whole)
                    return
                body = (hub.folder / name).read_bytes()
                tag = hashlib.sha256(body).hexdigest()
                self.send(200, body, {"ETag": f'"{tag}"', "X-Repo-Commit": hub.commit}, whole=whole)

            def send(self, code: int, body: bytes, headers: dict[str, str], *, whole: bool) -> None:
                self.send_response(code)
                for name, value in (headers | {"Content-Length": str(len(body))}).items():
                    self.send_header(name, value)
                self.end_headers()
                if whole:
                    self.wfile.write(body)

            def log_message(self, *given: object) -> None:
                pass

        return Answers


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    folder = write_model(tmp_path / "at the hub", SMALL)
    (folder / "README.md").write_text("not wanted", "utf-8")
    made = Hub(f"intfloat/{NAMED}", folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), made.handler())
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub's own"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.system
def test_a_model_is_fetched_when_asked_for_and_held_to_the_hash_that_was_seen(home: Path, hub: Hub) -> None:
    pytest.importorskip("huggingface_hub")
    got = run("model", "get", NAMED, "--home", home)
    assert (got.code, got.err) == (0, "")
    place = home / "models" / NAMED
    assert got.out == f"{NAMED} is in {place}; `mnemic model use {NAMED}` uses it\n"
    assert not (place / "README.md").exists()
    weights = place / "model.safetensors"
    assert weights.read_bytes() == (hub.folder / "model.safetensors").read_bytes()
    noted = (home / "models" / f"{NAMED}.sha256").read_text("ascii")
    assert noted == f"{hashlib.sha256(weights.read_bytes()).hexdigest()}  {NAMED}/model.safetensors\n"
    assert run("model", "use", NAMED, "--home", home).code == 0
    hub.commit = "2" * 40
    (hub.folder / "model.safetensors").write_bytes(weights.read_bytes()[:-2] + b"\1\1")
    again = run("model", "get", NAMED, "--home", home)
    assert (again.code, "not those that were seen first" in again.err) == (4, True)
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == noted.split()[0], "what is in use stays"


@pytest.mark.system
def test_a_hub_that_lacks_it_is_one_sentence_that_says_what_to_do(home: Path, hub: Hub) -> None:
    pytest.importorskip("huggingface_hub")
    missing = run("model", "get", "bge-small-en-v1.5", "--home", home)
    assert missing.code == 4
    assert "BAAI/bge-small-en-v1.5 could not be fetched" in missing.err
    assert "into that folder yourself" in missing.err
    assert missing.err.count("\n") == 1
