"""Ledgers for tests of what releases cost."""

from admmbench.privacy import Cost, Ledger


def ledger_of(*releases):
    """Return a ledger of costs, each alone or as a pair with how often it was paid."""
    found = Ledger()
    for each in releases:
        found.add(*((each,) if isinstance(each, Cost) else each))
    return found
