"""French."""

from mnemic.algorithms.text.languages.language import DateWords, Language

_STOP_WORDS = """
le la les l un une des d du de au aux ce cet cette ces c ça cela ceci chaque quelque quelques tout toute tous toutes
même mêmes autre autres je j me m moi mon ma mes mien mienne tu te t toi ton ta tes tien tienne il elle on ils elles
lui leur leurs se s soi son sa ses sien sienne nous notre nos nôtre vous votre vos vôtre eux y en que qu qui quoi dont
où quel quelle quels quelles lequel laquelle lesquels lesquelles quand comment combien pourquoi est suis es sommes
êtes sont étais était étions étiez étaient fus fut furent été étant être sera serait soit ai as a avons avez ont avais
avait avions aviez avaient eu ayant avoir aura aurait fait faire font faisait peut peux peuvent pouvait pouvoir
pourrait doit dois doivent devait devoir va vais vont allait à dans par pour sur sous avec sans chez entre vers
pendant durant depuis jusqu jusque contre et ou mais donc or ni car si puis alors parce comme ne n pas non oui aussi
très trop plus moins déjà ici là
"""

_DATES = DateWords(
    months={
        "janvier": 1,
        "février": 2,
        "mars": 3,
        "avril": 4,
        "mai": 5,
        "juin": 6,
        "juillet": 7,
        "août": 8,
        "septembre": 9,
        "octobre": 10,
        "novembre": 11,
        "décembre": 12,
    },
    month_prepositions="(?:(?:en|de|début|mi|fin|courant|pendant)[ -]|d['’])",
    bounds="(?:depuis|jusqu['’](?:au|à)?|dès|à partir)(?: le| début| fin| de| du)*",
    dates=(
        r"{day}/{number}/{year}",
        r"{day}(?:er)? {month}(?:,? {year})?",
        r"{month},? {year}",
        r"{in}{month}",
        "{in}{year}",
    ),
    days_back={
        "avant-hier": 2,
        "hier": 1,
        "aujourd'hui": 0,
        "aujourd’hui": 0,
        "ce matin": 0,
        "ce soir": 0,
        "cet après-midi": 0,
    },
    counts={
        "un": 1,
        "une": 1,
        "deux": 2,
        "trois": 3,
        "quatre": 4,
        "cinq": 5,
        "six": 6,
        "sept": 7,
        "huit": 8,
        "neuf": 9,
        "dix": 10,
        "onze": 11,
        "douze": 12,
    },
    units={
        "jour": "day",
        "semaine": "week",
        "mois": "month",
        "an": "year",
        "année": "year",
        "jours": "day",
        "semaines": "week",
        "ans": "year",
        "années": "year",
    },
    spans={
        "semaine": "week",
        "week-end": "weekend",
        "weekend": "weekend",
        "mois": "month",
        "an": "year",
        "année": "year",
    },
    ago=("il y a {count} {unit}",),
    this=("(?:ce|cet|cette) {span}",),
    last=("{span} (?:dernier|dernière|passé|passée)",),
    weekdays={
        "lundi": 0,
        "mardi": 1,
        "mercredi": 2,
        "jeudi": 3,
        "vendredi": 4,
        "samedi": 5,
        "dimanche": 6,
    },
    on_weekday=("(?:le|ce) {weekday}",),
    last_weekday=("{weekday} (?:dernier|passé)",),
)

FRENCH = Language(
    code="fr",
    name="French",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="french",
    letters="àâçèéêëîïôùûœ",
    dates=_DATES,
)
