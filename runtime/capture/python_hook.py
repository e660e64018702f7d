"""Runs the built hook for homes that still call a hook in Python, as those of 0.2.0 do that were made without cargo.

`mnemic hooks install` puts the built one in its place.
"""

from __future__ import annotations

import os
import sys

from mnemic.actors.kernel.errors import HookNotBuilt
from mnemic.runtime.capture.hook_files import built_hook


def main() -> None:
    """Become the built hook, given the same; says on stderr why where there is none."""
    try:
        hook = str(built_hook())
    except HookNotBuilt as missing:
        sys.exit(f"mnemic: {missing} {missing.remedy_text}")
    os.execv(hook, [hook, *sys.argv[1:]])


if __name__ == "__main__":
    main()
