from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.api.desk import Desk, refuse_second_change

from penstock.api.change_each import COMMIT_ITEMS_MAX
from penstock.errors import ErrorCode
from penstock.wire.codec import NULL_UUID
from penstock.wire.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)


def topic(
    name: str, partitions: int = 1, replication: int = 1, **configs: str | None
) -> CreatableTopic:
    settings = [
        CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()
    ]
    return CreatableTopic(name, partitions, replication, configs=settings)


def assigned(name: str, *replicas: list[int]) -> CreatableTopic:
    assignments = [CreatableReplicaAssignment(n, nodes) for n, nodes in enumerate(replicas)]
    return CreatableTopic(name, -1, -1, assignments)


def create(
    desk: Desk, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(list(topics), validate_only=validate_only)
    answer = desk.ask(request, version)
    results: list[CreatableTopicResult] = answer.topics
    return results


def codes(results: list[CreatableTopicResult]) -> dict[str, int]:
    return {result.name: result.error_code for result in results}


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_there_once_its_creation_is_answered(desk: Desk, version: int) -> None:
    (result,) = create(desk, topic("orders", partitions=3), version=version)
    assert (result.name, result.error_code, result.error_message) == ("orders", 0, None)
    created = desk.image.topic("orders")
    assert created is not None
    assert created.record.partitions == 3


def test_the_answer_tells_the_new_topics_id_and_numbers(desk: Desk) -> None:
    (result,) = create(desk, topic("orders", partitions=3))
    created = desk.image.topic("orders")
    assert created is not None
    assert result.topic_id == created.id
    assert (result.num_partitions, result.replication_factor) == (3, 1)


def test_the_answer_lists_the_settings_with_their_sources(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk({"log.segment.bytes": "2048"})
    (result,) = create(desk, topic("orders", retention_ms="1000"))
    assert result.configs is not None
    found = {config.name: (config.value, config.config_source) for config in result.configs}
    assert found["retention.ms"] == ("1000", 1)
    assert found["segment.bytes"] == ("2048", 4)
    assert found["cleanup.policy"] == ("delete", 5)


def test_numbers_that_are_not_given_are_the_brokers_defaults(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk({"num.partitions": "4", "default.replication.factor": "2"})
    desk.register(2)
    (result,) = create(desk, topic("orders", partitions=-1, replication=-1))
    assert (result.num_partitions, result.replication_factor) == (4, 2)


def test_one_refused_topic_does_not_spoil_the_others(desk: Desk) -> None:
    results = create(
        desk,
        topic("good"),
        topic("no/name"),
        topic("empty", partitions=0),
        topic("wide", replication=2),
        topic("odd", retention_ms="soon"),
        topic("also-good"),
    )
    assert codes(results) == {
        "good": ErrorCode.NONE,
        "no/name": ErrorCode.INVALID_TOPIC,
        "empty": ErrorCode.INVALID_PARTITIONS,
        "wide": ErrorCode.INVALID_REPLICATION_FACTOR,
        "odd": ErrorCode.INVALID_CONFIG,
        "also-good": ErrorCode.NONE,
    }
    assert set(desk.image.topics) == {"good", "also-good"}
    assert all(result.error_message for result in results if result.error_code)


def test_hundreds_of_topics_are_one_commit(desk: Desk) -> None:
    results = create(desk, *(topic(f"topic-{n}") for n in range(COMMIT_ITEMS_MAX)))
    assert not any(result.error_code for result in results)
    assert len(desk.commits) == 1
    assert len(desk.image.topics) == COMMIT_ITEMS_MAX


def test_a_request_for_too_many_partitions_is_refused_as_a_whole(desk: Desk) -> None:
    results = create(desk, topic("a", partitions=100_000), topic("b"))
    assert codes(results) == {"a": ErrorCode.POLICY_VIOLATION, "b": ErrorCode.POLICY_VIOLATION}
    assert not desk.image.topics


def test_a_topic_that_is_there_already_is_refused(desk: Desk) -> None:
    desk.create("orders")
    assert codes(create(desk, topic("orders"))) == {"orders": ErrorCode.TOPIC_ALREADY_EXISTS}


def test_a_name_that_comes_twice_is_refused_and_answered_once(desk: Desk) -> None:
    results = create(desk, topic("twice"), topic("once"), topic("twice", partitions=2))
    assert codes(results) == {"twice": ErrorCode.INVALID_REQUEST, "once": ErrorCode.NONE}
    assert len(results) == 2
    assert set(desk.image.topics) == {"once"}


def test_names_of_one_request_that_collide_are_not_both_created(desk: Desk) -> None:
    results = create(desk, topic("a.b"), topic("a_b"))
    assert codes(results) == {"a.b": ErrorCode.NONE, "a_b": ErrorCode.INVALID_TOPIC}


def test_a_setting_without_a_value_is_refused(desk: Desk) -> None:
    (result,) = create(desk, topic("orders", retention_ms=None))
    assert result.error_code == ErrorCode.INVALID_CONFIG
    assert result.error_message is not None
    assert "retention.ms" in result.error_message


def test_replicas_can_be_named_for_every_partition(desk: Desk) -> None:
    desk.register(2)
    (result,) = create(desk, assigned("orders", [2, 1], [1, 2], [2, 1]))
    assert (result.num_partitions, result.replication_factor) == (3, 2)
    created = desk.image.topic("orders")
    assert created is not None
    assert [record.replicas for record in created.partitions if record] == [(2, 1), (1, 2), (2, 1)]


def test_replicas_and_numbers_together_are_refused(desk: Desk) -> None:
    both = assigned("orders", [1])
    both.num_partitions = 1
    assert codes(create(desk, both)) == {"orders": ErrorCode.INVALID_REQUEST}


def test_a_partition_whose_replicas_are_given_twice_is_refused(desk: Desk) -> None:
    twice = assigned("orders", [1], [1])
    twice.assignments[1].partition_index = 0
    assert codes(create(desk, twice)) == {"orders": ErrorCode.INVALID_REPLICA_ASSIGNMENT}


def test_validate_only_answers_the_same_and_creates_nothing(desk: Desk) -> None:
    results = create(desk, topic("orders", partitions=2), topic("no/name"), validate_only=True)
    assert codes(results) == {"orders": ErrorCode.NONE, "no/name": ErrorCode.INVALID_TOPIC}
    assert (results[0].num_partitions, results[0].topic_id) == (2, NULL_UUID)
    assert not desk.image.topics
    assert not desk.commits


def test_the_decision_can_be_taken_again_on_a_later_image(desk: Desk) -> None:
    call = desk.call(CreateTopicsRequest([topic("mine"), topic("theirs")]))
    change = call.run(desk.broker)
    before = change.decide(desk.image)
    desk.create("theirs")
    after = change.decide(desk.image)
    assert [*before.answer] == [*after.answer] == ["mine", "theirs"]
    response = change.then(desk.change(change.decide))
    assert codes(desk.decoded(response, call.version).topics) == {
        "mine": ErrorCode.NONE,
        "theirs": ErrorCode.TOPIC_ALREADY_EXISTS,
    }


def test_a_failure_as_a_whole_is_told_for_every_topic(desk: Desk) -> None:
    call = desk.call(CreateTopicsRequest([topic("a"), topic("b")]))
    answer = call.api.failure(call.request, ErrorCode.REQUEST_TIMED_OUT, "no store")
    assert codes(desk.decoded(answer, 7).topics) == {
        "a": ErrorCode.REQUEST_TIMED_OUT,
        "b": ErrorCode.REQUEST_TIMED_OUT,
    }


def test_what_was_created_before_a_commit_failed_is_answered_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_second_change(desk, monkeypatch)
    results = create(desk, *(topic(f"t{n}") for n in range(2 * COMMIT_ITEMS_MAX + 3)))
    created = [result.name for result in results if not result.error_code]
    assert created == [f"t{n}" for n in range(COMMIT_ITEMS_MAX)]
    assert set(created) == set(desk.image.topics)
    failed = results[COMMIT_ITEMS_MAX:]
    assert {result.error_code for result in failed} == {ErrorCode.REQUEST_TIMED_OUT}
    assert {result.error_message for result in failed} == {"the store is busy"}
    assert len(failed) == COMMIT_ITEMS_MAX + 3


def test_the_catalog_is_the_first_thing_that_a_merged_commit_writes(desk: Desk) -> None:
    create(desk, topic("a"), topic("b"))
    keys = [key for key, _ in desk.commits[0].puts]
    assert keys[0] == "/catalog"
    assert len(keys) == len(set(keys)) == 3
