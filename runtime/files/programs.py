"""Finds the programs of others that Mnemic starts: git, a service manager, an assistant."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping


def find_program(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The path of a program that ``PATH`` leads to; ``None`` where there is none.

    Parts of ``PATH`` that are no absolute path are passed over: they would run what lies in the folder of whoever made
    a project.
    """
    path = (os.environ if environment is None else environment).get("PATH", os.defpath)
    return shutil.which(name, path=os.pathsep.join(one for one in path.split(os.pathsep) if os.path.isabs(one)))
