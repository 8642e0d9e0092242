"""Where cluster metadata is kept. All pass the same conformance suite."""
