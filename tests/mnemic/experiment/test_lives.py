"""Lives come from files, transcripts, minds, generators and functions, in order of time; questions come with ids."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.experiment.lives import load_life
from mnemic.experiment.spec import parse_spec
from mnemic.open_mind import open_here
from tests.mnemic.experiment.made import SPEC, spec

KIND = "tests.mnemic.experiment.made:life"


def test_a_life_of_ones_own_is_given_its_options_and_the_seed(tmp_path: Path) -> None:
    found = load_life(spec(("[life]\n", "[life]\noptions = {things = 2}\n")), 7, tmp_path)
    assert [one.source_id for one in found.events] == ["crane-attic", "crane-harbour", "kettle-attic", "kettle-harbour"]
    assert found.events[0].text.endswith(b"(7).")
    assert [one.id for one in found.questions] == ["crane", "kettle"]


def test_a_generated_life_follows_from_its_seed_and_asks_by_kind(tmp_path: Path) -> None:
    file = spec((KIND, "generated"), ("[life]\n", '[probes]\nkinds = ["now"]\nevery = 2\n\n[life]\n'))
    one, same, other = (load_life(file, seed, tmp_path) for seed in (1, 1, 2))
    assert one == same != other
    assert {each.kind for each in one.questions} == {"now"}
    assert all(a.said_at <= b.said_at for a, b in zip(one.events, one.events[1:], strict=False))  # type: ignore[operator]
    assert all(each.gold <= {event.source_id for event in one.events} for each in one.questions)


def test_locomo_is_read_from_its_file(tmp_path: Path) -> None:
    talk = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "The crane is red."}],
    }
    asked = [{"question": "What is red?", "answer": "x", "evidence": ["D1:1"], "category": 4}]
    (tmp_path / "l.json").write_text(json.dumps([{"sample_id": "conv-1", "conversation": talk, "qa": asked}]))
    file = parse_spec(SPEC.replace(f'kind = "{KIND}"', 'kind = "locomo"\npath = "l.json"'), tmp_path / "spec.toml")
    found = load_life(file, 1, tmp_path)
    assert [(one.text, one.gold, one.kind) for one in found.questions] == [
        ("What is red?", frozenset({"conv-1/D1:1"}), "single-hop")
    ]
    (tmp_path / "l.json").write_text("[1]")
    with pytest.raises(InvalidValue, match="not LoCoMo"):
        load_life(file, 1, tmp_path)


def test_transcripts_and_questions_are_read_from_files(tmp_path: Path) -> None:
    lines = [
        {"session": "s", "role": "user", "text": "later", "id": "b", "said_at": "2026-05-02T10:00:00Z"},
        {"session": "s", "role": "user", "text": "The crane is red.", "id": "a", "said_at": "2026-05-01T10:00:00Z"},
    ]
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "t.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (tmp_path / "q.jsonl").write_text('{"question": "what is red?", "gold": ["a"]}\n')
    text = SPEC.replace(f'kind = "{KIND}"', 'kind = "transcripts"\npath = "talks"\n\n[probes]\nsource = "q.jsonl"')
    file = parse_spec(text, tmp_path / "spec.toml")
    with (tmp_path / "talks" / "t.jsonl").open("a") as more:
        more.write("{torn")
    found = load_life(file, 1, tmp_path)
    assert [one.source_id for one in found.events] == ["a", "b"]
    assert [one.partition(": ")[2].partition(" of ")[0] for one in found.notes] == ["line 3"]
    assert [(one.id, one.text) for one in found.questions] == [("1", "what is red?")]
    (tmp_path / "q.jsonl").write_text('{"question": "what is red?", "gold": ["z"]}\n')
    with pytest.raises(InvalidValue, match="nothing has that id"):
        load_life(file, 1, tmp_path)
    (tmp_path / "q.jsonl").write_text('\n{"question": "what is red?", "gold": []}\n')
    with pytest.raises(InvalidValue, match="has no gold"):
        load_life(file, 1, tmp_path)
    (tmp_path / "q.jsonl").write_text('{"question": "what?", "gold": ["a"], "id": "q"}\n' * 2)
    with pytest.raises(InvalidValue, match="two questions have that id"):
        load_life(file, 1, tmp_path)
    (tmp_path / "q.jsonl").write_text('\ufeff{"question": "what?", "gold": ["a"], "used_at": [2]}\n')
    assert load_life(file, 1, tmp_path).questions[0].used_at == (2,)
    (tmp_path / "q.jsonl").write_text('{"question": "what?", "gold": ["a"], "asker": 1}\n')
    with pytest.raises(InvalidValue, match=r"line 1 of .* unknown field `asker`"):
        load_life(file, 1, tmp_path)
    (tmp_path / "q.jsonl").write_text('\n{"question": 1}\n')
    with pytest.raises(InvalidValue, match="line 2 of"):
        load_life(file, 1, tmp_path)


def test_a_minds_own_log_is_lived_again(tmp_path: Path) -> None:
    with open_here(tmp_path / "home", create=True) as mind:
        kept = mind.remember("The crane is red.", scope="yard").id
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": "what is red?", "gold": [str(uuid.UUID(bytes=kept))]}))
    text = SPEC.replace(f'kind = "{KIND}"', 'kind = "log"\n\n[probes]\nsource = "q.jsonl"')
    file = parse_spec(text, tmp_path / "spec.toml")
    found = load_life(file, 1, tmp_path / "home")
    assert [(one.text, one.scope) for one in found.events] == [(b"The crane is red.", "yard")]
    with pytest.raises(InvalidValue, match="there is no such mind"):
        load_life(file, 1, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("replaced", "said"),
    [
        ((KIND, "tests.mnemic.experiment.made:nothing"), "it cannot be had (AttributeError"),
        ((KIND, "no_such_package:life"), "ModuleNotFoundError"),
        ((KIND, "tests.mnemic.experiment.made:failing_life"), "it failed (ZeroDivisionError"),
        ((KIND, "tests.mnemic.experiment.made:no_life"), "it gives no Life"),
        (("[life]\n", "[life]\noptions = {things = 0}\n"), "nothing happens in it"),
        (("[life]\n", '[probes]\nsource = "q.jsonl"\n\n[life]\n'), "there is no such file"),
        (("[life]\n", '[probes]\nkinds = ["dreams"]\n\n[life]\n'), "no question is of that kind"),
        (("[life]\n", '[probes]\nsource = "tests.mnemic.experiment.made:none"\n\n[life]\n'), "holds no question"),
        (("[life]\n", '[probes]\nsource = "tests.mnemic.experiment.made:strangers"\n\n[life]\n'), "no questions"),
        ((KIND, "transcripts"), "read from there"),
    ],
)
def test_what_is_none_is_refused(tmp_path: Path, replaced: tuple[str, str], said: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        load_life(spec(replaced), 1, tmp_path)
    assert said in str(caught.value)
