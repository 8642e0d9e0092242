"""Numbers that settings are reckoned in."""

MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000
FOREVER_MS = 9_223_372_036_854_775_807
INT_MAX = 2_147_483_647
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
