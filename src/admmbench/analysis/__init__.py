"""From the results of an experiment to statistics, verdicts on claims, figures and a report."""
