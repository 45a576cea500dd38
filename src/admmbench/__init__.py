"""Benchmark suite for ADMM-based federated learning, private and constrained."""

from admmbench.algorithms import list_algorithms
from admmbench.datasets import list_datasets, load_dataset
from admmbench.engine import simulate

__version__ = "0.1.0"

__all__ = ["list_algorithms", "list_datasets", "load_dataset", "simulate"]
