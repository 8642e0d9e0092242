"""Whole clusters in one process, on virtual time, under faults that a seed draws."""
