"""Shares: what has become of the records of one partition that are shared out in one group."""
