"""A model that does as it is told: the prompt is the script, and four providers' protocols are understood.

    python model.py PORT LOG

A prompt holds steps, each in double brackets: ``[[do NAME {"argument": 1}]]`` calls a tool, ``[[say TEXT]]`` ends the
turn, ``[[claim N]]`` says that each call took N tokens, which makes a host compact. Steps are taken in order: as many
have been done as there are results after the prompt. A tool that is not offered in a request is not called there, so
that a host's side requests (titles, summaries) get words. Every request is a line of JSON in LOG.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]

DO = re.compile(r"\[\[do (\S+) (\{.*?\})\]\]", re.DOTALL)
SAY = re.compile(r"\[\[say (.*?)\]\]", re.DOTALL)
CLAIM = re.compile(r"\[\[claim (\d+)\]\]")
RECALLED = re.compile(r"(?:<|&lt;)mnemic-memory(?:>|&gt;).*?(?:<|&lt;)/mnemic-memory(?:>|&gt;)", re.DOTALL)
"""What the memory gives back holds the scripts of earlier prompts."""
NOTHING = "Noted."
SUMMARY = "Another language model started to solve this problem"  # what Codex puts behind the prompts it keeps


class Act(NamedTuple):
    """What the model does next: calls a tool, or says something."""

    tool: str
    arguments: Json
    text: str
    tokens: int


class Heard(NamedTuple):
    """A part of a conversation: the words of a user, or the fact that a tool has answered."""

    result: bool
    text: str


class Dialect(Protocol):
    """One provider's protocol."""

    def heard(self, body: Json) -> Iterator[Heard]:
        """The conversation of a request."""
        ...

    def tools(self, body: Json) -> dict[str, Any]:
        """The tools that a request offers, by name."""
        ...

    def answer(self, body: Json, act: Act) -> tuple[str, str]:
        """Content type and body of the response."""
        ...


def next_act(conversation: list[Heard], offered: dict[str, Any]) -> Act:
    """What the newest prompt that holds steps wants done now."""
    conversation = [part._replace(text=RECALLED.sub("", part.text)) for part in conversation]
    prompts = [n for n, part in enumerate(conversation) if not part.result and "[[" in part.text]
    if not prompts:
        return Act("", {}, NOTHING, 10)
    script, after = conversation[prompts[-1]].text, conversation[prompts[-1] + 1 :]
    if any(SUMMARY in part.text for part in after):
        return Act("", {}, NOTHING, 10)
    claim = CLAIM.search(script)
    done = sum(part.result for part in after)
    calls = DO.findall(script)
    if done < len(calls) and calls[done][0] in offered:
        return Act(calls[done][0], json.loads(calls[done][1]), "", int(claim[1]) if claim else 10)
    said = SAY.search(script)
    return Act("", {}, said[1] if said else NOTHING, 10)


def words(content: Any) -> str:
    """The texts of a message's content."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content or [] if isinstance(block, dict)]
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def name(kind: str) -> str:
    """An id that no other part of any run has: a session goes on in the next one."""
    return f"{kind}_{uuid.uuid4().hex[:16]}"


def events(*parts: Json, named: bool = True) -> tuple[str, str]:
    """A stream of server-sent events."""
    lines = [(f"event: {part['type']}\n" if named else "") + f"data: {json.dumps(part)}\n\n" for part in parts]
    return "text/event-stream", "".join(lines)


class Anthropic:
    """Anthropic's Messages."""

    def heard(self, body: Json) -> Iterator[Heard]:
        for message in body.get("messages", []):
            content = message.get("content")
            for block in content if isinstance(content, list) else []:
                if block.get("type") == "tool_result":
                    yield Heard(True, "")
            if message.get("role") == "user" and (text := words(content)):
                yield Heard(False, text)

    def tools(self, body: Json) -> dict[str, Any]:
        return {tool.get("name"): tool for tool in body.get("tools", [])}

    def answer(self, body: Json, act: Act) -> tuple[str, str]:
        if act.tool:
            block: Json = {"type": "tool_use", "id": name("toolu"), "name": act.tool, "input": act.arguments}
            empty, more = block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(act.arguments)}
        else:
            block = {"type": "text", "text": act.text}
            empty, more = {"type": "text", "text": ""}, {"type": "text_delta", "text": act.text}
        why = "tool_use" if act.tool else "end_turn"
        message = {
            "id": name("msg"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [block],
            "stop_reason": why,
            "stop_sequence": None,
            "usage": {"input_tokens": act.tokens, "output_tokens": 4},
        }
        if not body.get("stream"):
            return "application/json", json.dumps(message)
        return events(
            {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": more},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": why, "stop_sequence": None},
                "usage": {"output_tokens": 4},
            },
            {"type": "message_stop"},
        )


class Responses:
    """OpenAI's Responses, as Codex speaks them: an MCP server's tools come in a namespace."""

    def heard(self, body: Json) -> Iterator[Heard]:
        for item in body.get("input", []):
            if str(item.get("type", "")).endswith("_call_output"):
                yield Heard(True, "")
            elif item.get("role") == "user":
                yield Heard(False, words(item.get("content")))

    def tools(self, body: Json) -> dict[str, Any]:
        offered: dict[str, Any] = {}
        for tool in body.get("tools", []):
            if tool.get("type") == "namespace":
                space = tool["name"]
                for inner in tool.get("tools", []):
                    offered[f"{space.removesuffix('__')}__{inner['name']}"] = (space, inner["name"])
            elif "name" in tool:
                offered[tool["name"]] = (None, tool["name"])
        return offered

    def answer(self, body: Json, act: Act) -> tuple[str, str]:
        if act.tool:
            space, inner = self.tools(body)[act.tool]
            item: Json = {"type": "function_call", "id": name("fc"), "call_id": name("call"), "name": inner}
            item["arguments"] = json.dumps(act.arguments)
            if space is not None:
                item["namespace"] = space
        else:
            content = [{"type": "output_text", "text": act.text, "annotations": []}]
            item = {"type": "message", "id": name("msg"), "role": "assistant", "status": "completed"}
            item["content"] = content
        usage = {"input_tokens": act.tokens, "output_tokens": 4, "total_tokens": act.tokens + 4}
        usage_details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        whole = {"id": name("resp"), "output": [item], "usage": usage | usage_details}
        parts: list[Json] = [{"type": "response.created", "response": {"id": whole["id"]}}]
        parts.append({"type": "response.output_item.added", "output_index": 0, "item": item})
        if not act.tool:
            delta = {"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0}
            parts.append(delta | {"delta": act.text})
        parts.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        return events(*parts, {"type": "response.completed", "response": whole})


class Chat:
    """OpenAI's chat completions, as OpenCode speaks them."""

    def heard(self, body: Json) -> Iterator[Heard]:
        for message in body.get("messages", []):
            if message.get("role") in ("tool", "user"):
                yield Heard(message["role"] == "tool", words(message.get("content")))

    def tools(self, body: Json) -> dict[str, Any]:
        return {tool.get("function", {}).get("name"): tool for tool in body.get("tools", [])}

    def answer(self, body: Json, act: Act) -> tuple[str, str]:
        said: Json = {"role": "assistant", "content": act.text or None}
        if act.tool:
            function = {"name": act.tool, "arguments": json.dumps(act.arguments)}
            said["tool_calls"] = [{"index": 0, "id": name("call"), "type": "function", "function": function}]
        why = "tool_calls" if act.tool else "stop"
        usage = {"prompt_tokens": act.tokens, "completion_tokens": 4, "total_tokens": act.tokens + 4}
        common = {"id": name("chatcmpl"), "created": 1, "model": body.get("model", "scripted")}
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": why}
            return "application/json", json.dumps(
                common | {"object": "chat.completion", "choices": [choice], "usage": usage}
            )
        chunk = common | {"object": "chat.completion.chunk"}
        kind, lines = events(
            chunk | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": why}], "usage": usage},
            named=False,
        )
        return kind, lines + "data: [DONE]\n\n"


class Gemini:
    """Google's generateContent; a request for JSON asks the host's own questions, not the user's."""

    def heard(self, body: Json) -> Iterator[Heard]:
        for content in body.get("contents", []):
            parts = content.get("parts", [])
            for part in parts:
                if "functionResponse" in part:
                    yield Heard(True, "")
            if content.get("role", "user") == "user" and (text := words(parts)):
                yield Heard(False, text)

    def tools(self, body: Json) -> dict[str, Any]:
        declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        return {one.get("name"): one for one in declared}

    def answer(self, body: Json, act: Act) -> tuple[str, str]:
        part: Json = {"functionCall": {"name": act.tool, "args": act.arguments}} if act.tool else {"text": act.text}
        if not act.tool and body.get("generationConfig", {}).get("responseMimeType") == "application/json":
            own = {"next_speaker": "user", "reasoning": "-", "model_choice": "flash"}
            part = {"text": json.dumps(own | {"complexity_score": 1, "complexity_reasoning": "-"})}
        whole = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": act.tokens,
                "candidatesTokenCount": 4,
                "totalTokenCount": act.tokens + 4,
            },
            "modelVersion": "scripted",
        }
        return events(whole, named=False) if body.get("_stream") else ("application/json", json.dumps(whole))


DIALECTS: dict[str, Dialect] = {
    "/v1/messages": Anthropic(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
    "enerateContent": Gemini(),
}
COUNTED = {"count_tokens": {"input_tokens": 10}, ":countTokens": {"totalTokens": 10}}


def respond(path: str, body: Json) -> tuple[str, str]:
    """The response to a request: content type and body."""
    for ending, number in COUNTED.items():
        if path.endswith(ending):
            return "application/json", json.dumps(number)
    for ending, dialect in DIALECTS.items():
        if path.endswith(ending):
            body["_stream"] = ":stream" in path
            return dialect.answer(body, next_act(list(dialect.heard(body)), dialect.tools(body)))
    return "application/json", json.dumps({"object": "list", "data": [], "models": []})


def serve(port: int, log: str) -> None:
    """Answer on loopback until the process ends."""
    writing = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            try:
                body = json.loads(raw or b"{}")
            except ValueError:
                body = {}
            with writing, open(log, "a", encoding="utf-8") as lines:
                lines.write(json.dumps({"path": path, "body": body}) + "\n")
            kind, text = respond(path, body if isinstance(body, dict) else {})
            given = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(given)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(given)

        do_GET = do_POST = do_HEAD = _answer  # noqa: N815 - names of the library's

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: what is asked stands in the log."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
