"""How a run ended."""

from enum import IntEnum


class Outcome(IntEnum):
    """Values of the variable ``status``; 0 is also that of a run under way."""

    NOT_RUN = -1
    COMPLETED = 0
    """All rounds were done."""
    DIVERGED = 1
    """A model was no longer finite."""
    TIMED_OUT = 2
    """The time limit came before the last round."""
    CONVERGED = 3
    """The method stopped by its own test; its last values stand for the rounds that it did not need."""
    INFEASIBLE = 4
    """No point that meets the constraints was found, or none is within reach."""
    STALLED = 5
    """An inner loop, or the search for a solution, came to its limit."""
    UNDEFINED = 6
    """The problem has a mean over no record."""

    @property
    def word(self) -> str:
        """Return the word that files have: ``timed_out``."""
        return self.name.lower()

    @property
    def words(self) -> str:
        """Return the words that texts have: ``timed out``."""
        return self.word.replace("_", " ")


SUCCESSFUL = (Outcome.COMPLETED, Outcome.CONVERGED)
"""Outcomes of runs whose last model counts."""
FAILED = tuple(each for each in Outcome if each not in SUCCESSFUL and each is not Outcome.NOT_RUN)
