"""The queue itself as tables: topics, partitions and groups, with sizes, rates and lag."""
