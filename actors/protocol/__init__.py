"""What actors say to each other and to the store: messages, changes, events, snapshots, errors, the actor contract."""
