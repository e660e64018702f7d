"""Steps: what a tool call did, to what kind of thing, and whether it worked."""
