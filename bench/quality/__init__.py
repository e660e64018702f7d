"""How good recall is: LoCoMo, questions of structure, and what is told beside a prompt."""
