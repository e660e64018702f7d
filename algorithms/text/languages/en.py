"""English."""

from mnemic.algorithms.text.languages.language import Language

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

ENGLISH = Language(
    code="en",
    name="English",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="english",
    homographs=frozenset(_HOMOGRAPHS.split()),
)
