"""What the broker answers: the table of APIs, and a handler for each."""
