"""What `penstock produce` was told of when its records are to be delivered."""

from __future__ import annotations

import time

import click

from penstock.delays.asking import DELAY_MS_MAX
from penstock.delays.cron import BadCron, parse
from penstock.wire.holding import CANCEL, CRON, DELAY, DELIVER_AT

_OURS = frozenset(each.decode() for each in (CANCEL, CRON, DELAY, DELIVER_AT))


def wait_header(
    delay_ms: int | None,
    deliver_at_ms: int | None,
    cron: str | None,
    headers: list[tuple[str, str]],
) -> tuple[bytes, bytes] | None:
    """The header that says so; None for records that need not wait."""
    if not delay_ms and deliver_at_ms is None and cron is None:
        return None
    if [delay_ms, deliver_at_ms, cron].count(None) < 2:
        raise click.UsageError("--delay, --deliver-at and --cron: give one of them")
    if given := [name for name, _ in headers if name in _OURS]:
        raise click.UsageError(f"--header {given[0]} says when, too: give one of them")
    if cron is not None:
        return (CRON, _checked(cron))
    wait_ms = delay_ms if delay_ms is not None else (deliver_at_ms or 0) - time.time() * 1000
    if wait_ms > DELAY_MS_MAX:
        raise click.UsageError("messages wait for up to a year: give a time before that")
    if delay_ms is not None:
        return (DELAY, b"%d" % delay_ms)
    return (DELIVER_AT, b"%d" % (deliver_at_ms or 0))


def _checked(cron: str) -> bytes:
    text = cron.encode()
    try:
        next_ms = parse(text).next_after(int(time.time() * 1000))
    except BadCron as problem:
        raise click.UsageError(f"--cron {cron!r}: {problem}") from None
    if next_ms is None:
        raise click.UsageError(f"--cron {cron!r}: the next year has no such time")
    return text
