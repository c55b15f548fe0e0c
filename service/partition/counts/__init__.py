"""What a model has done so far, in bounded memory. In: labelled predictions. Out: sums, and what they say."""
