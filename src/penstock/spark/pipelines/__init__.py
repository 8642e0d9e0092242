"""Declared pipelines: where rows come from, what is made of them, and where they go."""
