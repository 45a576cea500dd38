"""From the runs of an experiment to one labelled data set; statistics, comparisons, kept results."""
