"""English."""

from mnemic.algorithms.text.languages.language import DateWords, Language

_STOP_WORDS = """
a an the this that these those some any each every either neither both all such same other another i me my mine myself
you your yours yourself yourselves he him his himself she her hers herself it its itself we us our ours ourselves they
them their theirs themselves one ones what which who whom whose when where why how am is are was were be been being do
does did doing done has have had having can could will would shall should may might must ought s t d m ll re ve don
didn doesn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn ain of in on at by for from to into onto with
without about as between through during until upon within per and or but nor if then than so because while though
although whether not no yes also too very just there here ever
"""
_HOMOGRAPHS = """
die war hat man bin mit mag mal gab tat den des das ab ob er es sie mich kein worden damit dir seine dance
el la las los le les de del me mi tu su son sin sea fin con ante era eras ser sera mas he has solo ya yo te todo otro os
con sobre sino fui para pa
plus car pour comment dans sur tout ton son mes ma pas est sont ni une eu par sale font suis qui aura
com sob fora ate tem ha sua via faz vai da em ela ele eu um uma
"""

_DATES = DateWords(
    months={
        "january": 1,
        "february": 2,
        "march": 3,
        "april": 4,
        "may": 5,
        "june": 6,
        "july": 7,
        "august": 8,
        "september": 9,
        "october": 10,
        "november": 11,
        "december": 12,
        "jan": 1,
        "feb": 2,
        "mar": 3,
        "apr": 4,
        "jun": 6,
        "jul": 7,
        "aug": 8,
        "sep": 9,
        "sept": 9,
        "oct": 10,
        "nov": 11,
        "dec": 12,
    },
    also_words=frozenset({"may", "march", "mar"}),
    month_prepositions="(?:in|of|during|last|this|early|late|mid)[ -]",
    month_parts={
        "early": (1, 10),
        "beginning of": (1, 10),
        "start of": (1, 10),
        "mid": (11, 20),
        "middle of": (11, 20),
        "late": (21, 31),
        "end of": (21, 31),
    },
    bounds="(?:since|until|till|from)(?: the| early| late)*",
    dates=(
        r"{day}(?:st|nd|rd|th)?\b (?:of )?{month}(?:,? {year})?",
        r"{month} {day}(?:st|nd|rd|th)?\b(?![:.]\d)(?:,? {year})?",
        r"{month},? (?:of )?{year}",
        r"{in}{month}",
        "{in}{year}",
    ),
    days_back={
        "the day before yesterday": 2,
        "yesterday": 1,
        "last night": 1,
        "today": 0,
        "tonight": 0,
        "this morning": 0,
        "this afternoon": 0,
        "this evening": 0,
    },
    counts={
        "a": 1,
        "an": 1,
        "one": 1,
        "two": 2,
        "a couple of": 2,
        "three": 3,
        "four": 4,
        "five": 5,
        "six": 6,
        "seven": 7,
        "eight": 8,
        "nine": 9,
        "ten": 10,
        "eleven": 11,
        "twelve": 12,
    },
    units={
        "day": "day",
        "week": "week",
        "month": "month",
        "year": "year",
        "days": "day",
        "weeks": "week",
        "months": "month",
        "years": "year",
    },
    spans={"week": "week", "weekend": "weekend", "month": "month", "year": "year"},
    ago=("{count} {unit} ago",),
    this=("this(?: past)? {span}",),
    last=("last(?: past)? {span}",),
    weekdays={
        "monday": 0,
        "tuesday": 1,
        "wednesday": 2,
        "thursday": 3,
        "friday": 4,
        "saturday": 5,
        "sunday": 6,
    },
    on_weekday=("on {weekday}",),
    last_weekday=("(?:last|this past) {weekday}",),
)

ENGLISH = Language(
    code="en",
    name="English",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="english",
    homographs=frozenset(_HOMOGRAPHS.split()),
    dates=_DATES,
)
