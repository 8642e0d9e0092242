"""Clients that send messages for later, and whether these come once, and not before their time."""
