"""The one table of what we answer. Dispatch, ApiVersions and the compatibility page read it."""

from __future__ import annotations

from typing import Any

from penstock.api.broker import Answered
from penstock.api.call import Api, Handler, Versions
from penstock.api.handlers import k83_initialize_share_group_state as k83
from penstock.api.handlers import k84_read_share_group_state as k84
from penstock.api.handlers import k85_write_share_group_state as k85
from penstock.api.handlers import k86_delete_share_group_state as k86
from penstock.api.handlers import k87_read_share_group_state_summary as k87
from penstock.api.handlers.k00_produce import produce, produce_failed
from penstock.api.handlers.k01_fetch_replica import fetch
from penstock.api.handlers.k02_list_offsets import list_offsets
from penstock.api.handlers.k03_metadata import metadata
from penstock.api.handlers.k08_offset_commit import offset_commit, offset_commit_failed
from penstock.api.handlers.k09_offset_fetch import offset_fetch, offset_fetch_failed
from penstock.api.handlers.k10_find_coordinator import find_coordinator, find_coordinator_failed
from penstock.api.handlers.k11_join_group import join_group, join_group_failed
from penstock.api.handlers.k12_heartbeat import heartbeat
from penstock.api.handlers.k13_leave_group import leave_group
from penstock.api.handlers.k14_sync_group import sync_group
from penstock.api.handlers.k15_describe_groups import describe_groups, describe_groups_failed
from penstock.api.handlers.k16_list_groups import list_groups
from penstock.api.handlers.k17_sasl_handshake import sasl_handshake
from penstock.api.handlers.k18_api_versions import api_versions
from penstock.api.handlers.k19_create_topics import create_topics, create_topics_failed
from penstock.api.handlers.k20_delete_topics import delete_topics, delete_topics_failed
from penstock.api.handlers.k21_delete_records import delete_records
from penstock.api.handlers.k22_init_producer_id import init_producer_id
from penstock.api.handlers.k23_offset_for_leader_epoch import offset_for_leader_epoch
from penstock.api.handlers.k24_add_partitions_to_txn import (
    add_partitions_to_txn,
    add_partitions_to_txn_failed,
)
from penstock.api.handlers.k25_add_offsets_to_txn import add_offsets_to_txn
from penstock.api.handlers.k26_end_txn import end_txn
from penstock.api.handlers.k27_write_txn_markers import write_txn_markers
from penstock.api.handlers.k28_txn_offset_commit import (
    txn_offset_commit,
    txn_offset_commit_failed,
)
from penstock.api.handlers.k32_describe_configs import describe_configs, describe_configs_failed
from penstock.api.handlers.k33_alter_configs import alter_configs, alter_configs_failed
from penstock.api.handlers.k35_describe_log_dirs import describe_log_dirs
from penstock.api.handlers.k36_sasl_authenticate import sasl_authenticate
from penstock.api.handlers.k37_create_partitions import (
    create_partitions,
    create_partitions_failed,
)
from penstock.api.handlers.k42_delete_groups import delete_groups, delete_groups_failed
from penstock.api.handlers.k43_elect_leaders import elect_leaders
from penstock.api.handlers.k44_incremental_alter_configs import (
    incremental_alter_configs,
    incremental_alter_configs_failed,
)
from penstock.api.handlers.k45_alter_partition_reassignments import (
    alter_partition_reassignments,
)
from penstock.api.handlers.k46_list_partition_reassignments import list_partition_reassignments
from penstock.api.handlers.k47_offset_delete import offset_delete
from penstock.api.handlers.k57_update_features import update_features
from penstock.api.handlers.k60_describe_cluster import describe_cluster
from penstock.api.handlers.k61_describe_producers import describe_producers
from penstock.api.handlers.k64_unregister_broker import unregister_broker
from penstock.api.handlers.k65_describe_transactions import describe_transactions
from penstock.api.handlers.k66_list_transactions import list_transactions
from penstock.api.handlers.k68_consumer_group_heartbeat import consumer_group_heartbeat
from penstock.api.handlers.k69_consumer_group_describe import (
    consumer_group_describe,
    consumer_group_describe_failed,
)
from penstock.api.handlers.k74_list_config_resources import list_config_resources
from penstock.api.handlers.k75_describe_topic_partitions import (
    describe_topic_partitions,
    describe_topic_partitions_failed,
)
from penstock.api.handlers.k76_share_group_heartbeat import share_group_heartbeat
from penstock.api.handlers.k77_share_group_describe import (
    share_group_describe,
    share_group_describe_failed,
)
from penstock.api.handlers.k78_share_fetch import share_fetch
from penstock.api.handlers.k79_share_acknowledge import share_acknowledge
from penstock.api.handlers.k90_describe_share_group_offsets import (
    describe_share_group_offsets,
    describe_share_group_offsets_failed,
)
from penstock.api.handlers.k91_alter_share_group_offsets import alter_share_group_offsets
from penstock.api.handlers.k92_delete_share_group_offsets import delete_share_group_offsets
from penstock.wire.messages import ApiKey, message_types


def answer(key: ApiKey, lowest: int, highest: int, handler: Handler, **rest: Any) -> Api:
    request, response = message_types(key)
    return Api(key, Versions(lowest, highest), request, response, handler, **rest)


ROWS = (
    answer(ApiKey.PRODUCE, 3, 13, produce, advertised_from=0, failed=produce_failed),
    answer(ApiKey.FETCH, 4, 17, fetch),
    answer(ApiKey.LIST_OFFSETS, 1, 10, list_offsets),
    answer(ApiKey.METADATA, 0, 13, metadata),
    answer(ApiKey.OFFSET_COMMIT, 2, 10, offset_commit, failed=offset_commit_failed),
    answer(ApiKey.OFFSET_FETCH, 1, 10, offset_fetch, failed=offset_fetch_failed),
    answer(ApiKey.FIND_COORDINATOR, 0, 6, find_coordinator, failed=find_coordinator_failed),
    answer(ApiKey.JOIN_GROUP, 0, 9, join_group, failed=join_group_failed),
    answer(ApiKey.HEARTBEAT, 0, 4, heartbeat),
    answer(ApiKey.LEAVE_GROUP, 0, 5, leave_group),
    answer(ApiKey.SYNC_GROUP, 0, 5, sync_group),
    answer(ApiKey.DESCRIBE_GROUPS, 0, 6, describe_groups, failed=describe_groups_failed),
    answer(ApiKey.LIST_GROUPS, 0, 5, list_groups),
    answer(ApiKey.SASL_HANDSHAKE, 1, 1, sasl_handshake),
    answer(ApiKey.API_VERSIONS, 0, 4, api_versions),
    answer(ApiKey.CREATE_TOPICS, 2, 7, create_topics, failed=create_topics_failed),
    answer(ApiKey.DELETE_TOPICS, 1, 6, delete_topics, failed=delete_topics_failed),
    answer(ApiKey.DELETE_RECORDS, 0, 2, delete_records),
    answer(ApiKey.INIT_PRODUCER_ID, 0, 6, init_producer_id),
    answer(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, offset_for_leader_epoch),
    answer(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        0,
        5,
        add_partitions_to_txn,
        failed=add_partitions_to_txn_failed,
    ),
    answer(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, add_offsets_to_txn),
    answer(ApiKey.END_TXN, 0, 5, end_txn),
    answer(ApiKey.WRITE_TXN_MARKERS, 1, 2, write_txn_markers),
    answer(ApiKey.TXN_OFFSET_COMMIT, 0, 5, txn_offset_commit, failed=txn_offset_commit_failed),
    answer(ApiKey.DESCRIBE_CONFIGS, 1, 4, describe_configs, failed=describe_configs_failed),
    answer(ApiKey.ALTER_CONFIGS, 0, 2, alter_configs, failed=alter_configs_failed),
    answer(ApiKey.DESCRIBE_LOG_DIRS, 1, 4, describe_log_dirs),
    answer(ApiKey.SASL_AUTHENTICATE, 0, 2, sasl_authenticate),
    answer(ApiKey.CREATE_PARTITIONS, 0, 3, create_partitions, failed=create_partitions_failed),
    answer(ApiKey.DELETE_GROUPS, 0, 2, delete_groups, failed=delete_groups_failed),
    answer(ApiKey.ELECT_LEADERS, 0, 2, elect_leaders),
    answer(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        0,
        1,
        incremental_alter_configs,
        failed=incremental_alter_configs_failed,
    ),
    answer(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, alter_partition_reassignments),
    answer(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, list_partition_reassignments),
    answer(ApiKey.OFFSET_DELETE, 0, 0, offset_delete),
    answer(ApiKey.UPDATE_FEATURES, 0, 2, update_features),
    answer(ApiKey.DESCRIBE_CLUSTER, 0, 2, describe_cluster),
    answer(ApiKey.DESCRIBE_PRODUCERS, 0, 0, describe_producers),
    answer(ApiKey.UNREGISTER_BROKER, 0, 0, unregister_broker),
    answer(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, describe_transactions),
    answer(ApiKey.LIST_TRANSACTIONS, 0, 2, list_transactions),
    answer(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, consumer_group_heartbeat),
    answer(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        0,
        1,
        consumer_group_describe,
        failed=consumer_group_describe_failed,
    ),
    answer(ApiKey.LIST_CONFIG_RESOURCES, 0, 1, list_config_resources),
    answer(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        0,
        describe_topic_partitions,
        failed=describe_topic_partitions_failed,
    ),
    answer(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1, share_group_heartbeat),
    answer(
        ApiKey.SHARE_GROUP_DESCRIBE, 1, 1, share_group_describe, failed=share_group_describe_failed
    ),
    answer(ApiKey.SHARE_FETCH, 1, 2, share_fetch),
    answer(ApiKey.SHARE_ACKNOWLEDGE, 1, 2, share_acknowledge),
    answer(
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        0,
        0,
        k83.initialize_share_group_state,
        failed=k83.FORM.failed,
    ),
    answer(ApiKey.READ_SHARE_GROUP_STATE, 0, 0, k84.read_share_group_state, failed=k84.FORM.failed),
    answer(
        ApiKey.WRITE_SHARE_GROUP_STATE, 0, 1, k85.write_share_group_state, failed=k85.FORM.failed
    ),
    answer(
        ApiKey.DELETE_SHARE_GROUP_STATE, 0, 0, k86.delete_share_group_state, failed=k86.FORM.failed
    ),
    answer(
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        0,
        1,
        k87.read_share_group_state_summary,
        failed=k87.FORM.failed,
    ),
    answer(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        0,
        1,
        describe_share_group_offsets,
        failed=describe_share_group_offsets_failed,
    ),
    answer(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0, alter_share_group_offsets),
    answer(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0, delete_share_group_offsets),
)

APIS: dict[int, Api] = {api.key: api for api in ROWS}


def answered() -> list[Answered]:
    """What ApiVersions tells clients."""
    return [
        Answered(
            key,
            api.versions.min if api.advertised_from is None else api.advertised_from,
            api.versions.max,
        )
        for key, api in sorted(APIS.items())
    ]
