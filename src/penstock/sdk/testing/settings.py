"""How brokers for tests are set, unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.sdk.admin_line import Value, texts

FOR_TESTS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "3",
    "log.flush.on.acks.all": "false",
    "broker.session.timeout.ms": "2000",
}
"""Groups begin at once and soon notice the death of a member, a cluster that of a broker; and no
test waits for the disk: what is acknowledged survives a kill, and need not survive a power loss."""


def for_tests(settings: Mapping[str, Value]) -> dict[str, str]:
    return {**FOR_TESTS, **texts(settings)}


def parsed(lines: list[str]) -> dict[str, Value]:
    """Of an ini file: `name=value` a line."""
    found: dict[str, Value] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"penstock_settings: {line!r} is not name=value")
        found[name.strip()] = value.strip()
    return found
