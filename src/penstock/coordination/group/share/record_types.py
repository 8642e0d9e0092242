"""The records that a share group is made of, by shorter names than Kafka's."""

from penstock.wire.stored import share_group_current_member_assignment as _current
from penstock.wire.stored import share_group_member_metadata as _member
from penstock.wire.stored import share_group_metadata as _group
from penstock.wire.stored import share_group_state_partition_metadata as _begun
from penstock.wire.stored import share_group_target_assignment_member as _target
from penstock.wire.stored import share_group_target_assignment_metadata as _target_epoch

EpochKey = _group.ShareGroupMetadataKey
EpochValue = _group.ShareGroupMetadataValue
ProfileKey = _member.ShareGroupMemberMetadataKey
ProfileValue = _member.ShareGroupMemberMetadataValue
HoldingKey = _current.ShareGroupCurrentMemberAssignmentKey
HoldingValue = _current.ShareGroupCurrentMemberAssignmentValue
HoldingPart = _current.TopicPartitions
TargetKey = _target.ShareGroupTargetAssignmentMemberKey
TargetValue = _target.ShareGroupTargetAssignmentMemberValue
TargetPart = _target.TopicPartition
TargetEpochKey = _target_epoch.ShareGroupTargetAssignmentMetadataKey
TargetEpochValue = _target_epoch.ShareGroupTargetAssignmentMetadataValue
BegunKey = _begun.ShareGroupStatePartitionMetadataKey
BegunValue = _begun.ShareGroupStatePartitionMetadataValue
BegunPart = _begun.TopicPartitionsInfo
DeletingPart = _begun.TopicInfo
