"""The roles as they are shown: what can be asked for, and what fills it most. Below `mnemic.actors.retriever`."""

from __future__ import annotations

from mnemic.actors.patterns import AFTER, THEN
from mnemic.actors.shapes import RolesListed, RoleView
from mnemic.actors.snapshot import Snapshot
from mnemic.hd.encoders import match_of
from mnemic.hd.roles import ROLES

__all__ = ["list_roles"]

_SAMPLES = 5
_OF_STEPS = (
    RoleView(
        name=AFTER,
        help='Only in questions: the steps before, oldest first, as in "edit, test failed"; three at most.',
        match="exact",
        decodes=False,
        fillers=0,
        samples=(),
    ),
    RoleView(
        name=THEN,
        help="Only in questions: the step that followed.",
        match="exact",
        decodes=True,
        fillers=0,
        samples=(),
    ),
)


def list_roles(snapshot: Snapshot) -> RolesListed:
    """Say what can be asked for."""
    counts = snapshot.filler_counts()
    roles = tuple(
        RoleView(
            name=role.name,
            help=role.help,
            match=match_of(role.name),
            decodes=role.decodes,
            fillers=counts.get(role.name, 0),
            samples=tuple(name for name, _ in snapshot.fillers(role.name)[:_SAMPLES]),
        )
        for role in ROLES.values()
    )
    bound, pending = snapshot.bound_counts(None, False)
    return RolesListed(roles=(*roles, *_OF_STEPS), bound=bound, pending=pending)
