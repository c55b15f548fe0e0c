"""Alerts: predictions and outcomes that are posted to webhooks."""
