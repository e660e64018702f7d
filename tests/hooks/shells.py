"""A shell command and its output as each assistant's hooks and transcripts tell it: text of the tests' own."""

from __future__ import annotations

import json
from typing import Any

HOSTS = ("claude-code", "codex", "cursor", "gemini-cli", "opencode")
MEMORY = "The mast of the Heron is 14.2 m high."
MARKED = f"<mnemic-memory>\n{MEMORY}\n</mnemic-memory>\n"


def hook_payload(host: str, line: str, printed: str, call: str = "c1") -> tuple[str, dict[str, Any]]:
    """The event that Mnemic's hook is started for, and what it is given."""
    common = {"session_id": "s", "cwd": "/src", "transcript_path": ""}
    used = common | {"hook_event_name": "PostToolUse", "tool_use_id": call}
    if host == "claude-code":
        answer = {"stdout": printed, "stderr": "", "interrupted": False, "isImage": False}
        return "tool", used | {"tool_name": "Bash", "tool_input": {"command": line}, "tool_response": answer}
    if host == "codex":
        return "tool", used | {"tool_name": "Bash", "tool_input": {"command": line}, "tool_response": printed}
    if host == "gemini-cli":
        given = {"tool_name": "run_shell_command", "tool_input": {"command": line}}
        return "tool", common | given | {"hook_event_name": "AfterTool", "tool_response": {"llmContent": printed}}
    if host == "opencode":
        return "tool", common | {"hook_event_name": "tool", "message": {}, "part": opencode_part(line, printed, call)}
    answer = {"exitCode": 0, "stdout": printed, "stderr": ""}
    given = {"conversation_id": "s", "hook_event_name": "postToolUse", "tool_name": "Shell", "tool_use_id": call}
    return "tool", given | {"tool_input": json.dumps({"command": line}), "tool_output": json.dumps(answer)}


def opencode_part(line: str, printed: str, call: str = "c1") -> dict[str, Any]:
    state = {"status": "completed", "input": {"command": line}, "output": printed, "metadata": {"exit": 0}}
    return {"id": call, "type": "tool", "tool": "bash", "callID": call, "state": state}


def transcript(host: str, line: str, printed: str, call: str = "c1") -> list[dict[str, Any]]:
    """The lines of a transcript that tell the same; of OpenCode an export, which is one."""
    if host == "claude-code":
        return [
            claude_line("assistant", {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": line}}),
            claude_line("user", {"type": "tool_result", "tool_use_id": call, "content": printed}),
        ]
    if host == "codex":
        given = json.dumps({"cmd": line})
        return [
            {"type": "session_meta", "payload": {"id": "s", "cwd": "/src"}},
            codex_item("function_call", call_id=call, name="exec_command", arguments=given),
            codex_item("function_call_output", call_id=call, output=f"Process exited with code 0\nOutput:\n{printed}"),
        ]
    if host == "gemini-cli":
        response = {"functionResponse": {"name": "run_shell_command", "response": {"output": printed}}}
        told = {"id": call, "name": "run_shell_command", "args": {"command": line}, "result": [response]}
        return [
            {"sessionId": "s", "projectHash": "p"},
            {"id": "m", "type": "gemini", "content": "", "toolCalls": [told | {"status": "success"}]},
        ]
    message = {"info": {"id": "m", "role": "assistant"}, "parts": [opencode_part(line, printed, call)]}
    return [{"info": {"id": "s", "directory": "/src"}, "messages": [message]}]


def claude_line(role: str, *blocks: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    content: Any = blocks[0] if isinstance(blocks[0], str) else list(blocks)
    return {"type": role, "sessionId": "s", "uuid": "u", "message": {"role": role, "content": content}, **more}


def codex_item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **payload}}
