"""Vectors less what all of them share: of unit length, on one scale for every model, the same for equal texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mnemic.algorithms.retrieval.scan import NATIVE
from mnemic.algorithms.text.bert import Bert
from mnemic.runtime.models import centring
from mnemic.runtime.models.centring import QUESTIONS, STATEMENTS, centred, recipe_name
from mnemic.runtime.models.encoders import load_encoder
from mnemic.runtime.models.models import read_model
from tests.modelling import SMALL, write_json, write_model
from tests.paths import ROOT

E5 = ROOT.parent / "shared" / "models" / "e5-small-v2"


def unit(vectors: np.ndarray) -> np.ndarray:
    made: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return made.astype(np.float32)


@given(arrays.arrays(np.float32, (6, 8), elements=st.floats(-1, 1, width=16)))
def test_centred_vectors_have_unit_length_and_equal_ones_stay_equal(drawn: np.ndarray) -> None:
    vectors = unit(drawn + np.float32(1.5))
    middle = np.repeat(vectors.mean(axis=0, keepdims=True), 6, axis=0)
    found = centred(vectors, middle)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    left = vectors - middle
    towards = (found * left).sum(axis=1) - np.linalg.norm(left, axis=1)
    assert np.abs(towards[np.linalg.norm(left, axis=1) > 1e-2]).max(initial=0) < 1e-4, "what is left has its direction"
    np.testing.assert_array_equal(centred(vectors[[2, 2]], middle[:2])[0], found[2])


def test_a_vector_that_is_the_middle_stays_what_it_is() -> None:
    vector = unit(np.ones((1, 4)))
    np.testing.assert_array_equal(centred(vector, vector), vector)


def test_a_narrow_cone_is_opened() -> None:
    random = np.random.default_rng(1)
    cone = unit(random.normal(size=(200, 32)) + 10 * random.normal(size=(1, 32)))
    before = (cone @ cone.T)[np.triu_indices(200, 1)]
    opened = centred(cone, np.repeat(cone.mean(axis=0, keepdims=True), 200, axis=0))
    after = (opened @ opened.T)[np.triu_indices(200, 1)]
    assert before.mean() > 0.9
    assert abs(after.mean()) < 0.02


def test_the_name_follows_from_all_of_the_recipe_and_from_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {recipe_name(one) for one in (["a", "", ""], ["b", "", ""], ["a", "p", ""], ["a", "", "p"], ["a", "p"])}
    monkeypatch.setattr(centring, "STATEMENTS", STATEMENTS[1:])
    names.add(recipe_name(["a", "", ""]))
    assert len(names) == 6


def test_another_pooling_window_or_tokenizer_is_another_encoder(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", SMALL)
    names = [load_encoder(folder, "numpy-float32").model]
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 9})
    names.append(load_encoder(folder, "numpy-float32").model)
    write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    names.append(load_encoder(folder, "numpy-float32").model)
    written = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    write_json(folder / "tokenizer.json", written | {"normalizer": None})
    names.append(load_encoder(folder, "numpy-float32").model)
    assert len({*names}) == 4


@pytest.fixture
def prompted(tmp_path: Path) -> Path:
    folder = write_model(tmp_path / "model", SMALL)
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "a b", "passage": "b"}})
    return folder


@pytest.mark.parametrize("name", ["numpy-float32", *(["native-int8", "native-float32"] if NATIVE else [])])
def test_a_question_and_a_text_each_have_their_prompt_in_every_implementation(prompted: Path, name: str) -> None:
    encoder = load_encoder(prompted, name)
    (text,), _ = encoder.windows("c", 1)
    (question,), _ = encoder.windows("c", 1, is_question=True)
    plain, _ = load_encoder(write_model(prompted.parent / "plain", SMALL), name).windows("c", 1)
    (bare,) = plain
    assert (len(text.token_ids), len(question.token_ids)) == (len(bare.token_ids) + 1, len(bare.token_ids) + 2)
    assert (text.is_question, question.is_question, text.start, text.end) == (False, True, 0, 1)
    vectors = encoder.encode([text, question])
    np.testing.assert_array_equal(encoder.encode([question])[0], vectors[1])
    plainly = read_model(
        prompted, lambda config, tensors: Bert(config, {key: np.array(one) for key, one in tensors.items()})
    ).network
    for window, texts, found in ((text, STATEMENTS, vectors[0]), (question, QUESTIONS, vectors[1])):
        windows = [encoder.windows(one, 1, is_question=window.is_question)[0][0] for one in texts]
        mean = np.mean([plainly.encode(one.token_ids) for one in windows], axis=0)
        left = plainly.encode(window.token_ids) - mean
        assert np.linalg.norm(left) > 0.1, "nothing is left to compare"
        assert found @ left / np.linalg.norm(left) > (0.9 if name == "native-int8" else 0.9999)


def test_prompts_that_leave_no_room_are_refused(tmp_path: Path) -> None:
    from mnemic.actors.kernel.errors import ModelUnusable

    folder = write_model(tmp_path / "model", SMALL)
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "a " * 400}})
    with pytest.raises(ModelUnusable, match="no room"):
        load_encoder(folder, "numpy-float32")


@pytest.mark.skipif(not E5.is_dir(), reason="there is no second model here")
def test_another_models_cosines_lie_on_the_default_models_scale() -> None:
    spread = {}
    for folder in (None, E5):
        encoder = load_encoder(folder)
        texts = [encoder.windows(text, 1)[0][0] for text in STATEMENTS[::2]]
        asked = [encoder.windows(text, 1, is_question=True)[0][0] for text in QUESTIONS[::2]]
        cosines = encoder.encode(asked) @ encoder.encode(texts).T
        spread[folder] = (cosines.mean(), cosines.std())
    assert abs(spread[E5][0] - spread[None][0]) < 0.1
    assert spread[E5][1] == pytest.approx(spread[None][1], rel=0.5)
