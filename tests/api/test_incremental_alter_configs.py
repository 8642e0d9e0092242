from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.config import GroupConfig
from penstock.errors import ErrorCode
from penstock.wire.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC, BROKER, BROKER_LOGGER, GROUP = 2, 4, 8, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

Step = tuple[str, int, str | None]


def resource(kind: int, name: str, *steps: Step) -> AlterConfigsResource:
    return AlterConfigsResource(kind, name, [AlterableConfig(*step) for step in steps])


def alter(
    desk: Desk, *resources: AlterConfigsResource, version: int = 1, validate_only: bool = False
) -> list[int]:
    answer = desk.ask(IncrementalAlterConfigsRequest(list(resources), validate_only), version)
    return [result.error_code for result in answer.responses]


def configs_of(desk: Desk, name: str) -> dict[str, str]:
    topic = desk.image.topic(name)
    assert topic is not None
    return topic.record.configs


@pytest.mark.parametrize("version", range(2))
def test_settings_that_are_not_given_stay(desk: Desk, version: int) -> None:
    desk.create("orders", retention_ms="1000", segment_ms="5")
    steps: list[Step] = [("segment.ms", SET, "6"), ("retention.bytes", SET, "7")]
    assert alter(desk, resource(TOPIC, "orders", *steps), version=version) == [0]
    assert configs_of(desk, "orders") == {
        "retention.ms": "1000",
        "segment.ms": "6",
        "retention.bytes": "7",
    }


def test_a_deleted_setting_falls_to_its_default(desk: Desk) -> None:
    desk.create("orders", retention_ms="1000")
    assert alter(desk, resource(TOPIC, "orders", ("retention.ms", DELETE, None))) == [0]
    assert configs_of(desk, "orders") == {}


def test_lists_are_appended_to_and_subtracted_from(desk: Desk) -> None:
    desk.create("orders")
    assert alter(desk, resource(TOPIC, "orders", ("cleanup.policy", APPEND, "compact"))) == [0]
    assert configs_of(desk, "orders") == {"cleanup.policy": "delete,compact"}
    assert alter(desk, resource(TOPIC, "orders", ("cleanup.policy", SUBTRACT, "delete"))) == [0]
    assert configs_of(desk, "orders") == {"cleanup.policy": "compact"}


def test_broker_settings_are_changed_for_one_or_for_all(desk: Desk) -> None:
    one = resource(BROKER, "1", ("log.retention.ms", SET, "5"))
    every = resource(BROKER, "", ("log.cleanup.policy", APPEND, "compact"))
    assert alter(desk, one, every) == [0, 0]
    own, general = desk.image.settings.broker_config(1), desk.image.settings.broker_config(None)
    assert own is not None
    assert general is not None
    assert own.record.configs == {"log.retention.ms": "5"}
    assert general.record.configs == {"log.cleanup.policy": "delete,compact"}


@pytest.mark.parametrize("version", range(2))
def test_a_group_is_given_settings_before_it_is_there(desk: Desk, version: int) -> None:
    timeout = resource(GROUP, "a/b", ("consumer.session.timeout.ms", SET, "7000"))
    assert alter(desk, timeout, version=version) == [0]
    interval = resource(GROUP, "a/b", ("consumer.heartbeat.interval.ms", SET, "1000"))
    assert alter(desk, interval, version=version) == [0]
    config = desk.image.settings.of_group("a/b")
    assert config == GroupConfig(
        consumer_session_timeout_ms=7000, consumer_heartbeat_interval_ms=1000
    )
    back = resource(GROUP, "a/b", ("consumer.session.timeout.ms", DELETE, None))
    assert alter(desk, back, version=version) == [0]
    assert desk.image.settings.of_group("a/b").consumer_session_timeout_ms == 45_000


def test_wrong_settings_of_groups_are_refused_and_do_not_spoil_the_others(desk: Desk) -> None:
    found = alter(
        desk,
        resource(GROUP, "", ("consumer.session.timeout.ms", SET, "7000")),
        resource(GROUP, "low", ("consumer.session.timeout.ms", SET, "5999")),
        resource(GROUP, "appended", ("consumer.session.timeout.ms", APPEND, "7000")),
        resource(GROUP, "unknown", ("session.timeout.ms", SET, "7000")),
        resource(GROUP, "good", ("consumer.session.timeout.ms", SET, "7000")),
    )
    assert found == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.NONE,
    ]
    assert list(desk.image.settings.group_configs()) == ["good"]


def test_groups_brokers_and_topics_of_one_request_are_one_commit(desk: Desk) -> None:
    desk.create("orders")
    desk.commits.clear()
    changes = (
        resource(GROUP, "readers", ("consumer.session.timeout.ms", SET, "7000")),
        resource(BROKER, "", ("log.retention.ms", SET, "5")),
        resource(TOPIC, "orders", ("retention.ms", SET, "5")),
    )
    assert alter(desk, *changes) == [0, 0, 0]
    assert len(desk.commits) == 1


def test_one_refused_resource_does_not_spoil_the_others(desk: Desk) -> None:
    desk.create("orders")
    desk.create("bills")
    found = alter(
        desk,
        resource(TOPIC, "unknown", ("retention.ms", SET, "5")),
        resource(TOPIC, "bills", ("retention.ms", APPEND, "5")),
        resource(BROKER, "1", ("node.id", SET, "5")),
        resource(BROKER_LOGGER, "1", ("root", SET, "DEBUG")),
        resource(TOPIC, "orders", ("retention.ms", SET, "5")),
    )
    assert found == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
    ]
    assert configs_of(desk, "orders") == {"retention.ms": "5"}


def test_an_operation_that_there_is_not_is_refused(desk: Desk) -> None:
    desk.create("orders")
    found = alter(desk, resource(TOPIC, "orders", ("retention.ms", 7, "5")))
    assert found == [ErrorCode.INVALID_REQUEST]


def test_a_setting_that_comes_twice_is_refused(desk: Desk) -> None:
    desk.create("orders")
    steps: list[Step] = [("retention.ms", SET, "5"), ("retention.ms", DELETE, None)]
    assert alter(desk, resource(TOPIC, "orders", *steps)) == [ErrorCode.INVALID_REQUEST]


def test_a_resource_that_comes_twice_is_left_as_it_is(desk: Desk) -> None:
    desk.create("orders")
    twice = [resource(TOPIC, "orders", ("retention.ms", SET, value)) for value in ("2", "3")]
    assert alter(desk, *twice) == [ErrorCode.INVALID_REQUEST]
    assert configs_of(desk, "orders") == {}


def test_validate_only_changes_nothing(desk: Desk) -> None:
    desk.create("orders")
    good = resource(TOPIC, "orders", ("retention.ms", SET, "2"))
    assert alter(desk, good, validate_only=True) == [0]
    assert configs_of(desk, "orders") == {}


def test_a_failure_as_a_whole_is_told_for_every_resource(desk: Desk) -> None:
    call = desk.call(IncrementalAlterConfigsRequest([resource(TOPIC, "orders")]))
    answer = call.api.failure(call.request, ErrorCode.REQUEST_TIMED_OUT, "no store")
    (result,) = desk.decoded(answer, 1).responses
    assert (result.resource_name, result.error_code) == ("orders", ErrorCode.REQUEST_TIMED_OUT)
