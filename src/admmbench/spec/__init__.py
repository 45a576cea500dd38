"""What a run is: its settings, what follows from them, and what is refused."""
