"""What Python programs use: `from penstock import Admin`; `penstock.testing` for their tests."""
