"""Thai."""

from mnemic.algorithms.text.languages.language import Language

_STOP_WORDS = """
อะไร ใคร ที่ไหน ไหน เมื่อไหร่ เมื่อไร ทำไม อย่างไร ยังไง เท่าไหร่ เท่าไร กี่ ไหม หรือไม่ หรือเปล่า ครับ ค่ะ คะ
"""

THAI = Language(code="th", name="Thai", stop_words=frozenset(_STOP_WORDS.split()))
