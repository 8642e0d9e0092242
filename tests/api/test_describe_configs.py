from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.api.desk import Desk

from penstock.api import described_configs
from penstock.config import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_DEFAULTS, TOPIC_SETTINGS
from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.config_changes import replace_broker_configs, replace_group_configs
from penstock.metadata.records import ConfigRecord, encode, group_config_key
from penstock.wire.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 1, 2, 3, 4, 5
DYNAMIC_GROUP = 8


def describe(
    desk: Desk, kind: int, name: str, keys: list[str] | None = None, version: int = 4, **asked: bool
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, keys)], **asked)
    (result,) = desk.ask(request, version).results
    assert isinstance(result, DescribeConfigsResult)
    return result


def entry(
    desk: Desk, kind: int, name: str, key: str, **asked: bool
) -> DescribeConfigsResourceResult:
    (config,) = describe(desk, kind, name, [key], **asked).configs
    return config


def set_for_brokers(desk: Desk, node_id: int | None, **configs: str) -> None:
    texts = {key.replace("_", "."): value for key, value in configs.items()}
    desk.change(lambda image: replace_broker_configs(image, node_id, texts))


@pytest.mark.parametrize("version", range(1, 5))
def test_all_settings_of_a_topic_are_described(desk: Desk, version: int) -> None:
    desk.create("orders", retention_ms="1000")
    result = describe(desk, TOPIC, "orders", version=version)
    assert (result.error_code, result.resource_type, result.resource_name) == (0, TOPIC, "orders")
    assert {config.name for config in result.configs} == set(TOPIC_SETTINGS)
    assert not any(config.read_only or config.is_sensitive for config in result.configs)


def test_what_is_described_is_what_holds(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk({"log.segment.bytes": "2048", "log.roll.ms": "77"})
    desk.create("orders", retention_ms="1000", cleanup_policy="compact, delete")
    set_for_brokers(desk, None, log_retention_bytes="5", log_roll_ms="66")
    set_for_brokers(desk, 1, log_retention_bytes="4")
    topic = desk.image.topic("orders")
    assert topic is not None
    holds = desk.image.settings.of_topic(topic)
    for config in describe(desk, TOPIC, "orders").configs:
        setting = TOPIC_SETTINGS[config.name]
        assert config.value == setting.show(getattr(holds, setting.attribute)), config.name


def test_each_value_says_where_it_comes_from(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk({"log.segment.bytes": "2048"})
    desk.create("orders", retention_ms="1000")
    set_for_brokers(desk, None, log_retention_bytes="5", log_roll_ms="66")
    set_for_brokers(desk, 1, log_retention_bytes="4")
    sources = {each.name: each.config_source for each in describe(desk, TOPIC, "orders").configs}
    assert sources["retention.ms"] == DYNAMIC_TOPIC
    assert sources["retention.bytes"] == DYNAMIC_BROKER
    assert sources["segment.ms"] == DYNAMIC_DEFAULT
    assert sources["segment.bytes"] == STATIC
    assert sources["cleanup.policy"] == DEFAULT


def test_synonyms_are_all_places_that_a_value_is_looked_for_the_strongest_first(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk({"log.retention.ms": "4"})
    desk.create("orders", retention_ms="1")
    set_for_brokers(desk, 1, log_retention_ms="2")
    set_for_brokers(desk, None, log_retention_ms="3")
    config = entry(desk, TOPIC, "orders", "retention.ms", include_synonyms=True)
    assert [(each.name, each.value, each.source) for each in config.synonyms] == [
        ("retention.ms", "1", DYNAMIC_TOPIC),
        ("log.retention.ms", "2", DYNAMIC_BROKER),
        ("log.retention.ms", "3", DYNAMIC_DEFAULT),
        ("log.retention.ms", "4", STATIC),
        ("log.retention.ms", "1209600000", DEFAULT),
    ]
    assert not entry(desk, TOPIC, "orders", "retention.ms").synonyms


def test_three_replicas_need_two_in_sync_by_default(desk: Desk) -> None:
    desk.register(2)
    desk.register(3)
    desk.create("orders", replication=3)
    config = entry(desk, TOPIC, "orders", "min.insync.replicas")
    assert (config.value, config.config_source) == ("2", DEFAULT)


@pytest.mark.parametrize(
    ("key", "number"),
    [
        ("preallocate", 1),
        ("compression.type", 2),
        ("segment.bytes", 3),
        ("retention.ms", 5),
        ("min.cleanable.dirty.ratio", 6),
        ("cleanup.policy", 7),
    ],
)
def test_types_are_told(desk: Desk, key: str, number: int) -> None:
    desk.create("orders")
    assert entry(desk, TOPIC, "orders", key).config_type == number


def test_documentation_comes_when_asked_for(desk: Desk) -> None:
    desk.create("orders")
    documented = entry(desk, TOPIC, "orders", "retention.ms", include_documentation=True)
    assert documented.documentation == TOPIC_SETTINGS["retention.ms"].doc
    assert entry(desk, TOPIC, "orders", "retention.ms").documentation is None


def test_only_the_keys_that_are_asked_for_are_described(desk: Desk) -> None:
    desk.create("orders")
    found = describe(desk, TOPIC, "orders", ["retention.ms", "unknown", "segment.ms"]).configs
    assert {config.name for config in found} == {"retention.ms", "segment.ms"}


def test_a_topic_that_is_asked_for_twice_is_answered_once_with_all_that_was_asked(
    desk: Desk,
) -> None:
    desk.create("orders")

    def names(*asked: list[str] | None) -> set[str]:
        resources = [DescribeConfigsResource(TOPIC, "orders", keys) for keys in asked]
        (result,) = desk.ask(DescribeConfigsRequest(resources)).results
        return {config.name for config in result.configs}

    assert names(["retention.ms"], ["segment.ms"]) == {"retention.ms", "segment.ms"}
    assert names(["retention.ms"], None) == names(None, ["retention.ms"]) == set(TOPIC_SETTINGS)


def test_all_settings_of_this_broker_are_described(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk({"num.partitions": "3"})
    set_for_brokers(desk, None, disk_free_min_bytes="7")
    found = {config.name: config for config in describe(desk, BROKER, "1").configs}
    assert found.keys() == BROKER_SETTINGS.keys() | TOPIC_DEFAULTS.keys()
    partitions, room = found["num.partitions"], found["disk.free.min.bytes"]
    assert (partitions.value, partitions.config_source, partitions.read_only) == ("3", STATIC, True)
    assert (room.value, room.config_source, room.read_only) == ("7", DYNAMIC_DEFAULT, False)
    assert not found["log.retention.ms"].read_only


def test_a_secret_is_never_shown(
    make_desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = replace(BROKER_SETTINGS["broker.rack"], secret=True)
    monkeypatch.setitem(described_configs.ALL_BROKER_SETTINGS, "broker.rack", secret)
    desk = make_desk({"broker.rack": "swordfish"})
    config = entry(desk, BROKER, "1", "broker.rack", include_synonyms=True)
    assert (config.value, config.is_sensitive, config.config_source) == (None, True, STATIC)
    assert [synonym.value for synonym in config.synonyms] == [None, None]


def test_an_empty_name_describes_what_was_changed_for_all_brokers(desk: Desk) -> None:
    assert describe(desk, BROKER, "").configs == []
    set_for_brokers(desk, None, log_retention_ms="3")
    set_for_brokers(desk, 1, log_roll_ms="4")
    (config,) = describe(desk, BROKER, "").configs
    assert (config.name, config.value) == ("log.retention.ms", "3")
    assert config.config_source == DYNAMIC_DEFAULT


def set_for_group(desk: Desk, name: str, **configs: str) -> None:
    texts = {key.replace("_", "."): value for key, value in configs.items()}
    desk.change(lambda image: replace_group_configs(image, name, texts))


@pytest.mark.parametrize("version", range(1, 5))
def test_all_settings_of_a_group_are_described(desk: Desk, version: int) -> None:
    set_for_group(desk, "a/b", consumer_session_timeout_ms="7000")
    result = describe(desk, GROUP, "a/b", version=version)
    assert (result.error_code, result.resource_type, result.resource_name) == (0, GROUP, "a/b")
    found = {config.name: config for config in result.configs}
    assert found.keys() == GROUP_SETTINGS.keys()
    assert not any(config.read_only or config.is_sensitive for config in result.configs)
    assert found["consumer.session.timeout.ms"].value == "7000"
    assert found["consumer.session.timeout.ms"].config_source == DYNAMIC_GROUP


def test_a_group_that_is_not_there_has_what_brokers_give_all_groups(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk({"group.consumer.session.timeout.ms": "50000"})
    set_for_group(desk, "other", consumer_session_timeout_ms="7000")
    timeout = entry(desk, GROUP, "nobody", "consumer.session.timeout.ms", include_synonyms=True)
    assert (timeout.value, timeout.config_source, timeout.config_type) == ("50000", STATIC, 3)
    assert [(each.name, each.value, each.source) for each in timeout.synonyms] == [
        ("group.consumer.session.timeout.ms", "50000", STATIC),
        ("group.consumer.session.timeout.ms", "45000", DEFAULT),
    ]
    interval = entry(desk, GROUP, "nobody", "consumer.heartbeat.interval.ms")
    assert (interval.value, interval.config_source) == ("0", DEFAULT)


def test_what_is_described_is_what_holds_for_a_group(make_desk: Callable[..., Desk]) -> None:
    """A value that is outside the broker's limits since these were changed does not hold."""
    desk = make_desk({"group.consumer.max.heartbeat.interval.ms": "8000"})
    configs = {"consumer.heartbeat.interval.ms": "9000", "consumer.session.timeout.ms": "7000"}
    put = (group_config_key("readers"), encode(ConfigRecord(configs=configs)))
    desk.change(lambda image: Commit(None, puts=[put]))
    holds = desk.image.settings.of_group("readers")
    shown = {config.name: config.value for config in describe(desk, GROUP, "readers").configs}
    for name, setting in GROUP_SETTINGS.items():
        assert shown[name] == setting.show(getattr(holds, setting.attribute))
    assert (holds.consumer_heartbeat_interval_ms, holds.consumer_session_timeout_ms) == (0, 7000)


@pytest.mark.parametrize("name", ["", "\N{SNOWMAN}" * 86])
def test_a_group_without_a_name_or_with_too_long_a_name_has_no_settings(
    desk: Desk, name: str
) -> None:
    result = describe(desk, GROUP, name)
    assert (result.error_code, result.configs) == (ErrorCode.INVALID_REQUEST, [])


@pytest.mark.parametrize("name", ["2", "one", "01"])
def test_a_broker_that_there_is_not_has_no_settings(desk: Desk, name: str) -> None:
    result = describe(desk, BROKER, name)
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert not result.configs


@pytest.mark.parametrize("kind", [BROKER_LOGGER, CLIENT_METRICS, 99])
def test_other_resources_have_no_settings(desk: Desk, kind: int) -> None:
    result = describe(desk, kind, "1")
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert result.error_message is not None
    assert "topics, brokers and groups do" in result.error_message


def test_one_unknown_resource_does_not_spoil_the_others(desk: Desk) -> None:
    desk.create("orders")
    resources = [DescribeConfigsResource(TOPIC, name, None) for name in ("unknown", "orders")]
    unknown, orders = desk.ask(DescribeConfigsRequest(resources)).results
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (orders.error_code, len(orders.configs)) == (0, len(TOPIC_SETTINGS))


def test_a_failure_as_a_whole_is_told_for_every_resource(desk: Desk) -> None:
    call = desk.call(DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "orders", None)]))
    answer = call.api.failure(call.request, ErrorCode.UNKNOWN_SERVER_ERROR, "a bug")
    (result,) = desk.decoded(answer, 4).results
    assert (result.resource_name, result.error_code) == ("orders", -1)


def test_of_another_broker_it_is_known_what_was_changed_while_it_ran(desk: Desk) -> None:
    desk.register(2)
    set_for_brokers(desk, 2, broker_draining="true")
    found = describe(desk, BROKER, "2").configs
    assert [(each.name, each.value) for each in found] == [("broker.draining", "true")]
