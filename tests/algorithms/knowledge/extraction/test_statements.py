"""Statements say what a turn states, of whom, with what status and for which days, and cut it out of the text."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.algorithms.knowledge.extraction.modality import MODALITIES
from mnemic.algorithms.knowledge.extraction.statements import MAX_CHARS, Statement, statements
from mnemic.bench.quality.facts.statement_scores import measure_statements
from tests.paths import FIXTURES

LABELS = FIXTURES / "statements" / "statements.jsonl"
SAID_ON = date(2025, 6, 18)  # a Wednesday
ANYTHING = st.text(st.characters(exclude_categories=()), max_size=200)
PIECES = (
    *(
        "I",
        "we",
        "my dog",
        "The `users` table",
        "Anna",
        "auth.py",
        "it",
        "nobody",
        "there",
        "You",
        "this",
        "somebody's",
    ),
    *(
        "is",
        "'s",
        "was",
        "are",
        "has",
        "had",
        "runs on",
        "uses",
        "used to",
        "moved",
        "will",
        "won't",
        "should",
        "might",
    ),
    *("no longer", "not", "never", "stopped using", "said", "thinks", "wonder if", "want to", "have", "do", "call"),
    *(
        "Berlin",
        "Postgres 16",
        "the red door",
        "8080",
        "`x`",
        '"a b c"',
        "from A to B",
        "instead of",
        "with",
        "of",
        "to",
    ),
    *("and", "or", "but", "if", "that", "which", "until", "since", "while", "when", ",", ";", ":", ".", "?", "!", "\n"),
    *(
        "until 2 Nov",
        "since Monday",
        "this week",
        "tomorrow",
        "next",
        "as of",
        "may",
        "twice",
        "every",
        "than",
        "a",
        "half",
    ),
)
TURNS = st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)
HOSTILE = (
    *(
        "a",
        ",",
        '"',
        "`",
        "'",
        "\n",
        ".",
        "> ",
        "- ",
        "a ",
        "is ",
        "the ",
        "to ",
        "of ",
        "and ",
        "that ",
        "if ",
        "1,",
        "x's ",
    ),
    *(
        "from to ",
        "until ",
        "from 3 to 4 May ",
        "he says that ",
        "if i use ",
        '"a b c d e ',
        "the box that is ",
        "every ",
    ),
    *("I want to want to ", "not ", "for the next ", "instead of ", "as far as i ", "in case ", "I think I think "),
)


def said(text: str) -> list[str]:
    """What is found in a text, for a reader."""
    return [
        " | ".join((one.modality + (" not" if one.negative else ""), one.subject, one.relation or "-", one.value))
        for one in statements(text, "Ines", SAID_ON)
    ]


def days(text: str) -> list[str]:
    """Of each statement for which days it holds."""
    return [f"{one.holds_from or ''}..{one.holds_to or ''}" for one in statements(text, None, SAID_ON)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My sister works as a nurse in Hamburg.", "asserted | My sister | work as | nurse in Hamburg"),
        ("My sister is a nurse", "asserted | My sister | be | nurse"),
        ("The rota is on the fridge.", "asserted | The rota | on | fridge"),
        ("My email is ana@example.org.", "asserted | My email | be | ana@example.org"),
        ("The default branch is called trunk.", "asserted | The default branch | call | trunk"),
        ("I'm allergic to penicillin", "asserted | I | allergic to | penicillin"),
        ("The site is down.", "asserted | The site | be | down"),
        ("The tap in the bathroom drips.", "asserted | The tap in the bathroom | - | drips"),
        ("Backups run daily at 02:00.", "asserted | Backups | run at | 02:00"),
        ("`DEBUG` defaults to false.", "asserted | DEBUG | default to | false"),
        ("The `users` table has 12 columns", "asserted | The `users` table | have | 12 columns"),
        ("The docs keep the `legacy` flag", "asserted | The docs | keep | `legacy` flag"),
        (
            "Latency on the search endpoint sits at 120 ms.",
            "asserted | Latency on the search endpoint | sit at | 120 ms",
        ),
        ("There's a spare key under the flowerpot.", "asserted | the flowerpot | have | spare key"),
        ("The wifi's called Otter", "asserted | The wifi | call | Otter"),
        ("We port the CLI to Go", "asserted | the CLI | port to | Go"),
        ("We call her Mimi.", "asserted | her | call | Mimi"),
        ("The flat we rent has three rooms.", "asserted | The flat we rent | have | three rooms"),
        ("The test runs take 5 minutes", "asserted | The test runs | take | 5 minutes"),
        ("Support no longer answers letters", "ended | Support | answer | letters"),
        ("Since the flood the cellar smells of mould", "asserted | the cellar | smell of | mould"),
        ("Felicitas and I share the account", "asserted | Felicitas and I | share | account"),
        ("My wife, a vet, works in Kiel.", "asserted | My wife | work in | Kiel"),
        ("I have a flat with a garden", "asserted | I | have | flat with a garden"),
        ("Logs are kept for 30 days.", "asserted | Logs | keep for | 30 days"),
        ("We pay 45 euros a month for power.", "asserted | We | pay | 45 euros a month"),
        ("My shoe size is 43 and a half.", "asserted | My shoe size | be | 43 and a half"),
        ("Vera is older than Tom.", "asserted | Vera | older than | Tom"),
    ],
)
def test_a_plain_clause_is_a_statement(text: str, expected: str) -> None:
    assert said(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The box runs Debian 12 and has 16 GB of RAM, nothing fancy.",
            ["asserted | The box | run | Debian 12", "asserted | The box | have | 16 GB of RAM"],
        ),
        (
            "The key is in the drawer, and the code is 4471.",
            ["asserted | The key | in | drawer", "asserted | the code | be | 4471"],
        ),
        (
            "My build takes 11 minutes on the laptop and 4 on the workstation",
            [
                "asserted | My build | take | 11 minutes on the laptop",
                "asserted | My build | take | 4 on the workstation",
            ],
        ),
        (
            "Our daughter starts school in 2026, her cousin in 2027.",
            ["asserted | Our daughter | start school in | 2026", "asserted | her cousin | start school in | 2027"],
        ),
        (
            "My son takes the bus, my daughter her bike.",
            ["asserted | My son | take | bus", "asserted | my daughter | take | her bike"],
        ),
        (
            "My phone has no radio, my tablet does.",
            ["asserted not | My phone | have | radio", "asserted | my tablet | have | radio"],
        ),
        (
            "Their room has, believe it or not, a view of the river.",
            ["asserted | Their room | have | view of the river"],
        ),
        (
            "Our flat has a balcony but no lift.",
            ["asserted | Our flat | have | balcony", "asserted not | Our flat | have | lift"],
        ),
        ("I live in Graz with my wife", ["asserted | I | live in | Graz", "asserted | I | live with | my wife"]),
    ],
)
def test_clauses_share_what_one_of_them_leaves_out(text: str, expected: list[str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Does the parser read TOML?", "asked | the parser | read | TOML"),
        ("does the 14 tram stop at Schottentor", "asked | the 14 tram | stop at | Schottentor"),
        ("So the gateway talks gRPC?", "asked | the gateway | talk | gRPC"),
        ("I wonder whether Paul still lives in Rome", "asked | Paul | live in | Rome"),
        ("Do you know if the pharmacy opens on Sundays?", "asked | the pharmacy | open on | Sundays"),
        ("are you sure the fuse is a 16 A one", "asked | the fuse | be | 16 A one"),
        ("You use zsh, don't you?", "asked | You | use | zsh"),
        ("Wouldn't it help if the CLI printed JSON?", "asked | the CLI | print | JSON"),
        ("Has the boiler been repaired?", "asked | the boiler | be | repaired"),
        ("Tom says he lives in Bern.", "quoted | he | live in | Bern"),
        ("The docs claim that `retries` defaults to 5", "quoted | retries | default to | 5"),
        ("According to Anna, the train leaves at 7:40.", "quoted | the train | leave at | 7:40"),
        ("Apparently the server has 64 GB", "quoted | the server | have | 64 GB"),
        ("You told me the rent is 900 euros", "quoted | the rent | be | 900 euros"),
        ("The release was on 3 May, said Jonas.", "quoted | The release | on | 3 May"),
        ("Rosa wrote back that the shop no longer sells tea", "quoted | the shop | sell | tea"),
        ('"We only ship on Tuesdays", Priya said.', "quoted | We | ship on | Tuesdays"),
        ("The spec reads: clients retry three times", "quoted | clients | retry | three times"),
        ("My boss thinks we use Java", "quoted | we | use | Java"),
        ("We should pin `numpy` to 1.26", "wished | numpy | pin to | 1.26"),
        ("I'd rather use Postgres.", "wished | I | use | Postgres"),
        ("I want my son to learn chess.", "wished | my son | learn | chess"),
        ("I'd want the whole frame replaced.", "wished | the whole frame | be | replaced"),
        ("It'd be great if the app spoke MQTT.", "wished | the app | speak | MQTT"),
        ("If only we had a garden", "wished | we | have | garden"),
        ("I hope the landlord fixes the heating", "wished | the landlord | fix | heating"),
        ("I can't wait to see Iceland", "wished | I | see | Iceland"),
        ("We might try `pnpm` one of these days", "hypothetical | We | try | pnpm"),
        ("Maybe the key is wrong.", "hypothetical | the key | be | wrong"),
        ("What if the cache lived in Redis?", "hypothetical | the cache | live in | Redis"),
        ("In case it rains, we take the bus", "hypothetical | we | take | bus"),
        ("We're considering Rust.", "hypothetical | We | consider | Rust"),
        ("I thought the port was 8080", "hypothetical | the port | be | 8080"),
        ("I'll port the CLI to Go next sprint", "planned | the CLI | port to | Go"),
        ("We won't ship the installer", "planned not | We | ship | installer"),
        ("I'm going to paint the fence", "planned | I | paint | fence"),
        ("The tests are due to move to Buildkite", "planned | The tests | move to | Buildkite"),
        ("Lena is flying to Oslo tomorrow.", "planned | Lena | fly to | Oslo"),
        ("The plumber is coming on Tuesday", "planned | The plumber | come on | Tuesday"),
        ("As of Monday we require signed commits", "planned | we | require | signed commits"),
        ("For now the database is a copy", "temporary | the database | be | copy"),
        ("I'm on call this week", "temporary | I | on | call"),
        ("We share an office until the flat is ready", "temporary | We | share | office"),
        ("Until we find somebody, Femi runs the guild", "temporary | Femi | run | guild"),
        ("At the moment I drive my brother's car", "temporary | I | drive | my brother's car"),
        ("We stopped using Slack", "ended | We | use | Slack"),
        ("I gave up coffee.", "ended | I | give up | coffee"),
        ("We've dropped support for Safari 13", "ended | We | drop support for | Safari 13"),
        ("He isn't vegetarian any more", "ended | He | be | vegetarian"),
        ("We've moved off Heroku", "ended | We | move off | Heroku"),
        ("I quit smoking two years ago", "ended | I | quit | smoking"),
        ("I used to be a teacher", "past | I | be | teacher"),
        ("The old office was in Linz.", "past | The old office | in | Linz"),
        ("Back then we ran everything on a single dyno", "past | we | run everything on | single dyno"),
        ("As a kid I was scared of dogs", "past | I | scare of | dogs"),
        ("We used Bitbucket until 2023", "past | We | use | Bitbucket"),
        ("Lukas was born on 4 July 2019.", "asserted | Lukas | bear on | 4 July 2019"),
        ("I bought a bike", "asserted | I | buy | bike"),
        ("I think the answer is 42.", "asserted | the answer | be | 42"),
        ("I'm sure the key expires in May.", "asserted | the key | expire in | May"),
        ("Note that the API returns XML", "asserted | the API | return | XML"),
        ("Nobody in our house likes coriander.", "asserted not | Nobody in our house | like | coriander"),
        ("I can't stand raw fish", "asserted not | I | stand | raw fish"),
        ("There's no lift in our building", "asserted not | our building | have | lift"),
        ("I've never been to Asia", "asserted not | I | to | Asia"),
        ("The team said goodbye to Jira", "ended | The team | say goodbye to | Jira"),
        ("we kicked out Jira", "ended | we | kick out | Jira"),
        ("Jira is gone", "ended | Jira | be | gone"),
        ("Lukas has moved to Graz meanwhile, for love", "asserted | Lukas | move to | Graz"),
        ("While you're here: the demo is at noon", "asserted | the demo | at | noon"),
    ],
)
def test_a_clause_has_the_status_with_which_it_is_said(text: str, expected: str) -> None:
    assert said(text)[-1:] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "\n\n",
            "lgtm, thanks a lot 🙏",
            "Good morning! How are you?",
            "That's great",
            "It works now.",
            "I agree.",
        ),
        *("Run the tests again and paste me the last lines.", "Please add oat milk to the list", "Let's use tabs."),
        *(
            "could you rename that variable?",
            "Don't forget the milk.",
            "Where does the config live?",
            "Which editor is it?",
        ),
        *(
            "Priya told me to run the tests",
            "Make sure the port is open.",
            "shall we leave it there",
            "I have a question.",
        ),
        *("```\nx is 1\n```", "> the port is 8080", "    indented = is_code(1)", "| a | is b |", "$ make runs it"),
        *('Translate this into French: "My uncle lives in Lyon."', "you're on the right track", "Ich wohne in Graz."),
        *("Let me know if you need a hand.", "Looking forward to it", "you", "is", "and", "'s", "to", "was not"),
    ],
)
def test_commands_courtesies_and_code_state_nothing(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "expected", "replaces"),
    [
        ("We moved the service from MySQL to Postgres", ["ended MySQL", "asserted Postgres"], [None, 0]),
        ("We switched to pnpm from npm", ["asserted pnpm", "ended npm"], [1, None]),
        ("We replaced Redis with Valkey.", ["ended Redis", "asserted Valkey"], [None, 0]),
        ("We swapped the boiler for a heat pump", ["ended boiler", "asserted heat pump"], [None, 0]),
        ("Derby has made way for Oracle 23", ["ended Derby", "asserted Oracle 23"], [None, 0]),
        ("Redis was replaced by Valkey", ["ended Redis", "asserted Valkey"], [None, 0]),
        ("Valkey has taken the place of Redis", ["ended Redis", "asserted Valkey"], [None, 0]),
        ("uv replaced Poetry", ["ended Poetry", "asserted uv"], [None, 0]),
        ("I renamed develop to stable", ["ended develop", "asserted stable"], [None, 0]),
        ("The plumber replaced the tap", ["asserted tap"], [None]),
        ("She left Siemens for a start-up.", ["ended Siemens", "asserted start-up"], [None, 0]),
        ("Our CI runs on GitHub instead of Jenkins", ["asserted GitHub", "asserted not Jenkins"], [1, None]),
        ("no, it's 8080, not 8000", ["asserted 8080", "asserted not 8000"], [1, None]),
        ("Our retention isn't 30 days, it's 14.", ["asserted not 30 days", "asserted 14"], [None, 0]),
        ("Our bank used to be ING, now it's N26.", ["past ING", "asserted N26"], [None, 0]),
        ("I thought the port was 1, but it's 2", ["asserted not 1", "asserted 2"], [None, 0]),
        ("The rent went from 900 to 980 euros", ["ended 900", "asserted 980 euros"], [None, 0]),
        ("Yes. We moved from A to B", ["ended A", "asserted B"], [None, 0]),
        ("I'll switch from npm to pnpm", ["planned npm", "planned pnpm"], [None, 0]),
        ("We used vim. We use tea", ["past vim", "asserted tea"], [None, None]),
    ],
)
def test_an_old_and_a_new_value_are_paired(text: str, expected: list[str], replaces: list[int | None]) -> None:
    found = statements(text, None, SAID_ON)
    assert [f"{one.modality}{' not' if one.negative else ''} {one.value}" for one in found] == expected
    assert [one.replaces for one in found] == replaces


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm in Lisbon until 2 Nov", ["..2025-11-02"]),
        ("We've been on Terraform 1.7 since Monday", ["2025-06-16.."]),
        ("From next week the standup is at 9:15.", ["2025-06-23.."]),
        ("The offer is valid through Friday", ["..2025-06-21"]),
        ("This week Ann covers the rota and I do the mail", ["2025-06-16..2025-06-23", ".."]),
        ("Her mail goes to Jonas for the next 3 weeks", ["2025-06-18..2025-07-09"]),
        ("We ran a mail server from 2016 to 2020", ["2016-01-01..2021-01-01"]),
        ("We used Bitbucket until March", ["..2025-03-01"]),
        ("My lesson moved from Tuesday to Thursday", ["..", ".."]),
        ("The lease ends on 31 August", [".."]),
    ],
)
def test_days_are_told_where_the_clause_tells_them(text: str, expected: list[str]) -> None:
    assert days(text) == expected


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("I have a cello", [True]),
        ("I also have a cello", [False]),
        ("I have a cello, too", [False]),
        ("I have another cello", [False]),
        ("We use Rust as well", [False]),
        ("We use Rust and Go", [False, False]),
        ("The parser handles both JSON and YAML.", [False, False]),
        ("I use Rust and Ann uses Go", [True, True]),
        ("The tests are too slow", [True]),
    ],
)
def test_a_value_stands_alone_unless_the_words_put_it_beside_others(text: str, alone: list[bool]) -> None:
    assert [one.single for one in statements(text, None, SAID_ON)] == alone


def test_the_speaker_and_the_rule_are_handed_on() -> None:
    one = statements("I might move to Bern", "Ines", SAID_ON)[0]
    assert (one.speaker, one.rule) == ("Ines", "might")


def test_no_more_than_the_first_characters_are_looked_at() -> None:
    assert not said("x" * MAX_CHARS + ". I live in Bern.")


def check(text: str, one: Statement, count: int) -> None:
    assert text[one.start : one.end] == one.value
    assert one.value.strip() == one.value != ""
    assert 0 <= one.clause_start <= one.start < one.end <= one.clause_end <= len(text)
    assert one.modality in MODALITIES
    assert one.subject in text
    assert one.replaces is None or 0 <= one.replaces < count
    assert one.holds_from is None or one.holds_to is None or one.holds_from < one.holds_to


@given(st.one_of(ANYTHING, TURNS), st.dates())
@example("", date.min)
@example("\ud800 is \udfff until today", date.max)
@example("It's from 31 June to 9999-12-31 until the end of 0000-00", date.max)
@example("İt uses İstanbul", SAID_ON)
def test_values_are_cut_out_of_the_text_and_nothing_is_raised(text: str, said_on: date) -> None:
    found = statements(text, None, said_on)
    for one in found:
        check(text, one, len(found))


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_ends_soon(piece: str) -> None:
    text = piece * (MAX_CHARS // len(piece))
    began = time.perf_counter()
    statements(text, None, SAID_ON)
    assert time.perf_counter() - began < 3  # some milliseconds, on a machine that is not busy


def test_the_labelled_turns_are_read_as_well_as_they_were() -> None:
    measured = measure_statements(LABELS)
    rows = [row for row in measured if row["what"] == "statements" and row["of"] == "statements"]
    least = {
        "odd": {"f1": 0.97, "exact_value_f1": 0.95, "modality": 0.98, "asserted_precision": 0.98, "holds": 0.98},
        "even": {"f1": 0.80, "exact_value_f1": 0.73, "modality": 0.93, "asserted_precision": 0.91, "holds": 0.97},
    }
    for row in rows:
        for name, floor in least[row["half"]].items():
            assert row[name] >= floor, (row["half"], name)
    goals = [row for row in measured if row["what"] == "statements, goals"]
    assert [row["met"] for row in goals] == [True] * 3
    triples = [row for row in measured if row["of"] == "competitor: triples"]
    assert [row["half"] for row in triples] == ["odd", "even"]
    assert all(row["f1"] < 0.5 for row in triples)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Database: postgres 16, on db.quay.example", [("Database", "be", "postgres 16")]),
        ("- Port: 8000", [("Port", "be", "8000")]),
        ("**Cache**: Redis (two of them)", [("Cache", "be", "Redis")]),
        ("Our package manager: pnpm, never npm", [("Our package manager", "be", "pnpm")]),
        ("Stack: Python and Postgres", []),  # a stack has many
        ("Port: the parser to Rust", []),
        ("Cache: off", []),
        ("Timeout: should we raise it?", []),
        ("Database: " + "Postgres " * 9, []),
    ],
)
def test_a_label_of_what_has_one_value_states_it(text: str, stated: list[tuple[str, str, str]]) -> None:
    found = statements(text, None, SAID_ON)
    assert [(one.subject, one.relation, one.value) for one in found] == stated
    assert all(one.modality == "asserted" for one in found)
