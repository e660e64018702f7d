"""Portuguese."""

from mnemic.algorithms.text.languages.language import Language

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

PORTUGUESE = Language(
    code="pt",
    name="Portuguese",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="portuguese",
    letters="áâãàéêíóôõúç",
)
