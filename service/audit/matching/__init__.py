"""Events, and what became of them: predictions and outcomes brought to their cases."""
