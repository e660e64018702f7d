"""What decides whether and how anything is captured: allow and deny rules, pauses, and the files that hosts start."""
