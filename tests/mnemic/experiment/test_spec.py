"""A spec says all that is to be done; what cannot be is refused in a sentence that names its key."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.kernel.errors import BadInput, BadSettings, InvalidValue, SourceUnreadable
from mnemic.experiment.spec import load_spec, parse_spec
from tests.mnemic.experiment.made import SPEC, spec


def test_a_spec_is_read_with_its_defaults() -> None:
    read = spec().spec
    assert [arm.name for arm in read.arms] == ["ours", "none"]
    assert (read.base_arm, read.seeds, read.life.first_night, read.probes.source) == ("ours", (1,), 0.0, "life")
    assert [arm.nights for arm in read.arms] == [True, False]


def test_settings_may_be_written_as_tables_or_by_their_full_names() -> None:
    one = spec().spec.arms[0].settings
    text = SPEC.replace(
        'settings = {"embedder.model" = "/nowhere", "sleep.stages" = "fingerprints duplicates uses strengths"}',
        '[arms.settings.embedder]\nmodel = "/nowhere"\n[arms.settings]\n'
        '"sleep.stages" = "fingerprints duplicates uses strengths"',
    )
    assert parse_spec(text, Path("x")).spec.arms[0].settings == one


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ("version = 1", "version = 2", "version", "no version of specs"),
        ("version = 1", "", "version", "it is missing"),
        ('name = "made"', "", "name", "it is missing"),
        ("version = 1", 'version = "one"', "version", "no version of specs"),
        ('name = "made"', 'name = "a/b"', "name", "it names a folder"),
        ("seeds = [1]", "seeds = [1, 1]", "seeds", "no different numbers"),
        ("seeds = [1]", "seeds = []", "seeds", "no different numbers"),
        ("seeds = [1]", "seeds = [1]\nmeasures = []", "measures", "nothing would be measured"),
        ("seeds = [1]", 'seeds = [1]\nmeasures = ["mrr", "mrr"]', "measures", "one is there twice"),
        ("seeds = [1]", "seeds = [4294967296]", "seeds", "no different numbers"),
        ("seeds = [1]", 'seeds = [1]\nbase = "theirs"', "base", "no arm is called so"),
        ("seeds = [1]", "sedes = [1]", "sedes", "there is no such key. Give seeds"),
        ("tests.mnemic.experiment.made:life", "dream", "life.kind", "there is no such life"),
        ("tests.mnemic.experiment.made:life", "locomo", "life.path", "read from there"),
        ("[life]\n", "[life]\nfirst_night = 1.5\n", "life.first_night", "out of bounds"),
        ("[life]\n", '[life]\nsize = "big"\n', "life.size", "Expected `int`"),
        ('name = "none"\n', 'name = "ours"\n', "arms[1].name", "another arm is called so"),
        ('name = "none"\n', "", "arms[1].name", "it is missing"),
        ("nights = false", "nights = 3", "arms[1].nights", "Expected `bool`"),
        ("nights = false", "knights = false", "arms[1].knights", "there is no such key. Give nights"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(old: str, new: str, key: str, said: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        spec((old, new))
    assert said in f"{caught.value} {caught.value.remedy_text}"
    assert f"{key} in /specs/made.toml cannot" in str(caught.value)


def test_one_arm_alone_compares_with_nothing() -> None:
    with pytest.raises(InvalidValue, match="compares with nothing"):
        parse_spec(SPEC.rpartition("[[arms]]")[0], Path("x"))


def test_a_file_that_is_not_there_or_is_no_toml_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable):
        load_spec(tmp_path / "none.toml")
    (tmp_path / "no.toml").write_text("version = = 1")
    with pytest.raises(BadSettings, match="line 1"):
        load_spec(tmp_path / "no.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceUnreadable):
        load_spec(tmp_path / "bytes.toml")


@given(st.text(max_size=200))
def test_whatever_is_written_there_is_read_or_refused(text: str) -> None:
    with suppress(BadInput):
        parse_spec(text, Path("x"))
