"""Simulated consumer groups: members of both protocols, and whether what they were told can be."""
