"""OpenCode's plugin, run by Node with events as OpenCode sends them: what it hands over, and what it never does.

The program itself is in the tests of real assistants; where there is no Node, these tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT
from tests.waiting import BOUND_S

pytestmark = pytest.mark.system

PLUGIN = ROOT / "hooks" / "hosts" / "opencode_plugin.js"

# Reads steps, each [hook, input, output], runs them one after another, and prints what became of the outputs.
DRIVER = """
import { readFileSync } from "node:fs"
const { Mnemic } = await import(process.argv[2])
const steps = JSON.parse(readFileSync(0, "utf8"))
const sessions = { ses_child: { id: "ses_child", parentID: "ses_1", directory: "/elsewhere" } }
const shown = []
const client = {
  session: { get: async ({ path }) => ({ data: sessions[path.id] }) },
  tui: { showToast: async ({ body }) => shown.push(body.message) },
}
const plugin = await Mnemic({ client, directory: "/src" })
const told = []
for (const [hook, input, output] of steps) {
  const answer = await plugin[hook](input, output)
  told.push({ output: output ?? null, answer: answer ?? null })
}
process.stdout.write(JSON.stringify({ told, shown }), () => process.exit(0))
"""

RECORDER = """#!{python}
import json, sys
home = sys.argv[sys.argv.index("--home") + 1]
with open(home, "a") as log:
    log.write(json.dumps([sys.argv[1:], json.load(sys.stdin)]) + "\\n")
if "--ask" in sys.argv:
    print(json.dumps({{"context": f"told at {{sys.argv[2]}}", "shown": f"shown at {{sys.argv[2]}}"}}))
"""


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("there is no Node to run the plugin")
    return found


class Driven:
    """The plugin in a folder, with an executable that writes down what it is called with."""

    def __init__(self, node: str, folder: Path, executable: str | None = None, given: list[str] | None = None) -> None:
        self._node, self._folder = node, folder
        self._log = folder / "calls"
        self.shown: list[str] = []
        recorder = folder / "mnemic hook"
        recorder.write_text(RECORDER.format(python=sys.executable))
        recorder.chmod(stat.S_IRWXU)
        source = PLUGIN.read_text("utf-8")
        source = source.replace("@HOOK@", json.dumps(executable or str(recorder)))
        source = source.replace("@ARGS@", json.dumps(["--home", str(self._log), *(given or [])]))
        (folder / "mnemic.mjs").write_text(source, "utf-8")
        (folder / "driver.mjs").write_text(DRIVER, "utf-8")

    def run(self, *steps: tuple[Any, ...], data: Path | None = None, command: tuple[str, ...] = ()) -> list[Any]:
        """Run steps and, behind them, the end of OpenCode; gives what became of each output.

        Args:
            command: what stands on OpenCode's command line.
        """
        environment = {"HOME": str(self._folder), "PATH": "/usr/bin:/bin"}
        if data is not None:
            environment["XDG_DATA_HOME"] = str(data)
        done = subprocess.run(
            [self._node, str(self._folder / "driver.mjs"), str(self._folder / "mnemic.mjs"), *command],
            input=json.dumps([*steps, ("dispose",)]),
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            env=environment,
            check=True,
        )
        assert done.stderr == ""
        printed = json.loads(done.stdout)
        found, self.shown = printed["told"], printed["shown"]
        assert all(one["answer"] is None for one in found)
        return [one["output"] for one in found]

    def calls(self) -> list[tuple[list[str], dict[str, Any]]]:
        """What the executable was called with."""
        lines = self._log.read_text("utf-8").splitlines() if self._log.exists() else []
        return [tuple(json.loads(line)) for line in lines]


def event(kind: str, **properties: Any) -> tuple[Any, ...]:
    return "event", {"event": {"type": kind, "properties": properties}}


def created(own_id: str, **info: Any) -> tuple[Any, ...]:
    return event("session.created", info={"id": own_id, "directory": "/src", **info})


def prompt(session: str, text: str = "hello") -> tuple[Any, ...]:
    message = {"id": "msg_1", "role": "user", "sessionID": session}
    parts = [
        {"id": "prt_1", "type": "text", "text": text},
        {"id": "prt_2", "type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"},
    ]
    return "chat.message", {"sessionID": session}, {"message": message, "parts": parts}


def part(session: str, own_id: str, **more: Any) -> tuple[Any, ...]:
    told = {"id": own_id, "sessionID": session, "messageID": "msg_2", **more}
    return event("message.part.updated", part=told)


def names(driven: Driven) -> list[str]:
    return [arguments[1] for arguments, _ in driven.calls()]


@pytest.mark.parametrize(
    ("command", "headless"), [(("run", "--format", "json"), True), (("--port", "0"), False), ((), False)]
)
def test_it_says_where_nobody_sits_in_front(
    node: str, tmp_path: Path, command: tuple[str, ...], headless: bool
) -> None:
    driven = Driven(node, tmp_path)
    driven.run(created("ses_1"), prompt("ses_1"), command=command)
    payloads = [payload for _, payload in driven.calls()]
    assert payloads
    assert all(payload.get("headless", False) is headless for payload in payloads)


def test_a_session_is_handed_over_in_order(node: str, tmp_path: Path) -> None:
    driven = Driven(node, tmp_path)
    state = {"status": "completed", "input": {}, "output": "o"}
    driven.run(
        created("ses_1"),
        prompt("ses_1"),
        event("message.updated", info={"id": "msg_2", "role": "assistant", "summary": True}),
        part("ses_1", "prt_3", type="tool", tool="bash", state={"status": "running"}),
        part("ses_1", "prt_3", type="tool", tool="bash", state=state),
        part("ses_1", "prt_3", type="tool", tool="bash", state=state),
        part("ses_1", "prt_4", type="tool", tool="bash", state={"status": "error", "error": "e"}),
        part("ses_1", "prt_5", type="text", text="half"),
        part("ses_1", "prt_5", type="text", text="whole", time={"start": 1, "end": 2}),
        part("ses_1", "prt_6", type="text", text="theirs", synthetic=True, time={"start": 1, "end": 2}),
        ("experimental.session.compacting", {"sessionID": "ses_1"}, {"context": []}),
        event("session.compacted", sessionID="ses_1"),
        event("session.idle", sessionID="ses_1"),
        event("something.new", x=1),
    )
    assert names(driven) == [
        *("session-start", "prompt", "tool", "tool-failed", "reply"),
        *("compaction", "compacted", "session-end"),
    ]
    by_name = {arguments[1]: payload for arguments, payload in driven.calls()}
    assert {payload["session_id"] for payload in by_name.values()} == {"ses_1"}
    assert {payload["cwd"] for payload in by_name.values()} == {"/src"}
    assert by_name["session-start"]["source"] == "startup"
    assert by_name["prompt"]["parts"] == [
        {"id": "prt_1", "type": "text", "text": "hello"},
        {"id": "prt_2", "type": "file", "mime": "image/png"},
    ]
    assert by_name["reply"]["part"]["text"] == "whole"
    assert by_name["reply"]["message"] == {"id": "msg_2", "role": "assistant", "summary": True}


def test_what_is_known_is_told_with_the_first_prompt_and_again_after_a_compaction(node: str, tmp_path: Path) -> None:
    driven = Driven(node, tmp_path)
    outputs = driven.run(
        created("ses_1"),
        prompt("ses_1"),
        prompt("ses_1"),
        event("session.compacted", sessionID="ses_1"),
        prompt("ses_1"),
        prompt("ses_of_before"),
    )
    told = [[one for one in output["parts"] if one.get("synthetic")] for output in outputs if output]
    assert [len(one) for one in told] == [1, 0, 1, 1]
    assert told[0] == [
        {
            "id": "prt_2mnemic",
            "sessionID": "ses_1",
            "messageID": "msg_1",
            "type": "text",
            "text": "told at session-start",
            "synthetic": True,
        }
    ]
    assert driven.shown == ["shown at session-start"] * 3
    sources = [payload["source"] for arguments, payload in driven.calls() if arguments[1] == "session-start"]
    assert sources == ["startup", "compact", "resume"]


def test_prompts_are_asked_about_where_that_is_wanted(node: str, tmp_path: Path) -> None:
    driven = Driven(node, tmp_path, given=["--mind", "work", "--ask"])
    outputs = driven.run(created("ses_1"), prompt("ses_1"), prompt("ses_1"))
    texts = [output["parts"][-1]["text"] for output in outputs if output]
    assert texts == ["told at session-start\n\ntold at prompt", "told at prompt"]
    log = str(tmp_path / "calls")
    assert driven.calls()[1][0] == ["opencode", "prompt", "--ask", "--home", log, "--mind", "work"]
    assert driven.calls()[3][0] == ["opencode", "session-end", "--home", log, "--mind", "work"]


@pytest.mark.parametrize("known", [True, False])
def test_a_subagent_is_below_its_parent_and_told_nothing(node: str, tmp_path: Path, known: bool) -> None:
    driven = Driven(node, tmp_path, given=["--ask"])
    first = [created("ses_child", parentID="ses_1")] if known else []
    outputs = driven.run(*first, prompt("ses_child"), event("session.idle", sessionID="ses_child"))
    assert names(driven) == ["prompt", "subagent"]
    assert {payload["session_id"] for _, payload in driven.calls()} == {"ses_1/ses_child"}
    assert all(not part.get("synthetic") for output in outputs if output for part in output["parts"])


def test_a_deleted_session_ends_once(node: str, tmp_path: Path) -> None:
    driven = Driven(node, tmp_path)
    driven.run(created("ses_1"), event("session.deleted", info={"id": "ses_1"}))
    assert [(arguments[1], payload["reason"]) for arguments, payload in driven.calls()] == [("session-end", "deleted")]


def test_the_database_is_named_with_the_session_where_it_is_there(node: str, tmp_path: Path) -> None:
    driven = Driven(node, tmp_path)
    driven.run(created("ses_1"), data=tmp_path)
    assert "transcript_path" not in driven.calls()[0][1]
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.db").touch()
    driven.run(created("ses_1"), data=tmp_path)
    assert driven.calls()[1][1]["transcript_path"] == f"{tmp_path}/opencode/opencode.db#ses_1"


@pytest.mark.parametrize("printed", ["words", "[]", "null", "{}", '{"context": 1, "shown": {}}', ""])
def test_what_is_no_answer_is_told_to_nobody(node: str, tmp_path: Path, printed: str) -> None:
    printing = tmp_path / "prints"
    printing.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '%s' '{printed}'\n")
    printing.chmod(stat.S_IRWXU)
    driven = Driven(node, tmp_path, str(printing), given=["--ask"])
    outputs = driven.run(created("ses_1"), prompt("ses_1"))
    assert [len(output["parts"]) for output in outputs if output] == [2]
    assert driven.shown == []


@pytest.mark.parametrize("executable", ["/nowhere/mnemic-hook", "/", "/bin/false"])
def test_an_executable_that_is_gone_or_fails_is_silent(node: str, tmp_path: Path, executable: str) -> None:
    driven = Driven(node, tmp_path, executable)
    outputs = driven.run(
        created("ses_1"), prompt("ses_1", "x" * 1_000_000), event("session.compacted", sessionID="ses_1")
    )
    assert [len(output["parts"]) for output in outputs if output] == [2]


def test_an_executable_that_never_ends_holds_up_no_prompt_for_long(node: str, tmp_path: Path) -> None:
    hanging = tmp_path / "hangs"
    hanging.write_text("#!/bin/sh\nexec sleep 20\n")
    hanging.chmod(stat.S_IRWXU)
    driven = Driven(node, tmp_path, str(hanging), given=["--ask"])
    outputs = driven.run(created("ses_1"), prompt("ses_1"))  # in less than the time it hangs, or this times out
    assert [len(output["parts"]) for output in outputs if output] == [2]


@pytest.mark.parametrize(
    "step",
    [
        event("message.part.updated"),
        event("session.created"),
        event("session.compacted"),
        ("chat.message", {}, {}),
        ("chat.message", {"sessionID": "ses_1"}, {"parts": None}),
        ("experimental.session.compacting", {}, {}),
    ],
)
def test_nothing_that_opencode_may_send_is_an_error_of_the_plugin(
    node: str, tmp_path: Path, step: tuple[Any, ...]
) -> None:
    Driven(node, tmp_path).run(step)


# --- OpenCode 2 ------------------------------------------------------------------------------------------------------

# A stand-in for OpenCode 2: calls `setup` of the default export, fires its hooks and events, and ends.
DRIVER_2 = """
import { readFileSync } from "node:fs"
const plugin = (await import(process.argv[2])).default
const steps = JSON.parse(readFileSync(0, "utf8"))
const sessions = { ses_child: { parentID: "ses_1", location: { directory: "/elsewhere" } } }
const hooks = {}
const waiting = []
let wake = null
const deliver = (event) => new Promise((done) => {
  waiting.push({ event, done })
  wake?.()
})
const subscribe = () => ({
  [Symbol.asyncIterator]: () => {
    let last = null
    return {
      next: async () => {
        last?.done()
        while (!waiting.length) await new Promise((resolve) => (wake = resolve))
        last = waiting.shift()
        return { done: false, value: last.event }
      },
      return: async () => ({ done: true }),
    }
  },
})
const context = {
  location: { directory: "/src" },
  session: {
    hook: async (name, callback) => { hooks[name] = callback },
    get: async ({ sessionID }) => ({ data: sessions[sessionID] }),
  },
  event: { subscribe },
}
const cleanup = await plugin.setup(context)
const told = []
for (const [hook, input] of steps) {
  if (hook === "event") await deliver(input)
  else await hooks[hook](input)
  told.push(input)
}
await cleanup()
process.stdout.write(JSON.stringify({ told: told.map((output) => ({ output, answer: null })), shown: [] }), () =>
  process.exit(0))
"""


class Driven2(Driven):
    """The plugin as OpenCode 2 calls it."""

    def __init__(self, node: str, folder: Path, executable: str | None = None, given: list[str] | None = None) -> None:
        super().__init__(node, folder, executable, given)
        (folder / "driver.mjs").write_text(DRIVER_2.replace("of steps)", "of steps.slice(0, -1))"), "utf-8")


def event_2(kind: str, session: str = "ses_1", **data: Any) -> tuple[Any, ...]:
    return "event", {"type": f"session.{kind}", "data": {"sessionID": session, **data}}


def prompt_2(session: str = "ses_1", text: str = "hello") -> tuple[Any, ...]:
    return "prompt", {"sessionID": session, "messageID": "msg_1", "prompt": {"text": text}}


def request_2(session: str = "ses_1") -> tuple[Any, ...]:
    return "context", {"sessionID": session, "system": [], "messages": []}


def test_opencode_2_hands_prompts_over_and_has_its_database_read_after_every_turn(node: str, tmp_path: Path) -> None:
    driven = Driven2(node, tmp_path)
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.db").touch()
    driven.run(
        event_2("created", location={"directory": "/quay"}),
        prompt_2(),
        event_2("execution.succeeded"),
        prompt_2(text=" "),
        event_2("compaction.ended"),
        event_2("execution.interrupted"),
        event_2("moved", location={"directory": "/pier"}),
        event_2("deleted", "ses_other"),
        event_2("something.new"),
        data=tmp_path,
    )
    assert names(driven) == ["session-start", "prompt", "reply", "compacted", "reply", "session-end", "session-end"]
    (_, start), (_, told), (_, reply), *_, (_, last) = driven.calls()
    assert (start["source"], start["cwd"], start["session_id"]) == ("startup", "/quay", "ses_1")
    assert told["message"] == {"id": "msg_1", "role": "user"}
    assert told["parts"] == [{"id": "msg_1", "type": "text", "text": "hello"}]
    assert reply["transcript_path"] == f"{tmp_path}/opencode/opencode.db#ses_1"
    assert "part" not in reply
    assert (last["reason"], last["cwd"]) == ("exit", "/pier")


def test_opencode_2_is_told_what_is_known_with_every_request_of_the_session(node: str, tmp_path: Path) -> None:
    driven = Driven2(node, tmp_path, given=["--ask"])
    outputs = driven.run(prompt_2(), request_2(), request_2(), prompt_2("ses_child"), request_2("ses_child"))
    told = [[part["text"] for part in output["system"]] for output in outputs if "system" in output]
    assert told == [["told at session-start", "told at prompt"]] * 2 + [[]]
    assert [payload["session_id"] for _, payload in driven.calls()] == ["ses_1", "ses_1", "ses_1/ses_child", "ses_1"]
    assert [payload["source"] for call, payload in driven.calls() if call[1] == "session-start"] == ["resume"]


@pytest.mark.parametrize("executable", ["/nowhere/mnemic-hook", "/bin/false"])
@pytest.mark.parametrize("step", [prompt_2(), ("prompt", {}), ("context", {}), event_2("moved"), event_2("created")])
def test_nothing_is_an_error_of_the_plugin_in_opencode_2(
    node: str, tmp_path: Path, executable: str, step: tuple[Any, ...]
) -> None:
    Driven2(node, tmp_path, executable).run(step, request_2())


def test_of_several_databases_the_one_written_last_is_named(node: str, tmp_path: Path) -> None:
    (tmp_path / "opencode").mkdir()
    for number, name in enumerate(("opencode.db", "opencode-stable.db", "opencode-local.db", "opencode-local.db-wal")):
        path = tmp_path / "opencode" / name
        path.touch()
        os.utime(path, (number % 3, number % 3))
    driven = Driven(node, tmp_path)
    driven.run(created("ses_1"), data=tmp_path)
    assert driven.calls()[0][1]["transcript_path"] == f"{tmp_path}/opencode/opencode-local.db#ses_1"
    os.utime(tmp_path / "opencode" / "opencode.db", (9, 9))
    driven.run(created("ses_1"), data=tmp_path)
    assert driven.calls()[1][1]["transcript_path"] == f"{tmp_path}/opencode/opencode.db#ses_1"
