"""JSON Schema of messages and their answers, as the wire writes them: ids as UUIDs, times as ISO 8601, texts as text.

`msgspec` makes schemas, too, and knows neither these forms nor what the string after a field says. Above is
`mnemic.runtime.serve.http.openapi`.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Collection
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from mnemic.actors.kernel.message import field_help
from mnemic.actors.shape.messages import Shape

Schema = dict[str, Any]

_FORMS: dict[str, tuple[str, Schema]] = {
    "id": ("Id", {"type": "string", "format": "uuid", "description": "A memory's id."}),
    "time": (
        "Time",
        {
            "type": "string",
            "description": "ISO 8601, such as 2026-11-21T14:05:00Z; one that no calendar holds is its number of"
            " microseconds since 1970.",
        },
    ),
    "text": (
        "Text",
        {
            "description": "Text; what JSON cannot give back byte for byte stands as base64.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"base64": {"type": "string", "contentEncoding": "base64"}},
                    "required": ["base64"],
                    "additionalProperties": False,
                },
            ],
        },
    ),
}
"""By what a field's type is marked with: name of the schema, and the schema."""
_PLAIN: dict[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    type(None): {"type": "null"},
    Any: {},
}
_AS_GIVEN: dict[tuple[type, str], Schema] = {
    (Shape, "pattern"): {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
}
"""Fields that are taken in more forms than they have inside; see `mnemic.runtime.client.wire.decode_message`."""
_DOTTED = re.compile(r"`mnemic\.[\w.]*?(\w+)`")


def documentation(kind: type) -> str:
    """What a class says of itself, its paragraphs as lines; what it refers to by its last name."""
    paragraphs = (inspect.getdoc(kind) or "").split("\n\n")
    return readable("\n".join(" ".join(paragraph.split()) for paragraph in paragraphs))


def readable(said: str) -> str:
    """Documentation without the marks that only readers of the code need."""
    return _DOTTED.sub(r"`\1`", said).replace("``", "`")


class Schemas:
    """Makes schemas of types, and keeps those of structs and marked types by name."""

    def __init__(self, named: Collection[type], closed: Collection[type]) -> None:
        """Keep none yet.

        Args:
            named: structs that ``type``, beside their fields, names.
            closed: structs in whose place nothing but their fields is taken.
        """
        self.components: dict[str, Schema] = {}
        """What ``#/components/schemas/NAME`` stands for."""
        self._named = named
        self._closed = closed

    def of(self, hint: Any) -> Schema:
        """The schema of values of a type.

        Raises:
            TypeError: no message has such a type.
        """
        origin, parts = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self._of_form(parts)
        if origin in (Union, types.UnionType):
            return self._of_union(parts)
        if origin is Literal:
            return {"type": "string", "enum": list(parts)}
        if origin in (tuple, list):
            if origin is list or parts[-1] is Ellipsis:
                return {"type": "array", "items": self.of(parts[0])}
            return _row([self.of(part) for part in parts])
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(parts[1])}
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            if hint.__name__ not in self.components:
                self.components[hint.__name__] = self._of_struct(hint)
            return _reference(hint.__name__)
        if hint not in _PLAIN:
            raise TypeError(f"{hint} has no schema")
        return dict(_PLAIN[hint])

    def _of_struct(self, kind: type[msgspec.Struct]) -> Schema:
        said = field_docs(kind)
        fields = msgspec.structs.fields(kind)
        described = {"description": documentation(kind)}
        properties = {field.encode_name: self._of_field(kind, field, said.get(field.name, "")) for field in fields}
        if kind.__struct_config__.array_like:
            return described | _row(list(properties.values()))
        if kind.__struct_config__.tag_field is not None:
            properties = {kind.__struct_config__.tag_field: {"const": kind.__struct_config__.tag}, **properties}
        if kind in self._named:
            properties = {"type": {"const": kind.__name__}} | properties
        schema: Schema = described | {"type": "object", "properties": properties}
        needed = [field.encode_name for field in fields if field.required]
        if needed:
            schema["required"] = needed
        return schema | ({"additionalProperties": False} if kind in self._closed else {})

    def _of_field(self, kind: type, field: msgspec.structs.FieldInfo, said: str) -> Schema:
        schema = dict(_AS_GIVEN.get((kind, field.name)) or self.of(field.type))
        if said:
            schema["description"] = readable(said)
        if field.default is not msgspec.NODEFAULT and field.default is not None:
            schema["default"] = msgspec.json.decode(msgspec.json.encode(field.default))
        return schema

    def _of_form(self, parts: tuple[Any, ...]) -> Schema:
        form = next((_FORMS[mark] for mark in parts[1:] if isinstance(mark, str) and mark in _FORMS), None)
        if form is None:
            return self.of(parts[0])
        name, schema = form
        self.components.setdefault(name, schema)
        return _reference(name)

    def _of_union(self, parts: tuple[Any, ...]) -> Schema:
        several = [self.of(part) for part in parts]
        if all(list(one) == ["type"] for one in several):  # plain types
            return {"type": [one["type"] for one in several]}
        return {"anyOf": several}


def field_docs(kind: type[msgspec.Struct]) -> dict[str, str]:
    """What the strings after a struct's fields say, those that it has from others included."""
    said: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if issubclass(one, msgspec.Struct) and one is not msgspec.Struct:
            said |= field_help(one)
    return said


def _row(items: list[Schema]) -> Schema:
    return {"type": "array", "prefixItems": items, "maxItems": len(items)}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
