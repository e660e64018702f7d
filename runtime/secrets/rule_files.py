"""Secret-detection rules in gitleaks' format, and the regular expressions of all rules: in linear time, by RE2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from pathlib import Path

import re2

from mnemic.actors.protocol.errors import InvalidValue
from mnemic.algorithms.secrets.gitleaks_rules import (
    CompiledRegex,
    GitleaksRules,
    InvalidRuleFile,
    KeywordMatcher,
    RuleFile,
    compile_rule_file,
    read_rule_file,
)
from mnemic.runtime.files.foreign import parse_toml, read_regular

_MEMORY_BYTES = 32 << 20
"""What RE2 may use for the states that our expressions meet, or for a set of words; it takes only what those need.

Through 20 MB of code ours then make 220 MB/s; with its own 8 MB 140, and with 4, where it gives up on states, 0.4. Of
words, 50,000 fit; gitleaks has 244 keywords and 1,446 stopwords.
"""
_MOST_BYTES = 1 << 24  # gitleaks' own file has 100 kB
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
        return read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise InvalidRuleFile(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    except ValueError as error:  # a NUL in it
        raise InvalidRuleFile(f"it is no path: {error}") from error


@lru_cache(1 + _DEPTH)
def _file_of(content: bytes) -> RuleFile:
    try:
        document = parse_toml(content)
    except ValueError as error:
        raise InvalidRuleFile(str(error)) from error
    return read_rule_file(document)


@lru_cache(2)
def _compiled(contents: tuple[bytes, ...]) -> GitleaksRules:
    """Every actor that is made asks for them."""
    whole = reduce(lambda base, file: file.merged_over(base), map(_file_of, reversed(contents)))
    return compile_rule_file(whole, compile_for_text, compile_word_set)


# --- RE2 -------------------------------------------------------------------------------------------------------------


def compile_for_bytes(pattern: bytes) -> CompiledRegex:
    """Compile an expression for which one byte is one character: a text may hold surrogates."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY_BYTES
    return _expression(pattern, options)


def compile_for_text(pattern: bytes) -> CompiledRegex:
    """Compile an expression on UTF-8, as Go does: nothing that it matches begins or ends within a letter.

    Raises:
        ValueError: it is none; says why in a clause.
    """
    return _expression(pattern, re2.Options())


def compile_word_set(words: Sequence[bytes]) -> KeywordMatcher:
    """Make what tells which of some words are in a text, in whatever case, in one pass.

    Raises:
        ValueError: there are more of them than RE2 has room for.
    """
    if not words:
        return lambda text: ()
    options = re2.Options()
    options.literal, options.case_sensitive, options.log_errors = True, False, False
    options.max_mem = _MEMORY_BYTES
    which = re2.Set.SearchSet(options)
    try:
        for word in words:
            which.Add(word)
        which.Compile()
        found = which.Match(b"\n".join(words)) or ()  # without room it would find less, and be silent
    except re2.error:
        found = ()
    if len(found) < len(words):
        raise ValueError(f"RE2 has no room for {len(words)} words")
    return lambda text: which.Match(text) or ()


def _expression(pattern: bytes, options: re2.Options) -> CompiledRegex:
    options.log_errors = False
    try:
        expression: CompiledRegex = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(error.args[0].decode("utf-8", "replace")) from error
    return expression
