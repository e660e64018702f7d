"""Models by name: what each is, where its files lie in a home, and how they come there when somebody asks for it.

Nothing is fetched unasked. The hub's own client library fetches (``huggingface_hub``, which tokenizers brings); whoever
has no network puts the files into the folder that `model_place` names. The hash of the weights that were seen first is
kept beside the folder, and other weights are refused from then on.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from mnemic.actors.kernel.errors import InvalidValue, ModelMissing, ModelUnusable
from mnemic.runtime.files.atomic_replace import write_error
from mnemic.runtime.keys.keys import replace_private
from mnemic.runtime.models.models import PROMPTS_FILE, find_model, read_prompts, sha256_of

FILES = ("config.json", "tokenizer.json", "model.safetensors")
"""Files that a model's folder must hold."""
OPTIONAL_FILES = ("modules.json", "sentence_bert_config.json", "1_Pooling/config.json", PROMPTS_FILE)
"""Files that it may hold besides."""


class KnownModel(msgspec.Struct, frozen=True):
    """A model that has a name here."""

    name: str
    """Its name here."""
    repository: str
    """Its place at the hub; empty of the default one, which a package brings."""
    megabytes: int
    """Size of its files, about."""
    languages: str
    """Languages it was made for."""
    prompts: tuple[str, str] = ("", "")
    """Prompts before a text and before a question, where its own files say none."""


DEFAULT = "all-MiniLM-L6-v2"
"""Name of the default model."""
MODELS = (
    KnownModel(DEFAULT, "", 92, "English"),
    KnownModel("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5", 134, "English"),
    KnownModel("e5-small-v2", "intfloat/e5-small-v2", 134, "English", ("passage: ", "query: ")),
    KnownModel(
        "multilingual-e5-small", "intfloat/multilingual-e5-small", 488, "some hundred", ("passage: ", "query: ")
    ),
)
"""All of them, the default one first."""


def known_model(name: str) -> KnownModel | None:
    """The model of a name, in any case; ``default`` is one. ``None`` where there is none."""
    wanted = DEFAULT if name.lower() == "default" else name
    return next((one for one in MODELS if one.name.lower() == wanted.lower()), None)


def model_place(home: Path, name: str) -> Path:
    """The folder of a home in which a model of a name lies."""
    return home.absolute() / "models" / name


def fetch_model(home: Path, name: str, fetch: Callable[[str, Path], object] | None = None) -> Path:
    """Fetch a model into its folder, and see that it is the one that was fetched before, if one was.

    Args:
        fetch: gets the files of a repository into a folder; the hub's client library where absent.

    Raises:
        InvalidValue: there is no model of that name that could be fetched.
        ModelMissing: the library is not installed, the hub cannot be reached, or it lacks a file.
        ModelUnusable: the weights are not those that were seen first.
        DiskFailed, DiskFull, StoreReadOnly: the hash cannot be kept.
    """
    known = known_model(name)
    if known is None or not known.repository:
        names = ", ".join(one.name for one in MODELS if one.repository)
        why = "the default model comes with a package" if known is not None else "there is no model of that name"
        raise InvalidValue(name="the model", value=name, why=why, expected=f"one of {names}")
    place = model_place(home, known.name)
    draft = place.with_name(f".{known.name}")  # what is in use stays until all of the other is there and right
    remedy = f"Put {', '.join(FILES)} (and, where there are, {', '.join(OPTIONAL_FILES)}) into that folder yourself"
    try:
        (fetch or _fetch_from_hub)(known.repository, draft)
    except ImportError as error:
        why = "huggingface_hub, which would fetch it, is not installed"
        raise ModelMissing(path=place, why=why, remedy=remedy) from error
    except Exception as error:  # the library's own, httpx's, and the system's
        told = str(error).partition("\n")[0][:200]
        why = f"{known.repository} could not be fetched ({type(error).__name__}: {told})"
        raise ModelMissing(path=place, why=why, remedy=remedy) from error
    _check_folder(draft, known, place.with_name(f"{known.name}.sha256"))
    try:
        if place.exists():
            shutil.rmtree(place)
        draft.rename(place)
    except OSError as error:
        raise write_error(place, error) from error
    return place


def check_place(home: Path, known: KnownModel) -> Path:
    """See that a known model is in its folder, whole, and is the one that was there first; then say its prompts there.

    Raises:
        ModelMissing: a file is not there.
        ModelUnusable: the weights are not those that were seen first.
        DiskFailed, DiskFull, StoreReadOnly: the hash or the prompts cannot be written.
    """
    place = find_model(model_place(home, known.name))
    _check_folder(place, known, place.with_name(f"{known.name}.sha256"))
    return place


def _check_folder(folder: Path, known: KnownModel, noted: Path) -> None:
    """Raises as `check_place`."""
    for file in FILES:
        if not (folder / file).is_file():
            raise ModelMissing(path=folder / file, why="there is no such file")
    found = sha256_of(folder / FILES[-1])
    try:
        seen = noted.read_text("ascii", "replace").split()[:1] if noted.exists() else []
        if seen not in ([], [found]):
            why = f"its weights are not those that were seen first (SHA-256 {found}, expected {seen[0]})"
            remedy = f"Get it again, or remove {noted} if you trust these"
            raise ModelUnusable(path=folder, why=why, remedy=remedy)
        if not seen:
            replace_private(noted, f"{found}  {known.name}/{FILES[-1]}\n".encode())
        if any(known.prompts) and not any(read_prompts(folder / PROMPTS_FILE)):
            prompts = dict(zip(("passage", "query"), known.prompts, strict=True))
            replace_private(folder / PROMPTS_FILE, json.dumps({"prompts": prompts}).encode())
    except OSError as error:
        raise write_error(folder, error) from error


def _fetch_from_hub(repository: str, place: Path) -> None:
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from huggingface_hub import snapshot_download  # here: only whoever fetches needs it, and it reads the environment

    snapshot_download(repository, local_dir=place, allow_patterns=[*FILES, *OPTIONAL_FILES])
