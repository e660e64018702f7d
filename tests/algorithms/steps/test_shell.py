"""Of a line of shell one learns what it is for and which programs it runs, whatever stands around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.algorithms.steps.shell import MAX_LINE_CHARS, Command, is_program, main_command, parse_commands, program_of
from mnemic.algorithms.steps.shell_programs import ACTION_PRIORITY

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=120)
PIECES = (
    *("pytest", "git", "commit", "cd", "sudo", "-u", "timeout", "5", "uv", "run", "bash", "-lc", "'make test'", "x=1"),
    *("docker", "exec", "ssh", "+x", "-m", "python", "coverage", "compose"),
    *("&&", "||", ";", "|", "\n", ">", ">>", "<<E", "E", "(", ")", "{", "}", '"', "'", "\\", "$(date)", "2>&1", "for"),
)
LINES = st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join)


def purpose(line: str) -> str:
    main = main_command(parse_commands(line))
    return f"{main.action} {main.program}" if main else ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pytest", "test pytest"),
        ("cd /srv && python -m pytest -q tests/test_auth.py 2>&1 | tail -5", "test pytest"),
        ("FOO=1 timeout -s KILL 60 uv run --with x pytest -q", "test pytest"),
        ("for i in $(seq 40); do python3.11 -m pytest -x >/tmp/r.$i 2>&1 || echo -n $i; done; echo", "test pytest"),
        ("if ! .venv/bin/pytest; then git stash; fi", "test pytest"),
        ('bash -lc "cargo test -p native"', "test cargo"),
        ("cargo check", "build cargo"),
        ("(cd web && npm test)", "test npm"),
        ("npm run test:unit -- --watch=false", "test npm"),
        ("npm run lint-fix", "lint npm"),
        ("npm run start", "run npm"),
        ("npm ci", "install npm"),
        ("yarn build", "build yarn"),
        ("pnpm exec vitest run", "test vitest"),
        ("npx tsc --noEmit", "lint tsc"),
        ("npx tsc", "build tsc"),
        ("node --test", "test node"),
        ("node server.js", "run node"),
        ("go test ./...", "test go"),
        ("make -j4 check", "test make"),
        ("make", "build make"),
        ("make install", "install make"),
        ("./gradlew :app:test", "test gradlew"),
        ("ruff check . --fix && ruff format .", "lint ruff"),
        ("ruff format .", "format ruff"),
        ("git -C /srv status", "inspect git"),
        ("git add -A && git commit -qm 'End sessions; after \"half\" an hour && more' && git log -1", "commit git"),
        ("git push origin main", "push git"),
        ("git checkout -b idle", "switch git"),
        ("sed -i 's/a/b/' src/main.rs", "edit sed"),
        ("sed -n 1,20p src/main.rs", "read sed"),
        ("cat > notes.md <<'EOF'\nrm -rf / && pytest\nEOF", "edit cat"),
        ("cat > notes.md <<EOF\ncut off, pytest", "edit cat"),
        ("python - <<'E'\nimport os; pytest\nE\ngit diff --stat", "run python"),
        ("printf 'x' >> migrations/7.sql && flask migrate", "edit printf"),
        ("printf 'x' > /dev/null", ""),
        ("cat a.txt 2>/dev/null", "read cat"),
        ("rg -n foo | head", "search rg"),
        ("ls -la; false", "list ls"),
        ("sudo -u slipway sqlite3 /var/x.db 'pragma integrity_check'", "run sqlite3"),
        ("uv pip install -q fonttools", "install uv"),
        ("curl -s localhost:8000 | jq .", "fetch curl"),
        ("mkdir -p a/b", "move mkdir"),
        ("rm -rf build", "delete rm"),
        ('"C:\\tools\\Pytest.exe" -q', "test pytest"),
        ("docker compose -f ci.yml exec -T web pytest -q", "test pytest"),
        ("docker-compose run --rm -e CI=1 web bash -lc 'cd app && pytest -q'", "test pytest"),
        ("docker run --rm -v $PWD:/src -w /src rust:1 cargo test", "test cargo"),
        ("docker ps", "run docker"),
        ("kubectl exec -it pod -c web -- rails test", "test rails"),
        ("ssh -p 22 ana@penmarrow 'cd /srv && sudo git pull | tail -1'", "merge git"),
        ("ssh penmarrow", "run ssh"),
        ("ssh penmarrow 'cd /srv'", "run ssh"),
        ("pnpm --filter web test", "test pnpm"),
        ("pnpm vitest run", "test pnpm"),
        ("yarn eslint src", "lint yarn"),
        ("yarn workspace web lint", "lint yarn"),
        ("npm --prefix test run build", "build npm"),
        ("cargo +nightly fmt", "format cargo"),
        ("cargo -p test build", "build cargo"),
        ("python -X dev -m pytest", "test pytest"),
        ("coverage run --branch -m pytest", "test pytest"),
        ("python manage.py test app", "test manage.py"),
        ("python tests/run.py", "run python"),
        ("bash scripts/test.sh --fast", "test test.sh"),
        ("./scripts/lint-all", "lint lint-all"),
        ("bin/ship", "run ship"),
        ("bash", ""),
        ("# only a remark", ""),
        ("echo done", ""),
        ("cd /srv", ""),
        ("", ""),
    ],
)
def test_the_main_command_of_a_line_is_what_it_is_for(line: str, expected: str) -> None:
    assert purpose(line) == expected


def test_all_programs_are_named_in_order_without_what_a_pipe_feeds() -> None:
    found = parse_commands("cd web && pip install -q x && pytest -q tests/a.py | tee log && bin/ship --now")
    assert found == [
        Command("install", "pip", ("install", "x")),
        Command("test", "pytest", ("tests/a.py",)),
        Command("run", "ship", ()),
    ]


def test_of_commands_that_do_the_same_the_first_is_the_main_one() -> None:
    assert main_command([Command("run", "a", ()), Command("run", "b", ())]) == Command("run", "a", ())
    assert main_command([]) is None


def test_what_leads_elsewhere_is_named_after_what_it_leads_to() -> None:
    assert [one.program for one in parse_commands("docker exec web pytest && git push")] == ["pytest", "docker", "git"]
    assert main_command(parse_commands("ssh penmarrow 'ls /srv'")) == Command("list", "ls", ("/srv",))


def test_a_shell_within_a_shell_is_followed() -> None:
    assert parse_commands("bash -c \"sh -lc 'pytest -q'\"") == parse_commands("pytest -q")


@given(ANYTHING | LINES)
def test_any_line_is_taken_apart(line: str) -> None:
    for one in parse_commands(line):
        assert one.program
        assert one.action in ACTION_PRIORITY
        assert one.program == one.program.lower()


@given(LINES)
def test_a_remark_at_the_end_changes_nothing(line: str) -> None:
    if not {'"', "'", "\\", "<<E"}.intersection(line.split()):
        assert parse_commands(f"{line}\n# pytest && git push") == parse_commands(line)


def test_of_a_long_script_the_start_is_looked_at() -> None:
    assert parse_commands("true;" * MAX_LINE_CHARS + "pytest") == []


@pytest.mark.parametrize(
    ("line", "program", "usual"),
    [
        ("pytest -q", "pytest", True),
        ("/usr/bin/Cargo.exe test", "cargo", True),
        ("npx", "npx", True),
        ("ssh harbour ls", "ssh", True),
        ("make", "make", True),
        ("node x.js", "node", True),
        ("tide --now", "tide", False),
        ("mcp__ci__pytest", "mcp__ci__pytest", False),
        (" ", "", False),
        ("", "", False),
    ],
)
def test_the_usual_programs_are_known_at_the_start_of_a_line(line: str, program: str, usual: bool) -> None:
    assert (program_of(line), is_program(line)) == (program, usual)


def test_a_quotation_without_its_end_is_a_word_as_it_is_written() -> None:
    assert parse_commands("pytest 'a b' \"c") == [Command("test", "pytest", ("a b", '"c'))]
