"""Reading and compiling secret-detection rules in gitleaks' format."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Iterator
from functools import lru_cache, reduce
from pathlib import Path

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.algorithms.secrets.gitleaks_rules import (
    GitleaksRules,
    InvalidRuleFile,
    RuleFile,
    compile_rule_file,
    read_rule_file,
)
from mnemic.runtime.secrets.re2_engine import compile_for_text, compile_word_set

__all__ = ["load_rules"]

_DEPTH = 2
"""So many files may stand below one, as in gitleaks."""


def load_rules(named: str) -> GitleaksRules:
    """The rules of a file, by the path that a setting gives.

    Raises:
        InvalidValue: the file cannot be used; says why.
    """
    try:
        return _compiled(tuple(_contents(named)))
    except InvalidRuleFile as error:
        raise InvalidValue(
            name="capture.secret_rules",
            value=named,
            why=str(error),
            expected="the path of a file of rules in gitleaks' format, or nothing, for Mnemic's own rules alone",
        ) from error


def _contents(named: str) -> Iterator[bytes]:
    """What is in a file of rules, and in those that it stands on."""
    try:
        path = Path(named).expanduser()
    except RuntimeError:
        raise InvalidRuleFile("there is no such user") from None
    if not path.is_absolute():
        raise InvalidRuleFile("it is no absolute path, and every process stands in a folder of its own")
    for _ in range(1 + _DEPTH):
        content = _content(path)
        yield content
        extend = _file_of(content).extend
        if extend.usedefault:
            raise InvalidRuleFile(
                f"{path} stands on gitleaks' own rules, which are not here; name their file as its extend.path"
            )
        if not extend.path:
            return
        path = path.parent / extend.path
    raise InvalidRuleFile(f"more than {1 + _DEPTH} files stand on one another")


def _content(path: Path) -> bytes:
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
        content = path.read_bytes() if regular else b""
    except OSError as error:
        raise InvalidRuleFile(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    except ValueError as error:  # a NUL in it
        raise InvalidRuleFile(f"it is no path: {error}") from error
    if not regular:
        raise InvalidRuleFile(f"{path} is no file")
    return content


@lru_cache(1 + _DEPTH)
def _file_of(content: bytes) -> RuleFile:
    try:
        return read_rule_file(tomllib.loads(content.decode("utf-8")))
    except UnicodeDecodeError as error:
        raise InvalidRuleFile("it is no TOML: it is not in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidRuleFile(f"it is no TOML: {error}") from error


@lru_cache(2)
def _compiled(contents: tuple[bytes, ...]) -> GitleaksRules:
    """Every actor that is made asks for them."""
    whole = reduce(lambda base, file: file.merged_over(base), map(_file_of, reversed(contents)))
    return compile_rule_file(whole, compile_for_text, compile_word_set)
