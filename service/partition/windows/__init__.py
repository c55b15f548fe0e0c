"""Windows by key: what a key's earlier events were like, as features (`events.windows`)."""
