"""The settings of brokers, apart from the defaults that they give to topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.config.coordinators import CoordinatorConfig
from penstock.config.units import DAY_MS, INT_MAX, MIB, MINUTE_MS
from penstock.errors import ErrorCode, Refused
from penstock.settings import LONG_MAX, Setting, setting, settings_of

TEXT_CHARS_MAX = 249


def _short(text: str) -> str | None:
    """Clients are told of it again and again, some with a length of 15 bits."""
    return None if len(text) <= TEXT_CHARS_MAX else f"at most {TEXT_CHARS_MAX} characters"


@dataclass(frozen=True, slots=True)
class BrokerConfig(CoordinatorConfig):
    """How one broker behaves, apart from the defaults it gives to topics."""

    node_id: int = setting(
        "node.id", 1, at_least=0, at_most=INT_MAX, doc="This broker's number in the cluster."
    )
    listen: str = setting(
        "listeners",
        "127.0.0.1:9092",
        doc="HOST:PORT to accept clients at. Port 0 takes any free port.",
    )
    advertise: str = setting(
        "advertised.listeners",
        "",
        doc="HOST:PORT that clients are told to connect to; by default where the broker listens, "
        "or the host's name where it listens everywhere.",
    )
    data_dir: str = setting(
        "log.dir",
        "penstock-data",
        doc="The folder that holds logs and metadata; created if missing.",
    )
    store: str = setting(
        "metadata.store",
        "",
        doc="Where cluster metadata is kept: sqlite:PATH (by default in the data folder), "
        "etcd://HOST:PORT,.../PREFIX or zookeeper://HOST:PORT,.../CHROOT.",
    )
    store_user: str = setting(
        "metadata.store.user", "", doc="Who the store is to let in; empty: anyone."
    )
    store_password: str = setting(
        "metadata.store.password", "", secret=True, doc="What that user proves itself with."
    )
    store_ca_file: str = setting(
        "metadata.store.ssl.ca.location",
        "",
        doc="Certificates that the store's must be signed by, as PEM; given, TLS is used.",
    )
    store_certificate_file: str = setting(
        "metadata.store.ssl.certificate.location", "", doc="This broker's own, where one is asked."
    )
    store_key_file: str = setting(
        "metadata.store.ssl.key.location", "", doc="The key of that certificate."
    )
    session_timeout_ms: int = setting(
        "broker.session.timeout.ms",
        10_000,
        at_least=2000,
        at_most=30 * MINUTE_MS,
        doc="How long the cluster waits for a broker that gives no sign of life.",
    )
    rack: str = setting(
        "broker.rack",
        "",
        check=_short,
        doc="Where the broker stands; replicas are kept apart.",
    )
    log_level: str = setting(
        "log.level",
        "info",
        one_of=("debug", "info", "warning", "error"),
        doc="What is logged to standard error.",
    )
    log_format: str = setting(
        "log.format",
        "text",
        one_of=("text", "json"),
        doc="Log lines as text, or a JSON object each.",
    )
    auto_create_topics: bool = setting(
        "auto.create.topics.enable",
        True,
        doc="Whether a topic is created when a client asks for one that is not there.",
    )
    delete_topics: bool = setting("delete.topic.enable", True, doc="Whether topics can be deleted.")
    num_partitions: int = setting(
        "num.partitions",
        1,
        at_least=1,
        at_most=100_000,
        doc="Partitions of a topic that is created without saying how many.",
    )
    default_replication_factor: int = setting(
        "default.replication.factor",
        1,
        at_least=1,
        at_most=32_767,
        doc="Replicas of a topic that is created without saying how many.",
    )
    max_request_bytes: int = setting(
        "socket.request.max.bytes",
        100 * MIB,
        at_least=1024,
        at_most=INT_MAX,
        doc="The largest request that is read; a connection that announces more is closed.",
    )
    queued_max_bytes: int = setting(
        "queued.max.request.bytes",
        256 * MIB,
        at_least=-1,
        doc="Memory that requests in flight may take on all connections together, half of it for "
        "those larger than 4 MiB; at the limit, reading pauses. -1 sets no limit.",
    )
    request_receive_timeout_ms: int = setting(
        "request.receive.timeout.ms",
        30_000,
        at_least=100,
        at_most=INT_MAX,
        doc="How long a request may take to arrive once its first bytes are there.",
    )
    max_connections: int = setting(
        "max.connections",
        100_000,
        at_least=1,
        at_most=INT_MAX,
        doc="Connections that are kept at a time.",
    )
    max_connections_per_ip: int = setting(
        "max.connections.per.ip",
        100_000,
        at_least=1,
        at_most=INT_MAX,
        doc="Connections that are kept at a time from one address.",
    )
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        600_000,
        at_least=1000,
        doc="A connection without a request for so long is closed.",
    )
    fetch_max_bytes: int = setting(
        "fetch.max.bytes",
        55 * MIB,
        at_least=1024,
        at_most=INT_MAX,
        doc="The most that one fetch is answered with, whatever the client asks for.",
    )
    fetch_sessions: int = setting(
        "max.incremental.fetch.session.cache.slots",
        1000,
        at_least=0,
        at_most=INT_MAX,
        doc="Incremental fetch sessions that are remembered at a time.",
    )
    producer_id_expiration_ms: int = setting(
        "producer.id.expiration.ms",
        DAY_MS,
        at_least=1,
        at_most=INT_MAX,
        doc="How long an idempotent producer is remembered after its last write.",
    )
    retention_check_interval_ms: int = setting(
        "log.retention.check.interval.ms",
        300_000,
        at_least=1,
        doc="How often logs are looked at for segments to drop.",
    )
    cleaner_backoff_ms: int = setting(
        "log.cleaner.backoff.ms",
        15_000,
        at_least=1,
        doc="How often compacted logs are looked at for work.",
    )
    cleaner_dedupe_buffer_bytes: int = setting(
        "log.cleaner.dedupe.buffer.size",
        128 * MIB,
        at_least=MIB,
        doc="Memory that compaction may use to remember keys.",
    )
    checkpoint_interval_ms: int = setting(
        "log.flush.offset.checkpoint.interval.ms",
        60_000,
        at_least=1,
        at_most=INT_MAX,
        doc="How often it is noted up to where the logs are synced, which bounds recovery.",
    )
    delays_pending_max: int = setting(
        "delays.pending.max",
        10_000_000,
        at_least=0,
        dynamic=True,
        doc="Records that one broker holds for later delivery, in all partitions that it has "
        "replicas of: each takes some 60 bytes of memory. Delayed records beyond it are refused.",
    )
    disk_free_min_bytes: int = setting(
        "disk.free.min.bytes",
        512 * MIB,
        at_least=0,
        dynamic=True,
        doc="Writes are refused while the data folder's disk has less than this left.",
    )
    draining: bool = setting(
        "broker.draining",
        False,
        dynamic=True,
        doc="Whether a broker is to be given no more replicas; `penstock broker drain` sets it.",
    )
    auto_leader_rebalance: bool = setting(
        "auto.leader.rebalance.enable",
        True,
        dynamic=True,
        doc="Whether leadership goes back to the preferred leaders, the first of their partitions' "
        "replicas, once these are in sync.",
    )
    leader_imbalance_check_s: int = setting(
        "leader.imbalance.check.interval.seconds",
        300,
        at_least=1,
        at_most=INT_MAX,
        dynamic=True,
        doc="How often the controller looks for partitions that others lead than should.",
    )
    leader_imbalance_percent: int = setting(
        "leader.imbalance.per.broker.percentage",
        10,
        at_least=0,
        at_most=100,
        dynamic=True,
        doc="A broker may lack so much of what it should lead before leadership goes back to it.",
    )
    follower_throttled_rate: int = setting(
        "follower.replication.throttled.rate",
        LONG_MAX,
        at_least=1,
        dynamic=True,
        doc="Bytes per second that a broker copies at most of partitions with which it is not in "
        "sync yet, all together; so moving replicas leaves room for everything else.",
    )
    controlled_shutdown_timeout_ms: int = setting(
        "controlled.shutdown.timeout.ms",
        10_000,
        at_least=0,
        at_most=INT_MAX,
        doc="How long a broker that is told to stop waits for others to lead what it leads.",
    )
    replica_fetch_max_bytes: int = setting(
        "replica.fetch.max.bytes",
        1 << 20,
        at_least=1,
        at_most=INT_MAX,
        doc="What a follower asks for of one partition at a time.",
    )
    replica_fetch_response_max_bytes: int = setting(
        "replica.fetch.response.max.bytes",
        10 << 20,
        at_least=1,
        at_most=INT_MAX,
        doc="What a follower asks of one leader for at a time.",
    )
    replica_fetch_wait_max_ms: int = setting(
        "replica.fetch.wait.max.ms",
        100,
        at_least=1,
        at_most=INT_MAX,
        doc="How long a leader with nothing new lets a follower wait. Partitions that a follower "
        "gets to follow meanwhile wait as long.",
    )

    def __post_init__(self) -> None:
        for names in _ASCENDING:
            _refuse_unless_ascending(self, names)
        if self.group_consumer_heartbeat_interval_ms >= self.group_consumer_session_timeout_ms:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                "group.consumer.heartbeat.interval.ms: must be less than "
                "group.consumer.session.timeout.ms, or consumers would seem dead between two",
            )


BROKER_SETTINGS: dict[str, Setting] = settings_of(BrokerConfig)

_ASCENDING = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    (
        "group.consumer.min.session.timeout.ms",
        "group.consumer.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    (
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
)
"""Settings of which each may be at most the next one."""


def _refuse_unless_ascending(config: BrokerConfig, names: Sequence[str]) -> None:
    """A setting of 0 is one that is left to the broker, and stands in nobody's way."""
    values = {name: getattr(config, BROKER_SETTINGS[name].attribute) for name in names}
    given = [(name, value) for name, value in values.items() if value]
    for (lower, least), (higher, most) in pairwise(given):
        if least > most:
            raise Refused(
                ErrorCode.INVALID_CONFIG, f"{lower}: {least} is more than {higher}, which is {most}"
            )
