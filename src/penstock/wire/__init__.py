"""Bytes to messages and back; no state."""
