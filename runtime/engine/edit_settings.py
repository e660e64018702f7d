"""Set one value in the text of ``mnemic.toml``; no other byte of it changes.

The standard library reads the text before and after, so an edit that would change anything else is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.keys.keys import replace_private

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


def set_value(path: Path, name: str, value: str) -> bool:
    """Have a file of settings hold a value; returns whether it did not before.

    Args:
        name: of the setting, as ``embedder.model``.

    Raises:
        SourceUnreadable, BadSettings, InvalidValue: the settings are wrong as they are.
        InvalidValue: they set it in a way that is not edited here, such as an inline table.
        DiskFailed, DiskFull, StoreReadOnly: the file cannot be written.
    """
    if load_settings(path)[name] == value:
        return False
    path = path.resolve()  # a link to it stays one
    before = path.read_bytes().decode() if path.exists() else ""
    table, _, key = name.rpartition(".")
    after, wanted = _edited(before, table, key, json.dumps(value, ensure_ascii=False)), tomllib.loads(before)
    wanted.setdefault(table, {})[key] = value
    if _parsed(after) != wanted:
        remedy = f"Write `{key} = {json.dumps(value)}` under `[{table}]` in it yourself"
        why = f"{path} sets it in a form that is not edited here"
        raise InvalidValue(name=name, value=value, why=why, remedy=remedy)
    try:
        replace_private(path, after.encode())
    except OSError as error:
        raise write_error(path, error) from error
    return True


def _edited(text: str, table: str, key: str, written: str) -> str:
    """The text with a line for the key, in its table; the table is added where there is none."""
    header = re.search(rf"^[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\][^\n]*(?:\n|\Z)", text, re.MULTILINE)
    end = "\r\n" if "\r\n" in text else "\n"
    if header is None:
        gap = "" if not text else end if text.endswith("\n") else 2 * end
        return f"{text}{gap}[{table}]{end}{key} = {written}{end}"
    start = header.end()
    following = _HEADER.search(text, start)
    stop = len(text) if following is None else following.start()
    line = re.compile(rf"^([ \t]*{re.escape(key)}[ \t]*=[ \t]*)(?:\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')", re.MULTILINE)
    inside, count = line.subn(lambda found: found[1] + written, text[start:stop], count=1)
    newline = "" if text[:start].endswith("\n") else end
    return text[:start] + (inside if count else f"{newline}{key} = {written}{end}{inside}") + text[stop:]


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
