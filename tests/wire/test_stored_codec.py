"""What is stored, against bytes written by hand from the format, and against what is no such."""

from __future__ import annotations

import struct

import pytest

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.metadata.internal_topics import OFFSETS
from penstock.wire.stored import RECORDS, key_types
from penstock.wire.stored.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from penstock.wire.stored.consumer_group_member_metadata import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from penstock.wire.stored.consumer_group_metadata import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from penstock.wire.stored.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from penstock.wire.stored.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from penstock.wire.stored.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from penstock.wire.stored.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from penstock.wire.stored.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
)
from penstock.wire.stored.share_group_current_member_assignment import (
    TopicPartitions as ShareTopicPartitions,
)
from penstock.wire.stored.share_group_member_metadata import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
)
from penstock.wire.stored.share_group_metadata import (
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
)
from penstock.wire.stored.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from penstock.wire.stored.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
)
from penstock.wire.stored.share_group_target_assignment_member import (
    TopicPartition as ShareTopicPartition,
)
from penstock.wire.stored.share_group_target_assignment_metadata import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from penstock.wire.stored.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from penstock.wire.stored.share_snapshot import StateBatch as SnapshotBatch
from penstock.wire.stored.share_update import ShareUpdateKey, ShareUpdateValue
from penstock.wire.stored.share_update import StateBatch as UpdateBatch
from penstock.wire.stored.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from penstock.wire.stored_codec import (
    StoredKey,
    Versioned,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)

TRANSACTION_LOG_KEY = bytes.fromhex("0000 0002 7431")
OFFSET_COMMIT_KEY = bytes.fromhex("0001 0002 6731 0006 6f7264657273 00000003")
OFFSET_COMMIT_V3 = bytes.fromhex("0003 000000000000002a 00000005 0002 6d64 0000018bcfe56800")
GROUP_METADATA_KEY = bytes.fromhex("0002 0002 6731")

BY_HAND: list[tuple[StoredKey, bytes, Versioned, int, bytes]] = [
    (
        OffsetCommitKey("g1", "orders", 3),
        OFFSET_COMMIT_KEY,
        OffsetCommitValue(42, metadata="md", commit_timestamp=1_700_000_000_000),
        0,
        bytes.fromhex("0000 000000000000002a 0002 6d64 0000018bcfe56800"),
    ),
    (
        OffsetCommitKey("g1", "orders", 3),
        OFFSET_COMMIT_KEY,
        OffsetCommitValue(
            42,
            metadata="md",
            commit_timestamp=1_700_000_000_000,
            expire_timestamp=1_700_000_000_001,
        ),
        1,
        bytes.fromhex("0001 000000000000002a 0002 6d64 0000018bcfe56800 0000018bcfe56801"),
    ),
    (
        OffsetCommitKey("g1", "orders", 3),
        OFFSET_COMMIT_KEY,
        OffsetCommitValue(42, metadata="md", commit_timestamp=1_700_000_000_000),
        2,
        bytes.fromhex("0002 000000000000002a 0002 6d64 0000018bcfe56800"),
    ),
    (
        OffsetCommitKey("g1", "orders", 3),
        OFFSET_COMMIT_KEY,
        OffsetCommitValue(42, 5, "md", 1_700_000_000_000),
        3,
        OFFSET_COMMIT_V3,
    ),
    (
        OffsetCommitKey("g1", "orders", 3),
        OFFSET_COMMIT_KEY,
        OffsetCommitValue(42, 5, "md", 1_700_000_000_000, topic_id=bytes(range(16))),
        4,
        bytes.fromhex(
            "0004 000000000000002a 00000005 03 6d64 0000018bcfe56800"
            "01 00 10 000102030405060708090a0b0c0d0e0f"
        ),
    ),
    (
        GroupMetadataKey("g1"),
        GROUP_METADATA_KEY,
        GroupMetadataValue(
            "consumer",
            7,
            "range",
            "m1",
            members=[
                MemberMetadata(
                    "m1", client_id="c", client_host="/h", session_timeout=45_000, assignment=b"\2"
                )
            ],
        ),
        0,
        bytes.fromhex(
            "0000 0008 636f6e73756d6572 00000007 0005 72616e6765 0002 6d31"
            "00000001 0002 6d31 0001 63 0002 2f68 0000afc8 00000000 00000001 02"
        ),
    ),
    (
        GroupMetadataKey("g1"),
        GROUP_METADATA_KEY,
        GroupMetadataValue(
            "consumer", 7, "range", "m1", members=[MemberMetadata("m1", None, "c", "/h", 1, 2)]
        ),
        1,
        bytes.fromhex(
            "0001 0008 636f6e73756d6572 00000007 0005 72616e6765 0002 6d31"
            "00000001 0002 6d31 0001 63 0002 2f68 00000001 00000002 00000000 00000000"
        ),
    ),
    (
        GroupMetadataKey("g1"),
        GROUP_METADATA_KEY,
        GroupMetadataValue(
            "consumer",
            7,
            "range",
            "m1",
            1_700_000_000_000,
            [MemberMetadata("m1", None, "c", "/h", 1, 2)],
        ),
        2,
        bytes.fromhex(
            "0002 0008 636f6e73756d6572 00000007 0005 72616e6765 0002 6d31 0000018bcfe56800"
            "00000001 0002 6d31 0001 63 0002 2f68 00000001 00000002 00000000 00000000"
        ),
    ),
    (
        GroupMetadataKey("g1"),
        GROUP_METADATA_KEY,
        GroupMetadataValue(
            "consumer",
            7,
            "range",
            None,
            1_700_000_000_000,
            [MemberMetadata("m1", "i1", "c", "/h", 1, 2, b"\x00\x01", b"\x02")],
        ),
        4,
        bytes.fromhex(
            "0004 09 636f6e73756d6572 00000007 06 72616e6765 00 0000018bcfe56800"
            "02 03 6d31 03 6931 02 63 03 2f68 00000001 00000002 03 0001 02 02 00 00"
        ),
    ),
    (
        GroupMetadataKey("g1"),
        GROUP_METADATA_KEY,
        GroupMetadataValue(
            protocol_type="consumer",
            generation=7,
            protocol="range",
            leader="m1",
            current_state_timestamp=1_700_000_000_000,
            members=[
                MemberMetadata("m1", "i1", "c", "/h", 300_000, 45_000, b"\x00\x01", b"\x02"),
                MemberMetadata("m2", None, "c", "/h", 300_000, 45_000, b"", b""),
            ],
        ),
        3,
        bytes.fromhex(
            "0003 0008 636f6e73756d6572 00000007 0005 72616e6765 0002 6d31 0000018bcfe56800"
            "00000002"
            "0002 6d31 0002 6931 0001 63 0002 2f68 000493e0 0000afc8"
            "00000002 0001 00000001 02"
            "0002 6d32 ffff 0001 63 0002 2f68 000493e0 0000afc8 00000000 00000000"
        ),
    ),
    (
        GroupMetadataKey("g1"),
        GROUP_METADATA_KEY,
        GroupMetadataValue("consumer", 8, None, None, 1_700_000_000_000),
        3,
        bytes.fromhex("0003 0008 636f6e73756d6572 00000008 ffff ffff 0000018bcfe56800 00000000"),
    ),
    (
        ConsumerGroupMetadataKey("g1"),
        bytes.fromhex("0003 0002 6731"),
        ConsumerGroupMetadataValue(9, 256),
        0,
        bytes.fromhex("0000 00000009 01 00 08 0000000000000100"),
    ),
    (
        ConsumerGroupMemberMetadataKey("g1", "m1"),
        bytes.fromhex("0005 0002 6731 0002 6d31"),
        ConsumerGroupMemberMetadataValue(
            instance_id=None,
            rack_id="r",
            client_id="c",
            client_host="/h",
            subscribed_topic_names=["a", "b"],
            subscribed_topic_regex=None,
            rebalance_timeout_ms=300_000,
            server_assignor="uniform",
            classic_member_metadata=ClassicMemberMetadata(45_000, [ClassicProtocol("p", b"\x07")]),
        ),
        0,
        bytes.fromhex(
            "0000 00 02 72 02 63 03 2f68 03 02 61 02 62 00 000493e0 08 756e69666f726d"
            "01 00 0c 01 0000afc8 02 02 70 02 07 00 00"
        ),
    ),
    (
        ConsumerGroupCurrentMemberAssignmentKey("g1", "m1"),
        bytes.fromhex("0008 0002 6731 0002 6d31"),
        ConsumerGroupCurrentMemberAssignmentValue(
            4, 3, 1, [TopicPartitions(bytes(range(16)), [0, 2])], []
        ),
        0,
        bytes.fromhex(
            "0000 00000004 00000003 01"
            "02 000102030405060708090a0b0c0d0e0f 03 00000000 00000002 00 01 00"
        ),
    ),
    (
        ConsumerGroupTargetAssignmentMetadataKey("g1"),
        bytes.fromhex("0006 0002 6731"),
        ConsumerGroupTargetAssignmentMetadataValue(9),
        0,
        bytes.fromhex("0000 00000009 00"),
    ),
    (
        ConsumerGroupTargetAssignmentMemberKey("g1", "m1"),
        bytes.fromhex("0007 0002 6731 0002 6d31"),
        ConsumerGroupTargetAssignmentMemberValue([TopicPartition(bytes(range(16)), [1])]),
        0,
        bytes.fromhex("0000 02 000102030405060708090a0b0c0d0e0f 02 00000001 00 00"),
    ),
    (
        ConsumerGroupRegularExpressionKey("g1", "a.*"),
        bytes.fromhex("0010 0002 6731 0003 612e2a"),
        ConsumerGroupRegularExpressionValue(["ab"], 6, 1_700_000_000_000),
        0,
        bytes.fromhex("0000 02 03 6162 0000000000000006 0000018bcfe56800 00"),
    ),
    (
        ShareGroupMemberMetadataKey("g1", "m1"),
        bytes.fromhex("000a 0002 6731 0002 6d31"),
        ShareGroupMemberMetadataValue(None, "c", "/h", ["a", "b"]),
        0,
        bytes.fromhex("0000 00 02 63 03 2f68 03 02 61 02 62 00"),
    ),
    (
        ShareGroupMetadataKey("g1"),
        bytes.fromhex("000b 0002 6731"),
        ShareGroupMetadataValue(9, -2),
        0,
        bytes.fromhex("0000 00000009 fffffffffffffffe 00"),
    ),
    (
        ShareGroupTargetAssignmentMetadataKey("g1"),
        bytes.fromhex("000c 0002 6731"),
        ShareGroupTargetAssignmentMetadataValue(9),
        0,
        bytes.fromhex("0000 00000009 00"),
    ),
    (
        ShareGroupTargetAssignmentMemberKey("g1", "m1"),
        bytes.fromhex("000d 0002 6731 0002 6d31"),
        ShareGroupTargetAssignmentMemberValue([ShareTopicPartition(bytes(range(16)), [1])]),
        0,
        bytes.fromhex("0000 02 000102030405060708090a0b0c0d0e0f 02 00000001 00 00"),
    ),
    (
        ShareGroupCurrentMemberAssignmentKey("g1", "m1"),
        bytes.fromhex("000e 0002 6731 0002 6d31"),
        ShareGroupCurrentMemberAssignmentValue(
            4, 3, 0, [ShareTopicPartitions(bytes(range(16)), [0, 2])]
        ),
        0,
        bytes.fromhex(
            "0000 00000004 00000003 00"
            "02 000102030405060708090a0b0c0d0e0f 03 00000000 00000002 00 00"
        ),
    ),
    (
        ShareGroupStatePartitionMetadataKey("g1"),
        bytes.fromhex("000f 0002 6731"),
        ShareGroupStatePartitionMetadataValue(
            [TopicPartitionsInfo(bytes(range(16)), "a", [3], 5)],
            [],
            [TopicInfo(bytes(range(16)), "b")],
        ),
        0,
        bytes.fromhex(
            "0000 02 000102030405060708090a0b0c0d0e0f 02 61 02 00000003 0000000000000005 00"
            "01 02 000102030405060708090a0b0c0d0e0f 02 62 00 00"
        ),
    ),
    (
        TransactionLogKey("t1"),
        TRANSACTION_LOG_KEY,
        TransactionLogValue(
            7,
            producer_epoch=3,
            transaction_timeout_ms=60_000,
            transaction_status=1,
            transaction_partitions=[PartitionsSchema("ab", [0, 2])],
            transaction_last_update_timestamp_ms=1_700_000_000_000,
            transaction_start_timestamp_ms=5,
        ),
        0,
        bytes.fromhex(
            "0000 0000000000000007 0003 0000ea60 01 00000001 0002 6162 00000002 00000000 00000002"
            "0000018bcfe56800 0000000000000005"
        ),
    ),
    (
        TransactionLogKey("t1"),
        TRANSACTION_LOG_KEY,
        TransactionLogValue(
            7,
            previous_producer_id=6,
            producer_epoch=3,
            transaction_timeout_ms=60_000,
            transaction_status=4,
            transaction_partitions=None,
            transaction_last_update_timestamp_ms=1_700_000_000_000,
            transaction_start_timestamp_ms=-1,
            client_transaction_version=2,
        ),
        1,
        bytes.fromhex(
            "0001 0000000000000007 0003 0000ea60 04 00 0000018bcfe56800 ffffffffffffffff"
            "02 00 08 0000000000000006 02 02 0002"
        ),
    ),
    (
        ShareSnapshotKey("g1", bytes(range(16)), 3),
        bytes.fromhex("0000 0002 6731 000102030405060708090a0b0c0d0e0f 00000003"),
        ShareSnapshotValue(4, 2, 7, 100, 5, 1_700_000_000_000, 5, [SnapshotBatch(100, 104, 2, 1)]),
        0,
        bytes.fromhex(
            "0000 00000004 00000002 00000007 0000000000000064 0000018bcfe56800 0000000000000005"
            "02 0000000000000064 0000000000000068 02 0001 00 01 00 04 00000005"
        ),
    ),
    (
        ShareUpdateKey("g1", bytes(range(16)), 3),
        bytes.fromhex("0001 0002 6731 000102030405060708090a0b0c0d0e0f 00000003"),
        ShareUpdateValue(4, 7, -1, state_batches=[UpdateBatch(105, 105, 0, 2)]),
        0,
        bytes.fromhex(
            "0000 00000004 00000007 ffffffffffffffff"
            "02 0000000000000069 0000000000000069 00 0002 00 00"
        ),
    ),
]


def topic_of(key: StoredKey) -> str:
    return next(topic for topic in RECORDS if type(key) in key_types(topic).values())


def test_every_version_of_every_record_is_written_by_hand() -> None:
    written = {(type(key), version) for key, _, _, version, _ in BY_HAND}
    assert written == {
        (kind, version)
        for topic in RECORDS
        for kind in key_types(topic).values()
        for version in range(kind.VALUE.MIN_VERSION, kind.VALUE.MAX_VERSION + 1)
    }


by_hand = pytest.mark.parametrize(("key", "raw_key", "value", "version", "raw_value"), BY_HAND)


@by_hand
def test_what_is_written_by_hand_is_what_we_write(
    key: StoredKey, raw_key: bytes, value: Versioned, version: int, raw_value: bytes
) -> None:
    assert encode_key(key) == raw_key
    assert encode_value(value, version) == raw_value


@by_hand
def test_what_is_written_by_hand_is_read(
    key: StoredKey, raw_key: bytes, value: Versioned, version: int, raw_value: bytes
) -> None:
    assert decode_key(raw_key, topic_of(key)) == key
    assert decode_value(key, raw_value) == value


@by_hand
def test_what_is_cut_short_at_any_byte_is_malformed(
    key: StoredKey, raw_key: bytes, value: Versioned, version: int, raw_value: bytes
) -> None:
    for size in range(len(raw_key)):
        with pytest.raises(Malformed):
            decode_key(raw_key[:size], topic_of(key))
    for size in range(len(raw_value)):
        with pytest.raises(Malformed):
            decode_value(key, raw_value[:size])


@by_hand
def test_bytes_that_are_left_over_are_malformed(
    key: StoredKey, raw_key: bytes, value: Versioned, version: int, raw_value: bytes
) -> None:
    with pytest.raises(Malformed, match="Key is followed by 1 bytes"):
        decode_key(raw_key + b"\x00", topic_of(key))
    with pytest.raises(Malformed, match="Value is followed by 2 bytes"):
        decode_value(key, raw_value + b"\x00\x00")


def test_the_types_are_those_of_kafka() -> None:
    assert {number: kind.__name__ for number, kind in key_types(OFFSETS).items()} == {
        0: "OffsetCommitKey",
        1: "OffsetCommitKey",
        2: "GroupMetadataKey",
        3: "ConsumerGroupMetadataKey",
        5: "ConsumerGroupMemberMetadataKey",
        6: "ConsumerGroupTargetAssignmentMetadataKey",
        7: "ConsumerGroupTargetAssignmentMemberKey",
        8: "ConsumerGroupCurrentMemberAssignmentKey",
        10: "ShareGroupMemberMetadataKey",
        11: "ShareGroupMetadataKey",
        12: "ShareGroupTargetAssignmentMetadataKey",
        13: "ShareGroupTargetAssignmentMemberKey",
        14: "ShareGroupCurrentMemberAssignmentKey",
        15: "ShareGroupStatePartitionMetadataKey",
        16: "ConsumerGroupRegularExpressionKey",
    }


def test_the_oldest_type_of_an_offset_is_read_and_the_newer_one_written() -> None:
    key = decode_key(b"\x00\x00" + OFFSET_COMMIT_KEY[2:], OFFSETS)
    assert key == OffsetCommitKey("g1", "orders", 3)
    assert encode_key(key) == OFFSET_COMMIT_KEY


@pytest.mark.parametrize("number", [4, 9, 17, 32767, -1])
def test_a_key_of_a_type_that_we_do_not_know_is_none(number: int) -> None:
    assert decode_key(struct.pack(">h", number) + b"anything", OFFSETS) is None


@pytest.mark.parametrize("raw", [b"", b"\x00"])
def test_a_key_or_value_without_room_for_its_number_is_malformed(raw: bytes) -> None:
    with pytest.raises(Malformed):
        decode_key(raw, OFFSETS)
    with pytest.raises(Malformed):
        decode_value(OffsetCommitKey(), raw)


def test_a_value_of_a_newer_version_names_the_newer_release() -> None:
    with pytest.raises(Malformed, match=r"version 5 was written by a newer release.*up to 4"):
        decode_value(OffsetCommitKey(), b"\x00\x05" + bytes(30))


def test_a_value_of_a_negative_version_is_malformed() -> None:
    with pytest.raises(Malformed, match="no version -1"):
        decode_value(OffsetCommitKey(), b"\xff\xff" + bytes(30))


def test_a_string_that_is_not_utf8_is_malformed() -> None:
    with pytest.raises(Malformed):
        decode_key(b"\x00\x02\x00\x02\xff\xfe", OFFSETS)
    with pytest.raises(Malformed):
        decode_value(OffsetCommitKey(), OFFSET_COMMIT_V3.replace(b"md", b"\xff\xfe"))


def test_null_in_a_key_is_malformed() -> None:
    with pytest.raises(Malformed, match="null"):
        decode_key(b"\x00\x02\xff\xff", OFFSETS)


def test_a_tagged_field_of_a_newer_release_is_skipped() -> None:
    raw = bytes.fromhex("0000 00000009 02 00 08 0000000000000100 01 08 0000018bcfe56800")
    assert decode_value(ConsumerGroupMetadataKey("g1"), raw) == ConsumerGroupMetadataValue(9, 256)


def test_views_are_read_and_not_held() -> None:
    raw = bytearray(encode_key(GroupMetadataKey("g1")))
    assert decode_key(memoryview(raw), OFFSETS) == GroupMetadataKey("g1")
    member = MemberMetadata("m", subscription=b"subscription")
    value = GroupMetadataValue("consumer", members=[member])
    raw_value = bytearray(encode_value(value))
    decoded = decode_value(GroupMetadataKey("g1"), memoryview(raw_value))
    raw.clear()
    raw_value.clear()
    assert decoded == value


def test_a_value_is_written_in_the_newest_version_if_no_other_is_asked_for() -> None:
    value = OffsetCommitValue(42)
    assert encode_value(value) == encode_value(value, 4)
    assert encode_value(value)[:2] == b"\x00\x04"


@pytest.mark.parametrize("version", [-1, 5])
def test_a_version_that_is_not_there_is_not_written(version: int) -> None:
    with pytest.raises(ValueError, match="no version"):
        encode_value(OffsetCommitValue(42), version)


def test_what_an_old_version_cannot_say_is_dropped_where_that_is_harmless() -> None:
    value = OffsetCommitValue(42, 5, "md", 1_700_000_000_000, 6, b"t" * 16)
    assert encode_value(value, 3) == OFFSET_COMMIT_V3


def test_a_string_longer_than_a_key_can_hold_is_refused() -> None:
    longest = GroupMetadataKey("g" * 32767)
    assert decode_key(encode_key(longest), OFFSETS) == longest
    with pytest.raises(Refused, match="shorter") as refused:
        encode_key(GroupMetadataKey("g" * 32768))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    with pytest.raises(Refused):
        encode_value(OffsetCommitValue(metadata="m" * 32768), 3)
