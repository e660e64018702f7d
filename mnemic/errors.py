"""All public errors, and the command's exit code for each family."""

from mnemic.actors.protocol import errors as _tree
from mnemic.actors.protocol.errors import *  # noqa: F403 - the whole tree is published here
from mnemic.actors.protocol.errors import BadInput, MnemicError, ModelError, RuntimeFault, StoreError

__all__ = ["exit_code"]
__all__ += _tree.__all__

_EXIT_CODES: dict[type[MnemicError], int] = {BadInput: 2, StoreError: 3, ModelError: 4, RuntimeFault: 5}


def exit_code(error: MnemicError) -> int:
    """What the command exits with: 2 bad input, 3 the store, 4 the model, 5 the runtime."""
    for kind, code in _EXIT_CODES.items():
        if isinstance(error, kind):
            return code
    return 1
