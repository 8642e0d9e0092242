"""Transactions: which partitions belong to one, and whether it has been committed or aborted."""
