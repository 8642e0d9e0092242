"""Offsets of groups in transactions: when they count, and what happens to the group meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import GROUP, commit
from tests.api.test_consumer_group import joining
from tests.api.transacting import Office, add_offsets, commit_offsets, end, marker

from penstock.api.handlers import k08_offset_commit
from penstock.api.verifying import offsets_code
from penstock.coordination.group import offsets as offsets_module
from penstock.coordination.group.aging import Aging
from penstock.coordination.group.groups import Group
from penstock.coordination.pace import Pace
from penstock.coordination.transaction.state import Identity
from penstock.errors import ErrorCode
from penstock.metadata.changes import delete_topic
from penstock.metadata.internal_topics import OFFSETS
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)


def code_of(answer: Any) -> int:
    code: int = answer.topics[0].partitions[0].error_code
    return code


def held(office: Office, offset: int = 7) -> Identity:
    """A transaction that is about to commit an offset of partition 0."""
    writer = office.begun()
    office.tell(add_offsets(writer), 3)
    assert code_of(office.tell(commit_offsets(writer, offset), 3)) == ErrorCode.NONE
    return writer


def place(office: Office) -> tuple[str, int]:
    return OFFSETS, office.groups.place(GROUP)[0]


def ended(office: Office, writer: Identity, *, commit: bool = True) -> None:
    office.tell(end(writer, commit=commit), 3)
    office.finish()


def fetched(
    office: Office, *, stable: bool = True, everything: bool = False
) -> dict[int, tuple[int, int]]:
    """By partition: offset and error."""
    topics = None if everything else [OffsetFetchRequestTopics("orders", partition_indexes=[0, 1])]
    asked = OffsetFetchRequestGroup(GROUP, topics=topics)
    answer = office.tell(OffsetFetchRequest(groups=[asked], require_stable=stable), 9)
    return {
        part.partition_index: (part.committed_offset, part.error_code)
        for topic in answer.groups[0].topics
        for part in topic.partitions
    }


def group_of(office: Office) -> Group:
    group = office.shard().kept.get(GROUP)
    assert group is not None
    return group


UNSTABLE = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)


@pytest.mark.parametrize("everything", [True, False])
def test_who_wants_stable_offsets_waits_for_the_transaction(
    office: Office, everything: bool
) -> None:
    office.tell(commit(5, partitions=(0, 1)), 9)
    writer = held(office)
    found = fetched(office, everything=everything)
    assert found == {0: UNSTABLE, 1: (5, ErrorCode.NONE)}
    assert fetched(office, stable=False)[0] == (5, ErrorCode.NONE)
    ended(office, writer)
    assert fetched(office, everything=everything)[0] == (7, ErrorCode.NONE)


def test_where_the_group_has_never_been_it_is_unstable_too(office: Office) -> None:
    held(office)
    assert fetched(office, everything=True) == {0: UNSTABLE}


def test_offsets_of_an_aborted_transaction_do_not_count(office: Office) -> None:
    office.tell(commit(5), 9)
    ended(office, held(office), commit=False)
    assert fetched(office)[0] == (5, ErrorCode.NONE)


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (3, ErrorCode.INVALID_TXN_STATE),
        (4, ErrorCode.TRANSACTION_ABORTABLE),
        (5, ErrorCode.NONE),
    ],
)
def test_a_group_that_was_not_added_is_added_for_newer_clients_only(
    office: Office, version: int, code: ErrorCode
) -> None:
    writer = office.opened()
    assert code_of(office.tell(commit_offsets(writer), version)) == code
    assert (place(office) in office.state.partitions) is (version == 5)


@pytest.mark.parametrize("version", [3, 5])
def test_a_producer_that_was_shut_out_commits_nothing(office: Office, version: int) -> None:
    writer = held(office)
    office.tell(end(writer), 3)
    office.finish()
    office.begun()
    answer = office.tell(commit_offsets(writer, 99), version)
    assert code_of(answer) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert fetched(office)[0] == (7, ErrorCode.NONE)


def test_a_transaction_that_ends_while_it_is_asked_for_is_not_opened_again(
    office: Office,
) -> None:
    writer = office.begun()
    office.tell(add_offsets(writer), 3)

    def end_it() -> None:
        office.tell_markers(marker(writer, place(office)))

    office.on_verify = end_it
    answer = office.tell(commit_offsets(writer), 3)
    assert code_of(answer) == ErrorCode.INVALID_TXN_STATE
    assert not office.leader().log.producers.open_transactions()


def test_a_transaction_that_ends_between_two_turns_is_not_opened_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = held(office)
    monkeypatch.setattr(k08_offset_commit, "OFFSETS_A_TURN", 1)
    call = office.desk.call(commit_offsets(writer, 8, partitions=(0, 1)), 3)
    outcome = call.api.handler(office.desk.broker, call.request, call)
    office.tell_markers(marker(writer, place(office), commit=False))
    answer = office._unwound(call, lambda: outcome)
    assert code_of(answer) == ErrorCode.INVALID_TXN_STATE
    assert not office.leader().log.producers.open_transactions()
    assert office.groups.shard(GROUP) is office.shard(), "nor is anything loaded again"


def committed_by_newer(office: Office, writer: Identity, offset: int) -> Identity:
    """Who writes next. The group has not heard of it."""
    assert code_of(office.tell(commit_offsets(writer, offset), 5)) == ErrorCode.NONE
    answer = office.tell(end(writer), 5)
    assert answer.error_code == ErrorCode.NONE
    return Identity(answer.producer_id, answer.producer_epoch)


def test_a_marker_of_the_last_transaction_does_not_end_the_next_one(office: Office) -> None:
    """A commit is answered before the group is told, so the next offset may come first."""
    writer = committed_by_newer(office, office.begun(), 1)
    office.on_still_ending = office.finish
    for offset in (2, 3):
        writer = committed_by_newer(office, writer, offset)
    office.finish()
    assert fetched(office)[0] == (3, ErrorCode.NONE)


def test_one_of_a_newer_client_that_ends_while_it_is_asked_for_is_not_opened_again(
    office: Office,
) -> None:
    writer = office.begun()

    def end_it() -> None:
        office.tell(end(writer, commit=False), 5)
        office.finish()

    office.on_verify = end_it
    answer = office.tell(commit_offsets(writer), 5)
    assert code_of(answer) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert not office.leader().log.producers.open_transactions()
    assert office.groups.shard(GROUP) is office.shard(), "nor is anything loaded again"


def test_members_that_have_lost_their_place_commit_nothing(office: Office) -> None:
    writer = held(office)
    answer = office.tell(commit_offsets(writer, 9, member_id="gone", generation_id=3), 3)
    assert code_of(answer) in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)


def test_a_member_at_another_epoch_is_told_what_producers_know(office: Office) -> None:
    """They abort then. STALE_MEMBER_EPOCH would be the end of Java's."""
    told = office.tell(joining(GROUP, "m1"), 1)
    writer = office.begun()
    office.tell(add_offsets(writer), 3)
    late = commit_offsets(writer, 9, member_id="m1", generation_id=told.member_epoch + 1)
    assert code_of(office.tell(late, 3)) == ErrorCode.ILLEGAL_GENERATION
    now = commit_offsets(writer, 9, member_id="m1", generation_id=told.member_epoch)
    assert code_of(office.tell(now, 3)) == ErrorCode.NONE


def test_a_group_is_not_deleted_while_a_transaction_commits_its_offsets(office: Office) -> None:
    office.tell(commit(5), 9)
    writer = held(office)
    request = DeleteGroupsRequest([GROUP])
    assert office.tell(request).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    ended(office, writer)
    assert office.tell(request).results[0].error_code == ErrorCode.NONE


def test_a_group_does_not_grow_old_while_a_transaction_commits_its_offsets(
    office: Office,
) -> None:
    office.tell(commit(5), 9)
    writer = held(office)
    office.clock.time_ms += 365 * 24 * 3_600_000
    for _ in office.groups.sweep(Aging, Pace()):
        pass
    assert group_of(office).offsets["orders"][0].offset == 5
    ended(office, writer)
    assert fetched(office)[0] == (7, ErrorCode.NONE)
    for _ in office.groups.sweep(Aging, Pace()):
        pass
    assert office.shard().kept.get(GROUP) is None, "and then it goes as any other"


def test_offsets_that_are_deleted_are_not_brought_back_by_a_transaction(office: Office) -> None:
    writer = held(office)
    parts = [OffsetDeleteRequestPartition(0)]
    request = OffsetDeleteRequest(GROUP, [OffsetDeleteRequestTopic("orders", parts)])
    assert office.tell(request).error_code == ErrorCode.NONE
    ended(office, writer)
    assert fetched(office)[0] == (-1, ErrorCode.NONE)
    again = office.restart()
    again.load()
    assert fetched(again)[0] == (-1, ErrorCode.NONE)


def test_offsets_of_a_deleted_topic_do_not_take_those_of_the_next_one_with_them(
    office: Office,
) -> None:
    """Their end would be written behind what the transaction has, and hide it."""
    office.tell(commit(5), 9)
    topic = office.desk.image.topics["orders"]
    office.desk.change(lambda image: delete_topic(image, "orders", nonce=topic.id))
    office.desk.broker.remove_topic(topic)
    office.desk.create("orders", partitions=2)
    writer = held(office)
    office.shard().look_after(group_of(office), offsets_module.note_strays)
    office.wait(10)
    ended(office, writer)
    assert fetched(office)[0] == (7, ErrorCode.NONE)
    again = office.restart()
    again.load()
    assert fetched(again)[0] == (7, ErrorCode.NONE)


def test_the_topic_of_groups_is_made_by_whoever_adds_the_first(
    office: Office,
) -> None:
    topic = office.desk.image.topics[OFFSETS]
    office.desk.change(lambda image: delete_topic(image, OFFSETS, nonce=topic.id))
    office.desk.broker.remove_topic(topic)
    writer = office.begun()
    assert office.tell(add_offsets(writer), 3).error_code == ErrorCode.NONE
    assert office.desk.image.topic(OFFSETS) is not None


@pytest.mark.parametrize("version", [3, 5])
def test_what_passes_is_something_that_clients_try_again(version: int) -> None:
    away = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert offsets_code(ErrorCode.NOT_COORDINATOR, version) is away
    assert offsets_code(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, version) is away
    code = away if version < 5 else ErrorCode.CONCURRENT_TRANSACTIONS
    assert offsets_code(ErrorCode.CONCURRENT_TRANSACTIONS, version) is code
    assert offsets_code(ErrorCode.PRODUCER_FENCED, version) is ErrorCode.INVALID_PRODUCER_EPOCH
