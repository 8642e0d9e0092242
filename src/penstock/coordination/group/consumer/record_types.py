"""The records that a group of KIP-848 is made of, by shorter names than Kafka's."""

from penstock.wire.stored import (
    consumer_group_current_member_assignment as _current,
)
from penstock.wire.stored import consumer_group_member_metadata as _member
from penstock.wire.stored import consumer_group_metadata as _group
from penstock.wire.stored import consumer_group_regular_expression as _regex
from penstock.wire.stored import consumer_group_target_assignment_member as _target
from penstock.wire.stored import consumer_group_target_assignment_metadata as _target_epoch

EpochKey = _group.ConsumerGroupMetadataKey
EpochValue = _group.ConsumerGroupMetadataValue
ProfileKey = _member.ConsumerGroupMemberMetadataKey
ProfileValue = _member.ConsumerGroupMemberMetadataValue
HoldingKey = _current.ConsumerGroupCurrentMemberAssignmentKey
HoldingValue = _current.ConsumerGroupCurrentMemberAssignmentValue
HoldingPart = _current.TopicPartitions
TargetKey = _target.ConsumerGroupTargetAssignmentMemberKey
TargetValue = _target.ConsumerGroupTargetAssignmentMemberValue
TargetPart = _target.TopicPartition
TargetEpochKey = _target_epoch.ConsumerGroupTargetAssignmentMetadataKey
TargetEpochValue = _target_epoch.ConsumerGroupTargetAssignmentMetadataValue
RegexKey = _regex.ConsumerGroupRegularExpressionKey
RegexValue = _regex.ConsumerGroupRegularExpressionValue
