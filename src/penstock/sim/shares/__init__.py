"""Leaders that store what has become of shared records, and whether what they read can be."""
