"""What a file in gitleaks' format says, as data. Above: `mnemic.algorithms.gitleaks_rules`, which makes rules of it.

The format is that of https://github.com/gitleaks/gitleaks (version 8). Names are read in any case, as there. What else
a file says (titles, descriptions, tags) does not matter here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["Allowlist", "Extend", "Rule", "RuleFile", "Unusable", "all_lists", "read_rule_file"]


class Unusable(ValueError):
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


class Rule(msgspec.Struct):
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

    rules: list[Rule] = []
    allowlist: Allowlist | None = None
    """The older form of `allowlists`."""
    allowlists: list[Allowlist] = []
    """Those for all rules."""
    extend: Extend = msgspec.field(default_factory=Extend)

    def on(self, base: RuleFile) -> RuleFile:
        """Both as one: what a rule of this file says stands above what the base's rule of that id says."""
        own = {rule.id: rule for rule in self.rules}
        taken = [rule for rule in base.rules if rule.id not in self.extend.disabledrules]
        both = [_over(own.pop(rule.id), rule) if rule.id in own else rule for rule in taken]
        return RuleFile([*both, *own.values()], None, [*all_lists(self), *all_lists(base)])


def all_lists(of: Rule | RuleFile) -> list[Allowlist]:
    """The allowlists of a rule, or of a file for all rules, in both forms."""
    return of.allowlists if of.allowlist is None else [*of.allowlists, of.allowlist]


def read_rule_file(data: Mapping[str, Any]) -> RuleFile:
    """Check the types of what a file says.

    Raises:
        Unusable: something in it has another type.
    """
    try:
        return msgspec.convert(_lower(data), RuleFile)
    except msgspec.ValidationError as error:
        raise Unusable(f"a value in it is none of the format: {str(error).replace('`', '')}") from error


def _over(own: Rule, base: Rule) -> Rule:
    return Rule(
        id=base.id,
        regex=own.regex or base.regex,
        path=own.path or base.path,
        secretgroup=own.secretgroup or base.secretgroup,
        entropy=own.entropy or base.entropy,
        keywords=[*base.keywords, *own.keywords],
        allowlists=[*all_lists(base), *all_lists(own)],
        required=[*base.required, *own.required],
        skipreport=own.skipreport or base.skipreport,
    )


def _lower(data: Any) -> Any:
    """Data with all names in lower case."""
    if isinstance(data, Mapping):
        return {str(name).lower(): _lower(value) for name, value in data.items()}
    return [_lower(value) for value in data] if isinstance(data, list) else data
