"""The page `/docs`: the OpenAPI document for people, one HTML file that asks for nothing else and runs no script."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import Any

from mnemic.runtime.serve.http.endpoints import JSON
from mnemic.runtime.serve.http.openapi import document
from mnemic.runtime.serve.http.schemas import Schema

PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""What a browser is told of the page: it loads nothing, and nothing frames it."""
_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin-top: 0; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
code, pre { font: 0.92em/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.7rem; border: 1px solid var(--line); border-radius: 6px; }
nav a { margin-right: 0.9rem; white-space: nowrap; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 0.5rem 0; padding: 0.4rem 0.8rem; }
summary { cursor: pointer; } summary code { font-weight: 600; }
table { border-collapse: collapse; width: 100%; margin: 0.4rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.7rem 0.25rem 0; border-top: 1px solid var(--line); }
td:last-child { width: 55%; } h4 { margin: 0.8rem 0 0; }
"""
_EXAMPLES: dict[str, Any] = {"string": "…", "integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}


@cache
def docs_page(over_tcp: bool) -> str:
    """The page of what is answered on the home's own socket, or over TCP."""
    made = document(over_tcp)
    rooms = [tag["name"] for tag in made["tags"]]
    links = [(f"#room-{room}", room) for room in rooms] + [("#errors", "errors"), ("#parts", "parts of answers")]
    parts = [
        f"<h1>{escape(made['info']['title'])} <small>{escape(made['info']['version'])}</small></h1>",
        *(f"<p>{_words(one)}</p>" for one in made["info"]["description"].split("\n\n")),
        f"<pre>{escape(_how_to_ask(over_tcp))}</pre>",
        "<p>For programs: <a href='/openapi.json'>openapi.json</a> (OpenAPI 3.1).</p>",
        f"<nav>{' '.join(f'<a href={href!r}>{escape(name)}</a>' for href, name in links)}</nav>",
        *(_room(made, room) for room in rooms),
        "<h2>headers</h2>",
        _table(("header", "", "type", ""), map(_header_row, made["components"]["parameters"].values())),
        "<h2 id='errors'>errors</h2>",
        _table(("status", ""), map(_error_row, made["components"]["responses"].items())),
        "<h2 id='parts'>parts of answers</h2>",
        *(_part(made, name) for name in made["components"]["schemas"]),
    ]
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><title>Mnemic</title>{head}<body>{''.join(parts)}</body></html>\n"


def _how_to_ask(over_tcp: bool) -> str:
    if over_tcp:
        return (
            'curl -H "Authorization: Bearer $(cat HOME/http-token)" -H "Content-Type: application/json" \\\n'
            '    -d \'{"query": "the pier"}\' http://HOST:PORT/api/recall'
        )
    return 'curl --unix-socket HOME/run/http.sock -d \'{"query": "the pier"}\' http://mnemic/api/recall'


def _room(made: dict[str, Any], room: str) -> str:
    """What belongs together, first the path that is called so."""
    operations = [
        (path != f"/api/{room}", _operation(made, path, method, operation))
        for path, methods in made["paths"].items()
        for method, operation in methods.items()
        if room in operation["tags"]
    ]
    shown = (one for _, one in sorted(operations, key=lambda one: one[0]))
    return f"<h2 id='room-{escape(room)}'>{escape(room)}</h2>{''.join(shown)}"


def _operation(made: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> str:
    said = [f"<p>{_words(one)}</p>" for one in operation.get("description", "").split("\n") if one]
    if "requestBody" in operation:
        schema = _resolved(made, operation["requestBody"]["content"][JSON]["schema"])
        said.append(f"<h4>the body</h4>{_fields(schema, taken=True)}")
        said.append(f"<pre>{escape(json.dumps(example_of(made, schema), ensure_ascii=False))}</pre>")
    answer = operation["responses"].get("200", {}).get("content", {}).get(JSON)
    if answer is not None:
        said.append(f"<h4>the answer</h4><p>{_kind(answer['schema'])}</p>{_fields(_resolved(made, answer['schema']))}")
    statuses = [status for status, answer in operation["responses"].items() if "$ref" in answer]
    if statuses:
        said.append(f"<p>May fail with {', '.join(statuses)}: <a href='#errors'>errors</a>.</p>")
    name = f"<code>{method.upper()} {escape(path)}</code>"
    identity = escape(operation["operationId"])
    return f"<details id='{identity}'><summary>{name} {_words(operation['summary'])}</summary>{''.join(said)}</details>"


def _part(made: dict[str, Any], name: str) -> str:
    schema = made["components"]["schemas"][name]
    if not schema.get("additionalProperties", True):  # the body of a request stands with it
        return ""
    said = "".join(f"<p>{_words(one)}</p>" for one in schema.get("description", "").split("\n"))
    form = "" if "properties" in schema else f"<p>{_kind(schema)}</p>"
    return f"<details id='part-{name}'><summary><code>{name}</code></summary>{said}{form}{_fields(schema)}</details>"


def _fields(schema: Schema, *, taken: bool = False) -> str:
    """The fields of an object; of one that is taken, what may be left out too."""
    needed = schema.get("required", ())
    rows = [
        (
            f"<code>{escape(name)}</code>",
            _kind(field),
            *(["needed" if name in needed else _default(field)] if taken else []),
            _words(field.get("description", "")),
        )
        for name, field in schema.get("properties", {}).items()
        if name != "type" or "const" not in field  # what says which kind of message it is
    ]
    return _table(("field", "type", *(["unless given"] if taken else []), ""), rows) if rows else ""


def _default(field: Schema) -> str:
    return f"<code>{escape(json.dumps(field['default'], ensure_ascii=False))}</code>" if "default" in field else ""


def _header_row(parameter: dict[str, Any]) -> tuple[str, ...]:
    schema = parameter["schema"]
    return f"<code>{parameter['name']}</code>", _default(schema), _kind(schema), _words(parameter["description"])


def _error_row(named: tuple[str, dict[str, Any]]) -> tuple[str, ...]:
    name, answer = named
    return name.removeprefix("Error"), _words(answer["description"])


def _table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _kind(schema: Schema) -> str:
    """What values a schema takes, in words, as HTML."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"<a href='#part-{name}'>{name}</a>"
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{escape(json.dumps(one))}</code>" for one in values)
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    kind = schema.get("type", "anything")
    if kind == "array" and "items" in schema:
        return f"list of {_kind(schema['items'])}"
    if kind == "array" and "prefixItems" in schema:
        return f"list: {', '.join(map(_kind, schema['prefixItems']))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties'])}"
    return " or ".join(map(escape, [kind] if isinstance(kind, str) else kind))


def example_of(made: dict[str, Any], schema: Schema) -> Any:
    """The least that a schema takes, or all of it where nothing is needed."""
    if "$ref" in schema:
        return example_of(made, _resolved(made, schema))
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if "anyOf" in schema:
        return example_of(made, schema["anyOf"][0])
    if "properties" in schema:
        return {name: example_of(made, schema["properties"][name]) for name in schema.get("required", ())}
    kind = schema.get("type", "object")
    return _EXAMPLES[kind if isinstance(kind, str) else kind[0]]


def _resolved(made: dict[str, Any], schema: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Schema = made["components"]["schemas"][name] if name else schema
    return found


def _words(said: str) -> str:
    """Text as HTML, with what stands in backquotes as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(said, quote=False))
