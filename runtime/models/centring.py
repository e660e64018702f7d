"""Centre the vectors of a model, so that one scale of cosines serves every model.

Encoders trained with a low temperature (e5, bge, gte) put all texts into a narrow cone: unrelated texts have a cosine
of .7 and more, where the default model has about 0. Weights and thresholds of recall, communities and duplicates know
the default model's scale. The mean vector of unlike texts is the cone's axis. Less that mean, and of unit length again,
unlike texts have a cosine of about 0, like ones about that of the default model, and equal ones still 1. (Mu &
Viswanath 2018, "All-but-the-Top", https://arxiv.org/abs/1702.01417, remove the mean first.)

Questions have an axis of their own, by their prompt above all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STATEMENTS = (
    "The bakery on the corner opens at six.",
    "I moved the backups to the second disk last night.",
    "Our youngest has started to play the cello.",
    "The build fails because the linker cannot find zlib.",
    "Rain is expected in the mountains until Thursday.",
    "She paid the invoice in March and kept the receipt.",
    "Tomatoes need more water than I had thought.",
    "The train to Lyon was forty minutes late.",
    "We decided to use PostgreSQL for the orders.",
    "My knee hurts when I climb stairs.",
    "The museum shows early photographs of the harbour.",
    "A retry with exponential backoff solved the timeouts.",
    "He prefers tea without sugar.",
    "The lease ends in October and can be renewed once.",
    "Two of the tests are flaky on slow machines.",
    "Grandmother was born in a village near the border.",
    "The new keyboard has a key that sticks.",
    "They won the second half and lost the match.",
    "Please always write the commit message in English.",
    "The cat sleeps on the warm printer.",
    "Interest rates went up by a quarter of a percent.",
    "I read half of the novel on the flight.",
    "The API returns an empty list instead of an error.",
    "Our meeting with the architect is on the ninth.",
    "A pinch of salt makes the dough easier to knead.",
    "The password of the router is on the back of it.",
    "Nobody had told the drivers about the closed bridge.",
    "The telescope must be aligned before dusk.",
    "I felt nervous before the interview, and it went well.",
    "The cache is invalidated whenever a record changes.",
    "Her brother repairs old motorcycles in a barn.",
    "The vaccine has to be stored below eight degrees.",
    "We painted the kitchen yellow.",
    "The server in Frankfurt runs out of memory at noon.",
    "He speaks Portuguese and a little Greek.",
    "The choir practises on Mondays in the old school.",
    "A wolf was seen near the reservoir again.",
    "The function takes a path and gives back a digest.",
    "They are saving for a house by the lake.",
    "The bolt is too short for this bracket.",
    "I cancelled the subscription and they refunded me.",
    "The court postponed the hearing to the spring.",
    "Her glasses were under the sofa all the time.",
    "Port 8080 is taken by another process.",
    "The harvest was poor in the south of the valley.",
    "We met at a wedding eleven years ago.",
    "The second experiment confirmed the first.",
    "My son is allergic to peanuts.",
    "The elevator stops between the floors now and then.",
    "Type hints are checked in the pipeline from now on.",
    "The ferry carries cars and bicycles.",
    "I would rather walk than take the bus.",
    "The translation of the manual is nearly done.",
    "The old oak fell in the storm.",
    "Her team hired two designers this month.",
    "The parcel was left with the neighbours.",
)
"""Sentences of unlike subjects, as people and their assistants say them."""

QUESTIONS = (
    "Where did I put the spare key?",
    "Why does the login page load so slowly?",
    "When is the dentist's appointment?",
    "Which database did we choose for the shop?",
    "Who repaired the roof?",
    "How do I restart the worker without losing jobs?",
    "What did the doctor say about my back?",
    "How much did the tickets cost?",
    "What is the name of her dog?",
    "Which version of the library breaks the build?",
    "Where did they spend the summer?",
    "When did we last change the oil?",
    "What does he like for breakfast?",
    "Why was the release postponed?",
    "How was the error in the parser fixed?",
    "Who is going to the concert with us?",
    "What colour is the new bicycle?",
    "Which port does the proxy listen on?",
    "How long does the dough have to rest?",
    "What should I remember before I deploy?",
    "Where does Maria work now?",
    "When does the passport expire?",
    "What book did she recommend?",
    "How many people came to the party?",
    "Which tests are slow?",
    "What was decided about the garden fence?",
    "Who wrote the letter to the landlord?",
    "Why did the pump stop?",
    "What do we use to format the code?",
    "How did the interview go?",
    "Which school do the twins attend?",
    "What is the wifi password in the cabin?",
)
"""Questions of unlike subjects."""


def centred(vectors: NDArray[np.float32], middle: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors less a middle each, of unit length.

    Args:
        vectors: ``(n, dimensions) float32`` of unit length.
        middle: the same, what is taken from each.

    A vector that is its middle stays as it is: there is nothing left that would point anywhere.
    """
    left = vectors - middle
    norms = np.linalg.norm(left, axis=1, keepdims=True)
    kept = norms > 1e-3
    unit: NDArray[np.float32] = np.where(kept, left / np.where(kept, norms, 1), vectors).astype(np.float32)
    return unit


def recipe_name(recipe: Sequence[str]) -> str:
    """Name centred vectors: a hash of all that they follow from, the texts above among it, hexadecimal."""
    return hashlib.sha256(json.dumps([*recipe, STATEMENTS, QUESTIONS]).encode()).hexdigest()
