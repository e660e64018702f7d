"""Japanese."""

from mnemic.algorithms.text.languages.language import Language

_STOP_WORDS = """
いつ どこ だれ なに なぜ どう どの どれ どんな どちら いくら いくつ いる ある です でした ますか ました
ましたか でしたか ですか していた している した する という について は が を に で と も の へ や か
から まで より
"""

JAPANESE = Language(code="ja", name="Japanese", stop_words=frozenset(_STOP_WORDS.split()))
