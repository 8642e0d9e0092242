"""Where the broker awaits: listener, sessions, waits, rounds of sync, upkeep."""
