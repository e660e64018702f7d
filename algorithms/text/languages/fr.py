"""French."""

from mnemic.algorithms.text.languages.language import Language

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

FRENCH = Language(
    code="fr",
    name="French",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="french",
    letters="àâçèéêëîïôùûœ",
)
