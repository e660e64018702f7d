"""The brief bench: how long a session's start waits for what it is told, with a process and without one.

With a process: one request on a connection of its own, as the hook makes it. Without: the whole command that the hook
starts then, beside an interpreter that does nothing at all. What asking for updates adds to the hook of a prompt is
told by whole runs of it with and without, taking turns with `true`.

With ``--data FILE`` (LoCoMo's) also how often what is told beside a prompt is right: where it is of a session that
holds the answer. Prompts that nothing is known about must be told nothing: questions about one conversation asked in
another one, and small talk. With ``--developers FOLDER`` also how many updates running sessions hear.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mnemic.actors.brief.messages import Brief, Briefed
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.messages import UpdateFacts
from mnemic.actors.recall.messages import GetMemories, Memories
from mnemic.bench.harness.callers import UnixHttp
from mnemic.bench.harness.homes import BENCH_SCOPE, MIND_NAME, fill_home
from mnemic.bench.harness.measure import BARE_PYTHON, Row, goal, quantiles, skipped, time_each
from mnemic.bench.harness.processes import run_mnemic, served
from mnemic.bench.quality.locomo import Question, convert, read_questions
from mnemic.bench.quality.question_sets import developers_set
from mnemic.bench.speed.hook_bench import EXECUTABLE, run_hook
from mnemic.runtime.client.client import RemoteActorSystem
from mnemic.runtime.clock import SystemClock
from mnemic.runtime.minds.run_dir import PROTOCOL
from mnemic.runtime.minds.scope_trust import trust_folder
from mnemic.runtime.models.encoders import load_encoder

SMALL_TALK = (
    *("thanks", "yes", "no", "ok", "go on", "perfect, thank you!", "do it", "looks good to me", "why?", "try again"),
    *("run the tests", "commit this", "fix the failing test", "now push it to main", "show me the diff", "undo that"),
    *("what does this error mean?", "add a test for that", "rename the variable", "refactor this function"),
    *("hello", "good morning", "how are you today?", "what do you think?", "is that all?", "hmm, not quite", "wait"),
    *("can you make it shorter?", "please explain that", "I don't understand", "never mind", "next", "open the file"),
)
"""What says nothing that a memory could be about."""
_STANDING_RULES = 30
_REQUESTS = 200
_COMMANDS = 40


def run(
    *,
    data: Path | None = None,
    developers: Path | None = None,
    memories: int = 10_000,
    seed: int = 0,
    no_model: bool = False,
) -> Iterator[Row]:
    """Fill a home, and ask it.

    Args:
        developers: a folder of developers' conversations, whose updates are counted.

    Raises:
        ValueError: it cannot be served, or the data set is none.
        OSError, KeyError: the data set cannot be read.
    """
    if data is not None:
        yield from measure_prompt_recall(data)
    if developers is not None:
        yield from measure_updates(developers)
    with tempfile.TemporaryDirectory(prefix="mnemic-brief-") as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        project.mkdir()
        (project / ".mnemic.toml").write_text(f'scope = "{BENCH_SCOPE.path}"\n', "utf-8")
        fill_home(home, memories, seed=seed, encoder=None if no_model else load_encoder(None))
        trust_folder(home, str(project))
        _add_standing_rules(home, Path(folder) / "held.jsonl")
        for row in _waits(home, project, prompts=not no_model):
            yield {"what": row.pop("what"), "memories": memories, **row}


# --- how long a session waits ----------------------------------------------------------------------------------------


def _waits(home: Path, project: Path, *, prompts: bool) -> Iterator[Row]:
    start = {"session_id": "bench", "source": "startup"}
    headers = {"Mnemic-Protocol": str(PROTOCOL), "Mnemic-Mind": MIND_NAME, "Mnemic-Create": "0", "Connection": "close"}
    headers |= {"Mnemic-Assistant": "claude-code", "Mnemic-Cwd": quote(str(project))}

    def ask(event: str, body: Any) -> bytes:
        with closing(UnixHttp(info.http_socket)) as connection:
            return connection.ask("POST", "/api/hook", body, **headers, **{"Mnemic-Event": event})

    def prompt(number: int) -> bytes:
        asked = {"hook_event_name": "UserPromptSubmit", "prompt": f"what of word {number} was decided?"}
        return ask("prompt", {"session_id": f"bench-{number}", **asked})

    with served(home, "embedded") as info:
        yield _row("session start, a process up", lambda _: ask("session-start", start), _REQUESTS, 20.0)
        if prompts:
            yield _row("beside a prompt, a process up", prompt, _REQUESTS)
        yield from _prompt_hooks(home, str(project))
    command = [sys.executable, "-P", "-m", "mnemic.session_start", "--assistant", "claude-code"]
    command += ["--event", "session-start", "--home", str(home), "--mind", MIND_NAME, "--cwd", str(project)]
    yield _row("session start, no process", lambda _: _output(command, json.dumps(start).encode()), _COMMANDS, 300.0)
    yield _row("competitor: python -c pass", lambda _: _output(BARE_PYTHON, b""), _COMMANDS)


def _prompt_hooks(home: Path, project: str) -> Iterator[Row]:
    """Tell how long a prompt waits for its hook, where the process has told its session what holds."""
    if not EXECUTABLE.exists():
        yield {"what": "prompt hook"} | skipped("mnemic-hook", f"{EXECUTABLE} was not built")
        return
    hook = (str(EXECUTABLE), "claude-code", "prompt", "--home", str(home), "--mind", MIND_NAME)
    commands = {
        "baseline: true": (shutil.which("true") or "true",),
        "prompt hook, keeps alone": hook,
        "prompt hook, asks for updates": (*hook, "--updates"),
    }
    taken_ms: dict[str, list[float]] = {what: [] for what in commands}
    for number in range(_REQUESTS):
        asked = {"session_id": "bench", "cwd": project, "hook_event_name": "UserPromptSubmit"}
        for what, command in commands.items():
            payload = json.dumps(asked | {"prompt": f"{what}: what is next after {number}?"}).encode()
            taken_ms[what].append(run_hook(command, payload if "hook" in what else b""))
    for what, each_ms in taken_ms.items():
        yield {"what": what, **quantiles(each_ms)}


def _row(what: str, act: Callable[[int], bytes], count: int, goal_p95_ms: float | None = None) -> Row:
    answers = list[bytes]()
    times = quantiles(time_each(lambda number: answers.append(act(number)), range(count)))
    row = {"what": what, **times, "answer_bytes": len(answers[0])}
    return row if goal_p95_ms is None else row | goal("p95_ms", times["p95_ms"], goal_p95_ms)


def _output(command: Sequence[str], given: bytes) -> bytes:
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def _add_standing_rules(home: Path, lines: Path) -> None:
    """Keep decisions and turns that hold, so that there is as much to tell as a budget has room for."""
    with lines.open("w", encoding="utf-8") as written:
        for number in range(_STANDING_RULES):
            text = f"From now on rule {number} holds. " * 4
            line = {"session": f"held-{number}", "role": "user", "scope": BENCH_SCOPE.path, "text": text}
            written.write(json.dumps(line | ({"kind": "decision"} if number % 2 else {})) + "\n")
    run_mnemic(home, "capture", lines, "--no-meaning")


# --- what updates cost -----------------------------------------------------------------------------------------------


def measure_updates(folder: Path) -> Iterator[Row]:
    """Count what running sessions hear of what was replaced since they were told: beside the next one, and left open.

    Raises:
        OSError, ValueError: the conversations cannot be read.
    """
    sessions: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for turn in developers_set(folder, held=False).turns:
        sessions.setdefault((turn["scope"], turn["session"]), []).append(turn)
    days = {(scope, turn["said_at"][:10]) for (scope, _), turns in sessions.items() for turn in turns}
    heard: dict[str, list[int]] = {"a session beside the next one": [], "every session left open": []}
    with tempfile.TemporaryDirectory(prefix="mnemic-updates-") as made:
        home, lines = Path(made) / "home", Path(made) / "session.jsonl"
        home.mkdir(mode=0o700)
        run_mnemic(home, "init")
        with served(home, "embedded"):
            actors = RemoteActorSystem(home, MIND_NAME, False, SystemClock())
            opened = list[tuple[str, str]]()
            for (scope, name), turns in sessions.items():
                _brief(actors, scope, name)
                lines.write_text("".join(json.dumps(turn) + "\n" for turn in turns), "utf-8")
                run_mnemic(home, "capture", lines, "--no-meaning")
                while actors.ask(UpdateFacts()).pending:
                    pass
                for place, earlier in enumerate(reversed([one for where, one in opened if where == scope])):
                    texts = set[str]()
                    while (told := _brief(actors, scope, earlier, occasion="prompt", updates_only=True)).text:
                        if told.text in texts:  # it is kept what was told after the answer
                            continue
                        texts.add(told.text)
                        heard["every session left open"].append(told.tokens)
                        heard["a session beside the next one"] += [told.tokens] * (place == 0)
                opened.append((scope, name))
    for of, tokens in heard.items():
        row = {"what": "updates beside prompts", "of": of, "sessions": len(sessions), "days": len(days)}
        yield row | {"updates": len(tokens), "tokens_a_day": sum(tokens) / max(1, len(days))}


def _brief(actors: RemoteActorSystem, scope: str, session: str, **asked: Any) -> Briefed:
    place = ScopeRef(path=scope, project=None, found="named")
    told = actors.ask(Brief(place=place, assistant="bench", session=session, **asked))
    assert isinstance(told, Briefed)
    return told


# --- whether it is right ---------------------------------------------------------------------------------------------


def measure_prompt_recall(data: Path) -> Iterator[Row]:
    """Rows of one file of LoCoMo's.

    Raises:
        OSError, ValueError, KeyError: it cannot be read, or is none of LoCoMo's.
    """
    lines, asked = list(convert(data)), read_questions(data)
    talks = sorted({question.conversation for question in asked})
    with tempfile.TemporaryDirectory(prefix="mnemic-prompts-") as folder:
        home, corpus = Path(folder) / "home", Path(folder) / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        home.mkdir(mode=0o700)
        run_mnemic(home, "capture", corpus)
        with served(home, "embedded"):
            actors = RemoteActorSystem(home, MIND_NAME, False, SystemClock())
            own = [(question, _told(actors, question.text, question.conversation)) for question in asked]
            for talk in (None, *talks):
                of_it = [(question, told) for question, told in own if talk in (None, question.conversation)]
                yield _share(talk or "all conversations", [told for _, told in of_it]) | _right(of_it)
            next_one = dict(zip(talks, [*talks[1:], *talks[:1]], strict=True))
            away = [_told(actors, question.text, next_one[question.conversation]) for question in asked]
            yield _share("questions about another conversation", away)
            yield _share("small talk", [_told(actors, text, talk) for text in SMALL_TALK for talk in talks])


def _told(actors: RemoteActorSystem, prompt: str, talk: str) -> list[tuple[str, str | None]]:
    """Session and source id of what is told beside a prompt, to a session of its own."""
    session = f"{talk}: {prompt}".replace("/", "-")
    brief = _brief(actors, f"locomo/{talk}", session, occasion="prompt", prompt=prompt)
    if not brief.memories:
        return []
    found = actors.ask(GetMemories(ids=brief.memories))
    assert isinstance(found, Memories)
    return [(memory.session, memory.source_id) for memory in found.memories]


def _share(what: str, told: Sequence[list[Any]]) -> Row:
    share = sum(map(bool, told)) / max(1, len(told))
    return {"what": "told beside a prompt", "of": what, "prompts": len(told), "told_something": share}


def _right(told: Sequence[tuple[Question, list[tuple[str, str | None]]]]) -> Row:
    given = [(question, one) for question, ones in told for one in ones]
    of = max(1, len(given))
    return {
        "memories": len(given),
        "right_session": sum(session in question.sessions for question, (session, _) in given) / of,
        "right_turn": sum(turn in question.turns for question, (_, turn) in given) / of,
    }
