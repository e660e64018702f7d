"""Every actor keeps the contract: it declares what it takes, handles each of it, and documents its settings."""

from __future__ import annotations

import ast
import inspect
import typing
from typing import Any

import pytest

from mnemic.actors.capture import capture
from mnemic.actors.communities import communities
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.knowledge import knowledge
from mnemic.actors.meaning import embedder
from mnemic.actors.recall import retriever
from mnemic.actors.shape import binder
from mnemic.actors.sleep import consolidator
from mnemic.actors.store import store
from mnemic.runtime.engine.settings import settings_table
from tests.clocks import ManualClock
from tests.paths import ROOT

ACTORS = [
    store.StoreActor,
    embedder.EmbedderActor,
    binder.BinderActor,
    retriever.RetrieverActor,
    communities.CommunitiesActor,
    knowledge.KnowledgeActor,
    capture.CaptureActor,
    consolidator.ConsolidatorActor,
]


def context(seed: bytes = b"seed") -> Context:
    return Context(
        trace="t",
        now=1,
        clock=ManualClock(0),
        seed=seed,
        ask=lambda message, timeout_s: (message, timeout_s),
        tell=lambda message: None,
        progress=lambda done, total: None,
        cancelled=lambda: False,
    )


@pytest.mark.parametrize("actor", ACTORS)
def test_an_actor_declares_its_contract_its_messages_and_its_settings(actor: Any) -> None:
    assert actor.contract == CONTRACT
    assert actor.takes
    assert len(set(actor.takes)) == len(actor.takes)
    assert all(inspect.isclass(message) for message in actor.takes)
    assert all(isinstance(setting, Setting) for setting in actor.settings)
    assert inspect.getdoc(actor)
    assert inspect.getdoc(actor.handle)


@pytest.mark.parametrize("actor", ACTORS)
def test_every_message_an_actor_takes_is_named_where_it_handles_them_or_is_the_one_that_is_left(actor: Any) -> None:
    tree = ast.parse(inspect.getsource(actor).strip())
    (handle,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "handle")
    names = {node.id for node in ast.walk(handle) if isinstance(node, ast.Name)}
    module = vars(inspect.getmodule(actor))
    several = {message for name in names if isinstance(module.get(name), tuple | dict) for message in module[name]}
    unnamed = {message for message in actor.takes if message.__name__ not in names} - several
    assert len(unnamed) <= 1, "one may be what is left"


@pytest.mark.parametrize("actor", ACTORS)
def test_what_an_actor_answers_with_is_declared(actor: Any) -> None:
    answers = typing.get_type_hints(actor.handle)["return"]
    assert answers is not Any
    assert all(hasattr(kind, "__struct_fields__") or kind is type(None) for kind in typing.get_args(answers))


def test_no_actor_is_missing_from_these_tests() -> None:
    found = set()
    for path in (ROOT / "actors").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and any(
                isinstance(part, ast.AnnAssign) and getattr(part.target, "id", "") == "takes" and part.value
                for part in node.body
            ):
                found.add(node.name)
    assert found == {actor.__name__ for actor in ACTORS}


def test_every_setting_says_what_it_does_in_which_unit_and_has_a_default_it_would_take() -> None:
    names = [setting.name for setting in settings_table()]
    assert len(set(names)) == len(names)
    for setting in settings_table():
        section, _, key = setting.name.partition(".")
        assert section.isidentifier(), setting
        assert key.isidentifier(), setting
        assert setting.unit, setting
        assert setting.help.endswith("."), setting
        assert setting.default is not None, setting
        if setting.minimum is not None:
            assert setting.default >= setting.minimum


def test_every_setting_of_an_actor_is_in_the_table() -> None:
    table = {setting.name for setting in settings_table()}
    assert {setting.name for actor in ACTORS for setting in actor.settings} <= table


def test_chance_is_the_same_for_the_same_seed_and_salt_and_each_call_starts_anew() -> None:
    one = context()
    assert one.random(b"a").random() == one.random(b"a").random() == context().random(b"a").random()
    assert len({one.random(b"a").random(), one.random(b"b").random(), context(b"other").random(b"a").random()}) == 3


def test_a_context_passes_on_what_it_was_given() -> None:
    assert context().ask("message") == ("message", 60.0)
    assert context().ask("message", 5.0) == ("message", 5.0)
    assert (context().trace, context().now, context().cancelled()) == ("t", 1, False)
