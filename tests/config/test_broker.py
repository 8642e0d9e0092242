"""Settings of brokers: what they may be together."""

from __future__ import annotations

import pytest

from penstock.config import BROKER_SETTINGS, BrokerConfig
from penstock.errors import ErrorCode, Refused
from penstock.settings import read_settings


def read(**texts: str) -> BrokerConfig:
    """Settings are given with underscores in place of dots."""
    by_name = {name.replace("_", "."): text for name, text in texts.items()}
    return read_settings(BrokerConfig, BROKER_SETTINGS, by_name)


def refused(problem: str, **texts: str) -> None:
    with pytest.raises(Refused, match=problem) as caught:
        read(**texts)
    assert caught.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("name", "text", "other"),
    [
        ("group_min_session_timeout_ms", "1800001", "group.max.session.timeout.ms"),
        (
            "group_consumer_session_timeout_ms",
            "1800001",
            "group.consumer.max.session.timeout.ms",
        ),
        (
            "group_consumer_min_session_timeout_ms",
            "45001",
            "group.consumer.session.timeout.ms",
        ),
        (
            "group_consumer_heartbeat_interval_ms",
            "15001",
            "group.consumer.max.heartbeat.interval.ms",
        ),
        (
            "group_consumer_min_heartbeat_interval_ms",
            "15001",
            "group.consumer.max.heartbeat.interval.ms",
        ),
    ],
)
def test_limits_that_cross_are_refused(name: str, text: str, other: str) -> None:
    refused(f"{name.replace('_', '.')}: {text} is more than {other}", **{name: text})


def test_consumers_must_not_seem_dead_between_two_heartbeats() -> None:
    texts = {
        "group_consumer_session_timeout_ms": "10000",
        "group_consumer_heartbeat_interval_ms": "10000",
    }
    refused("must be less than group.consumer.session.timeout.ms", **texts)
    texts["group_consumer_heartbeat_interval_ms"] = "9999"
    assert read(**texts).group_consumer_heartbeat_interval_ms == 9999


def test_limits_may_leave_one_value_only() -> None:
    config = read(group_min_session_timeout_ms="9000", group_max_session_timeout_ms="9000")
    assert config.group_min_session_timeout_ms == config.group_max_session_timeout_ms


@pytest.mark.parametrize("text", ["upgrade", "UPGRADE", " Upgrade "])
def test_a_migration_policy_is_read_in_any_case(text: str) -> None:
    config = read(group_consumer_migration_policy=text)
    assert config.group_consumer_migration_policy == "upgrade"


def test_a_migration_policy_that_there_is_not_is_refused() -> None:
    refused("'sideways' is none of bidirectional", group_consumer_migration_policy="Sideways")


def test_other_words_are_read_as_they_are_written() -> None:
    refused("'JSON' is none of text, json", log_format="JSON")


def test_the_first_assignor_is_the_one_for_groups_that_ask_for_none() -> None:
    assert BrokerConfig().group_consumer_assignors == ("uniform", "range")
    assert read(group_consumer_assignors="range, uniform").group_consumer_assignors[0] == "range"
    refused("at least one of uniform, range", group_consumer_assignors="")
    refused("'sticky' is none of", group_consumer_assignors="uniform,sticky")
