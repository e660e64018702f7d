"""Makes MCP tools of rows, with compact JSON schemas and uniform errors; their parameters are those of the verb."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from mnemic.actors.kernel.errors import BadInput, InvalidValue, MissingArgument, MnemicError, UnknownArgument
from mnemic.actors.kernel.message import Id, Message, Text, Time, from_json, safe_operand
from mnemic.actors.kernel.times import UTC_ZONE, Zone

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
"""A tool that changes nothing."""
IDEMPOTENT_ADD = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""A tool that adds, or hides what a command shows again, and does so once: nothing is destroyed."""

_NAME_CHARS = 64
_JSON_TYPES: dict[Any, Any] = {Id: str, Text: str, Time: str}
"""How a model writes what a verb takes; all else as it is."""


def read_arguments(verb: type[msgspec.Struct], given: dict[str, Any], zone: Zone = UTC_ZONE) -> dict[str, Any]:
    """What was given of a verb's fields, as its Python method takes it; whatever else was given stays as it is.

    Args:
        zone: that a time without an offset is in.

    Raises:
        NoSuchMemory, BadTime: an id or a time is none.
    """
    return from_json(verb, {name: value for name, value in given.items() if value is not None}, zone)


SCOPE = (str | None, None)
"""Type and default of a parameter that names a project; absent, it is the caller's own."""
SCOPES = (str | list[str] | None, None)
"""The same of one that may name several."""


class ToolRow(NamedTuple):
    """One tool."""

    answer: Callable[..., dict[str, Any]]
    """Answers a call, given the arguments; its name is the tool's, and its docstring the description."""
    annotations: ToolAnnotations
    """What it does to the memory."""
    verb: type[msgspec.Struct] = Message
    """Has the fields that are its parameters."""
    parameters: str = ""
    """Names of the fields, and of what the tool alone takes, in the order of the schema."""
    unlike: Mapping[str, tuple[Any, Any]] = MappingProxyType({})
    """Type and default of what the tool alone takes, or offers otherwise than the verb."""
    answered: str = ""
    """What is always in its answer, which is all that its schema says: a value tells the rest itself."""
    read: Callable[[type[msgspec.Struct], dict[str, Any], Zone], dict[str, Any]] = read_arguments
    """Reads the arguments, before the mind is opened."""


def make_tool(row: ToolRow, answer: Callable[[ToolRow, Context[Any, Any], dict[str, Any]], Awaitable[Any]]) -> Tool:
    """A tool, answered by `answer`, which is given what the model gave."""

    async def run(context: Context[Any, Any], **given: Any) -> dict[str, Any]:
        told: dict[str, Any] = await answer(row, context, given)
        return told

    fields = {field.name: field for field in msgspec.structs.fields(row.verb)}
    parameters = [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Context[Any, Any])]
    for name in row.parameters.split():
        hint, default = row.unlike.get(name) or _json_parameter(fields[name])
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default))
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": dict[str, Any]}
    run.__signature__ = inspect.Signature(parameters, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    description = " ".join((row.answer.__doc__ or "").split())
    made = _Tool.from_function(run, name=row.answer.__name__, description=description, annotations=row.annotations)
    # That nothing else is taken is told to who tries, and not in each session.
    made.parameters = _slim_schema(made.parameters)
    made.fn_metadata.output_schema = {"type": "object"} | ({"required": row.answered.split()} if row.answered else {})
    return made


def _json_parameter(field: msgspec.structs.FieldInfo) -> tuple[Any, Any]:
    """Type and default of a parameter; what may be left out is ``None`` then, and the verb knows the rest."""
    hint = field.type
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    hint = list[str] if get_origin(hint) is tuple else _JSON_TYPES.get(hint, hint)
    return (hint, inspect.Parameter.empty) if field.required else (hint | None, None)


class _Tool(Tool):
    """A tool whose errors carry code, sentence and remedy, as in every face."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        known = list(self.parameters["properties"])
        stray = find_unknown(self.name, arguments, known)
        if stray is not None:  # the SDK drops it, and an answer without the filter that was meant looks like one with
            return _error_result(stray)
        try:
            view = await super().run(arguments, context)
            return _result(view) if convert_result else view
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                cause = _argument_error(cause, self.name, known)
            if not isinstance(cause, MnemicError):
                raise
            return _error_result(cause)


def find_unknown(tool: str, given: Iterable[str], known: Sequence[str]) -> UnknownArgument | None:
    """The error about the first argument that a tool or a prompt does not take; ``None`` where it takes all."""
    stray = next((name for name in given if name not in known), None)
    if stray is None:
        return None
    near = difflib.get_close_matches(stray, known, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return UnknownArgument(tool=tool, name=stray, near=hint, known=", ".join(known) or "nothing")


def assistant_name(context: Context[Any, Any]) -> str:
    """What the assistant calls itself."""
    told = context.session.client_params
    name = told.client_info.name if told is not None else ""
    return "".join(letter for letter in name if letter.isprintable())[:_NAME_CHARS] or "mcp"


def error_text(error: MnemicError) -> str:
    """An error as one line: its code, its sentence, its remedy."""
    return f"{error.code}: {error} {error.remedy_text}"


def _slim_schema(schema: Any) -> Any:
    """A schema without generated titles and without saying that what may be left out may be null, or is empty."""
    if isinstance(schema, list):
        return [_slim_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    slim = {name: _slim_schema(part) for name, part in schema.items()}
    if isinstance(slim.get("title"), str):
        del slim["title"]
    if "default" in slim and not slim["default"]:
        del slim["default"]
    if slim.get("additionalProperties") is True:
        del slim["additionalProperties"]
    kinds = [kind for kind in slim.pop("anyOf", []) if kind != {"type": "null"}]
    return slim | kinds[0] if len(kinds) == 1 else slim | ({"anyOf": kinds} if kinds else {})


def _result(view: dict[str, Any]) -> CallToolResult:
    """An answer as JSON, and once more as the text of it, for clients that take only that.

    The SDK would indent the text, which costs a model a third more, and copy the answer twice.
    """
    text = msgspec.json.encode(view).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=view)


def _error_result(error: MnemicError) -> CallToolResult:
    # As text alone: the TypeScript SDK (Gemini CLI, OpenCode) holds even an error's structured content against the
    # tool's output schema, and tells its model of that instead.
    return CallToolResult(content=[TextContent(type="text", text=error_text(error))], is_error=True)


def _argument_error(error: ValidationError, tool: str, known: list[str]) -> BadInput:
    """What is wrong with the first argument that is none the tool takes."""
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return MissingArgument(tool=tool, name=name, known=", ".join(known))
    return InvalidValue(
        name=name,
        value=safe_operand(first["input"]),
        why=first["msg"][:1].lower() + first["msg"][1:],
        expected="the arguments that the tool's schema names",
    )
