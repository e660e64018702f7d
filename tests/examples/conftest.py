"""The examples are packages of their own: tests of what they hold import them from where they stand."""

import sys

from tests.paths import ROOT

for example in ("generative_agents", "more_stages"):
    sys.path.insert(0, str(ROOT / "examples" / example))
