"""What works on files alone: runs over their events, comparisons of models, pictures."""
