"""Work on files without a stream: runs over their events, comparisons of models, plots."""
