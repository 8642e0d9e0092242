"""Which groups a broker looks after, and what becomes of them when log or leader fail."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.api.desk import Desk
from tests.api.grouping import (
    DELAY_MS,
    GROUP,
    SESSION_MS,
    SETTINGS,
    Asked,
    Room,
    commit,
    join,
    lose_followers,
    sync,
)
from tests.log.making import FullDisk

from penstock.api.coordinator import hash_of
from penstock.api.shard import SPARED_BYTES
from penstock.coordination import pace as pace_module
from penstock.coordination.group import aging, protocols
from penstock.coordination.group.aging import Aging
from penstock.coordination.group.consumer.record_types import HoldingKey, HoldingValue
from penstock.coordination.group.groups import Group
from penstock.coordination.group.kind import GROUPS
from penstock.coordination.group.offsets import every
from penstock.coordination.group.readers import Readers
from penstock.coordination.pace import COST_A_SLICE, Pace
from penstock.coordination.turn import EVENT_COST, TURN_COST, Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.internal_topics import OFFSETS
from penstock.metadata.records import encode, partition_key
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import build_batch
from penstock.wire.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from penstock.wire.messages.k11_join_group import JoinGroupRequestProtocol
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest
from penstock.wire.messages.k14_sync_group import SyncGroupRequestAssignment
from penstock.wire.messages.k15_describe_groups import DescribeGroupsRequest
from penstock.wire.messages.k16_list_groups import ListGroupsRequest
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from penstock.wire.records import Record
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored.group_metadata import GroupMetadataKey, GroupMetadataValue
from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from penstock.wire.stored_codec import StoredKey, Versioned, encode_key, encode_value


@pytest.fixture
def full() -> Iterator[FullDisk]:
    disk = FullDisk()
    yield disk
    disk.close()


@pytest.fixture
def failing(full: FullDisk, tmp_path: Path) -> Iterator[Room]:
    """A room whose disk can be full."""
    texts = {**SETTINGS, "offsets.topic.num.partitions": "1"}
    desk = Desk(full, tmp_path / "data", texts)
    desk.create("orders", partitions=2)
    yield Room(desk)
    desk.log_dir.abandon()


def refusal(action: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        action()
    return caught.value.code


def code_of(asked: Asked) -> int:
    code: int = asked.answer.topics[0].partitions[0].error_code
    return code


def offset(room: Room) -> int | None:
    group = room.shard().kept.get(GROUP)
    return group.offsets["orders"][0].offset if group and group.offsets else None


def lose(room: Room, index: int) -> None:
    """Another broker leads a partition of the offsets topic now."""
    topic = room.desk.image.topics[OFFSETS]
    record = topic.partition(index)
    assert record is not None
    other = msgspec.structs.replace(record, leader=2)
    room.desk.change(
        lambda image: Commit(None, puts=[(partition_key(topic.id, index), encode(other))])
    )
    room.groups.follow()


# -- who looks after what


@pytest.mark.parametrize(
    ("name", "expected"),
    [("hello", 99_162_322), ("polygenelubricants", 0), ("\N{GRINNING FACE}", 1_772_899), ("", 0)],
)
def test_groups_are_in_the_partition_that_other_tools_expect(name: str, expected: int) -> None:
    """Java's hash, whose sign is dropped; a character outside of its 16 bits counts as two."""
    assert hash_of(name) == expected


def test_while_there_is_no_offsets_topic_nobody_looks_after_a_group(desk: Desk) -> None:
    assert refusal(lambda: desk.broker.groups.shard("g")) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_group_of_another_broker_is_refused(room: Room) -> None:
    lose(room, room.leader().index)
    assert refusal(room.shard) == ErrorCode.NOT_COORDINATOR


def test_who_waits_is_told_when_another_broker_takes_over(room: Room) -> None:
    committing, joining = room.ask(commit()), room.ask(join(), 3)
    lose(room, room.leader().index)
    assert joining.code == ErrorCode.NOT_COORDINATOR
    assert code_of(committing) == ErrorCode.NOT_COORDINATOR


def cut_off(room: Room) -> None:
    """The store has not confirmed the lease in time."""
    room.desk.broker.has_lease = lambda: False


def test_a_broker_without_its_lease_answers_nothing_about_groups(room: Room) -> None:
    (member,) = room.settle()
    cut_off(room)
    about = OffsetFetchRequestGroup(GROUP)
    assert room.ask(HeartbeatRequest(GROUP, 1, member)).code == ErrorCode.NOT_COORDINATOR
    assert room.ask(join(member_id=member)).code == ErrorCode.NOT_COORDINATOR
    assert code_of(room.ask(commit(member_id=member))) == ErrorCode.NOT_COORDINATOR
    (found,) = room.ask(OffsetFetchRequest(groups=[about])).answer.groups
    assert found.error_code == ErrorCode.NOT_COORDINATOR
    (described,) = room.ask(DescribeGroupsRequest([GROUP])).answer.groups
    assert described.error_code == ErrorCode.NOT_COORDINATOR
    assert room.ask(ListGroupsRequest()).code == ErrorCode.NOT_COORDINATOR


def test_what_waits_to_be_committed_is_not_answered_without_the_lease(room: Room) -> None:
    committing, joining = room.ask(commit()), room.ask(join(), 3)
    cut_off(room)
    room.sync()
    room.groups.load_again(room.groups.shards[room.leader().index])
    assert code_of(committing) == joining.code == ErrorCode.NOT_COORDINATOR


def test_members_get_time_again_when_the_lease_is_back(room: Room) -> None:
    (member,) = room.settle()
    cut_off(room)
    assert room.ask(HeartbeatRequest(GROUP, 1, member)).code == ErrorCode.NOT_COORDINATOR
    room.wait(2 * SESSION_MS)
    room.desk.broker.has_lease = lambda: True
    assert refusal(room.shard) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    room.load()
    room.wait(SESSION_MS - 1)
    assert room.tell(HeartbeatRequest(GROUP, 1, member)).error_code == ErrorCode.NONE


def test_what_cannot_be_committed_does_not_hide_what_is(room: Room) -> None:
    (member,) = room.settle()
    room.tell(commit(offset=10, member_id=member, generation=1))
    lose_followers(room)
    again = commit(offset=20, member_id=member, generation=1)
    assert code_of(room.ask(again)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.ask(join()).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.ask(HeartbeatRequest(GROUP, 1, member)).code == ErrorCode.NONE
    fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)])
    (found,) = room.ask(fetch).answer.groups
    assert found.topics[0].partitions[0].committed_offset == 10
    assert room.ask(DescribeGroupsRequest([GROUP])).answer.groups[0].group_state == "Stable"
    assert [each.group_id for each in room.ask(ListGroupsRequest()).answer.groups] == [GROUP]


def test_a_group_that_changed_before_followers_were_missed_hides_no_other(room: Room) -> None:
    room.settle()
    committing = room.ask(commit(group="late"))
    for name in (GROUP, "late"):
        lose_followers(room, name)
    listed = room.ask(ListGroupsRequest()).answer.groups
    assert {each.group_id: each.group_state for each in listed} == {
        GROUP: "Stable",
        "late": "Unknown",
    }
    assert committing.is_waiting


def test_who_is_due_to_go_stays_while_that_could_not_be_committed(room: Room) -> None:
    room.settle()
    lose_followers(room)
    room.wait(2 * SESSION_MS)
    assert room.ask(DescribeGroupsRequest([GROUP])).answer.groups[0].group_state == "Stable"
    leader = room.leader()
    leader.in_sync = frozenset({1, 2})
    leader.replicas = (1,)
    room.wait(1_000)
    assert room.ask(DescribeGroupsRequest([GROUP])).answer.groups[0].group_state == "Empty"


def test_what_this_broker_leads_is_taken_up_when_it_is_asked_for(room: Room) -> None:
    """Also if nobody has told the coordinator yet, or its log could not be read before."""
    shard = room.groups.shards.pop(room.leader().index)
    assert room.shard() is not shard


# -- loading


def test_groups_are_there_again_after_a_restart(room: Room) -> None:
    one, two = room.settle(2)
    room.tell(commit(member_id=one, generation=1))
    room = room.restart()
    assert refusal(room.shard) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    room.load()
    assert offset(room) == 5
    for member in (one, two):
        assert room.tell(HeartbeatRequest(GROUP, 1, member)).error_code == ErrorCode.NONE
    room.wait(SESSION_MS)
    group = room.shard().kept.get(GROUP)
    assert group is not None
    assert group.is_empty


def test_a_load_that_failed_half_way_can_be_done_again(room: Room) -> None:
    room.tell(commit(3))
    room.groups.load_again(room.shard())
    (shard,) = room.loading
    steps = shard.load()
    next(steps)
    steps.close()
    assert not shard.is_loaded
    room.load()
    assert offset(room) == 3


def test_a_partition_without_events_need_not_be_loaded(room: Room) -> None:
    assert not room.loading
    assert room.shard().is_loaded


# -- a disk that fails


def test_what_was_undone_is_not_there_and_was_never_told(failing: Room, full: FullDisk) -> None:
    room = failing
    room.tell(commit(3))
    full.is_full = True
    with pytest.raises(OSError, match="no space"):
        room.ask(commit(4))
    full.is_full = False
    assert refusal(room.shard) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    room.load()
    assert offset(room) == 3
    room.tell(commit(5))
    assert offset(room) == 5


def test_who_waits_for_what_was_undone_is_told_to_ask_again(failing: Room, full: FullDisk) -> None:
    room = failing
    room.tell(commit(group="other"))
    joined = [room.ask(join(), 3) for _ in range(2)]
    room.wait(DELAY_MS)
    leader, follower = (each.answer.member_id for each in joined)
    waiting = room.ask(sync(follower))
    full.is_full = True
    with pytest.raises(OSError, match="no space"):
        room.ask(sync(leader, (leader, follower)))
    full.is_full = False
    assert waiting.is_waiting, "the plan was made, but nobody knows of it"
    assert refusal(room.shard) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert waiting.code == ErrorCode.NOT_COORDINATOR
    room.load()
    assert room.shard().kept.get(GROUP) is None, "its first generation never was"


def test_an_append_that_fails_at_once_gives_the_groups_up(
    failing: Room, full: FullDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = failing
    room.tell(commit(3))
    waiting = room.ask(join(), 3)

    def fails(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(type(room.leader().log), "append", fails)
        with pytest.raises(OSError, match="no space"):
            room.ask(commit(4, group="other"))
    assert waiting.code == ErrorCode.NOT_COORDINATOR
    room.load()
    assert offset(room) == 3


def test_groups_that_nobody_asks_for_are_loaded_again_when_time_passes(
    failing: Room, full: FullDisk
) -> None:
    room = failing
    room.settle()
    joining = room.ask(join("other"), 3)
    full.is_full = True
    with pytest.raises(OSError, match="no space"):
        room.ask(commit(group="third"))
    full.is_full = False
    room.wait(DELAY_MS)
    assert joining.code == ErrorCode.NOT_COORDINATOR
    assert len(room.loading) == 1


def test_a_sweep_does_not_write_to_what_has_to_be_loaded_again(
    failing: Room, full: FullDisk
) -> None:
    room = failing
    room.tell(commit(3))
    full.is_full = True
    with pytest.raises(OSError, match="no space"):
        room.ask(commit(4))
    full.is_full = False
    seen = []
    list(room.groups.for_each(lambda turn, group: seen.append(group.name), Pace()))
    assert not seen
    room.load()
    assert offset(room) == 3


# -- bugs


def test_a_bug_in_a_decision_does_not_leave_half_of_it_behind(room: Room) -> None:
    room.tell(commit(3))

    def decide(turn: Turn, group: Group) -> None:
        group.offsets.clear()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        room.shard().decide(GROUP, decide)
    room.load()
    assert offset(room) == 3


def test_one_group_that_cannot_be_looked_after_does_not_keep_the_others_from_it(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"group-{number}" for number in range(20)]
    for name in names:
        room.tell(commit(group=name))
    bad = room.shard(names[0])
    seen = []

    def decide(turn: Turn, group: Group) -> None:
        seen.append(group.name)
        if group.name == names[0]:
            raise ZeroDivisionError

    list(room.groups.for_each(decide, Pace()))
    elsewhere = {name for name in names if room.groups.place(name)[0] != bad.leader.index}
    assert elsewhere <= set(seen)
    assert "could not be looked after" in caplog.text


def test_a_group_that_cannot_be_looked_after_is_loaded_again_and_not_forgotten(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    (member,) = room.settle()

    def fails(turn: Turn, group: Group) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        for each in (room.groups, *room.groups.shards.values()):
            patched.setattr(each, "kind", replace(GROUPS, expire=fails))
        room.wait(SESSION_MS)
    room.load()
    assert room.tell(HeartbeatRequest(GROUP, 1, member)).error_code == ErrorCode.NONE
    room.wait(SESSION_MS)
    group = room.shard().kept.get(GROUP)
    assert group is not None
    assert group.is_empty


def with_bad_group(room: Room, monkeypatch: pytest.MonkeyPatch, what: str) -> str:
    """A group that fails at this whenever it is tried; another one of the same shard."""
    room.settle()
    index = room.leader().index
    other = next(
        name for number in range(1_000) if room.groups.place(name := f"o{number}")[0] == index
    )
    room.tell(commit(group=other))
    real = getattr(GROUPS, what)

    def fails(turn: Turn, group: Group, *more: object) -> None:
        if group.name == GROUP:
            raise ZeroDivisionError
        real(turn, group, *more)

    changed: dict[str, Any] = {what: fails}
    for each in (room.groups, *room.groups.shards.values()):
        monkeypatch.setattr(each, "kind", replace(GROUPS, **changed))
    return other


def test_a_group_that_always_fails_is_set_aside_and_its_shard_goes_on(
    room: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other = with_bad_group(room, monkeypatch, "expire")
    for _ in range(2):
        room.wait(SESSION_MS)
        room.load()
    shard = room.shard(other)
    room.wait(SESSION_MS)
    assert room.shard(other) is shard, "it is not loaded again"
    assert refusal(room.shard) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    room.tell(commit(group=other))
    assert caplog.text.count("is set aside") == 1
    assert [group.name for _, group in room.groups.each()].count(GROUP) == 1


def test_a_group_that_cannot_be_begun_does_not_keep_its_shard_from_being_loaded(
    room: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other = with_bad_group(room, monkeypatch, "begin")
    room.groups.load_again(room.shard())
    room.load()
    assert refusal(room.shard) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.shard(other).is_loaded
    assert caplog.text.count("is set aside") == 1


def test_groups_that_are_loaded_in_vain_are_loaded_after_longer_and_longer_pauses(
    room: Room,
) -> None:
    room.tell(commit(3))
    pauses = []
    for _ in range(9):
        room.groups.load_again(room.shard())
        pauses.append(room.loading[0].pause_ms)
        room.load()
    assert pauses == [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]
    room.clock.time_ms += 60_000
    room.groups.load_again(room.shard())
    assert room.loading[0].pause_ms == 100


# -- time


def test_groups_that_are_due_are_looked_at_some_at_a_time(room: Room) -> None:
    joined = [room.ask(join(f"group-{number}"), 3) for number in range(100)]
    room.clock.time_ms += DELAY_MS
    assert room.groups.expire()
    assert 10 < sum(not each.is_waiting for each in joined) < 100
    while room.groups.expire():
        pass
    assert not any(each.is_waiting for each in joined)


def test_who_has_been_due_longest_is_looked_at_first(room: Room) -> None:
    """In whichever shard: or a group that is due again and again would keep others waiting."""
    looked_at: list[str] = []
    for number in range(9):
        room.ask(join(f"group-{number}"), 3)
        room.clock.time_ms += 1
    for shard in room.groups.shards.values():
        take_due = shard.take_due

        def noting(time_ms: float, take_due: Any = take_due) -> Group | None:
            group: Group | None = take_due(time_ms)
            looked_at.extend([group.name] if group is not None else [])
            return group

        shard.take_due = noting  # type: ignore[method-assign]
    room.clock.time_ms += DELAY_MS
    room.groups.expire()
    assert looked_at == [f"group-{number}" for number in range(9)]


def test_a_turn_that_does_much_is_followed_by_a_pause(room: Room) -> None:
    for number in range(3):
        room.ask(join(f"group-{number}"), 3)

    def decide(turn: Turn, group: Group) -> None:
        turn.spend(COST_A_SLICE)

    assert len(list(room.groups.for_each(decide, Pace()))) == 3
    assert not list(room.groups.for_each(lambda turn, group: None, Pace()))


def test_whoever_keeps_the_time_is_told_of_the_next_look(room: Room) -> None:
    wishes: list[float] = []
    room.groups.wake_by = wishes.append
    room.ask(join(), 3)
    assert wishes == [room.clock.time_ms + DELAY_MS]
    assert room.groups.next_due_ms == wishes[0]


def test_a_sweep_over_many_old_offsets_makes_pauses(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.tell(commit(partitions=tuple(range(2))))
    room.tell(commit(group="other"))
    room.clock.time_ms += 8 * 24 * 3_600_000
    monkeypatch.setattr(aging, "OFFSETS_A_TURN", 1)
    monkeypatch.setattr(pace_module, "COST_A_SLICE", TURN_COST + EVENT_COST)
    left = [
        sum(len(list(every(group))) for _, group in room.groups.each())
        for _ in room.groups.sweep(Aging, Pace())
    ]
    assert left == [2, 1, 0]
    assert not list(room.groups.each())


def test_old_offsets_go_in_a_sweep(room: Room) -> None:
    room.tell(commit())
    room.clock.time_ms += 8 * 24 * 3_600_000
    list(room.groups.sweep(Aging, Pace()))
    assert room.shard().kept.get(GROUP) is None


# -- what cannot be read


def write_raw(room: Room, key: bytes, value: bytes | None) -> None:
    """As another release would."""
    leader = room.leader()
    batch = build_batch([Record(0, 0, key, value)])
    leader.log.append(batch, read_header(batch), 0, leader.epoch)
    leader.log.write_out()


def newer(value: Versioned, version: int | None = None) -> bytes:
    return struct.pack(">h", 99) + encode_value(value, version)[2:]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (GroupMetadataKey(GROUP), newer(GroupMetadataValue())),
        (GroupMetadataKey(GROUP), b""),
        (OffsetCommitKey(GROUP, "orders", 1), newer(OffsetCommitValue())),
        (HoldingKey(GROUP, "m"), encode_value(HoldingValue(state=77))),
    ],
    ids=["newer", "empty", "an offset", "an unknown state"],
)
def test_a_group_of_which_something_cannot_be_read_is_left_as_it_is(
    room: Room, caplog: pytest.LogCaptureFixture, key: StoredKey, value: bytes
) -> None:
    room.settle()
    room.tell(commit(group="other"))
    write_raw(room, encode_key(key), value)
    room = room.restart()
    room.load()
    end = room.leader().log.end_offset
    assert room.ask(join(), 3).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert code_of(room.ask(commit())) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert room.shard("other").kept.get("other")
    room.clock.time_ms += 30 * 24 * 3_600_000
    list(room.groups.sweep(Aging, Pace()))
    room.wait(SESSION_MS)
    assert room.leader().log.end_offset == end, "nothing is written over"
    told = [each for each in caplog.messages if "set aside" in each]
    assert len(told) == 1
    assert GROUP in told[0]
    assert "start the release that has written them" in told[0]


def test_what_was_ended_or_written_anew_since_keeps_nobody_out(room: Room) -> None:
    (member,) = room.settle()
    raw = encode_key(OffsetCommitKey(GROUP, "orders", 1))
    write_raw(room, raw, b"")
    write_raw(room, raw, None)
    room = room.restart()
    room.load()
    assert room.tell(HeartbeatRequest(GROUP, 1, member)).error_code == ErrorCode.NONE


# -- a full disk


@pytest.fixture
def tight(failing: Room, full: FullDisk, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A room whose disk is full but for some kilobytes."""
    failing.desk.broker.disk_is_full = True
    monkeypatch.setattr(full, "free_bytes", lambda path: SPARED_BYTES + 10_000)
    return failing


def consumer_join(*topics: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m",
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=list(topics),
        topic_partitions=[],
    )


def test_a_member_for_whom_there_is_no_room_is_refused_and_nobody_else_notices(tight: Room) -> None:
    before, end = tight.shard(), tight.leader().log.end_offset
    long = consumer_join(*(f"topic-{number}" for number in range(2_000)))
    assert tight.ask(long).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert tight.leader().log.end_offset == end
    assert tight.tell(consumer_join("orders")).error_code == ErrorCode.NONE
    assert tight.shard() is before


def test_a_plan_for_which_there_is_no_room_is_refused_and_a_smaller_one_is_not(tight: Room) -> None:
    before = tight.shard()
    joined = tight.ask(join(), 3)
    tight.wait(DELAY_MS)
    member = joined.answer.member_id
    large = sync(member)
    large.assignments = [SyncGroupRequestAssignment(member, bytes(20_000))]
    assert tight.ask(large).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert tight.tell(sync(member, [member])).error_code == ErrorCode.NONE
    assert tight.shard() is before


def test_a_static_member_for_whom_there_is_no_room_is_refused_with_its_place_kept(
    tight: Room,
) -> None:
    joined = tight.ask(join(group_instance_id="i"), 5)
    tight.wait(DELAY_MS)
    member = joined.answer.member_id
    tight.tell(sync(member, [member]))
    said = encode_value(ConsumerProtocolSubscription(["orders"], bytes(20_000)), 0)
    again = join(group_instance_id="i", protocols=[JoinGroupRequestProtocol("range", said)])
    assert tight.ask(again, 5).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert tight.tell(HeartbeatRequest(GROUP, 1, member, "i")).error_code == ErrorCode.NONE


def test_an_upgrade_for_which_there_is_no_room_leaves_the_group_as_it_is(tight: Room) -> None:
    """Who waits in its round goes on waiting."""
    joined = tight.ask(join(), 3)
    tight.wait(DELAY_MS)
    member = joined.answer.member_id
    tight.tell(sync(member))
    waiting = tight.ask(join(), 3)
    long = consumer_join(*(f"topic-{number}" for number in range(2_000)))
    assert tight.ask(long).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert waiting.is_waiting
    assert tight.ask(HeartbeatRequest(GROUP, 1, member)).code == ErrorCode.REBALANCE_IN_PROGRESS
    tight.tell(join(member_id=member), 3)
    assert waiting.answer.generation_id == 2


# -- pauses


def subscribing(*topics: str) -> list[JoinGroupRequestProtocol]:
    said = encode_value(ConsumerProtocolSubscription(list(topics)), 0)
    return [JoinGroupRequestProtocol("range", said)]


def with_long_subscriptions(room: Room, groups: int) -> Room:
    for number in range(groups):
        names = [f"{number}-{each}" for each in range(COST_A_SLICE)]
        joined = room.ask(join(group=f"group-{number}", protocols=subscribing(*names)), 3)
        room.wait(DELAY_MS)
        room.tell(sync(joined.answer.member_id, group=f"group-{number}"))
    return room


def test_a_sweep_over_long_subscriptions_makes_pauses_and_disturbs_who_reads_the_topic(
    room: Room,
) -> None:
    with_long_subscriptions(room, 3)
    pace = Pace()
    readers = Readers({"1-5", "orders"}, pace)

    def decide(turn: Turn, group: Group) -> None:
        protocols.topics_changed(turn, group, readers.read(group))

    assert len(list(room.groups.for_each(decide, pace, readers.look))) == 3
    disturbed = [
        group.name for _, group in room.groups.each() if protocols.state_name(group) != "Stable"
    ]
    assert disturbed == ["group-1"]


def test_loading_long_subscriptions_makes_pauses(room: Room) -> None:
    room = with_long_subscriptions(room, 3).restart()
    pauses = [sum(wait is None for wait in shard.load()) for shard in room.loading]
    assert sum(pauses) >= 3
    assert all(shard.is_loaded for shard in room.loading)
