"""Finds secrets by rules in gitleaks' format (https://github.com/gitleaks/gitleaks, version 8), with its semantics.

The expressions are Go's, whose syntax is RE2's. A rule is tried where one of its keywords is in the text, in either
case. The secret is the group it names, else the first that is not empty, else all that matched; it has more bits a byte
than the rule's entropy, and no allowlist allows it. What an allowlist asks of paths and commits is never so: a text has
neither. Names in a file are read in any case, as there; titles, descriptions and tags do not matter here.

Left out are rules that are for certain paths, and those that need one another (``required``, ``skipReport``): whether
something is a secret may not depend on another one, which is gone once it is taken out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from mnemic.algorithms.secrets.rules import GITLEAKS_GENERIC_RANK, GITLEAKS_RANK, Match, SecretRules, entropy_bits
from mnemic.algorithms.secrets.scrub import Finding, find_secrets, scrub_pieces, split_at_marks


class InvalidRuleFile(ValueError):
    """A file cannot be used; says why in a clause."""


class Allowlist(msgspec.Struct):
    """What is no secret after all."""

    condition: str = ""
    """``AND``: all that it names must hold; else one is enough."""
    regextarget: str = ""
    """What the expressions are tried on: the secret, the whole ``match``, or the ``line``."""
    regexes: list[str] = []
    stopwords: list[str] = []
    """Words that no secret has in it."""
    paths: list[str] = []
    commits: list[str] = []
    targetrules: list[str] = []
    """In a list for all rules: the only ones that it is for."""


class RuleSpec(msgspec.Struct):
    """What one type of secret looks like."""

    id: str = ""
    regex: str = ""
    path: str = ""
    """The files that it is for."""
    secretgroup: int = 0
    """Which group is the secret; 0 is the first that is not empty."""
    entropy: float = 0.0
    """Bits a byte that a secret has more than; 0 asks nothing."""
    keywords: list[str] = []
    """One of these is in every text that it finds something in."""
    allowlist: Allowlist | None = None
    """The older form of `allowlists`."""
    allowlists: list[Allowlist] = []
    required: list[Any] = []
    """Rules that must find something near."""
    skipreport: bool = False
    """Whether it is there for other rules alone."""


class Extend(msgspec.Struct):
    """Which file a file stands on."""

    path: str = ""
    usedefault: bool = False
    """Whether it stands on gitleaks' own rules."""
    disabledrules: list[str] = []
    """Rules of that file that are not taken."""


class RuleFile(msgspec.Struct):
    """A file."""

    rules: list[RuleSpec] = []
    allowlist: Allowlist | None = None
    """The older form of `allowlists`."""
    allowlists: list[Allowlist] = []
    """Those for all rules."""
    extend: Extend = msgspec.field(default_factory=Extend)

    def merged_over(self, base: RuleFile) -> RuleFile:
        """Both as one: what a rule of this file says stands above what the base's rule of that id says."""
        own = {rule.id: rule for rule in self.rules}
        taken = [rule for rule in base.rules if rule.id not in self.extend.disabledrules]
        both = [_merge_rule(own.pop(rule.id), rule) if rule.id in own else rule for rule in taken]
        return RuleFile([*both, *own.values()], None, [*all_allowlists(self), *all_allowlists(base)])


def all_allowlists(of: RuleSpec | RuleFile) -> list[Allowlist]:
    """The allowlists of a rule, or of a file for all rules, in both forms."""
    return of.allowlists if of.allowlist is None else [*of.allowlists, of.allowlist]


def read_rule_file(data: Mapping[str, Any]) -> RuleFile:
    """Check the types of what a file says.

    Raises:
        InvalidRuleFile: something in it has another type.
    """
    try:
        return msgspec.convert(_lowercase_keys(data), RuleFile)
    except msgspec.ValidationError as error:
        raise InvalidRuleFile(f"a value in it is none of the format: {str(error).replace('`', '')}") from error


def _merge_rule(own: RuleSpec, base: RuleSpec) -> RuleSpec:
    return RuleSpec(
        id=base.id,
        regex=own.regex or base.regex,
        path=own.path or base.path,
        secretgroup=own.secretgroup or base.secretgroup,
        entropy=own.entropy or base.entropy,
        keywords=[*base.keywords, *own.keywords],
        allowlists=[*all_allowlists(base), *all_allowlists(own)],
        required=[*base.required, *own.required],
        skipreport=own.skipreport or base.skipreport,
    )


def _lowercase_keys(data: Any) -> Any:
    """Data with all names in lower case."""
    if isinstance(data, Mapping):
        return {str(name).lower(): _lowercase_keys(value) for name, value in data.items()}
    return [_lowercase_keys(value) for value in data] if isinstance(data, list) else data


_LINE_BYTES = 1024
"""So much of a line is looked at before a match and behind it: a line may be as long as the text."""
_SINGLE_BYTE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
"""RE2 can match a byte of several; Go cannot, and what is left would be no text."""


class CompiledRegex(Protocol):
    """A compiled expression. One search takes time in proportion to the text."""

    @property
    def groups(self) -> int:
        """How many groups it has."""
        ...

    def search(self, text: bytes, pos: int = 0) -> Match | None:
        """The leftmost match from a place on; what stands before the place still counts as context."""
        ...


CompileRegex = Callable[[bytes], CompiledRegex]
"""Compiles an expression in RE2's syntax, on UTF-8. Raises `ValueError` with the reason where it cannot."""
KeywordMatcher = Callable[[bytes], Collection[int]]
"""The numbers of those words that are in a text, in whatever case."""
CompileKeywords = Callable[[Sequence[bytes]], KeywordMatcher]
"""Makes what looks for words. Raises `ValueError` with the reason where there are too many."""


class _CompiledAllowlist(NamedTuple):
    """An allowlist, compiled."""

    match_all: bool
    """Whether both must hold, the expressions and the words."""
    target: str
    regexes: tuple[CompiledRegex, ...]
    words: KeywordMatcher | None

    def allows(self, text: bytes, match: Match, secret: bytes) -> bool:
        """Whether what matched is no secret after all."""
        by_words = self.words is not None and bool(self.words(secret))
        if self.words is not None and by_words != self.match_all:
            return by_words  # the one holds that is enough, or the one does not that must
        target = _target(text, match, secret, self.target) if self.regexes else b""
        by_regex = any(regex.search(target) for regex in self.regexes)
        return by_regex or (self.match_all and not self.regexes)


class GitleaksRule(NamedTuple):
    """A rule, compiled."""

    kind: str
    """The type of what it finds."""
    rank: int
    """How specific that is; less is more specific."""
    regex: CompiledRegex
    group: int
    """Which group is the secret; 0 is the first that is not empty."""
    entropy: float
    """Bits a byte that a secret has more than; 0 asks nothing."""
    allowed: tuple[_CompiledAllowlist, ...]

    def find(self, text: bytes) -> Iterator[Finding]:
        """What it finds in a text."""
        at = 0
        while at <= len(text) and (match := self.regex.search(text, at)) is not None:
            began, ended = match.span()
            at = ended + (began == ended)
            start, end = self._secret(text, match)
            if start < end and self._is_secret(text, match, text[start:end]):
                yield Finding(start, end, self.rank, self.kind)

    def _secret(self, text: bytes, match: Match) -> tuple[int, int]:
        if self.group:
            return match.span(self.group)
        for group in range(1, self.regex.groups + 1):
            start, end = match.span(group)
            if start < end:
                return start, end
        return _matched(text, match)

    def _is_secret(self, text: bytes, match: Match, secret: bytes) -> bool:
        if self.entropy and entropy_bits(secret) <= self.entropy:
            return False
        return not any(allowed.allows(text, match, secret) for allowed in self.allowed)


class GitleaksRules(NamedTuple):
    """The rules of a file, compiled."""

    rules: tuple[GitleaksRule, ...]
    without_keyword: tuple[int, ...]
    """The numbers of those without a keyword."""
    keywords: KeywordMatcher
    rules_by_keyword: tuple[tuple[int, ...], ...]
    """For each keyword the numbers of the rules that it is of."""

    def candidates_for(self, texts: Iterable[bytes]) -> list[GitleaksRule]:
        """The rules that may find something, in the order of the file: a keyword of each is in one of the texts."""
        present = {keyword for text in texts for keyword in self.keywords(text)}
        tried = set(self.without_keyword).union(*(self.rules_by_keyword[keyword] for keyword in present))
        return [self.rules[number] for number in sorted(tried)]


def scrub_with_both(text: bytes, own: SecretRules, others: GitleaksRules) -> tuple[bytes, tuple[tuple[str, int], ...]]:
    """As `mnemic.algorithms.secrets.scrub.scrub`, by rules of our own and of others.

    The keywords are looked for in the whole text, as in gitleaks; when it is scrubbed again, no more of them are there.
    """
    cut = split_at_marks(text)
    tried = others.candidates_for(cut[::2])

    def find_all(piece: bytes) -> list[Finding]:
        return find_secrets(piece, own, [finding for rule in tried for finding in rule.find(piece)])

    return scrub_pieces(text, cut, find_all)


def compile_rule_file(file: RuleFile, compile: CompileRegex, compile_words: CompileKeywords) -> GitleaksRules:
    """Make rules of what a file says.

    Raises:
        InvalidRuleFile: there is no rule in it, or one that cannot be used.
    """
    rules: list[GitleaksRule] = []
    words: list[set[str]] = []
    for_all = [
        (one.targetrules, _allowed(one, compile, compile_words, "for all rules")) for one in all_allowlists(file)
    ]
    for number, rule in enumerate(file.rules, 1):
        name = f"rule {rule.id!r}" if rule.id else f"rule {number}"
        if not rule.regex and not rule.path:
            raise InvalidRuleFile(f"its {name} has neither a regex nor a path")
        if rule.path or rule.required or rule.skipreport:
            continue
        regex = _compiled(compile, rule.regex, f"of its {name}")
        if not 0 <= rule.secretgroup <= regex.groups:
            raise InvalidRuleFile(f"the regex of its {name} has no group {rule.secretgroup}")
        allowed = [_allowed(one, compile, compile_words, f"of its {name}") for one in all_allowlists(rule)]
        allowed += [one for targets, one in for_all if not targets or rule.id in targets]
        rank = GITLEAKS_GENERIC_RANK if "generic" in rule.id.lower() else GITLEAKS_RANK
        rules.append(
            GitleaksRule(
                _mark_id(rule.id, number), rank, regex, rule.secretgroup, rule.entropy, tuple(filter(None, allowed))
            )
        )
        words.append({word.lower() for word in rule.keywords if word})
    if not rules:
        raise InvalidRuleFile("there is no rule in it that finds anything in a text")
    keywords = sorted(set().union(*words))
    return GitleaksRules(
        tuple(rules),
        tuple(number for number, own in enumerate(words) if not own),
        _compile_keywords(compile_words, [word.encode() for word in keywords]),
        tuple(tuple(number for number, own in enumerate(words) if word in own) for word in keywords),
    )


def _allowed(
    of: Allowlist, compile: CompileRegex, compile_words: CompileKeywords, whose: str
) -> _CompiledAllowlist | None:
    """An allowlist, unless it never allows anything."""
    condition, target = of.condition.upper(), of.regextarget
    if condition not in ("", "OR", "||", "AND", "&&") or target not in ("", "secret", "match", "line"):
        raise InvalidRuleFile(f"an allowlist {whose} has a condition or a regexTarget that is none")
    every = condition in ("AND", "&&")
    if (every and (of.paths or of.commits)) or not (of.regexes or of.stopwords):
        return None
    regexes = tuple(_compiled(compile, regex, whose) for regex in of.regexes)
    stopwords = [word.encode() for word in of.stopwords if word]
    return _CompiledAllowlist(
        every, target, regexes, _compile_keywords(compile_words, stopwords) if of.stopwords else None
    )


def _compiled(compile: CompileRegex, regex: str, whose: str) -> CompiledRegex:
    try:
        if _SINGLE_BYTE_ESCAPE.search(regex):
            raise ValueError("invalid escape sequence: \\C")
        return compile(regex.encode())
    except ValueError as error:
        raise InvalidRuleFile(f"RE2 refuses a regex {whose} ({error})") from error


def _compile_keywords(compile_words: CompileKeywords, words: Sequence[bytes]) -> KeywordMatcher:
    try:
        return compile_words(words)
    except ValueError as error:
        raise InvalidRuleFile(f"it has too many keywords or stopwords ({error})") from error


def _mark_id(id: str, number: int) -> str:
    """An id as marks carry it."""
    return re.sub("[^a-z0-9]+", "-", id.lower()).strip("-")[:60].strip("-") or f"rule-{number}"


def _matched(text: bytes, match: Match) -> tuple[int, int]:
    """From where to where it matched, without line ends around it."""
    start, end = match.span()
    while start < end and text[start] == 0x0A:
        start += 1
    while start < end and text[end - 1] == 0x0A:
        end -= 1
    return start, end


def _target(text: bytes, match: Match, secret: bytes, target: str) -> bytes:
    """What the expressions of an allowlist are tried on."""
    if target not in ("match", "line"):
        return secret
    start, end = _matched(text, match)
    if target == "line":
        low, high = max(start - _LINE_BYTES, 0), end + _LINE_BYTES
        before, after = text.rfind(b"\n", low, start), text.find(b"\n", end, high)
        start, end = (low if before < 0 else before + 1), (high if after < 0 else after)
    return text[start:end]
