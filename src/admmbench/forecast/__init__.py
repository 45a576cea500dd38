"""What a study costs: limits of a job, the speed of this machine, a plan."""
