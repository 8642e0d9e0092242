"""Moving replicas: what a partition's record becomes when other brokers are to hold it (KIP-455).

The plan stands in the record itself: `replicas` names those that are to stay or to come, the
preferred leader first, and after them those that are to go. Old and new ones hold the partition
beside each other until the new ones are in sync; then the controller lets the old ones go.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit, existing_topic
from penstock.metadata.claims import missing
from penstock.metadata.image import Image
from penstock.metadata.placement import Replicas
from penstock.metadata.records import (
    CATALOG,
    CatalogRecord,
    PartitionRecord,
    encode,
    partition_key,
)

_NOBODY = -1


def target(record: PartitionRecord) -> Replicas:
    """Who is to hold the partition in the end."""
    return tuple(broker for broker in record.replicas if broker not in record.removing)


def before(record: PartitionRecord) -> Replicas:
    """Who held it before the move, or does so now where there is none."""
    return tuple(broker for broker in record.replicas if broker not in record.adding)


def is_moving(record: PartitionRecord) -> bool:
    return bool(record.adding or record.removing)


def begun(record: PartitionRecord, wanted: Replicas, up: Collection[int]) -> PartitionRecord:
    """A move to these brokers, in place of one that may be under way."""
    held = before(record)
    removing = tuple(broker for broker in held if broker not in wanted)
    adding = tuple(broker for broker in wanted if broker not in held)
    return _rewritten(record, (*wanted, *removing), adding, removing, up)


def cancelled(record: PartitionRecord, up: Collection[int]) -> PartitionRecord:
    """Back to those who held it."""
    return _rewritten(record, before(record), (), (), up)


def completed(record: PartitionRecord, up: Collection[int], min_isr: int) -> PartitionRecord:
    """The end of the move, if the time has come; else the same record.

    Not before all that were added are in sync, and so many of those that stay as the topic asks
    for: who goes may be one of the last that have everything.
    """
    if not is_moving(record):
        return record
    rest = target(record)
    isr = [broker for broker in record.isr if broker in rest]
    enough = min(min_isr, len(rest), len(record.isr))
    is_ready = all(broker in isr for broker in record.adding) and len(isr) >= enough
    if not is_ready or not any(broker in up for broker in isr):
        return record
    return _rewritten(record, rest, (), (), up)


def _rewritten(
    record: PartitionRecord,
    replicas: Replicas,
    adding: Replicas,
    removing: Replicas,
    up: Collection[int],
) -> PartitionRecord:
    """Who loses a replica begins with nothing when it gets one again. So a new term begins, in
    which everyone shows anew how far it is."""
    isr = tuple(broker for broker in record.isr if broker in replicas)
    leader = record.leader
    if leader not in replicas:
        ready = (broker for broker in replicas if broker in isr and broker in up)
        leader = next(ready, _NOBODY)
    has_new_term = leader != record.leader or not set(record.replicas) <= set(replicas)
    return msgspec.structs.replace(
        record,
        replicas=replicas,
        adding=adding,
        removing=removing,
        isr=isr,
        eligible=tuple(broker for broker in record.eligible if broker in replicas),
        leader=leader,
        leader_epoch=record.leader_epoch + has_new_term,
        partition_epoch=record.partition_epoch + 1,
    )


def reassign(
    image: Image,
    name: str,
    index: int,
    wanted: Sequence[int] | None,
    *,
    nonce: bytes,
    may_change_factor: bool = True,
) -> Commit[None]:
    """Begins to move a partition; None ends the move that is under way, and goes back."""
    topic = existing_topic(image, name)
    record = topic.partition(index)
    if record is None:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"{name} has {topic.record.partitions} partitions, so there is no {index}",
        )
    if wanted is None:
        if not is_moving(record):
            raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{name}-{index} is not moving")
        now = cancelled(record, image.brokers)
    else:
        _check_wanted(image, record, wanted, may_change_factor)
        _refuse_before_claims(record, wanted)
        if target(record) == tuple(wanted):
            return Commit(None)
        now = begun(record, tuple(wanted), image.brokers)
    if record.isr and not now.isr:
        raise _bad(f"of brokers {list(now.replicas)} none is in sync: records would be lost")
    key = partition_key(topic.id, index)
    return Commit(
        None,
        checks=[(key, topic.partition_revision(index))],
        puts=[(CATALOG, encode(CatalogRecord(nonce=nonce))), (key, encode(now))],
    )


def _check_wanted(
    image: Image, record: PartitionRecord, wanted: Sequence[int], may_change_factor: bool
) -> None:
    if not wanted:
        raise _bad("a partition has at least one replica")
    if len(set(wanted)) < len(wanted):
        raise _bad(f"a broker comes twice: {list(wanted)}")
    unknown = [each for each in wanted if each not in image.brokers and each not in record.replicas]
    if unknown:
        raise _bad(f"brokers {unknown} are not alive, so they cannot copy anything")
    if not may_change_factor and len(wanted) != len(target(record)):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"the partition has {len(target(record))} replicas, and {len(wanted)} were given "
            "although their number is not to change",
        )


def _refuse_before_claims(record: PartitionRecord, wanted: Sequence[int]) -> None:
    """A broker says what it has when it starts: one that is added now would be waited for."""
    added = [broker for broker in wanted if broker not in record.replicas]
    if record.claims is not None and added:
        raise _bad(
            f"after a restore nobody leads before brokers {missing(record)} have been started, and "
            f"said what they have: brokers {added} can be added after that"
        )


def _bad(problem: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
