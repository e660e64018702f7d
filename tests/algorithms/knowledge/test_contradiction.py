"""What cannot both hold is replaced where a word of change tells it, else asked about; what may is left alone."""

from __future__ import annotations

import pytest

from mnemic.algorithms.knowledge.contradiction import kind_slot
from tests.algorithms.knowledge.test_replacement import best, read

ASKED = (
    ("I live in Bologna.", "I live in Ghent."),
    ("Our database is Postgres.", "Our database is MySQL."),
    ("The dev server runs on port 3000.", "The dev server runs on port 3400."),
    ("My email is ines@pier.example", "My email is ines@quay.example"),
    ("I work at Nordnet.", "I work at Windhof."),
    ("Our package manager is npm.", "our package manager is pnpm"),
    ("The prod host is web1.", "The production host is web3."),
    ("The session lasts 24 hours.", "The session lasts 30 minutes."),
    ("The order cutoff is 18:00.", "The order cutoff is 20:00."),
    ("The rate limit is 100 per minute.", "Note: the rate limit is 250 per minute."),
    ("We are on Node 18.", "We are on Node 20."),
    ("The linter is eslint.", "The linter is biome."),
    ("Anouk is the maintainer.", "Bela is the maintainer."),
    ("Deploys go through Jenkins.", "Deploys go through GitHub Actions."),
    ("My favourite editor is Vim.", "My favourite editor is Helix."),
    ("I prefer tabs.", "I prefer spaces."),
    ("Tests run with jest.", "Tests run with vitest."),
    ("Decision: we use Mongo.", "Decision: we use Postgres."),
    ("We host in eu-west-1.", "We host in eu-central-1."),
    ("We use sqlite.", "Our database is Postgres."),
    ("The tests use Mocha.", "The tests don't use Mocha."),
    ("The tests don't use Mocha.", "The tests use Mocha."),
    ("We deploy with Docker.", "We don't deploy with Docker."),
    ("We use Elixir", "We switched to Rust"),  # and may keep both
    ("We're using Elixir.", "We've switched to Rust."),
    ("We use Postgres and Redis.", "We switched to MySQL."),
    ("Our language is Elixir.", "Our language is Rust."),
    ("I live in Ghent.", "I live in Kortrijk."),
    ("I live in France.", "I live in Spain."),
    ("our database is postgres 16, on db.quay.example", "our database is MySQL"),
    ("The db is postgres 16, running on db.quay.example", "The db is MySQL"),
    ("We use Postgres 16, hosted on db.quay.example.", "Our database is MySQL."),
    ("Database: postgres 16, on db.quay.example", "Database: MySQL"),
    ("- Port: 8000", "Note: the port is 9000"),
    ("My main language is Elixir, with some Lua.", "My main language is Rust."),
    ("My birthday is on 3 May.", "My birthday is on 4 May."),
    ("Our database is Postgres, port 5432.", "Our database is MySQL, port 3306."),
    ("Our database is Postgres (version 16).", "Our database is MySQL (version 8)."),
    ("Our port is 8080, on web1.", "Our port is 8081."),
    ("Timeout: 30 s for the queue", "Timeout: 10 s for the queue"),
    ("Language: German", "Language: French"),
)
REPLACED = (
    ("We use Redis for the queue.", "We don't use Redis any more."),
    ("the database is sqlite", "from now on Postgres"),
    ("the database is sqlite", "Postgres from now on, not sqlite."),
    ("the database is sqlite", "our database is Postgres now"),
    ("the database is sqlite", "it's Postgres now"),
    ("the database is sqlite", "Long day. We moved to Postgres. Lunch was late."),
    ("We use npm.", "We switched to pnpm."),
    ("I live in Ghent.", "I moved: I now live in France."),
    ("I live in Ghent.", "I have moved to France."),
    ("We deploy to Belgium.", "From now on we deploy to Dublin."),
    ("Port: 8000 in staging", "Port: 8100 in staging now"),
    ("We use npm.", "We use pnpm now."),
    ("dev server is on port 3000", "dev server is on 3400 now"),
    ("We're on npm", "We've switched to pnpm"),
    ("We host on AWS.", "We migrated to GCP."),
    ("Cache: Redis", "the cache is Valkey now"),
    ("We use Redis.", "redis is deprecated"),
    ("We use Redis for caching.", "Redis is obsolete, use Valkey."),
    ("We use Redis for caching.", "Redis is history."),
    ("The API is hosted on Heroku.", "We moved from Heroku to Fly last week, the tests are green, and Jonas is back."),
    ("Make the lease last 24 hours. People come late.", "The lease lasts 30 minutes of idling from now on."),
)
NEITHER = (
    ("We use npm.", "We use pnpm."),  # many values
    ("I like hiking.", "I like chess."),
    ("I have a dog.", "I have a cat."),
    ("we use Redis for the queue", "we use Valkey for the cache"),
    ("We use Postgres.", "We use Redis now."),  # two kinds
    ("The build is slow.", "The build is green."),
    ("Our database is slow.", "Our database is Postgres."),
    ("The staging server runs on port 4010.", "The production server runs on port 4000."),
    ("The server runs on port 4010 in staging.", "The server runs on port 4000 in production."),
    ("Staging: the port is 4010.", "Production: the port is 4000 now."),
    ("On weekdays the limit is 5.", "On weekends the limit is 9."),
    ("Anouk's editor is Vim.", "Bela's editor is Helix."),
    ("Our database is Postgres.", "Our database is Postgres 17."),
    ("Our database is Postgres.", "Should our database be MySQL?"),
    ("Our database is Postgres.", "Our database will be MySQL."),
    ("Our database is Postgres.", 'Bela wrote: "our database is MySQL"'),
    ("Our database is Postgres.", "From now on Postgres."),
    ("The tests use sqlite.", "Our database is Postgres."),
    ("Nadia lives in Lyon.", "We moved from Lyon to Paris."),
    ("the session lasts 30 minutes", "the limit is 30 requests"),
    ("I live in Ghent.", "I live in Belgium."),  # one lies in the other
    ("I live in Belgium.", "I live in Ghent."),
    ("I live in Belgium.", "I live in Europe."),
    ("We use Elixir for the backend.", "We switched to Rust for the hook."),
    ("We use Postgres and MySQL.", "We switched to SQLite."),
    ("We use Elixir.", "We switched to Postgres."),
    ("Redis for the queue", "Cache: Valkey"),
    ("The timeout is 60 seconds.", "The timeout is 1 minute."),
    ("The limit is 1000.", "The limit is 1,000."),
    ("The limit is 1024 MB.", "The limit is 1 GB."),
    ("Staging port: 4010", "Port: 4000"),
    ("I live in Ghent.", "I still live in Belgium."),
    ("Timeout: 30 s for the queue", "Timeout: 10 s for the API"),
    ("Port: 8000 in staging", "Port: 9000 in production"),
    ("Language: German", "Language: Python"),
    ("language: german", "language: python"),
    ("package manager: npm", "package manager: uv"),
    ("I bought a car. It's German.", "I bought a bike. It's French."),
    ("Our database is Postgres (on laptops).", "Our database is SQLite (on phones)."),
    ("Our database is Postgres (on laptops).", "Our database is SQLite."),
    ("Our port is 8080, with TLS.", "Our port is 8081, with plain HTTP."),
    ("Our port is 8080, on web1.", "Our port is 8081, on web2."),
    ("Our database is Postgres, at the customers' sites.", "Our database is SQLite, at home."),
    ("The timeout is 350 ms.", "The timeout is 0.35 s."),
    ("Database: should we move to MySQL?", "Database: Postgres"),
)


@pytest.mark.parametrize(("older", "newer"), ASKED)
def test_two_values_of_what_has_one_at_a_time_are_asked_about(older: str, newer: str) -> None:
    found = best(older, newer)
    assert found is not None
    assert found.verdict == "conflict"


@pytest.mark.parametrize(("older", "newer"), REPLACED)
def test_a_word_of_change_replaces_what_was_said_before(older: str, newer: str) -> None:
    found = best(older, newer)
    assert found is not None
    assert found.verdict == "replaced"


@pytest.mark.parametrize(("older", "newer"), NEITHER)
def test_what_may_hold_beside_another_contradicts_nothing(older: str, newer: str) -> None:
    assert best(older, newer) is None


def test_what_one_says_of_his_own_contradicts_nothing_of_another_speaker() -> None:
    texts = "My editor is Vim.", "My editor is Helix."
    assert best(*texts, speakers=("ines", "ines")) is not None
    assert best(*texts, speakers=("ines", "bela")) is None


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("our database is Postgres 17", "database"),
        ("we moved to Postgres", "database"),
        ("from now on Postgres", "database"),
        ("we don't use Postgres", ""),
        ("we will use Postgres", ""),
        ("the tests use Postgres", ""),
        ("we use Redis", ""),  # a cache, or a queue
    ],
)
def test_a_well_known_name_tells_whose_place_it_fills(text: str, noun: str) -> None:
    assert kind_slot(read(text, 1)[0]) == noun
