"""Spanish."""

from mnemic.algorithms.text.languages.language import Language

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

SPANISH = Language(
    code="es",
    name="Spanish",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="spanish",
    letters="áéíóúñ",
)
