"""How a topic loses its closing partitions: the controller's decisions, one after the other.

    open --> closed --> gone; what was in them is the sealed topic NAME.sealed-K from then on
      ^         |
      +---------+  it took longer than they may be closed

Where keys move between partitions that stay, too, those are closed with the others, and opened by
the controller after the commit.

While partitions are closed nobody but the controller changes their records, or else the catalog is
written too. So they can be copied to the sealed topic ahead of the one commit that all see.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from penstock.metadata.changes import (
    Commit,
    catalog_put,
    delete_topic,
    rewrite_topic,
    topic_checks,
)
from penstock.metadata.closing import SEALED_INFIX
from penstock.metadata.cluster import OPEN, Topic
from penstock.metadata.image import Image
from penstock.metadata.records import (
    TERM,
    PartitionRecord,
    Sealed,
    TermRecord,
    TopicRecord,
    encode,
    partition_key,
    topic_key,
)
from penstock.metadata.shown_ids import FORMER_IDS_MAX
from penstock.metadata.store import Check, Put

_OWN = (OPEN, "partitions.close.when", "partitions.close.max.pause.ms")
"""Settings that a topic has no more once it has lost its partitions."""


def close(image: Image, topic_id: bytes, *, nonce: bytes, now_ms: int) -> Commit[bool]:
    """Nothing more is to be written to the closing partitions, or to any. Their records follow."""
    topic = image.topic_by_id(topic_id)
    closing = topic.record.closing if topic else None
    if topic is None or closing is None or closing.closed_ms:
        return Commit(answer=False)
    now = msgspec.structs.replace(closing, closed_ms=now_ms)
    return _rewritten(image, topic, msgspec.structs.replace(topic.record, closing=now), nonce)


def reopen(
    image: Image, topic_id: bytes, *, nonce: bytes, now_ms: int, reason: str
) -> Commit[bool]:
    topic = image.topic_by_id(topic_id)
    closing = topic.record.closing if topic else None
    if topic is None or closing is None or not closing.closed_ms:
        return Commit(answer=False)
    now = msgspec.structs.replace(closing, closed_ms=0, reopened_ms=now_ms, reason=reason)
    return _rewritten(image, topic, msgspec.structs.replace(topic.record, closing=now), nonce)


def _rewritten(image: Image, topic: Topic, record: TopicRecord, nonce: bytes) -> Commit[bool]:
    commit = rewrite_topic(image, topic, record, nonce)
    return Commit(answer=True, checks=[*commit.checks, _term(image)], puts=commit.puts)


def is_closed(topic: Topic) -> bool:
    """Whether the records of all partitions say so that are to be closed."""
    closing = topic.record.closing
    if closing is None or not closing.closed_ms:
        return False
    records = [topic.partition(index) for index in topic.closed_range]
    return all(record is not None and record.is_closed for record in records)


def cut_over(
    image: Image, topic_id: bytes, *, shown_id: bytes, sealed_id: bytes, now_ms: int
) -> Commit[str]:
    """The topic has but the open partitions; the others are a topic of their own, which is the
    answer. Clients take the one for a topic that was made anew, with the offsets it had."""
    topic = image.topic_by_id(topic_id)
    if topic is None or not is_closed(topic):
        return Commit(answer="")
    sealed = _sealed(image, topic, sealed_id, now_ms)
    reduced = _reduced(topic, shown_id)
    guards = [*topic_checks(image, topic), _term(image)]
    return Commit(
        answer=sealed.name,
        checks=[*guards, (topic_key(sealed.name), 0)],
        puts=[
            catalog_put(shown_id),
            (topic_key(topic.name), encode(reduced)),
            (topic_key(sealed.name), encode(sealed)),
        ],
        ahead=list(_sealed_partitions(topic, sealed_id)),
        ahead_checks=guards,
    )


def _reduced(topic: Topic, shown_id: bytes) -> TopicRecord:
    record = topic.record
    left = range(topic.open_partitions)
    return msgspec.structs.replace(
        record,
        partitions=topic.open_partitions,
        configs=_without_own(record),
        shown_id=shown_id,
        former_ids=(topic.shown_id, *record.former_ids)[:FORMER_IDS_MAX],
        log_ids=tuple(sorted({topic.log_id(index) for index in left} - {topic.id})),
        closing=None,
    )


def _sealed(image: Image, topic: Topic, sealed_id: bytes, now_ms: int) -> TopicRecord:
    record, first = topic.record, topic.open_partitions
    gone = range(first, record.partitions)
    return TopicRecord(
        name=_free_name(image, topic.name),
        topic_id=sealed_id,
        partitions=len(gone),
        replication_factor=record.replication_factor,
        created_ms=now_ms,
        configs=_without_own(record),
        log_ids=tuple(sorted({topic.log_id(index) for index in gone})),
        sealed=Sealed(name=topic.name, first=first),
    )


def _without_own(record: TopicRecord) -> dict[str, str]:
    return {name: text for name, text in record.configs.items() if name not in _OWN}


def _free_name(image: Image, name: str) -> str:
    number = 1
    while image.colliding(f"{name}{SEALED_INFIX}{number}") is not None:
        number += 1
    return f"{name}{SEALED_INFIX}{number}"


def _sealed_partitions(topic: Topic, sealed_id: bytes) -> Iterator[Put]:
    first = topic.open_partitions
    for index in range(first, topic.record.partitions):
        record = topic.partition(index)
        assert record is not None
        yield (
            partition_key(sealed_id, index - first),
            encode(_sealed_partition(topic, index, record)),
        )


def _sealed_partition(topic: Topic, index: int, record: PartitionRecord) -> PartitionRecord:
    """In a new term: a leader that was started anew may not have begun one yet, and nobody would
    notice any more."""
    return msgspec.structs.replace(
        record,
        is_closed=False,
        log_id=topic.log_id(index),
        leader_epoch=record.leader_epoch + 1,
        partition_epoch=record.partition_epoch + 1,
    )


def drop_sealed(image: Image, topic_id: bytes, *, nonce: bytes) -> Commit[bool]:
    """A sealed topic goes, as there is nothing left in it."""
    topic = image.topic_by_id(topic_id)
    if topic is None or topic.record.sealed is None:
        return Commit(answer=False)
    commit = delete_topic(image, topic.name, nonce=nonce)
    return Commit(
        answer=True,
        checks=[*commit.checks, _term(image)],
        puts=commit.puts,
        deletes=commit.deletes,
        behind=commit.behind,
        makes_room=True,
    )


def _term(image: Image) -> Check:
    term = image.single(TermRecord)
    assert term is not None
    return TERM, term.revision
