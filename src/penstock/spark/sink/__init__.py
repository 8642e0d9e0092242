"""Writing topics: rows as records, in transactions that count once a whole batch is written."""
