"""Clients with transactions, and whether what they see can be."""
