"""Long answers: made in slices, answered once, bounded."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.desk import NOW_MS, Desk

from penstock.api import slices
from penstock.api.change_each import COMMIT_ITEMS_MAX, change_each
from penstock.api.outcome import Resume
from penstock.api.slices import SLICE_ELEMENTS, SLICE_HEAVY, Writing
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.store import OPERATIONS_MAX
from penstock.wire.codec import Message
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from penstock.wire.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.wire.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from penstock.wire.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from penstock.wire.messages.k35_describe_log_dirs import DescribeLogDirsRequest
from penstock.wire.messages.k61_describe_producers import DescribeProducersRequest, TopicRequest
from penstock.wire.messages.k74_list_config_resources import ListConfigResourcesRequest

TOPIC, GROUP = 2, 32


class Number:
    def __init__(self, value: int) -> None:
        self.value = value

    def write(self, out: bytearray, version: int) -> None:
        out += self.value.to_bytes(4, "big")


def pauses_of(desk: Desk, request: Message, version: int | None = None) -> int:
    """How many times others have their turn while the answer is made."""
    pauses = 0
    carry_out = desk.broker.in_steps

    async def counted(steps: Steps[Any]) -> Any:
        return await carry_out(_counting(steps))

    def _counting(steps: Steps[Any]) -> Steps[Any]:
        nonlocal pauses
        while True:
            try:
                wait = next(steps)
            except StopIteration as end:
                return end.value
            pauses += 1
            yield wait

    desk.broker.in_steps = counted
    try:
        desk.ask(request, version)
    finally:
        desk.broker.in_steps = carry_out
    return pauses


def test_a_list_that_is_written_already_stands_for_its_elements() -> None:
    writing = Writing(0)
    for value in range(3):
        writing.add(Number(value))
    out: Any = bytearray()
    for element in writing:
        element.write(out, 0)
    assert len(writing) == 3
    assert out == b"".join(value.to_bytes(4, "big") for value in range(3))


def test_there_is_a_pause_after_so_many_elements_and_after_so_many_bytes() -> None:
    few = Writing(0, at_once=3)
    assert [few.add(Number(0)) for _ in range(7)] == [False, False, True] * 2 + [False]
    many = Writing(0, at_once=1 << 30)
    paused = [many.add(Number(0)) for _ in range(slices.SLICE_BYTES // 2)]
    assert [n for n, each in enumerate(paused, 1) if each] == [
        slices.SLICE_BYTES // 4,
        slices.SLICE_BYTES // 2,
    ]


def test_what_is_beyond_the_limit_is_refused_and_a_list_counts_what_it_is_inside_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "ANSWER_BYTES_MAX", 10)
    outer = Writing(0)
    for value in range(2):
        outer.add(Number(value))
    outer.check_room()
    inner = Writing(0, inside=outer, at_once=1)
    with pytest.raises(Refused) as refused:
        list(inner.add_all([Number(1)]))
    assert refused.value.code is ErrorCode.POLICY_VIOLATION


def test_a_small_answer_is_given_at_once(desk: Desk) -> None:
    desk.create("orders", partitions=100)
    for request in (
        MetadataRequest(topics=None),
        DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "orders")]),
        DescribeProducersRequest([TopicRequest("orders", [0, 1])]),
        DescribeLogDirsRequest(topics=None),
        ListConfigResourcesRequest([]),
        CreateTopicsRequest([CreatableTopic("other", 1, 1)], validate_only=True),
    ):
        call = desk.call(request)
        assert type(call.run(desk.broker)) is call.answers, call.api.name


def test_partitions_of_one_large_topic_come_in_slices(desk: Desk) -> None:
    desk.create("wide", partitions=10 * SLICE_ELEMENTS)
    assert pauses_of(desk, MetadataRequest(topics=None)) >= 9
    assert pauses_of(desk, DescribeLogDirsRequest(topics=None)) >= 9
    answer = desk.ask(MetadataRequest(topics=None))
    indexes = [part.partition_index for part in answer.topics[0].partitions]
    assert indexes == list(range(10 * SLICE_ELEMENTS))


def test_many_topics_come_in_slices(desk: Desk) -> None:
    names = [f"topic-{number}" for number in range(4 * SLICE_ELEMENTS)]
    for name in names:
        desk.create(name)
    asked = [MetadataRequestTopic(name=name) for name in names]
    assert pauses_of(desk, MetadataRequest(topics=asked)) >= 3
    assert pauses_of(desk, ListConfigResourcesRequest([TOPIC])) >= 3
    answer = desk.ask(MetadataRequest(topics=asked))
    assert [topic.name for topic in answer.topics] == names
    resources = [DescribeConfigsResource(TOPIC, name) for name in names[: 5 * SLICE_HEAVY]]
    assert pauses_of(desk, DescribeConfigsRequest(resources)) >= 4


def test_logs_are_opened_a_few_at_a_time(desk: Desk) -> None:
    desk.create("wide", partitions=5 * SLICE_HEAVY)
    asked = [OffsetForLeaderPartition(index, -1, 0) for index in range(5 * SLICE_HEAVY)]
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic("wide", asked)])
    assert pauses_of(desk, request) >= 4
    indexes = list(range(5 * SLICE_HEAVY))
    assert pauses_of(desk, DescribeProducersRequest([TopicRequest("wide", indexes)])) >= 4


@pytest.mark.parametrize(
    "request_", [MetadataRequest(topics=None), ListConfigResourcesRequest([TOPIC])]
)
def test_topics_that_come_or_go_while_the_answer_is_made_break_nothing(
    desk: Desk, request_: Message
) -> None:
    for number in range(2 * SLICE_ELEMENTS):
        desk.create(f"topic-{number}")
    carry_out = desk.broker.in_steps

    def meddled(steps: Steps[Any]) -> Any:
        desk.create("new", partitions=3)
        gone = [DeleteTopicState(f"topic-{number}") for number in (1, 2)]
        desk.change(desk.call(DeleteTopicsRequest(gone)).run(desk.broker).decide)
        return carry_out(steps)

    desk.broker.in_steps = meddled
    assert getattr(desk.ask(request_), "error_code", 0) == ErrorCode.NONE
    assert "topic-1" not in desk.image.topics


def test_many_changes_are_several_commits_each_with_a_mark_of_its_own(desk: Desk) -> None:
    """Or a commit whose outcome is unknown could be taken for the one before."""
    names = [f"topic-{number}" for number in range(COMMIT_ITEMS_MAX + 1)]  # of two keys each
    for name in names:
        desk.create(name)
    desk.commits.clear()
    answer = desk.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name) for name in names]))
    assert [each.name for each in answer.responses] == names
    assert not any(each.error_code for each in answer.responses)
    assert not desk.image.topics
    assert len({commit.puts[0] for commit in desk.commits}) == len(desk.commits) == 3
    assert all(len(each.puts) + len(each.deletes) <= OPERATIONS_MAX for each in desk.commits)


def test_changes_that_are_all_refused_let_others_have_their_turn_too(desk: Desk) -> None:
    request = CreateTopicsRequest(
        [CreatableTopic(f"../{n}", 1, 1) for n in range(4 * COMMIT_ITEMS_MAX)]
    )
    gathering = 4 * COMMIT_ITEMS_MAX // SLICE_ELEMENTS - 1
    answering = 4 * COMMIT_ITEMS_MAX // SLICE_HEAVY - 1
    assert pauses_of(desk, request) >= gathering + 3 + answering


@pytest.mark.parametrize("validate_only", [False, True])
def test_what_was_refused_does_not_keep_alive_what_it_was_raised_in(
    desk: Desk, validate_only: bool
) -> None:
    def refuse(image: Image) -> Commit[None]:
        raise Refused(ErrorCode.INVALID_REQUEST, "no")

    kept: list[object] = []
    outcome: Any = change_each(
        desk.broker,
        [("a", refuse)],
        lambda answers: kept.extend(answers.values()),
        validate_only=validate_only,
    )
    if not validate_only:
        outcome.then(desk.change(outcome.decide))
    (refused,) = kept
    assert isinstance(refused, Refused)
    assert refused.__traceback__ is None


def test_what_is_only_validated_is_looked_at_in_slices_too(desk: Desk) -> None:
    wanted = [CreatableTopic(f"topic-{n}", 1, 1) for n in range(3 * COMMIT_ITEMS_MAX)]
    request = CreateTopicsRequest([*wanted, CreatableTopic("../bad", 1, 1)], validate_only=True)
    assert pauses_of(desk, request, 4) >= 3
    codes = {topic.name: topic.error_code for topic in desk.ask(request).topics}
    assert codes.pop("../bad") == ErrorCode.INVALID_TOPIC
    assert set(codes.values()) == {ErrorCode.NONE}
    assert len(codes) == 3 * COMMIT_ITEMS_MAX
    assert not desk.commits


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "ANSWER_BYTES_MAX", 20_000)


@pytest.mark.usefixtures("little_room")
def test_topics_that_do_not_fit_into_the_answer_say_so(desk: Desk) -> None:
    for name in ("a", "b", "c"):
        desk.create(name, partitions=500)
    topics = desk.ask(MetadataRequest(topics=None)).topics
    assert [topic.name for topic in topics] == ["a", "b", "c"]
    assert topics[0].error_code == ErrorCode.NONE
    assert len(topics[0].partitions) == 500
    assert topics[-1].error_code == ErrorCode.POLICY_VIOLATION
    assert not topics[-1].partitions


@pytest.mark.usefixtures("little_room")
def test_groups_that_do_not_fit_into_the_answer_say_so(desk: Desk) -> None:
    """Any name is a group's, so nothing else bounds these answers."""
    resources = [DescribeConfigsResource(GROUP, f"group-{n}") for n in range(500)]
    request = DescribeConfigsRequest(resources, include_documentation=True)
    results = desk.ask(request).results
    assert len(results) == 500
    assert (results[0].error_code, bool(results[0].configs)) == (ErrorCode.NONE, True)
    assert results[-1].error_code == ErrorCode.POLICY_VIOLATION
    assert "ask for less" in results[-1].error_message
    assert not results[-1].configs


@pytest.mark.usefixtures("little_room")
def test_topics_are_created_even_if_their_settings_do_not_fit_into_the_answer(desk: Desk) -> None:
    request = CreateTopicsRequest([CreatableTopic(f"topic-{n}", 1, 1) for n in range(100)])
    topics = desk.ask(request).topics
    assert {topic.error_code for topic in topics} == {ErrorCode.NONE}
    assert (topics[0].topic_config_error_code, bool(topics[0].configs)) == (0, True)
    assert topics[-1].topic_config_error_code == ErrorCode.POLICY_VIOLATION
    assert topics[-1].configs is None
    assert len(desk.image.topics) == 100


@pytest.mark.usefixtures("little_room")
def test_partitions_whose_producers_do_not_fit_into_the_answer_say_so(desk: Desk) -> None:
    desk.create("orders", partitions=2)
    for producer_id in range(600):
        desk.append("orders", producer_id=producer_id, producer_epoch=0, base_sequence=0)
    call = desk.call(DescribeProducersRequest([TopicRequest("orders", [0, 1])]))
    assert isinstance(call.run(desk.broker), Resume)
    first, second = desk.ask(call.request).topics[0].partitions
    assert (first.error_code, first.active_producers) == (ErrorCode.POLICY_VIOLATION, [])
    assert second.error_code == ErrorCode.NONE


def test_whatever_is_asked_for_twice_is_answered_once(desk: Desk) -> None:
    topic_id = desk.create("orders", partitions=3)
    desk.append("orders", producer_id=7, producer_epoch=0, base_sequence=0, first_ms=NOW_MS)
    metadata = MetadataRequest(
        [MetadataRequestTopic(name="orders")] * 3 + [MetadataRequestTopic(topic_id, None)] * 3
    )
    assert len(desk.ask(metadata).topics) == 2  # by name, and by id
    configs = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "orders")] * 3)
    assert len(desk.ask(configs).results) == 1
    producers = DescribeProducersRequest([TopicRequest("orders", [0, 0, 1])] * 3)
    (described,) = desk.ask(producers).topics
    assert [part.partition_index for part in described.partitions] == [0, 1]
    assert len(described.partitions[0].active_producers) == 1
