"""Share groups as the leader of a partition sees them: who has which record, and how often."""
