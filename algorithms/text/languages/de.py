"""German."""

from mnemic.algorithms.text.languages.language import Language

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

GERMAN = Language(
    code="de",
    name="German",
    stop_words=frozenset(_STOP_WORDS.split()),
    stemmer="german",
    letters="äöü",
    capital_nouns=True,
)
