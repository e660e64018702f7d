"""Tells of English nouns what they are of: a person, a service, a place; and which words with a capital are no names.

Above it stands `mnemic.algorithms.knowledge.entities.mentions`. The lists are closed and short on purpose: they hold
the nouns that are said with ``the``, ``our`` or ``my`` of one thing that is meant again later, and the names of tools
that everybody writes alike. A noun that is in no list tells no kind.
"""

from __future__ import annotations

from typing import Literal

from mnemic.algorithms.knowledge.extraction.sentences import CLOCK_WORDS, KINDS, word_set
from mnemic.algorithms.text.clauses import VAGUE_NOUNS
from mnemic.algorithms.text.keyphrases import LOW_CONTENT_WORDS, STOP_WORDS

Kind = Literal["person", "project", "service", "tool", "file", "place", "thing"]

_HEADS: dict[Kind, str] = {
    "person": """
        accountant admin architect aunt boss boyfriend brother builder client coach colleague contractor cousin coworker
        customer dad daughter dentist designer developer doctor ex father fiance fiancee flatmate friend gardener
        girlfriend grandad granddad granddaughter grandfather grandma grandmother grandpa grandson granny groom husband
        intern landlady landlord lawyer maintainer manager mentor mom mother mum neighbor neighbour nephew niece
        partner physio plumber postman professor recruiter roommate sister son stepson supervisor teacher tenant
        therapist trainer tutor uncle vet wife
    """,
    "project": "app application codebase frontend backend library package plugin product project website site",
    "service": """
        api backup broker bot cache cluster cron daemon database datastore db dashboard endpoint gateway microservice
        pipeline proxy queue registry scheduler server service webhook worker
    """,
    "tool": """
        cli compiler editor formatter framework ide linter orm parser printer router sdk shell terminal toolchain
    """,
    "file": "changelog config configuration dockerfile file makefile readme spreadsheet",
    "place": """
        apartment attic basement bathroom bedroom boathouse cabin cafe cellar church cottage farm flat garage garden gym
        harbor harbour hometown hospital hotel house kitchen lab library office shed studio village warehouse workshop
    """,
    "thing": """
        bicycle bike boat camera car cat company dog guitar kayak laptop motorbike notebook phone piano repo repository
        script tablet team trailer truck van violin
    """,
}
HEADS: dict[str, Kind] = {word: kind for kind, words in _HEADS.items() for word in words.split()}
"""Nouns to what they are of; ``library`` is of a place where nothing else tells."""
DEFINITE_HEADS = word_set(f"""
    {_HEADS["service"]} app application codebase frontend backend website cli laptop linter orm printer router changelog
    dockerfile makefile readme repo repository attic basement boathouse cellar flat garage shed workshop motorbike
    trailer van
""") - word_set("endpoint bot worker backup")
"""Those of which ``the`` alone means one that is meant again."""
KIN_NAMES = word_set("dad daddy grandad granddad grandma grandpa granny mom mommy mum mummy nana")
"""Nouns that are said of one's own without ``my``, as names are."""
CLASS_NOUNS: dict[str, Kind] = {
    **HEADS,
    **dict.fromkeys(word_set("lake river mount island street road avenue square park beach bay city town"), "place"),
    **dict.fromkeys(word_set("mr mrs dr prof professor captain uncle aunt aunty auntie"), "person"),
    **dict.fromkeys(word_set("framework language tool toolkit runtime engine extension"), "tool"),
    **dict.fromkeys(word_set("airport bar bridge cathedral college museum pub restaurant school university"), "place"),
    **dict.fromkeys(word_set("album band book brand club film movie newspaper novel show song"), "thing"),
}
"""Nouns that tell of a name beside them what it is of: ``Lake Como``, ``our designer Nadia``."""

TOOLS = word_set("""
    ansible aws azure bash clickhouse cmake css debian django docker dockerfile duckdb elasticsearch emacs eslint
    fastapi fedora ffmpeg figma firebase gcp git github gitlab gradle grafana graphql grpc html huggingface java
    javascript jenkins jira k8s kafka keras kotlin kubectl kubernetes langchain linux macos mariadb matplotlib minio
    mongo mongodb mypy mysql neovim nextjs nginx nodejs npm numpy nvim ollama opencv openssl perl php pip playwright
    pnpm podman postgres postgresql powershell prisma prometheus pydantic pylint pypi pytest python pytorch rabbitmq
    redis rsync ruff scala scipy selenium sqlalchemy sqlite sqlmodel supabase svelte systemd tailwind tensorflow
    terraform tmux tox typescript ubuntu vercel vim vite vitest vscode vue webpack zsh
""") - {"dockerfile"}
"""Names of tools that are no English words, or hardly: they count without a capital, but not at all as verbs."""
CAPITAL_TOOLS = TOOLS | word_set("""
    airflow android angular ant bun caddy cargo celery chrome cypress deno elixir excel express firefox flask go gulp
    haskell helm jest julia lisp linear maven mocha node notion nuxt pandas pants poetry react ruby rust safari sentry
    signal slack snowflake spring stripe svn swift windows yarn zig
""")
"""Those, and the ones that are English words: these count with a capital only."""

_NO_NAMES = word_set("""
    ad adhd ai am gb kb mb tb ghz mhz asap atm bc bce btw ceo cto diy dm eta faq fyi gdpr gmt hr id idk im imho imo irl
    lgbt lgbtq lmao lol nb nsfw ok omg ot pc pdf pm pov ps qa rip rsvp tba tbd tbh tgif tl tldr todo tv uk url usb ux
    vip wip xmas xoxo cest cet est pst utc xp christmas easter eve halloween hanukkah ramadan thanksgiving valentine
    valentine's jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun bless
    caveat congratulations damn god goodbye goodness gosh haha hahaha heaven hmm jeez mhm morning phew sir ugh whew woo
    xd yikes yo note summary example fixed done nb decision result update question answer proposal
""")
NOUNS_AT_START = word_set("""
    adoption alcohol anger animal animals anxiety apparently art autumn background bacon beauty bedtime beer blood bonus
    bread breakfast bug building business butter cake cash change cheese chicken childhood chocolate christmas city
    coffee communication community compassion confidence contact cooking courage creativity culture curiosity dad dance
    data death depression diet dinner documentation dream education email energy equality everyday evening exercise
    experience failure faith fame family fashion fear feedback fiction fire fish fitness food football freedom
    friendship fruit fun garden gas gender gold government grammar grass gratitude grief growth guilt hair happiness
    hardware hate health heart heat help history home homework honesty hope housework hunger ice identity imagination
    information insurance internet jazz journey joy justice kindness knowledge language laughter laundry leadership
    learning leather light logic loneliness love luck lunch luggage machine magic mail marketing marriage meat medicine
    meditation memory milk mindfulness money mud music nature news night noise nothing nutrition oil oxygen paint
    painting paper parking passion patience peace performance photography planning plastic poetry politics poverty power
    practice pressure pride privacy production progress proof quality rain reading reality recovery religion research
    respect rest rice routine safety salary salt school science security self sex shopping silence silver sky sleep snow
    software soil someone soup space speed spirit sport staging steel storage strength stress success sugar summer
    sunlight sunset sunshine support tea teamwork technology television thunder tiredness tonight traffic training
    transport travel trust truth unity variety water weather weight wildlife wine winter wisdom wood work yoga youth
    backup branch build cache cause client code column commit config constraint container coverage database deploy
    deployment disk encryption endpoint error everything failover folder function hash index key latency link load log
    login logging memory merge message migration monitoring network output password pipeline port problem proxy queue
    reason release replication repo request response retry rollback root schema script server service session sign-in
    start status syntax table test testing throughput ticket timeout token tooling type user validation value version
    worker activists basketball chef chess committee difficult disaster fantasy football injury meal pottery soccer
    sweet tennis tough advice boss brother camping clay colour color daughter dog cat bike boat car door father friend
    guest half husband hiking kid kayak limit mother neighbor neighbour nobody option part person phone plan sister son
    step wife chatter enrich equal mode recall structure tons twenty thirty forty fifty
""")
"""Nouns that stand at the start of a sentence without an article, and are no names there alone."""
ORDINARY = (
    STOP_WORDS | LOW_CONTENT_WORDS | VAGUE_NOUNS | CLOCK_WORDS | _NO_NAMES | KIN_NAMES | NOUNS_AT_START | KINDS.keys()
)
"""Words that are no names at the start of a sentence, where each has a capital."""
NO_NAMES = STOP_WORDS | LOW_CONTENT_WORDS | CLOCK_WORDS | _NO_NAMES | KIN_NAMES
"""Words that are no names with a capital anywhere."""
COMPANION_NOUNS: dict[str, Kind] = {
    **dict.fromkeys(word_set("api daemon gateway microservice service"), "service"),
    **dict.fromkeys(word_set("codebase project"), "project"),
    **dict.fromkeys(word_set("cli compiler framework language library linter orm sdk toolkit"), "tool"),
}
"""Nouns right after a name that tell of the name what it is, and not of a thing that belongs to it."""
LEADING_NOUNS = word_set("lake mount river")
"""Nouns that stand first in a name."""
PERSON_VERBS = word_set("""
    agreed agrees argued arrived asked asks believes bought calls complained cooked cooks drove emailed feels forgot
    grew hates insisted insists joined joins knows laughed likes lives loves married mentioned moved plays prefers
    promised rang reckons recommended replied replies said says sings sleeps smiled speaks studies studied suggested
    suggests swears swore teaches texted thinks thought told volunteers wants wonders wrote
""")
"""Verbs that are said of persons: what stands right before them is one."""
PERSONS_OWN = word_set(
    "birthday wedding funeral hair curls parents family flat couch apartment desk job salary fault idea"
)
"""What belongs to persons."""
TELLING_VERBS = word_set(
    "tell told ask asked meet met marry married call phoned rang thank thanks email texted hey hi dear"
)
"""Words after which a name is a person's."""
PLACE_CUES: dict[str, frozenset[str]] = {
    "in": word_set("live lives lived living based born staying stayed raised grew up settled office flat"),
    "to": word_set("move moves moved moving flew fly flying travel travelled traveled trip relocated drove drive"),
    "near": word_set("live lives lived living"),
    "from": word_set("moved flew"),
}
"""Words before a name of a place, each with one that stands before it."""
EXTENSIONS = word_set("""
    bak bat c cc cfg cjs clj cmake conf cpp cs css csv db dll dockerfile docx env ex exs gif go gz h hpp hs html ini
    ipynb java jpeg jpg js json jsonl jsx kt lock log lua md mjs mp3 mp4 parquet pdf php pl png proto ps1 py pyi pyx r
    rb rs rst scala sh sql sqlite sqlite3 svelte svg swift tar tf toml ts tsv tsx txt vue wasm webp xls xlsx xml yaml
    yml zip
""")
"""How the names of files end."""
FOLDERS = word_set("""
    app apps bench bin build config data dist docs etc examples home lib native packages public scripts shared src test
    tests tmp usr var
""")
"""What paths begin with."""
