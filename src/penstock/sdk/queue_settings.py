"""What a queue is made of: a topic, the settings of a share group, a topic for dead letters."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.client.admin import (
    BY_DEFAULT,
    alter_group,
    alter_topic,
    create_topic,
    group_configs,
)
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.queues import COPIES, DEAD_LETTERS, ISOLATION, READ_COMMITTED
from penstock.errors import ErrorCode
from penstock.sdk.admin_line import Value, texts
from penstock.sdk.checks import check_seconds, check_whole

RESET = "share.auto.offset.reset"
LOCK = "share.record.lock.duration.ms"
DELIVERIES = "share.delivery.count.limit"
TAKES_DEAD_LETTERS = "errors.deadletterqueue.group.enable"
DELETES = "queue.delete.on.ack"
DELAYS = "delayed.delivery"
OF_THE_GROUP = "group"
"""Where a setting was made."""
PREFIX = "dlq."
"""Of the dead letters' topic, if it was given no name; and brokers take no other, unless they were
told to."""


def set_as_expected(client: WireClient, group: str, start_at: str) -> None:
    """Of a queue one expects what is in it, where Kafka lets a share group begin with what comes
    after it; and nothing that was aborted, or may be. What somebody has set for the group stays."""
    found = group_configs(client, group)
    expected = {RESET: start_at, ISOLATION: READ_COMMITTED}
    missing = {
        name: value
        for name, value in expected.items()
        if name not in found or found[name].source != OF_THE_GROUP
    }
    if missing:
        alter_group(client, group, missing)


def make_queue(
    client: WireClient,
    topic: str,
    group: str,
    *,
    partitions: int | None,
    replicas: int | None,
    lock: float | None,
    max_deliveries: int | None,
    dead_letters: bool | str,
    delete_on_ack: bool | None,
    delays: bool | None,
) -> None:
    if lock is not None:
        check_seconds("lock", lock)
    if max_deliveries is not None:
        check_whole("max_deliveries", max_deliveries, 1)
    wanted: dict[str, Value] = {}
    if delete_on_ack is not None:
        wanted[DELETES] = delete_on_ack
    if delays is not None:
        wanted[DELAYS] = delays
    _ensure_topic(client, topic, partitions, replicas, wanted)
    configs: dict[str, Value] = {}
    if lock is not None:
        configs[LOCK] = round(lock * 1000)
    if max_deliveries is not None:
        configs[DELIVERIES] = max_deliveries
    if dead_letters:
        name = dead_letters if isinstance(dead_letters, str) else PREFIX + topic
        _ensure_topic(client, name, partitions, replicas, {TAKES_DEAD_LETTERS: True})
        configs |= {DEAD_LETTERS: name, COPIES: True}
    if configs:
        alter_group(client, group, texts(configs))
    set_as_expected(client, group, "earliest")


def _ensure_topic(
    client: WireClient,
    name: str,
    partitions: int | None,
    replicas: int | None,
    configs: Mapping[str, Value],
) -> None:
    """One that is there keeps its partitions, and gets these settings."""
    count = BY_DEFAULT if partitions is None else partitions
    copies = BY_DEFAULT if replicas is None else replicas
    try:
        create_topic(client, name, count, copies, texts(configs))
    except ClientError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise
        if configs:
            alter_topic(client, name, texts(configs))
