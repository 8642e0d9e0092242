"""Builds one broker from its settings and a world, runs it, and stops it."""
