"""The records that the store holds, as JSON, and the keys they are under.

Each record states its version. One that is newer than ours was written by a newer Penstock, and
reading it as if it were ours would lose what it says: it is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, TypeVar
from urllib.parse import quote, unquote

import msgspec

from penstock.errors import Unusable

CLUSTER = "/cluster"
FEATURES = "/features"
SECRET = "/secret"  # noqa: S105
PRODUCER_IDS = "/producer-ids"
CONTROLLER = "/controller"
"""Held by who may become the controller, for as long as its lease lasts."""
TERM = "/term"
"""Who is the controller. This is what it compares in all it does, since it is never deleted."""
CATALOG = "/catalog"
"""Rewritten by every change to the set of topics or to one of them. Names of topics come back after
a delete, so this is the key that such changes compare; also, names that collide meet here."""
RESTORING = "/restoring"
"""There for as long as a backup is being put back: no broker starts before all of it is there."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    VERSION: ClassVar[int] = 1
    version: int = 1


class ClusterRecord(Record, frozen=True):
    cluster_id: str


class SecretRecord(Record, frozen=True):
    """What brokers prove to each other to know."""

    secret: bytes


class ControllerRecord(Record, frozen=True):
    node_id: int


class TermRecord(Record, frozen=True):
    node_id: int
    epoch: int
    """Counts the controllers that there were."""


class FeaturesRecord(Record, frozen=True):
    levels: dict[str, int]
    epoch: int
    """Counts the changes, for clients that hold answers of different age."""


class ProducerIdsRecord(Record, frozen=True):
    next_id: int
    nonce: bytes = b""
    """Whose allocation this is: the same number from two brokers must not look the same."""


class CatalogRecord(Record, frozen=True):
    nonce: bytes = b""
    """Of the last change, so that its author can recognise it."""


class RestoringRecord(Record, frozen=True):
    nonce: bytes
    """Of the run that is at it. One that was cut short is done again, from its beginning."""


class BrokerRecord(Record, frozen=True):
    """A broker's registration. Its epoch is the revision of this record."""

    node_id: int
    host: str
    port: int
    rack: str = ""
    owner: bytes = b""
    """Stays with the data folder: who may take the registration over before its lease ends."""
    incarnation: bytes = b""
    """Of this start of the process."""
    clean: bool = True
    """Whether it was stopped cleanly before this start, and so has all that it ever had."""
    features: dict[str, tuple[int, int]] = {}
    """Lowest and highest level supported."""


class LeavingRecord(Record, frozen=True):
    """A broker that is about to stop, and to lead nothing any more by then."""

    node_id: int


class MemberRecord(Record, frozen=True):
    """A broker that belongs to the cluster, whether it is alive or not."""

    node_id: int
    owner: bytes = b""
    """The data folder that it was last seen with."""
    replaced: tuple[bytes, ...] = ()
    """Those that it had before, the latest last: `REPLACED_REMEMBERED` at most."""
    is_gone: bool = False
    """It was removed for good. Should a broker come with this id again, it is a new one."""
    mark: int = 0
    """Raised now and then in the data folder, and then here. A folder with a lower one is a copy
    that was made earlier."""
    is_restored: bool = False
    """The broker has not been started since the store was put back from a backup."""


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """A topic is to have fewer partitions: how far that is. How many, its settings say."""

    since_ms: int
    closed_ms: int = 0
    """Since when nothing is written to those that are to go, or to any; 0 while they are open."""
    reopened_ms: int = 0
    """When they were last opened again, as something took longer than they may be closed."""
    reason: str = ""
    """What that was."""


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """Where the partitions of a topic that cannot be written to come from."""

    name: str
    first: int
    """The partition that is the first one here."""


class TopicRecord(Record, frozen=True):
    name: str
    topic_id: bytes
    """What its partitions' records and logs are found by, for as long as it is there."""
    partitions: int
    replication_factor: int
    created_ms: int
    configs: dict[str, str] = {}
    grown_ms: int = 0
    """When it got its last partitions, if it was not created with all of them."""
    shown_id: bytes = b""
    """The id that clients know it by, where that is another one: since it lost partitions they
    take it for a new topic."""
    former_ids: tuple[bytes, ...] = ()
    """Those that clients knew it by before, the latest first."""
    log_ids: tuple[bytes, ...] = ()
    """Of partitions whose logs have another id than the topic."""
    closing: Closing | None = None
    sealed: Sealed | None = None


class ViewRecord(Record, frozen=True):
    """A topic to read that has no records of its own. What it shows never changes: for another
    predicate there is another view."""

    name: str
    view_id: bytes
    source_id: bytes
    """Of the topic that it shows a part of."""
    where: str
    """Which part: a predicate."""
    created_ms: int
    idle_ms: int = 0
    """It goes when nobody has read it for so long; 0: it stays."""
    used_ms: int = 0
    """When it was last known to be read. Noted now and then, where it may go."""


class DeletedRecord(Record, frozen=True):
    """A topic that there was. A broker that was away when it was deleted removes its logs by this;
    only the last ones that were deleted are kept."""

    name: str


class Claim(msgspec.Struct, frozen=True, array_like=True):
    """What a replica says that it has: the last epoch that it knows, and where its log ends."""

    node_id: int
    epoch: int
    end: int


class Offer(msgspec.Struct, frozen=True, array_like=True):
    """What a replica says that it has, where anyone may lead: as of one registration, the epoch of
    its last record, and where its log ends."""

    node_id: int
    registration: int
    epoch: int
    end: int


class PartitionRecord(Record, frozen=True):
    replicas: tuple[int, ...]
    leader: int
    """-1 while there is none."""
    isr: tuple[int, ...]
    leader_epoch: int = 0
    partition_epoch: int = 0
    eligible: tuple[int, ...] = ()
    """Out of sync, but with all that is committed: they left when nothing could be committed any
    more, as fewer than `min.insync.replicas` were left (KIP-966)."""
    min_isr: int = 0
    """`min.insync.replicas`, as the leader commits by it and others are eligible by it. It stands
    here so that both go by the same one, whenever it changes. 0: by the topic's settings, in a
    record of before."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    claims: tuple[Claim, ...] | None = None
    """Not None after the store was put back from a backup, until it is known who has most: the
    backup cannot say who is in sync now."""
    offers: tuple[Offer, ...] | None = None
    """Not None while anyone may lead that is up, as nobody is who has all: what they have."""
    is_closed: bool = False
    """Nothing is written to it, and only the controller changes who is in sync: it is to go, or
    others of its topic are."""
    log_id: bytes = b""
    """Of its log, where that is not the topic's: there was another partition in this place, or it
    was in another topic."""
    first_epoch: int = 0
    """Of its leaders; those before were of the partition that was in this place."""


class ConfigRecord(Record, frozen=True):
    """Settings of brokers that were changed while running, or the own settings of a group."""

    configs: dict[str, str]


class _Versioned(msgspec.Struct):
    version: int


R = TypeVar("R", bound=Record)


def encode(record: Record) -> bytes:
    return msgspec.json.encode(record)


def decode(kind: type[R], key: str, value: bytes) -> R:
    """The record, or Unusable with what is the matter with it."""
    try:
        record: R = _decoder(kind).decode(value)
    except msgspec.DecodeError as problem:
        _refuse_newer(kind, key, _version_of(value))
        raise Unusable(f"the metadata store's {key} cannot be read: {problem}") from None
    _refuse_newer(kind, key, record.version)
    return record


@lru_cache
def _decoder(kind: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(kind)


def _version_of(value: bytes) -> int:
    try:
        return msgspec.json.decode(value, type=_Versioned).version
    except msgspec.DecodeError:
        return 0


def _refuse_newer(kind: type[Record], key: str, version: int) -> None:
    if version > kind.VERSION:
        raise Unusable(
            f"the metadata store's {key} has format version {version}, this Penstock reads up to "
            f"{kind.VERSION}: it was written by a newer release; run that one"
        )


def broker_key(node_id: int) -> str:
    return f"/brokers/{node_id}"


def leaving_key(node_id: int) -> str:
    return f"/leaving/{node_id}"


def member_key(node_id: int) -> str:
    return f"/members/{node_id}"


def topic_key(name: str) -> str:
    return f"/topics/{name}"


def view_key(name: str) -> str:
    return f"/views/{name}"


def deleted_key(topic_id: bytes) -> str:
    return f"/deleted/{topic_id.hex()}"


def partition_key(topic_id: bytes, index: int) -> str:
    return f"/partitions/{topic_id.hex()}/{index}"


def broker_config_key(node_id: int | None) -> str:
    """None: what holds for all brokers."""
    return f"/configs/brokers/{'default' if node_id is None else node_id}"


def group_config_key(name: str) -> str:
    """Groups may be called anything, so their names are percent-encoded, as one part of a path.

    So are all dots: ZooKeeper takes no part that is "." or "..".
    """
    return f"/configs/groups/{quote(name, safe='').replace('.', '%2E')}"


def group_of_config_key(key: str) -> str:
    """The name that a key was made from."""
    return unquote(key.removeprefix("/configs/groups/"))
