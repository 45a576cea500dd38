"""What a study is: its configuration, experiments, runs and their addresses, and what it leaves behind."""
