"""Simulated clients for whom the order of a key counts, whatever partition it is in."""
