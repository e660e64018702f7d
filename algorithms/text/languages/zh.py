"""Chinese, simplified and traditional."""

from mnemic.algorithms.text.languages.language import Language

_STOP_WORDS = """
什么时候 什麼時候 为什么 為什麼 什么 什麼 怎么样 怎麼樣 怎么 怎麼 怎样 怎樣 哪里 哪裡 哪儿 哪個 哪个
哪些 哪家 哪天 哪一 多少 多久 几个 幾個 几点 幾點 是谁 是誰 谁 誰 吗 嗎 呢 我们 我們 你们 你們 他们
他們 她们 她們
"""

CHINESE = Language(code="zh", name="Chinese", stop_words=frozenset(_STOP_WORDS.split()))
