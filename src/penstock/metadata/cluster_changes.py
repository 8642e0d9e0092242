"""Changes to the cluster itself: who is in it, what it can do, which producer ids are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.features import INITIAL
from penstock.metadata.image import Image
from penstock.metadata.records import (
    CLUSTER,
    FEATURES,
    PRODUCER_IDS,
    BrokerRecord,
    ClusterRecord,
    FeaturesRecord,
    PartitionRecord,
    ProducerIdsRecord,
    broker_key,
    encode,
    partition_key,
)
from penstock.metadata.store import Check, Put

PRODUCER_ID_BLOCK = 1000


class FeatureUpdate(NamedTuple):
    name: str
    level: int
    """0 takes the feature away."""
    downgrade: bool = False
    """Whether a lower level than now is meant."""


def found_cluster(image: Image, cluster_id: str) -> Commit[str]:
    """Gives the cluster its id and first features, unless it has them."""
    if image.cluster_id:
        return Commit(answer=image.cluster_id)
    features = FeaturesRecord(levels=dict(INITIAL), epoch=0)
    return Commit(
        answer=cluster_id,
        checks=[(CLUSTER, 0), (FEATURES, 0)],
        puts=[
            (CLUSTER, encode(ClusterRecord(cluster_id=cluster_id))),
            (FEATURES, encode(features)),
        ],
    )


def register_broker(image: Image, record: BrokerRecord, session: str) -> Commit[None]:
    """Its epoch is the revision of this commit. The same owner takes over from itself at once."""
    for name, level in image.finalized_features.items():
        lowest, highest = record.features.get(name, (0, 0))
        if not lowest <= level <= highest:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the cluster works at {name} {level}, broker {record.node_id} supports "
                f"{lowest} to {highest}: run the release that the other brokers run",
            )
    known = image.brokers.get(record.node_id)
    if known and known.record.owner != record.owner:
        raise Refused(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"there is a broker {record.node_id} already, at {known.record.host}:"
            f"{known.record.port}: choose another node.id, or wait until its lease has ended",
        )
    key = broker_key(record.node_id)
    return Commit(
        answer=None,
        checks=[(key, known.epoch if known else 0)],
        puts=[(key, encode(record))],
        session=session,
    )


def bump_leader_epochs(image: Image, node_id: int, *, broker_epoch: int) -> Commit[int]:
    """A new term for every partition that a broker leads, so that what it said before is fenced.

    Partitions without a leader that it is in sync with get it. The answer is their number.
    """
    checks: list[Check] = [(broker_key(node_id), broker_epoch)]
    puts: list[Put] = []
    encoded: dict[PartitionRecord, bytes] = {}
    for topic in image.topics.values():
        for index, record in enumerate(topic.partitions):
            if record is None or not _leads(record, node_id):
                continue
            key = partition_key(topic.id, index)
            checks.append((key, topic.partition_revision(index)))
            if record not in encoded:  # partitions of one shape share their record
                encoded[record] = encode(_next_term(record, node_id))
            puts.append((key, encoded[record]))
    if not puts:
        return Commit(answer=0)
    return Commit(answer=len(puts), checks=checks, puts=puts)


def _leads(record: PartitionRecord, node_id: int) -> bool:
    return record.leader == node_id or (record.leader == -1 and node_id in record.isr)


def _next_term(record: PartitionRecord, node_id: int) -> PartitionRecord:
    return msgspec.structs.replace(
        record,
        leader=node_id,
        leader_epoch=record.leader_epoch + 1,
        partition_epoch=record.partition_epoch + 1,
    )


def allocate_producer_ids(
    image: Image, *, nonce: bytes, count: int = PRODUCER_ID_BLOCK
) -> Commit[range]:
    """A block of ids that nobody else gets."""
    held = image.single(ProducerIdsRecord)
    first = held.record.next_id if held else 0
    record = ProducerIdsRecord(next_id=first + count, nonce=nonce)
    return Commit(
        answer=range(first, first + count),
        checks=[(PRODUCER_IDS, image.revision_of(PRODUCER_IDS))],
        puts=[(PRODUCER_IDS, encode(record))],
    )


def update_features(image: Image, updates: Sequence[FeatureUpdate]) -> Commit[Mapping[str, int]]:
    """All of them or none, as every level must be one that all live brokers can work at."""
    levels = dict(image.finalized_features)
    for update in updates:
        _check_update(image, update, levels.get(update.name, 0))
        levels[update.name] = update.level
    levels = {name: level for name, level in levels.items() if level > 0}
    if levels == image.finalized_features:
        return Commit(answer=levels)
    record = FeaturesRecord(levels=levels, epoch=image.features_epoch + 1)
    return Commit(
        answer=levels,
        checks=[(FEATURES, image.revision_of(FEATURES))],
        puts=[(FEATURES, encode(record))],
    )


def _check_update(image: Image, update: FeatureUpdate, now: int) -> None:
    name, level = update.name, update.level
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "a feature has a name")
    for broker in image.brokers.values():
        if name not in broker.record.features:
            raise _bad_update(f"broker {broker.node_id} does not know the feature {name}")
        lowest, highest = broker.record.features[name]
        if not lowest <= level <= highest:
            raise _bad_update(
                f"{name} cannot be {level}: broker {broker.node_id} supports {lowest} to {highest}"
            )
    if level < now and not update.downgrade:
        raise _bad_update(f"{name} is at {now}; going down to {level} must be asked for as such")
    if level > now and update.downgrade:
        raise _bad_update(f"{name} is at {now}; {level} is no downgrade")


def _bad_update(problem: str) -> Refused:
    return Refused(ErrorCode.INVALID_UPDATE_VERSION, problem)
