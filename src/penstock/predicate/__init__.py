"""What a view asks of a record's key, timestamp and headers: text to predicate, and its answers."""
