"""Portuguese."""

from mnemic.algorithms.text.languages.language import DateWords, Language

_STOP_WORDS = """
o a os as um uma uns umas este esta isto estes estas esse essa isso esses essas aquele aquela aquilo aqueles aquelas
cada algum alguma alguns algumas ambos todo toda todos todas mesmo mesma mesmos mesmas outro outra outros outras eu me
mim meu minha meus minhas tu te ti teu tua teus tuas você vocês vc ele ela eles elas lhe lhes se si seu sua seus suas
dele dela deles delas nós nos nosso nossa nossos nossas comigo contigo conosco que quê qual quais quem quando onde
aonde como quanto quanta quantos quantas por porque porquê pra para sou és é somos são era eram fui foi fomos foram
sido sendo ser seja sejam estou está estamos estão estava estavam esteve estiveram estar estado tenho tem temos têm
tinha tinham teve tiveram ter tido havia há houve haver pode podem posso podia podiam poderia pôde poder deve devem
devia vai vou vão vamos ia iam fazer faz fez fazem fizeram fazia feito de do da dos das em no na nos nas num numa ao à
aos às pelo pela pelos pelas com contra desde durante entre até sem sobre sob após e ou nem mas se embora enquanto
pois não sim também muito mais menos já aqui aí ali lá tão tanto
"""

_DATES = DateWords(
    months={
        "janeiro": 1,
        "fevereiro": 2,
        "março": 3,
        "abril": 4,
        "maio": 5,
        "junho": 6,
        "julho": 7,
        "agosto": 8,
        "setembro": 9,
        "outubro": 10,
        "novembro": 11,
        "dezembro": 12,
    },
    month_prepositions="(?:em|de|durante|passado|este|neste) ",
    bounds="(?:desde|até|a partir)(?: o| ao| dia| início| meados| fim| de| do)*",
    dates=(
        r"{day}/{number}/{year}",
        r"{day}[º°]?(?: de)? {month}(?:,? (?:de )?{year})?",
        r"{month},? (?:de )?{year}",
        r"{in}{month}",
        "{in}{year}",
    ),
    days_back={
        "anteontem": 2,
        "ontem": 1,
        "hoje": 0,
        "esta manhã": 0,
        "esta tarde": 0,
        "esta noite": 0,
    },
    counts={
        "um": 1,
        "uma": 1,
        "dois": 2,
        "duas": 2,
        "três": 3,
        "quatro": 4,
        "cinco": 5,
        "seis": 6,
        "sete": 7,
        "oito": 8,
        "nove": 9,
        "dez": 10,
        "onze": 11,
        "doze": 12,
    },
    units={
        "dia": "day",
        "semana": "week",
        "mês": "month",
        "ano": "year",
        "dias": "day",
        "semanas": "week",
        "meses": "month",
        "anos": "year",
    },
    spans={
        "semana": "week",
        "fim de semana": "weekend",
        "fim-de-semana": "weekend",
        "mês": "month",
        "ano": "year",
    },
    ago=("(?:há|faz) {count} {unit}", "{count} {unit} atrás"),
    this=("n?est[ea] {span}",),
    last=("{span} passad[oa]", "(?:último|última|passado|passada) {span}"),
    weekdays={
        "segunda-feira": 0,
        "terça-feira": 1,
        "quarta-feira": 2,
        "quinta-feira": 3,
        "sexta-feira": 4,
        "sábado": 5,
        "domingo": 6,
    },
    on_weekday=("(?:na|no|nesta|neste) {weekday}",),
    last_weekday=("{weekday} passad[oa]", "(?:último|última|passado|passada) {weekday}"),
)

PORTUGUESE = Language(
    code="pt",
    name="Portuguese",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="portuguese",
    letters="áâãàéêíóôõúç",
    dates=_DATES,
)
