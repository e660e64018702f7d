"""A clause, what it states as places in the sentence, and what is known of the sentence while it is read.

`mnemic.algorithms.knowledge.extraction.clause_reader` fills them in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mnemic.algorithms.knowledge.extraction.clause_parts import Part
from mnemic.algorithms.knowledge.extraction.clause_values import Value
from mnemic.algorithms.knowledge.extraction.modality import Modality
from mnemic.algorithms.knowledge.extraction.sentences import Sentence
from mnemic.algorithms.knowledge.extraction.verb_groups import VerbGroup


@dataclass(slots=True)
class Draft:
    """A statement, as places in the sentence."""

    value: Value
    relation: str | None
    negative: bool
    subject: tuple[int, int]
    """Its first word and the one after the last; equal where the words name none."""
    is_old: bool = False
    """Whether the same clause names what took its place."""
    replaced: Draft | None = None
    """What it takes the place of."""
    single: bool = True
    """Whether no other value stands beside it."""


@dataclass(slots=True)
class Clause:
    """A clause and what it states."""

    part: Part
    low: int
    """The first word that may tell its status: what stands before the part may."""
    high: int
    """The word after the last one that may."""
    subject: tuple[int, int]
    group: VerbGroup
    forced: Modality | None = None
    """Its status, where something before it decides that."""
    rule: str = ""
    """What decided it."""
    drafts: list[Draft] = field(default_factory=list)
    is_closed: bool = False
    """Whether what follows adds nothing to it."""
    scope: str = ""
    """The word by which it is bound to a time: ``until``, ``while``, ``when``."""


@dataclass(slots=True)
class Reading:
    """What is known of a sentence while it is read, part by part."""

    sentence: Sentence
    clauses: list[Clause] = field(default_factory=list)
    pending: list[Part] = field(default_factory=list)
    """Parts that state nothing and come before a clause."""
    forced: Modality | None = None
    """The status of all that follows."""
    rule: str = ""
    is_command: bool = False
    """Whether somebody is told to do something."""
    is_conditional: bool = False
    """Whether a condition stands in it."""
    is_what_if: bool = False
    is_inverted: bool = False
    """Whether its question is told by the order of words, so that not all of it need be asked."""
    is_until: bool = False
    """Whether the clause that comes next ends with a time that a clause before it names."""

    def force(self, modality: Modality, rule: str) -> None:
        """Give all that follows a status; what is quoted stays quoted."""
        if self.forced != "quoted":
            self.forced, self.rule = modality, rule

    def quote_all(self) -> None:
        """Give all of the sentence to another speaker."""
        self.forced, self.rule = "quoted", "report"
        for clause in self.clauses:
            clause.forced, clause.rule = "quoted", "report"
