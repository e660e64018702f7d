"""A verb is declared once, in its message: Python, the command, MCP, HTTP and the pages agree with it."""

from __future__ import annotations

import asyncio
import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import click
import msgspec
import pytest

from mnemic.actors.brief.messages import Brief
from mnemic.actors.capture.forget_messages import Forget, ForgetSelection, Recover, Selection, Survey
from mnemic.actors.capture.messages import CaptureText
from mnemic.actors.communities.messages import ListCommunities, ShowCommunity, UpdateCommunities
from mnemic.actors.kernel.message import Id, MemoryId, Text, field_help
from mnemic.actors.kernel.scope_paths import Scopes
from mnemic.actors.knowledge.messages import (
    ListConflicts,
    ListEntities,
    ListFacts,
    MergeNames,
    SettleConflict,
    ShowEntity,
    UpdateFacts,
)
from mnemic.actors.log.messages import CountUse, FindIds, ListDeliveries, ListMemories, ShowMemories
from mnemic.actors.recall.messages import FindSimilar, GetMemories, Recall
from mnemic.actors.shape.messages import Shape
from mnemic.actors.store.messages import Rebuild
from mnemic.cli.context import cli
from mnemic.runtime.api.mind import Mind
from mnemic.runtime.client.wire import ASK_MESSAGES, TELL_MESSAGES
from mnemic.runtime.serve.mcp.tools import make_server
from tests.paths import ROOT

Struct = type[msgspec.Struct]


class Offer(NamedTuple):
    """What a face offers of a verb, and where it knowingly differs from the message."""

    face: str
    """The method, the command or the tool."""
    lacks: frozenset[str] = frozenset()
    """Fields that it does not offer."""
    own: frozenset[str] = frozenset()
    """Parameters that it alone has."""
    unlike: frozenset[str] = frozenset()
    """Fields that it offers with another type or default."""


def offer(face: str, lacks: str = "", own: str = "", unlike: str = "") -> Offer:
    return Offer(face, frozenset(lacks.split()), frozenset(own.split()), frozenset(unlike.split()))


METHODS: dict[Struct, Offer] = {
    Recall: offer("recall", own="progress"),
    Shape: offer("shape", own="progress", unlike="pattern"),
    CaptureText: offer("remember", lacks="place occurrence", own="scope similar"),
    GetMemories: offer("get"),
    Forget: offer("forget"),
    Recover: offer("recover"),
    FindSimilar: offer("similar"),
    ListMemories: offer("log"),
    ListDeliveries: offer("log_given"),
    ShowMemories: offer("show"),
    FindIds: offer("find_ids"),
    CountUse: offer("use"),
    Brief: offer("brief", lacks="place notices", own="scope"),
    Survey: offer("survey"),
    ForgetSelection: offer("forget_all", lacks="restore"),
    Rebuild: offer("rebuild", own="progress"),
    ListCommunities: offer("communities"),
    ShowCommunity: offer("community"),
    UpdateCommunities: offer("update_communities", own="progress more", unlike="mark"),
    ListFacts: offer("facts"),
    ListConflicts: offer("conflicts"),
    SettleConflict: offer("settle"),
    ListEntities: offer("entities"),
    ShowEntity: offer("entity"),
    MergeNames: offer("merge_entities"),
    UpdateFacts: offer("update_facts", own="progress more"),
}
COMMANDS: dict[Struct, Offer] = {
    Recall: offer(
        "recall",
        lacks="query place signals observe private trace trial assistant asking_session",
        own="question explain full",
        unlike="scope",
    ),
    Shape: offer(
        "shape",
        lacks="pattern observe private assistant asking_session",
        own="pairs roles but full",
        unlike="scope analogy like",
    ),
    CaptureText: offer(
        "remember",
        lacks="role place assistant speaker said_at utc_offset_min supersedes occurrence folder",
        own="scope everywhere",
    ),
    ListMemories: offer("log", lacks="text_bytes", own="injected recalls", unlike="scope"),
    ShowMemories: offer("show"),
    Selection: offer("forget", own="reason undo erase yes"),
    ListCommunities: offer("communities", own="number", unlike="scope k"),
    ListFacts: offer("facts", unlike="scope"),
    ListConflicts: offer("conflicts", own="id verdict", unlike="scope"),
    ListEntities: offer("entities", unlike="scope"),
    ShowEntity: offer("entity", unlike="scope"),
}
TOOLS: dict[Struct, Offer] = {
    Recall: offer(
        "memory_recall",
        lacks="roles speakers assistants branches tools place signals observe private trace trial assistant"
        " asking_session",
        own="explain",
    ),
    Shape: offer("memory_shape", lacks="strict observe private assistant asking_session"),
    CaptureText: offer("memory_capture", lacks="place assistant speaker utc_offset_min occurrence folder", own="scope"),
    GetMemories: offer("memory_get", own="offset limit"),
    Forget: offer("memory_forget", lacks="ids", own="id"),
    ListFacts: offer("memory_facts", lacks="relation k"),
    SettleConflict: offer("memory_settle", lacks="by"),
}
COMMON = {"home", "mind", "as_json"}


def fields_of(verb: Struct) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(verb)}


def python_type(hint: Any) -> Any:
    """The type that a method has for what a field has: texts as `str`, ids in any form, an iterable for a tuple."""
    if hint == Text:
        return str
    if hint == Id:
        return frozenset(get_args(MemoryId))
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return python_type(parts[0])
    if origin in (Union, types.UnionType):
        found = [python_type(part) for part in parts]
        return frozenset().union(*(one if isinstance(one, frozenset) else {one} for one in found))
    if origin in (Sequence, Iterable) or (origin is tuple and parts[-1] is Ellipsis):
        return Iterable, python_type(parts[0])
    return hint


def field_default(field: msgspec.structs.FieldInfo) -> Any:
    return inspect.Parameter.empty if field.required else field.default


def name_differences(verb: Struct, told: Offer, names: set[str]) -> list[str]:
    """Where the names of a face's parameters are not the fields of the verb, but for what `told` names."""
    fields = fields_of(verb).keys()
    found = [f"{told.face} lacks {name}" for name in sorted(fields - names - told.lacks)]
    found += [f"{told.face} has {name}" for name in sorted(names - fields - told.own)]
    return found + [f"{told.face}: {name} is no exception" for name in sorted((told.lacks & names) - told.own)]


def method_differences(verb: Struct, told: Offer, method: Callable[..., Any]) -> list[str]:
    """Where a method's signature is not what the verb's message declares."""
    parameters = {name: one for name, one in inspect.signature(method).parameters.items() if name != "self"}
    hints, fields = get_type_hints(method, include_extras=True), fields_of(verb)
    found = name_differences(verb, told, set(parameters))
    for name in parameters.keys() & fields.keys() - told.unlike - told.own:
        if python_type(hints[name]) != python_type(fields[name].type):
            found.append(f"{told.face}: {name} is {hints[name]}, declared as {fields[name].type}")
        if name not in {"ids", "text"} and parameters[name].default != field_default(fields[name]):
            found.append(f"{told.face}: {name} is {parameters[name].default!r} by default")
    return found


@pytest.mark.parametrize("verb", METHODS)
def test_the_method_has_the_parameters_types_and_defaults_of_the_message(verb: Struct) -> None:
    assert method_differences(verb, METHODS[verb], getattr(Mind, METHODS[verb].face)) == []


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_command_has_the_options_and_defaults_of_the_message(verb: Struct) -> None:
    told, fields = COMMANDS[verb], fields_of(verb)
    parameters = {str(one.name): one for one in cli.load_all()[told.face].params}
    assert name_differences(verb, told, parameters.keys() - COMMON) == []
    for name in parameters.keys() & fields.keys() - told.unlike:
        option = parameters[name]
        if isinstance(option, click.Option) and not fields[name].required:
            assert (option.get_default(click.Context(cli)) or None) == (fields[name].default or None), name


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_help_of_an_option_is_what_the_message_says(verb: Struct) -> None:
    command, said = cli.load_all()[COMMANDS[verb].face], field_help(verb)
    shown = " ".join(command.get_help(click.Context(command, info_name=command.name)).split())
    offered = {str(one.name) for one in command.params if isinstance(one, click.Option)}
    for name in offered & said.keys() - {"analogy"}:
        if not (verb is CaptureText and name == "scope"):
            assert said[name][:40] in re.sub(r"(?<=\w)- (?=\w)", "-", shown), name


def tool_schemas() -> dict[str, dict[str, Any]]:
    server = make_server(None, None, None, "0", None, None)  # type: ignore[arg-type]
    return {tool.name: dict(tool.input_schema) for tool in asyncio.run(server.list_tools())}


@pytest.mark.parametrize("verb", TOOLS)
def test_the_tool_has_the_parameters_of_the_message(verb: Struct) -> None:
    told, schema = TOOLS[verb], tool_schemas()[TOOLS[verb].face]
    assert name_differences(verb, told, set(schema["properties"])) == []
    needed = {name for name, field in fields_of(verb).items() if field.required}
    assert set(schema.get("required", ())) - told.own - {"pattern"} == needed - told.lacks


def test_every_verb_that_a_face_offers_is_answered_over_http() -> None:
    offered = METHODS.keys() | (COMMANDS.keys() - {Selection}) | TOOLS.keys()
    assert offered <= set(ASK_MESSAGES.values())


# --- pages -----------------------------------------------------------------------------------------------------------


def section(page: str, title: str) -> str:
    text = (ROOT / "docs" / page).read_text("utf-8")
    found = text.partition(f"\n{title}")[2]
    assert found, f"docs/{page} has no section {title}"
    return re.split(r"\n##", found)[0]


def first_cells(text: str) -> set[str]:
    """What stands in code in the first column of the tables."""
    return {name for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}


def test_the_page_lists_each_parameter_of_each_tool_and_no_other() -> None:
    for tool, schema in tool_schemas().items():
        assert first_cells(section("mcp.md", f"### `{tool}`")) == set(schema["properties"]), tool


@pytest.mark.parametrize("name", sorted({one.face for one in COMMANDS.values()}))
def test_the_page_lists_each_option_of_a_verbs_command_and_no_other(name: str) -> None:
    told = {cell.split()[0] for cell in first_cells(section("cli.md", f"## `mnemic {name}")) if cell[0] == "-"}
    options = [one for one in cli.load_all()[name].params if isinstance(one, click.Option) and one.name not in COMMON]
    assert {one.opts[0] for one in options} <= told
    assert told <= {flag for one in options for flag in one.opts}


def test_the_page_lists_each_message_and_no_other() -> None:
    (listed,) = re.findall(r"\nThe messages: (.*?)\.\nEach", (ROOT / "docs" / "http.md").read_text("utf-8"), re.DOTALL)
    assert set(re.findall(r"`([a-z-]+)`", listed)) == ASK_MESSAGES.keys()
    assert TELL_MESSAGES.keys().isdisjoint(ASK_MESSAGES)


# --- a difference is seen --------------------------------------------------------------------------------------------


class Planted(Recall, frozen=True, kw_only=True):
    """A recall with one more field, another default and another type."""

    depth: int = 0
    """How deep."""
    scope: Scopes = ""
    """Another default."""
    session: int | None = None  # type: ignore[assignment]
    """Another type."""


def test_a_difference_between_method_and_message_is_seen() -> None:
    told = METHODS[Recall]
    assert sorted(method_differences(Planted, told, Mind.recall)) == [
        "recall lacks depth",
        "recall: scope is '*' by default",
        f"recall: session is {str | None}, declared as {int | None}",
    ]
    assert name_differences(Recall, told, {*fields_of(Recall), "depth"}) == ["recall has depth"]
    assert name_differences(Recall, offer("recall", lacks="k"), set(fields_of(Recall))) == ["recall: k is no exception"]


def test_types_are_compared_through_their_marks() -> None:
    assert python_type(fields_of(ListMemories)["since"].type) == python_type(int | None)
    assert python_type(fields_of(Forget)["ids"].type) == python_type(Iterable[MemoryId]) != python_type(Iterable[str])
    assert python_type(Mapping[str, str]) == Mapping[str, str]
