"""Results of experiments as labelled data sets: statistics, comparisons, joins and reference results."""
