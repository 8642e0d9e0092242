"""From a table to a topic: in the order of each partition, each record once."""
