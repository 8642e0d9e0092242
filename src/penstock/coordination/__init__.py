"""Who does what in a group or a transaction: decided and applied as values."""
