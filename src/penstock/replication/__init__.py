"""In-sync replicas and high watermarks as values."""
