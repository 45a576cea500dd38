"""Engine: rounds, random streams, batching over seeds, threads, evaluation."""
