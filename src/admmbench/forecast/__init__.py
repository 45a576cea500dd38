"""Cost of a study: limits of a job, the speed of this machine, a plan, and the seeds that are needed."""
