"""Generated from the definitions; do not edit. The modules are imported when needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.wire.stored_codec import StoredKey

RECORDS = {
    "__consumer_offsets": {
        0: ("offset_commit", "OffsetCommit"),
        1: ("offset_commit", "OffsetCommit"),
        2: ("group_metadata", "GroupMetadata"),
        3: ("consumer_group_metadata", "ConsumerGroupMetadata"),
        5: ("consumer_group_member_metadata", "ConsumerGroupMemberMetadata"),
        6: ("consumer_group_target_assignment_metadata", "ConsumerGroupTargetAssignmentMetadata"),
        7: ("consumer_group_target_assignment_member", "ConsumerGroupTargetAssignmentMember"),
        8: ("consumer_group_current_member_assignment", "ConsumerGroupCurrentMemberAssignment"),
        10: ("share_group_member_metadata", "ShareGroupMemberMetadata"),
        11: ("share_group_metadata", "ShareGroupMetadata"),
        12: ("share_group_target_assignment_metadata", "ShareGroupTargetAssignmentMetadata"),
        13: ("share_group_target_assignment_member", "ShareGroupTargetAssignmentMember"),
        14: ("share_group_current_member_assignment", "ShareGroupCurrentMemberAssignment"),
        15: ("share_group_state_partition_metadata", "ShareGroupStatePartitionMetadata"),
        16: ("consumer_group_regular_expression", "ConsumerGroupRegularExpression"),
    },
    "__share_group_state": {
        0: ("share_snapshot", "ShareSnapshot"),
        1: ("share_update", "ShareUpdate"),
    },
    "__transaction_state": {
        0: ("transaction_log", "TransactionLog"),
    },
}


@cache
def key_types(topic: str) -> dict[int, type[StoredKey]]:
    """The classes of a topic's keys, by the type that a key begins with."""
    return {
        number: getattr(import_module(f"{__name__}.{module}"), f"{name}Key")
        for number, (module, name) in RECORDS[topic].items()
    }
