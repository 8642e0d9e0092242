"""From a topic to its table: round by round, each one commit, each record once."""
