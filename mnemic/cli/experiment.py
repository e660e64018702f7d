"""The command `mnemic experiment`: runs specs, lists, shows and compares runs, and begins a package of one's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.cli.context import CommandContext, cli, common_options, group_options
from mnemic.cli.terminal.output import progress_bars
from mnemic.runtime.api.reports import pluralize

if TYPE_CHECKING:
    from mnemic.experiment.run import RunJobs

RUNS = "experiments"
"""Folder of the home that runs lie in."""
_STORE_BYTES = 512 << 20  # of Ray's shared memory: jobs carry minds


@cli.group(
    epilog="Each takes --home, --mind and --json; see `mnemic experiment COMMAND --help`.", invoke_without_command=True
)
@group_options
def experiment(context: click.Context) -> None:
    """Compare what differs where an actor or a setting does."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@experiment.command()
@click.argument("spec")
@click.option(
    "--engine",
    type=click.Choice(["embedded", "ray"]),
    help="Where arms live: in this process, or in processes under Ray.  [default: by runtime.engine]",
)
@click.option("--address", metavar="A", help="A Ray cluster that runs already; else one of its own.")
@click.option("--out", metavar="DIR", help="The run's folder; else one of the spec's name in the home.")
@common_options
def run(chosen: CommandContext, spec: str, engine: str | None, address: str | None, out: str | None) -> None:
    """Run a spec, and write its report.

    A path of TOML, with a slash or .toml in it, or the name of one that ships: `mnemic experiment list` names them. A
    spec runs the code that it names. What was run before is not run again.
    """
    from mnemic.bench.harness.plot import check_plots
    from mnemic.experiment.report import as_json, make_report, report_lines, write_report
    from mnemic.experiment.run import run_experiment
    from mnemic.experiment.shipped import find_spec
    from mnemic.experiment.spec import load_spec
    from mnemic.runtime.engine.settings import load_settings

    if address is not None and engine == "embedded":
        raise click.UsageError("--address is for --engine ray")
    engine = engine or ("ray" if address else load_settings(chosen.home / "mnemic.toml")["runtime.engine"])
    file = load_spec(find_spec(spec))
    check_plots()
    folder = Path(out).expanduser() if out else chosen.home / RUNS / file.spec.name
    with progress_bars(chosen.as_json) as progress, _jobs_run(engine, address, chosen.home) as run_jobs:
        outcome = run_experiment(file, folder, chosen.home, run_jobs=run_jobs, engine=engine, told=progress)
    page = write_report(outcome, folder)
    report = make_report(outcome)

    chosen.print_answer(as_json(outcome, report) | {"report": str(page)}, report_lines)
    if outcome.manifest.failures or any(one.stage_failures for one in outcome.results):
        sys.exit(5)


@experiment.command("list")
@common_options
def list_runs(chosen: CommandContext) -> None:
    """List the runs of the home, and the specs that ship."""
    from mnemic.experiment.run import MANIFEST, read_run
    from mnemic.experiment.shipped import shipped_specs
    from mnemic.experiment.spec import load_spec

    runs, damaged = [], []
    for path in sorted((chosen.home / RUNS).glob(f"*/{MANIFEST}")):
        try:
            runs.append(read_run(path.parent))
        except InvalidValue as error:
            damaged.append(str(error))
    specs = [(name, load_spec(path).spec) for name, path in sorted(shipped_specs().items())]
    view: dict[str, Any] = {
        "runs": [
            {
                "name": one.manifest.spec.name,
                "arms": [arm.name for arm in one.manifest.spec.arms],
                "seeds": list(one.manifest.spec.seeds),
                "failures": len(one.manifest.failures),
            }
            for one in runs
        ],
        "damaged": damaged,
        "specs": [{"name": name, "about": spec.about} for name, spec in specs],
    }

    chosen.print_answer(view, run_lines)


def run_lines(view: dict[str, Any]) -> Iterator[str]:
    """The runs of a home, and the specs that ship."""
    if not view["runs"]:
        yield "no run in this home yet"
    for one in view["runs"]:
        failed = f", {one['failures']} failed" if one["failures"] else ""
        yield f"{one['name']}: {', '.join(one['arms'])}; {pluralize(len(one['seeds']), 'seed')}{failed}"
    yield from view["damaged"]
    yield "specs that ship (`mnemic experiment run NAME`):"
    for one in view["specs"]:
        yield f"  {one['name']}: {one['about']}"


@experiment.command()
@click.argument("name")
@common_options
def show(chosen: CommandContext, name: str) -> None:
    """Show what came of a run: its name, or its folder."""
    from mnemic.experiment.report import as_json, make_report, report_lines
    from mnemic.experiment.run import read_run

    outcome = read_run(_folder(chosen, name))
    report = make_report(outcome)
    chosen.print_answer(as_json(outcome, report), report_lines)


@experiment.command()
@click.argument("one")
@click.argument("other")
@common_options
def compare(chosen: CommandContext, one: str, other: str) -> None:
    """Compare two runs, arm by arm.

    Told is the second less the first, over the questions that both asked.
    """
    from mnemic.experiment.report import compare_runs, comparison_lines
    from mnemic.experiment.run import read_run

    differences = compare_runs(read_run(_folder(chosen, one)), read_run(_folder(chosen, other)))
    view = {"one": one, "other": other, "differences": differences}
    chosen.print_answer(view, comparison_lines)


@experiment.command()
@click.argument("name")
@click.option("--out", metavar="DIR", default=".", show_default=True, help="The folder that it is made in.")
@common_options
def new(chosen: CommandContext, name: str, out: str) -> None:
    """Begin a consolidator of your own.

    That is a package with a class, a spec that measures it against ours, and a test.
    """
    from mnemic.experiment.scaffold import make_package

    folder, files = make_package(name, Path(out).expanduser())
    view = {"folder": str(folder), "files": [str(one) for one in files]}

    chosen.print_answer(view, made_lines)


def made_lines(view: dict[str, Any]) -> Iterator[str]:
    """What was made for a consolidator of one's own, and how to try it."""
    folder = Path(view["folder"])
    yield from (str(folder / one) for one in view["files"])
    yield f"now: pip install --no-deps -e {folder} && mnemic experiment run {folder / 'experiment.toml'}"


def _folder(chosen: CommandContext, name: str) -> Path:
    """A run's folder, by its name or its path."""
    path, of_home = Path(name).expanduser(), chosen.home / RUNS / name
    return path if os.sep in name or (path.is_dir() and not of_home.is_dir()) else of_home


@contextmanager
def _jobs_run(engine: str, address: str | None, home: Path) -> Iterator[RunJobs | None]:
    if engine == "embedded":
        yield None
        return
    from mnemic.runtime.engine.ray.local import LocalRay, connect

    if address is None:
        home.mkdir(parents=True, exist_ok=True)
        local = LocalRay.start(home, cpus=os.cpu_count() or 1, object_store_bytes=_STORE_BYTES)
        cluster, stop = local.cluster, local.stop
    else:
        cluster = connect(address)
        stop = cluster.close
    try:
        yield lambda act, jobs: cluster.run_tasks(act, jobs, cluster.cpus())
    finally:
        stop()
