"""Experiments: arms that differ in a few settings live through the same life, and are asked the same questions.

`mnemic.experiment.spec` reads what is to be done, `mnemic.experiment.run` does it, `mnemic.experiment.report` tells
what came of it; docs/experiments.md shows all of it. `mnemic.cli.experiment` is the command.
"""

from __future__ import annotations

from mnemic.experiment.lives import Life, Question
from mnemic.experiment.run import run_experiment
from mnemic.experiment.spec import Arm, Spec, load_spec, parse_spec

__all__ = ["Arm", "Life", "Question", "Spec", "load_spec", "parse_spec", "run_experiment"]
