"""The home's process, from outside: one for all assistants, there when it is wanted, and nothing lost when it goes."""

from __future__ import annotations

import http.client
import json
import os
import queue
import resource
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import mnemic
from mnemic.actors.capture.messages import CaptureText
from mnemic.actors.kernel.errors import DamagedStore, InvalidValue
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.open_mind import mind_over
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.client.launcher import ensure_running
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.homes import DEFAULT_MIND, create_mind, mind_names
from mnemic.runtime.minds.run_dir import PROTOCOL, RunDir, ServerInfo
from mnemic.runtime.serve.http.tcp import bind_tcp, new_token, verify_token
from mnemic.runtime.serve.metrics import CONTENT_TYPE
from tests.processes.faces import finish, git_project, lines, run, start, turn
from tests.processes.hosted import HELLO, UnixConnection, message, tool_call
from tests.processes.serving import Assistant, end, gone, info_of, ready, serving
from tests.waiting import BOUND_S, until

CLOCK = SystemClock()
PLACE = ScopeRef(path="kitchen", project=None, found="named")
STOP_S = 10.0  # DESIGN.md: told to leave, it has left by then


def served(home: Path, mind: str = "default") -> Mind:
    """A mind by way of its home's process; one that no request makes is made first."""
    if mind not in (DEFAULT_MIND, *mind_names(home)):
        create_mind(home, mind, CLOCK)
    actor_system = RemoteActorSystem(home, mind, True, CLOCK)
    return mind_over(actor_system, home, mind, actor_system.server_info)


def setting(home: Path, lines: str) -> None:
    """Add settings to a home's."""
    path = home / "mnemic.toml"
    path.write_text(f"{path.read_text('utf-8')}{lines}\n", "utf-8")


def log_of(home: Path) -> list[dict[str, Any]]:
    """The whole lines of a process's log: one still being written is left for the next look."""
    lines = (home / "serve.log").read_text("utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


# --- one process for all ---------------------------------------------------------------------------------------------


def test_three_assistants_share_a_process_that_nobody_started(home: Path, tmp_path: Path) -> None:
    pier, lake = git_project(tmp_path / "pier"), git_project(tmp_path / "lake")
    (pier / "below").mkdir()
    folders = [pier, pier / "below", lake]
    with (
        Assistant(home, folders[0], allow="read-all") as a,
        Assistant(home, folders[1]) as b,
        Assistant(home, folders[2]) as c,
    ):
        info = ready(home)
        for assistant, bird in ((a, "heron"), (b, "stork"), (c, "swan")):
            assistant.tool(tool_call(2, "memory_capture", text=f"the {bird} nests here"))
        found = [
            {hit["text"] for hit in one.tool(tool_call(3, "memory_recall", query="nests"))["hits"]} for one in (a, b, c)
        ]
        both = {"the heron nests here", "the stork nests here"}
        assert found == [both, both, {"the swan nests here"}]
        everything = a.tool(tool_call(4, "memory_recall", query="nests", scope="*"))
        assert len(everything["hits"]) == 3
        assert [one.close() for one in (a, b, c)] == [(0, [])] * 3
    assert info_of(home) == info
    assert info.mode == "on-demand"


@pytest.mark.system
def test_it_leaves_when_nobody_has_wanted_anything_and_comes_back_when_somebody_does(home: Path) -> None:
    setting(home, "[runtime]\nidle_exit_s = 0.5\nsleep_after_s = 0.2")
    with Assistant(home, allow="read-all") as assistant:
        assistant.tool(tool_call(2, "memory_capture", text="an otter"))
        served(home, "other").remember("another mind's otter")
        served(home).counts()
        first = ready(home)
        until(lambda: gone(first.pid))
        assert info_of(home) is None
        found = assistant.tool(tool_call(3, "memory_recall", query="otter", scope="*"))
        assert [hit["text"] for hit in found["hits"]] == ["an otter"]
        assert ready(home).pid != first.pid


@pytest.mark.system
def test_a_process_whose_home_is_gone_goes_as_well(home: Path) -> None:
    ensure_running(home, CLOCK)
    info = ready(home)
    home.rename(home.with_name("gone"))  # at once: what is removed file by file is written to meanwhile
    until(lambda: gone(info.pid))


# --- it takes over, and is replaced ----------------------------------------------------------------------------------


@pytest.mark.system
def test_the_foreground_takes_over_while_requests_are_under_way_and_nothing_is_lost(home: Path) -> None:
    with Assistant(home) as assistant:
        first = ready(home)
        answers: queue.SimpleQueue[bool | Exception] = queue.SimpleQueue()
        stop = threading.Event()

        def write(name: str) -> None:
            mind, number = served(home), 0
            while not stop.is_set():
                try:
                    answers.put(mind.remember(f"{name} says {number}", session=name).created)
                except Exception as error:  # looked at below
                    answers.put(error)
                number += 1

        writers = [threading.Thread(target=write, args=(name,)) for name in ("ada", "bea", "cid")]
        for one in writers:
            one.start()
        until(lambda: answers.qsize() > 10)
        assistant.send(*(tool_call(n, "memory_capture", text=f"piped {n}") for n in range(2, 40)))
        with serving(home) as process:
            piped = assistant.hear_all(38)
            seen = answers.qsize()
            until(lambda: answers.qsize() > seen + 10)
            stop.set()
            for one in writers:
                one.join()
            until(lambda: gone(first.pid))
            given = [answers.get() for _ in range(answers.qsize())]
            assert [one for one in given if one is not True] == []
            assert not [one for one in piped.values() if one.get("error") or one["result"].get("isError")]
            counts = served(home).counts()
            assert counts.memories == len(given) + 38

            process.terminate()
            assert process.wait(STOP_S) == 0


def refused(home: Path, *options: str) -> str:
    """What a second process in the foreground says; it says so at once, and is gone."""
    second = run("serve", "--home", home, *options)
    assert (second.code, second.out, second.err.count("\n")) == (2, "", 1)
    return second.err


@pytest.mark.parametrize("engine", ["embedded", pytest.param("ray", marks=pytest.mark.system)])
def test_a_second_one_in_the_foreground_is_refused_by_the_first_ones_name(home: Path, engine: str) -> None:
    with serving(home) as process:
        said = refused(home, "--engine", engine)
        assert f"is served already, by process {process.pid} (mnemic serve --engine embedded)" in said
        assert served(home).remember("the first one serves on").created
        assert info_of(home) == ready(home)
        assert ready(home).pid == process.pid


@pytest.mark.system
def test_requests_under_way_when_it_is_killed_are_answered_by_the_next_one(home: Path) -> None:
    with Assistant(home) as assistant:
        first = ready(home)
        assistant.send(*(tool_call(n, "memory_capture", text=f"otter {n}") for n in range(2, 62)))
        heard = assistant.hear_all(5)
        os.kill(first.pid, signal.SIGKILL)
        heard |= assistant.hear_all(55)
        assert sorted(heard) == list(range(2, 62))
        assert [one["error"] for one in heard.values() if "error" in one] == []
        assert len({one["result"]["structuredContent"]["id"] for one in heard.values()}) == 60
        assert assistant.close() == (0, [])
    assert ready(home).pid != first.pid
    with mnemic.open(home) as mind:
        assert mind.counts().memories == 60


@pytest.mark.system
def test_a_capture_through_an_older_process_is_neither_lost_nor_doubled(home: Path) -> None:
    with serving(home, protocol=PROTOCOL - 1) as older, Assistant(home) as assistant:
        assistant.send(*(tool_call(n, "memory_capture", text=f"otter {n}") for n in range(2, 12)))
        assert sorted(assistant.hear_all(10)) == list(range(2, 12))
        assert older.wait(STOP_S) == 0
    assert ready(home).mode == "on-demand"
    assert served(home).counts().memories == 10


# --- faults ----------------------------------------------------------------------------------------------------------


def test_an_assistant_is_told_what_is_wrong_until_it_is_mended(home: Path) -> None:
    good = (home / "mnemic.toml").read_text("utf-8")
    setting(home, "[recall]\ncolour = 3")
    with Assistant(home, hello=False) as assistant:
        assistant.send(HELLO, b"no json\n")
        said = assistant.hear_all(2)
        told = said[1]["error"]["message"]
        assert "there is no such setting" in told
        assert "does not answer: it does not start: " in told
        assert ".." not in told
        assert said[None]["error"]["code"] == -32700
        assistant.send(message(2, "ping"))
        assert "there is no such setting" in assistant.hear()["error"]["message"]
        (home / "mnemic.toml").write_text(good, "utf-8")
        assistant.send(message(3, "ping"))
        assert assistant.hear() == {"jsonrpc": "2.0", "id": 3, "result": {}}


@pytest.mark.parametrize("engine", ["embedded", pytest.param("ray", marks=pytest.mark.system)])
def test_bad_settings_are_one_sentence_for_who_starts_it(home: Path, engine: str) -> None:
    setting(home, "[recall]\ncolour = 3")
    ended = run("serve", "--engine", engine, "--home", home)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "there is no such setting" in ended.err
    assert not (home / "run" / "serve.json").exists()


@pytest.mark.system
def test_a_token_is_made_only_once_the_address_has_been_taken(home: Path) -> None:
    kept = new_token(home / "http-token")
    with bind_tcp("127.0.0.1:0", token=None, certificate=None, key=None).listening as taken:
        for address, why in (("0.0.0.0:0", "in clear"), (f"127.0.0.1:{taken.getsockname()[1]}", "in use")):
            ended = run("serve", "--engine", "embedded", "--http", address, "--new-token", "--home", home)
            assert (ended.code, ended.err.count("\n")) == (2, 1)
            assert why in ended.err
    assert verify_token(home / "http-token", kept)
    with serving(home, "--http", "127.0.0.1:0", "--token", "--new-token"):
        assert not verify_token(home / "http-token", kept)


def over_tcp(address: str, **headers: str) -> int:
    """The status of what is answered over TCP without a right."""
    with closing(http.client.HTTPConnection(address, timeout=BOUND_S)) as connection:
        connection.request("GET", "/api/report", headers=headers)
        return connection.getresponse().status


@pytest.mark.system
def test_on_loopback_too_the_token_is_demanded_and_its_file_is_named(home: Path) -> None:
    file = home / "http-token"
    tokens = []
    for _ in range(2):
        with serving(home, "--http", "127.0.0.1:0") as process:
            served(home).counts()
            address = ready(home).tcp or ""
            tokens.append(file.read_text().strip())
            assert over_tcp(address) == 401
            assert over_tcp(address, Authorization=f"Bearer {tokens[-1]}") == 200
            process.terminate()
            told = process.communicate(timeout=STOP_S)[1].decode()
        assert f"http://{address} asks for the token in {file} (Authorization: Bearer TOKEN)\n" in told
        assert tokens[-1] not in told, "what starts it may keep what it says"
    assert tokens[0] == tokens[1]


@pytest.mark.system
def test_without_a_token_what_that_means_is_said_and_only_loopback_may_go_without(home: Path, tmp_path: Path) -> None:
    with serving(home, "--http", "127.0.0.1:0", "--no-token") as process:
        served(home).counts()
        address = ready(home).tcp or ""
        assert over_tcp(address) == 200
        process.terminate()
        told = process.communicate(timeout=STOP_S)[1].decode()
    assert f"http://{address} asks for no token: any program and any user of this machine may read" in told
    assert not (home / "http-token").exists()
    own = ("--tls-cert", tmp_path / "c.pem", "--tls-key", tmp_path / "k.pem")
    ended = run("serve", "--engine", "embedded", "--http", "0.0.0.0:0", "--no-token", *own, "--home", home)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "beyond this machine a token is demanded" in ended.err


@pytest.mark.system
def test_connections_over_tcp_that_say_nothing_leave_the_homes_own_sockets_free(home: Path) -> None:
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, descriptors[1]))  # as some systems have it; processes inherit it
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, descriptors)
        stack.enter_context(serving(home, "--http", "127.0.0.1:0", "--no-token"))
        resource.setrlimit(resource.RLIMIT_NOFILE, descriptors)
        host, _, port = (ready(home).tcp or "").rpartition(":")
        crowd = []
        for _ in range(300):
            crowd.append(stack.enter_context(closing(socket.create_connection((host, int(port)), BOUND_S))))
            with suppress(ConnectionError):  # refused by now
                crowd[-1].sendall(b"POST /api/count HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n")
        with closing(UnixConnection(Path(ready(home).http_socket))) as own:
            own.request("GET", "/healthz")
            assert own.getresponse().status == 200
        with Assistant(home) as assistant:
            assert assistant.tool(tool_call(2, "memory_status"))["counts"]["memories"] == 0
        refused = 0
        for one in crowd[64:]:
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
            refused += 1
        assert refused == len(crowd) - 64
        for one in crowd:
            one.close()
        until(lambda: asked_over_tcp(f"{host}:{port}"))
        refusals = [line for line in log_of(home) if line["logger"] == "mnemic.tcp"]
        assert [line["message"] for line in refusals] == ["64 connections over TCP are open: more are refused"]


def asked_over_tcp(address: str) -> bool:
    try:
        return over_tcp(address, Mnemic_Create="1") == 200
    except (ConnectionError, http.client.HTTPException):
        return False


def test_a_home_that_is_named_and_is_not_there_is_not_made(tmp_path: Path) -> None:
    home = tmp_path / "a" / "new" / "home"
    for asked in (("serve", "--engine", "embedded"), ("mcp",)):
        refused = run(*asked, "--home", home)
        assert refused.code == 2
        assert f"There is no folder {home}, and so no mind in it; none was made." in refused.err
    assert list(tmp_path.iterdir()) == []


def test_the_home_that_is_meant_where_none_is_named_is_made(tmp_path: Path) -> None:
    home = tmp_path / "a" / "new" / "home"
    kept = run("remember", "an otter", env=os.environ | {"MNEMIC_HOME": str(home)})
    assert kept.code == 0, kept
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.system
def test_a_signal_ends_a_pipe_whose_assistant_does_not_read(home: Path) -> None:
    heard, said = os.pipe()
    process = start("mcp", "--home", home, stdout=said)
    os.close(said)
    assert process.stdin is not None
    with os.fdopen(heard, "rb") as answers:
        process.stdin.write(HELLO + b"".join(message(n, "tools/list") for n in range(2, 100)))
        process.stdin.flush()
        assert json.loads(answers.readline())["id"] == 1
        process.terminate()
        assert process.wait(STOP_S) == 128 + signal.SIGTERM
        assert b"Fatal" not in finish(process).err.encode()


@pytest.mark.system
def test_requests_of_the_protocol_without_a_handshake_pass(home: Path) -> None:
    about = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with Assistant(home, hello=False) as assistant:
        assistant.send(message(1, "tools/list", _meta=about))
        assert {tool["name"] for tool in assistant.hear()["result"]["tools"]} >= {"memory_recall", "memory_capture"}
        os.kill(ready(home).pid, signal.SIGKILL)
        assistant.send(tool_call(2, "memory_status", _meta=about))
        assert assistant.hear()["result"]["structuredContent"]["counts"]["memories"] == 0


# --- signals ---------------------------------------------------------------------------------------------------------


HANGING = """
import os, pathlib
from mnemic.actors.recall.messages import Recall
from mnemic.actors.recall.retriever import RetrieverActor

class Hanging(RetrieverActor):
    def handle(self, message, context):
        if isinstance(message, Recall) and message.query == "hang":
            pathlib.Path(os.environ["HANGING"]).read_bytes()
        return super().handle(message, context)
"""
"""An actor of somebody else's, which does not return from one question until a pipe ends."""


@pytest.fixture
def hanging(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pipe that such an actor of the home reads, which opens for writing once it does."""
    (tmp_path / "hanging.py").write_text(HANGING, "utf-8")
    pipe = tmp_path / "hanging"
    os.mkfifo(pipe)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("HANGING", str(pipe))
    setting(home, '[actors]\nretriever = "hanging:Hanging"')
    return pipe


@pytest.mark.system
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_told_to_leave_it_answers_what_is_under_way(home: Path, hanging: Path, sent: signal.Signals) -> None:
    with serving(home) as process:
        mind, answers = served(home), []
        assert mind.remember("hang the lamp").created
        asking = threading.Thread(target=lambda: answers.append(mind.recall("hang")))
        asking.start()
        with hanging.open("wb"):  # open once the actor reads it: the question is under way
            process.send_signal(sent)
            until(lambda: info_of(home) is None)
        assert process.wait(STOP_S) == 0
        asking.join()
    assert [[hit.data for hit in answer.hits] for answer in answers] == [[b"hang the lamp"]]
    assert not [path for path in (home / "run").iterdir() if path.suffix in (".sock", ".json")]


@pytest.mark.system
def test_told_to_leave_it_leaves_in_order_though_its_sockets_cannot_be_removed(home: Path) -> None:
    with serving(home) as process:
        assert served(home).remember("the tea is in the blue tin").created
        path = Path(ready(home).http_socket)
        path.unlink()
        path.mkdir()
        process.terminate()
        _, told = process.communicate(timeout=BOUND_S)
    assert process.returncode == 0
    assert b"Traceback" not in told
    assert "info file and sockets cannot be removed: Is a directory" in [line["message"] for line in log_of(home)]


@pytest.mark.system
def test_what_hangs_does_not_keep_it(home: Path, hanging: Path) -> None:
    with serving(home) as process:
        assert served(home).remember("an otter").created
        asked = start("recall", "hang", "--home", home)
        with hanging.open("wb"):
            process.terminate()
            process.wait(STOP_S)
        asked.kill()
        asked.communicate()
    ensure_running(home, CLOCK)
    assert ready(home).pid != process.pid


@pytest.mark.system
def test_of_two_minds_one_hangs_and_the_process_is_gone_in_time(home: Path, hanging: Path) -> None:
    with serving(home) as process:
        assert served(home, "other").remember("a heron").created
        assert served(home).remember("an otter").created
        asked = start("recall", "hang", "--home", home)
        with hanging.open("wb"):
            assert served(home, "other").recall("heron").hits, "the other one goes on"
            process.terminate()
            assert process.wait(STOP_S) == 0
        asked.kill()
        asked.communicate()
    with serving(home):
        assert [hit.data for hit in served(home).recall("otter").hits] == [b"an otter"]
        assert [hit.data for hit in served(home, "other").recall("heron").hits] == [b"a heron"]


def metrics_of(home: Path) -> str:
    """What `/metrics` says."""
    connection = UnixConnection(Path(ready(home).http_socket))
    try:
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert response.getheader("Content-Type") == CONTENT_TYPE
        return response.read().decode()
    finally:
        connection.close()


def opened(process: subprocess.Popen[bytes], home: Path) -> set[str]:
    """The minds whose files a process has open, and those that `/metrics` shows; they are the same."""
    text, names = metrics_of(home), files(process.pid)
    minds = {path.name for path in (home / "minds").iterdir()}
    shown = {mind for mind in minds if f'mnemic_idle_seconds{{mind="{mind}"}}' in text}
    assert {mind for mind in minds if any(f"/minds/{mind}/" in name for name in names)} <= shown
    return shown


@pytest.mark.system
def test_minds_that_nobody_uses_are_closed_by_a_process_that_stays(home: Path) -> None:
    setting(home, "[runtime]\nidle_exit_s = 0.3\nsleep_after_s = 0.2")
    with serving(home) as process:
        for mind in ("default", "other"):
            assert served(home, mind).remember("an otter").created
        until(lambda: len(opened(process, home)) == 1)  # the last one is ready for whoever comes next
        for mind in ("default", "other"):
            assert [hit.data for hit in served(home, mind).recall("otter").hits] == [b"an otter"]
        until(lambda: len(opened(process, home)) == 1)
        assert process.poll() is None
        assert ready(home).pid == process.pid
        assert [line for line in log_of(home) if "nobody has used it" in line["message"]]


@pytest.mark.system
def test_what_is_read_again_closes_all_minds_and_metrics_show_those_that_are_used_since(home: Path) -> None:
    with serving(home) as process:
        for mind in ("default", "other"):
            assert served(home, mind).remember("an otter").created
        assert opened(process, home) == {"default", "other"}
        process.send_signal(signal.SIGHUP)
        until(lambda: not opened(process, home))
        assert served(home, "other").remember("a heron").created
        assert opened(process, home) == {"other"}


@pytest.mark.system
def test_settings_are_read_again_and_bad_ones_change_nothing(home: Path) -> None:
    with serving(home) as process:
        mind = served(home)
        for number in range(12):
            mind.remember(f"otter {number}", session=str(number))
        assert len(mind.recall("otter").hits) == 10
        good = (home / "mnemic.toml").read_text("utf-8")
        setting(home, "[recall]\nk = 3")
        process.send_signal(signal.SIGHUP)
        until(lambda: len(mind.recall("otter").hits) == 3)
        (home / "mnemic.toml").write_text(f"{good}[recall]\ncolour = 3\n", "utf-8")
        process.send_signal(signal.SIGHUP)
        until(lambda: bool(served(home).status().process["degraded"]))  # type: ignore[index]
        assert "recall.colour" in served(home).status().degraded[-1]
        assert len(mind.recall("otter").hits) == 3
        assert served(home, "other").remember("a mind that is opened now").created
        (home / "mnemic.toml").write_text(good, "utf-8")
        process.send_signal(signal.SIGHUP)
        until(lambda: len(mind.recall("otter").hits) == 10)
        assert not served(home).status().process["degraded"]  # type: ignore[index]


@pytest.mark.system
def test_an_edit_of_the_settings_is_said_to_have_no_effect_until_they_are_read_again(home: Path) -> None:
    def said() -> tuple[str, list[str]]:
        (check,) = (one for one in run("doctor", "--home", home, "--json").json["checks"] if one["name"] == "settings")
        assert (check["state"] == "ok") is (f"kill -HUP {process.pid}" not in check["remedy"])
        return check["state"], [line for line in served(home).status().degraded if line.startswith("settings: ")]

    with serving(home) as process:
        served(home).remember("an otter")
        assert said() == ("ok", [])
        setting(home, "[recall]\nk = 3")
        state, (line,) = said()
        assert state == "advice"
        assert line.endswith(f"kill -HUP {process.pid} ends that")
        process.send_signal(signal.SIGHUP)
        until(lambda: said() == ("ok", []))
        (home / "mnemic.toml").unlink()
        assert said()[0] == "advice"


@pytest.mark.system
def test_a_process_that_read_settings_nothing_can_be_opened_with_takes_them_anew_once_they_are_mended(
    home: Path,
) -> None:
    good = (home / "mnemic.toml").read_text("utf-8")
    setting(home, '[binder]\nleave_out = ["colour"]')
    with serving(home) as process:
        for _ in range(2):
            with pytest.raises(InvalidValue, match=r"binder\.leave_out in .*mnemic\.toml cannot be 'colour'"):
                served(home).remember("an otter")
        (home / "mnemic.toml").write_text(f"{good}[recall]\ncolour = 3\n", "utf-8")
        with pytest.raises(InvalidValue, match=r"recall\.colour"):
            served(home).remember("an otter")
        (home / "mnemic.toml").write_text(f"{good}[recall]\nk = 3\n", "utf-8")
        mind = served(home)
        assert mind.remember("an otter").created
        for number in range(5):
            mind.remember(f"otter {number}", session=str(number))
        assert len(mind.recall("otter").hits) == 3, "and they are in force"
        until(lambda: not [line for line in served(home).status().degraded if line.startswith("settings: ")])
        assert process.poll() is None


@pytest.mark.system
def test_a_capture_of_which_nothing_is_new_leaves_what_waits_to_the_process(home: Path, tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", turn("an otter"))
    with serving(home):
        new = run("capture", source, "--home", home, "--json").json
        assert (new["new"], new["pending"]) == (1, 1)
        assert new["meaning_error"], "it asked for the meaning, and there is no model"
        again = run("capture", source, "--home", home, "--json").json
        assert (again["new"], again["known"], again["pending"], again["meaning_error"]) == (0, 1, 1, None)
    alone = run("capture", source, "--home", home, "--json").json
    assert (alone["new"], alone["pending"]) == (0, 1)
    assert alone["meaning_error"], "nobody else would embed what waits"


def test_an_option_that_nothing_would_come_of_is_refused_before_anything_starts(tmp_path: Path) -> None:
    assert "--token goes with --http" in refused(tmp_path / "home", "--token")
    assert not (tmp_path / "home").exists()


@pytest.mark.system
def test_killed_it_leaves_nothing_that_hinders_the_next_one(home: Path) -> None:
    with serving(home) as process:
        process.kill()
        process.wait()
        assert (home / "run" / "serve.json").exists()
        with serving(home) as second:
            assert ready(home).pid == second.pid
            assert served(home).counts().memories == 0


# --- logs ------------------------------------------------------------------------------------------------------------


def leads_to_the_store(home: Path, trace: str) -> None:
    """The log names the trace where an actor is done, the store first, and last at the face."""
    steps = [line for line in log_of(home) if line.get("trace") == trace and "took_ms" in line]
    written = [(line["logger"], line.get("actor"), line.get("message_type"), line["code"]) for line in steps]
    # Once each: what the Binder keeps of it later is of the same trace.
    assert [step for step in dict.fromkeys(written) if step[2] in ("CaptureText", "Apply", None)] == [
        ("mnemic.supervisor", "store", "Apply", "ok"),
        ("mnemic.supervisor", "capture", "CaptureText", "ok"),
        ("mnemic.requests", None, None, "ok"),
    ]
    assert all(line["took_ms"] >= 0 for line in steps)


@pytest.mark.system
def test_a_trace_leads_from_the_face_to_the_store_and_no_text_is_logged(home: Path) -> None:
    setting(home, '[runtime]\nlog_level = "debug"')
    tea = CaptureText(text=b"the tea is in the blue tin", role="user", session="secret session", place=PLACE)
    RemoteActorSystem(home, "default", True, CLOCK).ask(tea, trace="a-trace")
    served(home).recall("blue tin")
    leads_to_the_store(home, "a-trace")
    logged = (home / "serve.log").read_text("utf-8")
    assert "blue tin" not in logged
    assert "secret" not in logged
    assert (home / "serve.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.system
def test_turns_that_go_well_leave_no_line_in_the_log_unless_it_is_to_hold_all(home: Path) -> None:
    mind = served(home)
    for number in range(5):
        mind.remember(f"an otter {number}")
    mind.recall("otter")
    assert [line for line in log_of(home) if line.get("code") == "ok" and line["took_ms"] < 1000] == []
    setting(home, '[runtime]\nlog_level = "debug"')
    info = info_of(home)
    assert info is not None
    os.kill(info.pid, signal.SIGHUP)
    until(lambda: any("settings reloaded" in line["message"] for line in log_of(home)))
    mind.remember("a stork")
    until(lambda: any(line.get("message_type") == "CaptureText" for line in log_of(home)))


@pytest.mark.system
def test_the_log_is_turned_over_and_stays_small(home: Path) -> None:
    line = json.dumps({"message": "x" * 1000}) + "\n"
    (home / "serve.log").write_text(line * 1100, "utf-8")
    served(home).remember("an otter")
    assert (home / "serve.log.1").stat().st_size > 1 << 20
    assert (home / "serve.log").stat().st_size < 1 << 20


# --- Ray -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A home that is served on Ray, for the tests below, in their order."""
    home = tmp_path_factory.mktemp("ray") / "home"
    home.mkdir()
    (home / "mnemic.toml").write_text('[embedder]\nmodel = "/nowhere"\n[runtime]\nlog_level = "debug"\n', "utf-8")
    with serving(home, engine="ray") as process:
        yield home, process
    end(home)


def family(parent: int) -> dict[str, psutil.Process]:
    """The processes of a home's process, by what they are; of Ray's workers, any."""
    return {one.name().partition(":")[0]: one for one in psutil.Process(parent).children(recursive=True)}


def files(pid: int) -> list[str]:
    """What a process has open, beyond its standard streams."""
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            found += [os.readlink(f"/proc/{pid}/fd/{number}")] if int(number) > 2 else []
        except FileNotFoundError:  # closed meanwhile
            continue
    return found


def brought_back(home: Path, restarts: int) -> ServerInfo:
    found: list[ServerInfo] = []

    def there() -> bool:
        info = info_of(home)
        found[:] = [info] if info is not None else []
        return info is not None and info.state == "ready" and info.restarts == restarts

    until(there)
    return found[0]


@pytest.mark.system
def test_on_ray_everything_comes_back_that_is_killed_and_the_info_file_says_why(
    ray_home: tuple[Path, subprocess.Popen[bytes]],
) -> None:
    home, process = ray_home
    mind = served(home)
    mind.remember("an otter")
    status = mind.status()
    assert status.actor_system.engine == "ray"
    assert status.process is not None
    assert (status.process["engine"], status.process["mode"]) == ("ray", "foreground")
    assert status.process["pid"] == process.pid

    own = set(files(process.pid))
    assert sum("serve.lock" in name for name in own) == 1
    for one in psutil.Process(process.pid).children()[0].children(recursive=True):
        assert not own & {name for name in files(one.pid) if name.startswith("socket:") or "serve.lock" in name}

    assert f"by process {process.pid} (mnemic serve --engine ray)" in refused(home, "--engine", "embedded")
    tea = CaptureText(text=b"the tea is in the blue tin", role="user", session="s", place=PLACE)
    RemoteActorSystem(home, "default", True, CLOCK).ask(tea, trace="through-ray")
    leads_to_the_store(home, "through-ray")
    assert "blue tin" not in (home / "serve.log").read_text("utf-8")

    family(process.pid)["ray"].kill()  # an actor's
    until(lambda: bool(mind.remember("after an actor's death", session=str(CLOCK.now_us())).created))
    assert brought_back(home, 0).pid == process.pid
    known = mind.counts().memories

    for restarts, victim in enumerate(("gcs_server", "raylet"), start=1):
        before = family(process.pid)
        before[victim].kill()
        info = brought_back(home, restarts)
        assert info.cause == f"process {before[victim].pid} of Ray died"
        assert [one for one in before.values() if one.is_running() and one.status() != psutil.STATUS_ZOMBIE] == []
        assert mind.counts().memories == known
        assert mind.remember(f"after the death of {victim}").created
        known += 1
    assert "its engine was brought back 2 times" in run("status", "--home", home).out


@pytest.mark.system
def test_told_to_leave_ray_leaves_nothing(ray_home: tuple[Path, subprocess.Popen[bytes]]) -> None:
    home, process = ray_home
    before = family(process.pid)
    assert process.stderr is not None
    told = []
    for line in process.stderr:  # until it has noticed that it serves
        told.append(line.decode())
        if line.startswith(b"serving "):
            break
    process.terminate()
    assert process.wait(2 * STOP_S) == 0
    told += process.stderr.read().decode().splitlines()
    assert [line.partition(", process ")[0] for line in told if line.startswith(("starting ", "serving "))] == [
        f"starting Ray to serve {home}",
        f"serving {home} on the ray engine",
    ]
    assert [one for one in before.values() if one.is_running()] == []
    left = {path.name for path in (home / "run").iterdir() if not path.name.startswith("serve.err")}
    assert {"serve.lock"} <= left <= {"serve.lock", "start.lock", "drain.lock"}


@pytest.mark.system
def test_when_its_parent_is_killed_nothing_of_ray_stays_and_the_next_one_clears_its_files(home: Path) -> None:
    with serving(home, engine="ray") as process:
        assert served(home).remember("an otter").created
        before = family(process.pid)
        assert {"raylet", "gcs_server"} <= set(before)
        process.kill()
        process.wait()
        until(lambda: not [one for one in before.values() if one.is_running() and one.status() != "zombie"])
    assert served(home).counts().memories == 1
    assert ready(home).engine == "embedded"
    assert list((home / "run").glob("ray-*")) == []


@pytest.mark.system
def test_a_cluster_that_is_not_there_is_one_sentence(home: Path) -> None:
    ended = run("serve", "--engine", "ray", "--address", "127.0.0.1:1", "--home", home)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "--address cannot be '127.0.0.1:1': connection refused" in ended.err
    assert RunDir(home).read_info() is None


# --- a bit that turns over -------------------------------------------------------------------------------------------


@pytest.mark.system
@pytest.mark.parametrize("where", [0.0, 0.5, 0.99])
def test_a_bit_that_turns_over_in_the_log_of_a_living_process_costs_nothing_that_is_acknowledged_later(
    home: Path, where: float
) -> None:
    log = home / "minds" / "default" / "store.db-wal"
    with serving(home) as process:
        mind = served(home)
        for number in range(2):
            mind.remember(f"otter {number}")
        with log.open("r+b") as file:
            at = 32 + int((log.stat().st_size - 32) // 4120 * where) * 4120 + 100
            file.seek(at)
            (byte,) = file.read(1)
            file.seek(at)
            file.write(bytes([byte ^ 1]))

        def is_refused() -> bool:
            """Whether the page that was damaged is no longer in the memory of the process."""
            return any("the store's log was not taken over" in line["message"] for line in log_of(home))

        until(lambda: log.stat().st_size == 0 or is_refused())  # nobody wants anything: a checkpoint
        later = []
        for number in range(2, 6):
            with suppress(DamagedStore):
                later.append(mind.remember(f"otter {number}").id)
        process.send_signal(signal.SIGTERM)
        process.wait(BOUND_S)
    with mnemic.open(home) as mind:
        assert [one.id for one in mind.get(later)] == later
        assert mind.counts().memories == 6 or mind.counts().lost
