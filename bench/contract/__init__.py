"""Whether somebody's own actor keeps the actor contract."""
