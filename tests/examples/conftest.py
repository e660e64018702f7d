"""The examples are packages of their own: tests of what they hold import them from where they stand."""

import sys

from tests.paths import ROOT

sys.path.insert(0, str(ROOT / "examples" / "generative_agents"))
