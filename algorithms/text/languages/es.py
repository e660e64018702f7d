"""Spanish."""

from mnemic.algorithms.text.languages.language import DateWords, Language

_STOP_WORDS = """
el la los las lo un una unos unas este esta esto estos estas ese esa eso esos esas aquel aquella aquello aquellos
aquellas cada algún alguno alguna algunos algunas ambos todo toda todos todas mismo misma mismos mismas otro otra
otros otras yo me mi mí mis mío mía míos mías tú te ti tu tus tuyo tuya tuyos tuyas usted ustedes él ella ello ellos
ellas le les se su sus suyo suya suyos suyas nosotros nosotras nos nuestro nuestra nuestros nuestras vosotros vosotras
os vuestro vuestra vuestros vuestras conmigo contigo consigo qué que cuál cuáles cual cuales quién quiénes quien
quienes cuándo cuando dónde donde adónde adonde cómo como cuánto cuánta cuántos cuántas cuanto cuanta cuantos cuantas
por porqué porque para soy eres es somos sois son era eras éramos eran fui fuiste fue fuimos fueron sido siendo ser
sea sean estoy estás está estamos estáis están estaba estabas estábamos estaban estuve estuvo estuvimos estuvieron
estar estado estando he has ha hemos habéis han había habías habíamos habían hubo haber habido hay haya puede pueden
puedo puedes podía podían podría pudo poder debe deben debo debía hace hago hacen hacía hizo hicimos hicieron hacer
hecho de del al a ante con contra desde durante en entre hacia hasta según sin sobre tras y e o u ni pero sino si
aunque mientras pues no sí también tampoco muy más menos ya aquí ahí allí allá tan tanto
"""

_DATES = DateWords(
    months={
        "enero": 1,
        "febrero": 2,
        "marzo": 3,
        "abril": 4,
        "mayo": 5,
        "junio": 6,
        "julio": 7,
        "agosto": 8,
        "septiembre": 9,
        "setiembre": 9,
        "octubre": 10,
        "noviembre": 11,
        "diciembre": 12,
    },
    month_prepositions="(?:en|de|durante|pasado|este) ",
    bounds="(?:desde|hasta|a partir)(?: el| principios| mediados| finales| de| del)*",
    dates=(
        r"{day}/{number}/{year}",
        r"{day}[º°]?(?: de)? {month}(?:,? (?:del? )?{year})?",
        r"{month},? (?:del? )?{year}",
        r"{in}{month}",
        "{in}{year}",
    ),
    days_back={
        "anteayer": 2,
        "antier": 2,
        "antes de ayer": 2,
        "ayer": 1,
        "anoche": 1,
        "hoy": 0,
        "esta mañana": 0,
        "esta tarde": 0,
        "esta noche": 0,
    },
    counts={
        "un": 1,
        "una": 1,
        "dos": 2,
        "un par de": 2,
        "tres": 3,
        "cuatro": 4,
        "cinco": 5,
        "seis": 6,
        "siete": 7,
        "ocho": 8,
        "nueve": 9,
        "diez": 10,
        "once": 11,
        "doce": 12,
    },
    units={
        "día": "day",
        "semana": "week",
        "mes": "month",
        "año": "year",
        "días": "day",
        "semanas": "week",
        "meses": "month",
        "años": "year",
    },
    spans={"semana": "week", "fin de semana": "weekend", "mes": "month", "año": "year"},
    ago=("hace {count} {unit}", "{count} {unit} atrás"),
    this=("est[ea] {span}",),
    last=("{span} pasad[oa]", "(?:último|última|pasado|pasada) {span}"),
    weekdays={
        "lunes": 0,
        "martes": 1,
        "miércoles": 2,
        "jueves": 3,
        "viernes": 4,
        "sábado": 5,
        "domingo": 6,
    },
    on_weekday=("(?:el|este) {weekday}",),
    last_weekday=("{weekday} pasado", "pasado {weekday}"),
)

SPANISH = Language(
    code="es",
    name="Spanish",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="spanish",
    letters="áéíóúñ",
    dates=_DATES,
)
