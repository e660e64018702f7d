"""The commands `mnemic model list|get|use|folder`: which model turns texts into vectors."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mnemic.actors.meaning.messages import MODEL_OFF
from mnemic.cli.context import CommandContext, cli, common_options, group_options
from mnemic.cli.terminal.output import Line


@cli.group(
    epilog="Each takes --home, --mind and --json; see `mnemic model COMMAND --help`.", invoke_without_command=True
)
@group_options
def model(context: click.Context) -> None:
    """Choose the model that finds memories by their meaning. Another one embeds them anew, in the background."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@model.command("list")
@common_options
def list_models(chosen: CommandContext) -> None:
    """List the models that have a name, and which one is in use."""
    from mnemic.runtime.engine.settings import load_settings
    from mnemic.runtime.models.catalogue import FILES, MODELS, model_place

    used = load_settings(chosen.home / "mnemic.toml")["embedder.model"]
    rows = []
    for one in MODELS:
        place = model_place(chosen.home, one.name)
        is_used = Path(used).expanduser() == place if one.repository and used else not (one.repository or used)
        rows.append(
            {
                "name": one.name,
                "megabytes": one.megabytes,
                "languages": one.languages,
                "there": _is_default_there() if not one.repository else all((place / file).is_file() for file in FILES),
                "used": is_used,
            }
        )
    other = used if used and not any(one["used"] for one in rows) else None
    chosen.print_answer({"models": rows, "other": other}, _model_lines)


@model.command()
@click.argument("name")
@common_options
def get(chosen: CommandContext, name: str) -> None:
    """Fetch a model by its name from the Hugging Face hub into the home. Nothing else does so, and `use` then uses it.

    The hash of its weights is kept, and other weights under that name are refused from then on.
    """
    from mnemic.runtime.models.catalogue import fetch_model

    place = fetch_model(chosen.home, name)
    chosen.print_answer({"name": place.name, "folder": str(place)}, _got_lines)


@model.command()
@click.argument("name")
@common_options
def folder(chosen: CommandContext, name: str) -> None:
    """Say which files of a model go into which folder, where they are brought by hand."""
    from mnemic.actors.kernel.errors import InvalidValue
    from mnemic.runtime.models.catalogue import FILES, MODELS, OPTIONAL_FILES, known_model, model_place

    known = known_model(name)
    if known is None or not known.repository:
        names = ", ".join(one.name for one in MODELS if one.repository)
        raise InvalidValue(name="the model", value=name, why="none of that name is fetched", expected=f"one of {names}")
    view = {"folder": str(model_place(chosen.home, known.name)), "files": FILES, "optional": OPTIONAL_FILES}
    chosen.print_answer(view | {"repository": known.repository, "name": known.name}, _folder_lines)


@model.command()
@click.argument("name")
@common_options
def use(chosen: CommandContext, name: str) -> None:
    """Use a model by its name or its folder; `default` is the one that comes along, `off` is words alone.

    Texts are embedded anew in the background; until then words find those that were not. The former model is taken
    back by its name or its folder.
    """
    from mnemic.actors.kernel.errors import InvalidValue
    from mnemic.runtime.engine.edit_settings import set_value
    from mnemic.runtime.engine.settings import load_settings
    from mnemic.runtime.models.catalogue import MODELS, check_place, known_model
    from mnemic.runtime.models.encoders import load_encoder
    from mnemic.runtime.models.models import find_model

    known, settings = known_model(name), load_settings(chosen.home / "mnemic.toml")
    if name.lower() == MODEL_OFF:
        value = MODEL_OFF
    elif known is not None and not known.repository:
        find_model(None)
        value = ""
    else:
        folder = Path(name).expanduser().absolute()
        if known is None and os.sep not in name and not folder.is_dir():
            names = ", ".join(("default", MODEL_OFF, *(one.name for one in MODELS)))
            why = "no model has that name, and no folder here"
            raise InvalidValue(name="the model", value=name, why=why, expected=f"a folder or one of {names}")
        place = find_model(folder) if known is None else check_place(chosen.home, known)
        # What cannot be used as it is set is refused before anything is changed.
        load_encoder(place, settings["embedder.implementation"], settings["embedder.threads"])
        value = str(place)
    changed = set_value(chosen.home / "mnemic.toml", "embedder.model", value)
    view = {"model": value or "default", "changed": changed, "process": _reload(chosen.home)}
    chosen.print_answer(view, _use_lines)


def _reload(home: Path) -> int | None:
    """Have the process that serves the home read its settings; returns its number, ``None`` where there is none."""
    from mnemic.runtime.minds.run_dir import RunDir

    info = RunDir(home).read_info()
    if info is None or not info.is_alive():
        return None
    try:
        os.kill(info.pid, signal.SIGHUP)
    except (ProcessLookupError, PermissionError):  # it went just now, or is another user's; the next one reads them
        return None
    return info.pid


def _is_default_there() -> bool:
    from mnemic.actors.kernel.errors import ModelMissing
    from mnemic.runtime.models.models import find_model

    try:
        return find_model(None).is_dir()
    except ModelMissing:
        return False


def _model_lines(view: dict[str, Any]) -> Iterator[Line]:
    wide = max(len(one["name"]) for one in view["models"])
    for one in view["models"]:
        state = "in use" if one["used"] else "here" if one["there"] else f"`mnemic model get {one['name']}` fetches it"
        size = f"{one['megabytes']:>4} MB"
        yield [(f"{one['name']:<{wide}}", "bold"), (f"  {size}  {one['languages']:<12}  {state}", "")]
    if view["other"] == MODEL_OFF:
        yield "in use: none, words alone answer"
    elif view["other"]:
        yield f"in use: {view['other']}"


def _got_lines(view: dict[str, Any]) -> Iterator[Line]:
    yield f"{view['name']} is in {view['folder']}; `mnemic model use {view['name']}` uses it"


def _folder_lines(view: dict[str, Any]) -> Iterator[Line]:
    yield [(view["folder"], "bold")]
    yield f"takes these files of {view['repository']}: {', '.join(view['files'])}"
    yield f"and, where there are: {', '.join(view['optional'])}"
    yield f"then `mnemic model use {view['name']}` uses it"


def _use_lines(view: dict[str, Any]) -> Iterator[Line]:
    if not view["changed"]:
        yield f"{view['model']} is in use already"
    elif view["model"] == MODEL_OFF:
        yield "words alone answer from now on; vectors that are kept are left alone"
    else:
        yield f"from now on {view['model']} embeds; memories are embedded anew in the background, and words find them"
    if view["process"] is not None:
        yield f"process {view['process']} was asked to read the settings; `mnemic status` says what embeds"
