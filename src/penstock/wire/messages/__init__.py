"""Generated from the definitions; do not edit. A module is imported when needed."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from penstock.wire.codec import Message


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    DESCRIBE_QUORUM = 55
    UPDATE_FEATURES = 57
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


class Api(NamedTuple):
    name: str
    module: str
    min_version: int
    max_version: int
    flexible_since: int


APIS = {
    0: Api("Produce", "k00_produce", 3, 13, 9),
    1: Api("Fetch", "k01_fetch", 4, 18, 12),
    2: Api("ListOffsets", "k02_list_offsets", 1, 11, 6),
    3: Api("Metadata", "k03_metadata", 0, 13, 9),
    8: Api("OffsetCommit", "k08_offset_commit", 2, 10, 8),
    9: Api("OffsetFetch", "k09_offset_fetch", 1, 10, 6),
    10: Api("FindCoordinator", "k10_find_coordinator", 0, 6, 3),
    11: Api("JoinGroup", "k11_join_group", 0, 9, 6),
    12: Api("Heartbeat", "k12_heartbeat", 0, 4, 4),
    13: Api("LeaveGroup", "k13_leave_group", 0, 5, 4),
    14: Api("SyncGroup", "k14_sync_group", 0, 5, 4),
    15: Api("DescribeGroups", "k15_describe_groups", 0, 6, 5),
    16: Api("ListGroups", "k16_list_groups", 0, 5, 3),
    17: Api("SaslHandshake", "k17_sasl_handshake", 0, 1, 32767),
    18: Api("ApiVersions", "k18_api_versions", 0, 4, 3),
    19: Api("CreateTopics", "k19_create_topics", 2, 7, 5),
    20: Api("DeleteTopics", "k20_delete_topics", 1, 6, 4),
    21: Api("DeleteRecords", "k21_delete_records", 0, 2, 2),
    22: Api("InitProducerId", "k22_init_producer_id", 0, 6, 2),
    23: Api("OffsetForLeaderEpoch", "k23_offset_for_leader_epoch", 2, 4, 4),
    24: Api("AddPartitionsToTxn", "k24_add_partitions_to_txn", 0, 5, 3),
    25: Api("AddOffsetsToTxn", "k25_add_offsets_to_txn", 0, 4, 3),
    26: Api("EndTxn", "k26_end_txn", 0, 5, 3),
    27: Api("WriteTxnMarkers", "k27_write_txn_markers", 1, 2, 1),
    28: Api("TxnOffsetCommit", "k28_txn_offset_commit", 0, 5, 3),
    29: Api("DescribeAcls", "k29_describe_acls", 1, 3, 2),
    30: Api("CreateAcls", "k30_create_acls", 1, 3, 2),
    31: Api("DeleteAcls", "k31_delete_acls", 1, 3, 2),
    32: Api("DescribeConfigs", "k32_describe_configs", 1, 4, 4),
    33: Api("AlterConfigs", "k33_alter_configs", 0, 2, 2),
    34: Api("AlterReplicaLogDirs", "k34_alter_replica_log_dirs", 1, 2, 2),
    35: Api("DescribeLogDirs", "k35_describe_log_dirs", 1, 5, 2),
    36: Api("SaslAuthenticate", "k36_sasl_authenticate", 0, 2, 2),
    37: Api("CreatePartitions", "k37_create_partitions", 0, 3, 2),
    38: Api("CreateDelegationToken", "k38_create_delegation_token", 1, 3, 2),
    39: Api("RenewDelegationToken", "k39_renew_delegation_token", 1, 2, 2),
    40: Api("ExpireDelegationToken", "k40_expire_delegation_token", 1, 2, 2),
    41: Api("DescribeDelegationToken", "k41_describe_delegation_token", 1, 3, 2),
    42: Api("DeleteGroups", "k42_delete_groups", 0, 2, 2),
    43: Api("ElectLeaders", "k43_elect_leaders", 0, 2, 2),
    44: Api("IncrementalAlterConfigs", "k44_incremental_alter_configs", 0, 1, 1),
    45: Api("AlterPartitionReassignments", "k45_alter_partition_reassignments", 0, 1, 0),
    46: Api("ListPartitionReassignments", "k46_list_partition_reassignments", 0, 0, 0),
    47: Api("OffsetDelete", "k47_offset_delete", 0, 0, 32767),
    48: Api("DescribeClientQuotas", "k48_describe_client_quotas", 0, 1, 1),
    49: Api("AlterClientQuotas", "k49_alter_client_quotas", 0, 1, 1),
    50: Api("DescribeUserScramCredentials", "k50_describe_user_scram_credentials", 0, 0, 0),
    51: Api("AlterUserScramCredentials", "k51_alter_user_scram_credentials", 0, 0, 0),
    55: Api("DescribeQuorum", "k55_describe_quorum", 0, 2, 0),
    57: Api("UpdateFeatures", "k57_update_features", 0, 2, 0),
    60: Api("DescribeCluster", "k60_describe_cluster", 0, 2, 0),
    61: Api("DescribeProducers", "k61_describe_producers", 0, 0, 0),
    64: Api("UnregisterBroker", "k64_unregister_broker", 0, 0, 0),
    65: Api("DescribeTransactions", "k65_describe_transactions", 0, 0, 0),
    66: Api("ListTransactions", "k66_list_transactions", 0, 2, 0),
    68: Api("ConsumerGroupHeartbeat", "k68_consumer_group_heartbeat", 0, 1, 0),
    69: Api("ConsumerGroupDescribe", "k69_consumer_group_describe", 0, 1, 0),
    71: Api("GetTelemetrySubscriptions", "k71_get_telemetry_subscriptions", 0, 0, 0),
    72: Api("PushTelemetry", "k72_push_telemetry", 0, 0, 0),
    74: Api("ListConfigResources", "k74_list_config_resources", 0, 1, 0),
    75: Api("DescribeTopicPartitions", "k75_describe_topic_partitions", 0, 0, 0),
    76: Api("ShareGroupHeartbeat", "k76_share_group_heartbeat", 1, 1, 1),
    77: Api("ShareGroupDescribe", "k77_share_group_describe", 1, 1, 1),
    78: Api("ShareFetch", "k78_share_fetch", 1, 2, 1),
    79: Api("ShareAcknowledge", "k79_share_acknowledge", 1, 2, 1),
    80: Api("AddRaftVoter", "k80_add_raft_voter", 0, 1, 0),
    81: Api("RemoveRaftVoter", "k81_remove_raft_voter", 0, 0, 0),
    83: Api("InitializeShareGroupState", "k83_initialize_share_group_state", 0, 0, 0),
    84: Api("ReadShareGroupState", "k84_read_share_group_state", 0, 0, 0),
    85: Api("WriteShareGroupState", "k85_write_share_group_state", 0, 1, 0),
    86: Api("DeleteShareGroupState", "k86_delete_share_group_state", 0, 0, 0),
    87: Api("ReadShareGroupStateSummary", "k87_read_share_group_state_summary", 0, 1, 0),
    88: Api("StreamsGroupHeartbeat", "k88_streams_group_heartbeat", 0, 0, 0),
    89: Api("StreamsGroupDescribe", "k89_streams_group_describe", 0, 0, 0),
    90: Api("DescribeShareGroupOffsets", "k90_describe_share_group_offsets", 0, 1, 0),
    91: Api("AlterShareGroupOffsets", "k91_alter_share_group_offsets", 0, 0, 0),
    92: Api("DeleteShareGroupOffsets", "k92_delete_share_group_offsets", 0, 0, 0),
}


@cache
def message_types(key: int) -> tuple[type[Message], type[Message]]:
    """The classes of an API's request and response."""
    api = APIS[key]
    module = import_module(f"{__name__}.{api.module}")
    return getattr(module, f"{api.name}Request"), getattr(module, f"{api.name}Response")
