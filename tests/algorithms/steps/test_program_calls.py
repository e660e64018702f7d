"""Calls of one program in a shell line, however they are written; what merely names it is no call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.steps.program_calls import MAX_CALL_CHARS, Calls, Program, program_calls

LAMP = Program(frozenset({"lamp"}), frozenset({"light", "log", "--help"}))

ALONE = r"""
lamp light red
/opt/bin/lamp light red
./.venv/bin/lamp
LAMP.exe light
cd /srv && lamp light red
sudo -u ana lamp light
env A=b time nice lamp log
timeout 5s lamp light
uv run lamp light
uv run --directory /srv lamp light
uvx lamp@1.2 light
pipx run lamp log
npx lamp log
python -m lamp light
.venv/bin/python3.12 -X dev -m lamp light
python .venv/bin/lamp light
for one in a b; do lamp light $one; done
echo red; lamp light
export A=b; lamp log # see the log
L=./bin/lamp; $L light
L=./bin/lamp; "${L}" light
alias l=lamp; l light
find . -name '*.txt' -exec lamp light {} \;
xargs -I {} lamp light {} < names
echo light | xargs lamp
watch -n 1 lamp log
ssh host lamp light
ssh host 'lamp light'
docker exec web lamp log
bash -lc 'cd /srv && lamp light "deep red"'
bash -c "lamp light \"deep red\""
su ana -c 'lamp log'
eval "lamp light"
cmd /c 'lamp light'
& 'C:\tools\lamp.exe' light
tmux send-keys -t 1 'lamp light' Enter
echo red | lamp light
lamp light > /dev/null 2>&1
""".strip().splitlines()
HIDDEN = r"""
lamp light | head -3
(lamp light; lamp log) | sort
{ lamp light; } | sort
for one in a b; do lamp light; done | sort
echo $(lamp light)
echo "$(lamp light "$(cat name)")"
echo "it's $(lamp light) isn't it"
`lamp light`
$(which lamp) light
"$(command -v lamp)" light
python -c 'import subprocess; subprocess.run(["lamp", "light"])'
bash -c 'lamp light | sort'
""".strip().splitlines()
NONE = r"""
ls lamp
ls lamp log
cd lamp && make log
git add lamp && git commit -m "lamp light: red"
git commit -m '$(lamp light)'
grep -rn "lamp light" .
cat lamp/log
pip install lamp
uv add lamp
which lamp
command -v lamp
tar czf lamp.tgz lamp
tar czf lamp light
psql lamp light
systemctl status lamp light
echo lamp light
rsync -a lamp light
# lamp light
python lamp/light.py
lamps light
clamp light
make lamp
curl -o lamp https://example.org
""".strip().splitlines()


@pytest.mark.parametrize("line", ALONE)
def test_a_line_that_runs_nothing_else_is_the_programs_alone(line: str) -> None:
    assert program_calls(line, LAMP) == Calls(1, (), True)


@pytest.mark.parametrize("line", HIDDEN)
def test_what_other_programs_get_of_its_output_is_out_of_view(line: str) -> None:
    found = program_calls(line, LAMP)
    assert (found.times > 0, found.others, found.in_view) == (True, (), False)


@pytest.mark.parametrize("line", NONE)
def test_a_line_that_only_names_the_program_is_no_call(line: str) -> None:
    assert program_calls(line, LAMP).times == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("git log; lamp light; make", Calls(1, ("git log", "make"), True)),
        ("make test 2>&1 | tail -5 && lamp light", Calls(1, ("make test 2>&1 | tail -5",), True)),
        ("W='deep red'; lamp light \"$W\"; make", Calls(1, ("make",), True)),
        ("lamp light | tee a; make", Calls(1, ("make",), False)),
        ("bash -lc 'git log && lamp light'", Calls(1, ("git log",), True)),
        ("lamp light; lamp log; make", Calls(2, ("make",), True)),
        ("(lamp light; make) | tail", Calls(1, ("make",), False)),
        ("lamp light - <<END\nmake it red\nEND\ngit add .", Calls(1, ("git add .",), True)),
        ("git \\\n log; lamp \\\n light", Calls(1, ("git   log",), True)),
        ("make lamp", Calls(0, ("make lamp",), True)),
        ("", Calls(0, ("",), True)),
    ],
)
def test_of_a_mixed_line_the_other_commands_are_told(line: str, told: Calls) -> None:
    assert program_calls(line, LAMP) == told


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("cat > notes.md <<'END'\nlamp light red\nEND\nmake", 0),
        ("bash <<END\nlamp light\nEND", 1),
        ("python - <<END\nrun('lamp light', shell=True)\nEND", 1),
        ("echo $((1<<lamp)); lamp light", 1),
        ("sort <<< 'lamp light'", 0),
    ],
)
def test_a_here_document_counts_where_a_program_may_run_it(line: str, count: int) -> None:
    assert program_calls(line, LAMP).times == count


@pytest.mark.parametrize(("said", "count"), [("lamp light", 1), ("the lamp", 0)])
def test_a_line_that_is_too_long_to_parse_is_read_for_the_name_and_a_verb(said: str, count: int) -> None:
    assert program_calls(f"{'a ' * MAX_CALL_CHARS}; {said}", LAMP) == Calls(
        count, () if count else (f"{'a ' * MAX_CALL_CHARS}; {said}",), not count
    )


@given(
    st.lists(st.sampled_from(["$(", "`", "'", '"', "\\", "<<a\n", "a<<b\nb\n", ";", "|", "(", "{", " ", "\n", "lamp "]))
)
def test_no_line_is_refused(parts: list[str]) -> None:
    assert program_calls("".join(parts), LAMP).times >= 0
