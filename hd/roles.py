"""Table of roles (who, when, tool, subject …) that a record can have, each with its encoder.

A record is one of three: an *episode* (one memory as a whole), a *fact* (one subject-relation-object triple said in a
memory) or a *step* (one call of a tool among its neighbours in the session). What tells them apart is which roles they
have. Roles that a record has nothing to say of are absent from it, and not filled with a constant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Tier = Literal["episode", "fact", "step"]
TIERS: tuple[Tier, ...] = ("episode", "fact", "step")


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """One role."""

    name: str
    """What it is asked for by."""
    encoder: str
    """Name of the encoder of its fillers, one of `mnemic.hd.encoders.ENCODERS`."""
    tiers: tuple[Tier, ...]
    """The records that have it."""
    decodes: bool = True
    """Whether its filler can be asked for with ``?``: not where fillers are embeddings, which name nothing."""
    many: bool = False
    """Whether a record may have several fillers of it."""
    help: str
    """One sentence for a person."""


ROLES: dict[str, Role] = {
    role.name: role
    for role in (
        Role(
            name="who",
            encoder="symbol",
            tiers=("episode", "fact", "step"),
            help="Who said or did it: a name, or user, assistant, tool, system.",
        ),
        Role(name="to", encoder="symbol", tiers=("episode",), many=True, help="To whom it was said."),
        Role(
            name="date",
            encoder="date",
            tiers=("episode", "fact", "step"),
            help="The day; nearer days match more, and 2026-05-01..2026-05-07 is a range.",
        ),
        Role(name="hour", encoder="hour", tiers=("episode",), help="The hour of the day, 0 to 23."),
        Role(name="weekday", encoder="weekday", tiers=("episode",), help="The day of the week."),
        Role(name="workspace", encoder="path", tiers=("episode",), help="The first part of its scope."),
        Role(name="project", encoder="path", tiers=("episode", "fact", "step"), help="Its scope."),
        Role(name="branch", encoder="path", tiers=("episode", "step"), help="The git branch."),
        Role(name="file", encoder="path", tiers=("episode", "step"), many=True, help="A file it touched."),
        Role(
            name="kind",
            encoder="symbol",
            tiers=("episode",),
            help="What it is: turn, tool_call, tool_result, decision, note, …",
        ),
        Role(
            name="tool",
            encoder="symbol",
            tiers=("episode", "step"),
            many=True,
            help="The tool that was called, or the program that it ran.",
        ),
        Role(name="outcome", encoder="symbol", tiers=("episode", "step"), help="How the call ended: ok or failed."),
        Role(
            name="error",
            encoder="symbol",
            tiers=("episode", "step"),
            many=True,
            help="What a call that failed ended with: ModuleNotFoundError, E0382, permission denied, or its message.",
        ),
        Role(
            name="about",
            encoder="meaning",
            tiers=("episode", "fact"),
            decodes=False,
            help="What it is about, by meaning and by its words.",
        ),
        Role(name="topic", encoder="symbol", tiers=("episode",), many=True, help="A key phrase of it."),
        Role(name="size", encoder="number", tiers=("episode",), help="Its length in words."),
        Role(
            name="previous",
            encoder="meaning",
            tiers=("episode",),
            decodes=False,
            help="What the turn before it is about, by meaning.",
        ),
        Role(
            name="next",
            encoder="meaning",
            tiers=("episode",),
            decodes=False,
            help="What the turn after it is about, by meaning.",
        ),
        Role(name="subject", encoder="symbol", tiers=("fact",), help="What a fact is about."),
        Role(name="relation", encoder="symbol", tiers=("fact",), help="What a fact says of it."),
        Role(name="object", encoder="symbol", tiers=("fact",), help="What it stands in that relation to."),
        Role(
            name="action", encoder="symbol", tiers=("step",), help="What a step does: edit, test, read, search, run, …"
        ),
        Role(
            name="target",
            encoder="symbol",
            tiers=("step",),
            help="The kind of thing it is done to: python, test, docs, config, …",
        ),
        Role(name="worked", encoder="symbol", tiers=("step",), help="Whether things were well after it: yes or no."),
    )
}
"""All roles, by name, in the order in which they are shown."""
BUILT_IN_ROLES = frozenset(ROLES)
"""Names of those that nobody registered."""


def role_named(name: str) -> Role | None:
    """The role of a name, if it is one."""
    return ROLES.get(name)


def register_role(role: Role) -> None:
    """Have a further role: new spaces bind it unless they name their roles. Its encoder is registered beside it.

    Raises:
        ValueError: there is one of that name, or the name is not one word in lower case: it could not be asked for.
    """
    if role.name in ROLES:
        raise ValueError(f"there is a role named {role.name!r} already; take another name")
    if not role.name.isidentifier() or role.name != role.name.lower():
        raise ValueError(f"a role is named by one word in lower case, not {role.name!r}")
    ROLES[role.name] = role


def unknown_role_error(name: str, known: Iterable[str] = ROLES) -> ValueError:
    """The error of a role that is none of the known ones; it lists them."""
    return ValueError(f"there is no role named {name!r}; there are {', '.join(known)}")
