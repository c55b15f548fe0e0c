"""Settings that are tables: windows by key, decisions, their costs, webhooks."""
