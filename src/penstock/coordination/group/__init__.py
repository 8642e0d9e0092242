"""Consumer groups: members, what they are assigned, and what they have committed."""
