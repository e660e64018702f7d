"""German."""

from mnemic.algorithms.text.languages.language import DateWords, Language

_STOP_WORDS = """
der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser diese dieses
diesen diesem jener jene jenes jeder jede jedes jeden jedem alle allen aller alles beide beiden solche solcher selbst
selber andere anderen anderer anderes ich mich mir mein meine meinen meinem meiner meines du dich dir dein deine
deinen deinem deiner deines er ihn ihm sein seine seinen seinem seiner seines sie ihr ihre ihren ihrem ihrer ihres
ihnen es wir uns unser unsere unseren unserem unserer euch euer eure euren man sich wer wen wem wessen was welche
welcher welches welchen welchem wann wo wohin woher warum wieso weshalb wie wieviel wieviele wofür womit worüber woran
worauf wovon wozu wodurch bin bist ist sind seid war warst waren wart gewesen sei wäre wären habe hast hat haben habt
hatte hattest hatten gehabt hätte hätten werde wirst wird werden werdet wurde wurden worden geworden würde würden kann
kannst können könnt konnte konnten könnte könnten soll sollen sollte sollten muss musst müssen musste mussten darf
dürfen durfte will willst wollen wollte wollten mag möchte möchten tun tut tat getan gibt gab in im an am auf aus bei
beim mit nach von vom vor zu zum zur über unter für durch um ohne gegen zwischen während seit bis ab und oder aber
sondern denn wenn als ob dass weil damit obwohl nicht nein ja auch sehr nur noch schon doch so da dort hier dann
jemals mal eigentlich
"""

_DATES = DateWords(
    months={
        "januar": 1,
        "jänner": 1,
        "februar": 2,
        "feber": 2,
        "märz": 3,
        "maerz": 3,
        "april": 4,
        "mai": 5,
        "juni": 6,
        "juli": 7,
        "august": 8,
        "september": 9,
        "oktober": 10,
        "november": 11,
        "dezember": 12,
        "jan": 1,
        "feb": 2,
        "mär": 3,
        "apr": 4,
        "jun": 6,
        "jul": 7,
        "aug": 8,
        "sep": 9,
        "sept": 9,
        "okt": 10,
        "nov": 11,
        "dez": 12,
    },
    month_prepositions="(?:in|im|anfang|mitte|ende|während|letzten|vorigen|vergangenen|diesen|jahr)[ -]",
    bounds="(?:seit|bis|ab|von|vom)(?: dem| den| zum| anfang| mitte| ende| im)*",
    dates=(
        r"{day}\. ?{number}\. ?{year}",
        r"{day}\.? ?{month}(?:,? {year})?",
        r"{month},? {year}",
        r"{in}{month}",
        "{in}{year}",
    ),
    days_back={"vorgestern": 2, "gestern": 1, "letzte nacht": 1, "heute": 0},
    counts={
        "ein": 1,
        "eine": 1,
        "einem": 1,
        "einer": 1,
        "zwei": 2,
        "drei": 3,
        "vier": 4,
        "fünf": 5,
        "sechs": 6,
        "sieben": 7,
        "acht": 8,
        "neun": 9,
        "zehn": 10,
        "elf": 11,
        "zwölf": 12,
    },
    units={
        "tag": "day",
        "woche": "week",
        "monat": "month",
        "jahr": "year",
        "tagen": "day",
        "wochen": "week",
        "monaten": "month",
        "jahren": "year",
    },
    spans={"woche": "week", "wochenende": "weekend", "monat": "month", "jahr": "year"},
    ago=("vor {count} {unit}",),
    this=("diese[nmrs]? {span}",),
    last=("(?:letzte|vorige|vergangene)[nmrs]? {span}",),
    weekdays={
        "montag": 0,
        "dienstag": 1,
        "mittwoch": 2,
        "donnerstag": 3,
        "freitag": 4,
        "samstag": 5,
        "sonnabend": 5,
        "sonntag": 6,
    },
    on_weekday=("am {weekday}",),
    last_weekday=("(?:letzten|vorigen|vergangenen) {weekday}",),
)

GERMAN = Language(
    code="de",
    name="German",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="german",
    letters="äöü",
    capital_nouns=True,
    dates=_DATES,
)
