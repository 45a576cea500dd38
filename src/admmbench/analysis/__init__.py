"""From the results of an experiment to one data set, verdicts on claims and a report."""
