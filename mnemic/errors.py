"""All public errors: the one tree of them, published."""

from mnemic.actors.kernel import errors as _tree
from mnemic.actors.kernel.errors import *  # noqa: F403 - the whole tree is published here

__all__ = [*_tree.__all__]
