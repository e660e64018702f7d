"""Names what is no text in a tool's answer: an image, a sound or a file, which hosts pass on as base64.

A block of MCP (``{"type": "image", "data": …, "mimeType": …}``, ``resource`` with a ``blob``), one of Anthropic's
(``source``), one of OpenAI's (``image_url``) and a ``data:`` URL each become their name, like
``[image: image/png]``. All hosts' adapters use it, so that a hook and a transcript give the same text.
"""

from __future__ import annotations

import re

from mnemic.hooks.read.lines import Json

_DATA_URL = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,80})(?:;[\w=.+-]{1,80})*;base64,", re.ASCII)


def media_name(block: Json) -> str | None:
    """What stands for a block that holds data; ``None`` for one that holds none."""
    kind, source, resource = block.get("type"), block.get("source"), block.get("resource")
    link = block.get("image_url")
    link = link.get("url") if isinstance(link, dict) else link
    if isinstance(link, str) and _DATA_URL.match(link):
        return str(_named(link))
    if isinstance(source, dict) and "data" in source and source.get("type") != "text":
        return f"[{kind}: {source.get('media_type')}]"
    if kind in ("image", "audio") and isinstance(block.get("data"), str):
        return f"[{kind}: {mime}]" if (mime := block.get("mimeType")) else f"[{kind}]"
    if kind == "resource" and isinstance(resource, dict) and isinstance(resource.get("blob"), str):
        return f"[resource: {resource.get('mimeType') or resource.get('uri')}]"
    return None


def name_media(value: object) -> object:
    """A value of JSON in which the name of each image, sound or file stands for its data."""
    try:
        return _named(value)
    except RecursionError:  # nobody nests a picture so deeply
        return value


def _named(value: object) -> object:
    if isinstance(value, str):
        found = _DATA_URL.match(value)
        return value if found is None else f"[{'image' if found[1].startswith('image/') else 'data'}: {found[1]}]"
    if isinstance(value, list):
        return [_named(one) for one in value]
    if not isinstance(value, dict):
        return value
    return media_name(value) or {name: _named(one) for name, one in value.items()}
