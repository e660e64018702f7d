"""Reading what hosts write: formats, lines, hook records, and the reply to a hook."""
