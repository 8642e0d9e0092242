"""Changes to topics, decided on the image and nothing else: what to check, write and delete.

Each function is pure and may be run again on a later image when another broker was faster. What
cannot be done is refused with Kafka's code for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from penstock.errors import ErrorCode, Refused
from penstock.metadata import topic_settings
from penstock.metadata.cluster import OPEN, Topic, replicas_of
from penstock.metadata.config_values import checked_topic_configs
from penstock.metadata.delayed_topics import check_begin, scheduled_name
from penstock.metadata.image import Image
from penstock.metadata.placement import Replicas, open_racks, place_new
from penstock.metadata.records import (
    CATALOG,
    CatalogRecord,
    DeletedRecord,
    PartitionRecord,
    TopicRecord,
    deleted_key,
    encode,
    partition_key,
    topic_key,
    view_key,
)
from penstock.metadata.store import Check, Put
from penstock.metadata.views import View, is_view

T = TypeVar("T")

PARTITIONS_MAX = 100_000
NAME_MAX = 249
_NAME = re.compile(rf"[a-zA-Z0-9._-]{{1,{NAME_MAX}}}")


@dataclass(frozen=True, slots=True)
class Commit(Generic[T]):
    """What to write, and the answer once it is written. Nothing to write: the answer holds now.

    The first put tells the author's commit from all others, should its outcome be unknown. A store
    takes so many operations at once and no more; `ahead` and `behind` are written beside that, in
    as many pieces as it takes.
    """

    answer: T
    checks: Sequence[Check] = ()
    puts: Sequence[Put] = ()
    deletes: Sequence[str] = ()
    ahead: Sequence[Put] = ()
    """Written before, to keys that nobody looks at until the commit has been made."""
    ahead_checks: Sequence[Check] = ()
    """So that they are not written when others have made theirs meanwhile."""
    behind: Sequence[str] = ()
    """Deleted afterwards, as nobody looks at them any more."""
    session: str | None = None
    makes_room: bool = False
    """A way out of a full disk, so it may use the room that is kept for that."""


def create_topic(
    image: Image,
    name: str,
    *,
    topic_id: bytes,
    now_ms: int,
    partitions: int = -1,
    replication: int = -1,
    assignments: Mapping[int, Sequence[int]] | None = None,
    configs: Mapping[str, str | None] | None = None,
) -> Commit[TopicRecord]:
    """Either numbers of partitions and replicas (defaults are the caller's), or assignments."""
    check_new_name(image, name)
    if assignments:
        if partitions != -1 or replication != -1:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "give the replicas of each partition, or the numbers of both, not all three",
            )
        placed = _assigned(image, assignments)
    else:
        _check_numbers(image, partitions, replication)
        racks, held = open_racks(image), image.replicas_held()
        placed = place_new(topic_id, 0, partitions, replication, racks, held)
    record = TopicRecord(
        name=name,
        topic_id=topic_id,
        partitions=len(placed),
        replication_factor=len(placed[0]),
        created_ms=now_ms,
        configs=_first_configs(configs or {}),
    )
    config = image.settings.of_record(record)
    topic_settings.check_together(config)
    if config.delayed_delivery:
        check_begin(record, image.colliding(scheduled_name(name)))
    return Commit(
        answer=record,
        checks=[(CATALOG, image.revision_of(CATALOG)), (topic_key(name), 0)],
        puts=[(topic_key(name), encode(record)), catalog_put(topic_id)],
        ahead=_partition_puts(topic_id, 0, placed, config.min_insync_replicas),
    )


def _first_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    if OPEN in configs:
        raise Refused(
            ErrorCode.INVALID_CONFIG, f"{OPEN} is for topics that are there: give the partitions"
        )
    return checked_topic_configs(configs)


def delete_topic(image: Image, name: str, *, nonce: bytes) -> Commit[TopicRecord]:
    """With all views of it."""
    topic = existing_topic(image, name)
    views = [view_key(view.name) for view, _ in image.views.of(topic.id)]
    return Commit(
        answer=topic.record,
        checks=topic_checks(image, topic),
        puts=[catalog_put(nonce), (deleted_key(topic.id), encode(DeletedRecord(name=name)))],
        deletes=[topic_key(name), *views],
        behind=[partition_key(topic.id, index) for index in range(topic.record_count)],
        makes_room=True,
    )


def add_partitions(
    image: Image,
    name: str,
    total: int,
    *,
    nonce: bytes,
    assignments: Sequence[Sequence[int]] | None = None,
    now_ms: int = 0,
) -> Commit[TopicRecord]:
    """`assignments` are the replicas of the new partitions alone."""
    topic = existing_topic(image, name)
    before = topic.record.partitions
    _check_total(topic, total)
    if assignments is not None:
        if len(assignments) != total - before:
            raise _bad_assignment(
                f"{total - before} partitions are added, and replicas given for {len(assignments)}"
            )
        placed = _assigned(image, dict(enumerate(assignments)))
        if len(placed[0]) != topic.record.replication_factor:
            raise _bad_assignment(
                f"topic {name} has {topic.record.replication_factor} replicas of each partition, "
                f"not {len(placed[0])}"
            )
    else:
        replication = topic.record.replication_factor
        _check_replication(image, replication)
        held = replicas_of(topic)
        placed = place_new(topic.id, before, total - before, replication, open_racks(image), held)
    record = _grown(topic.record, total, now_ms)
    ahead = _further_partition_puts(
        topic, before, placed, image.settings.of_topic(topic).min_insync_replicas
    )
    return rewrite_topic(image, topic, record, nonce, ahead)


def _grown(record: TopicRecord, total: int, now_ms: int) -> TopicRecord:
    """Where there were partitions before, the logs of new ones have an id of their own: a broker
    may have been away since, with logs of the old ones."""
    log_ids = record.log_ids
    if record.shown_id and record.shown_id not in log_ids:
        log_ids = (*log_ids, record.shown_id)
    return msgspec.structs.replace(record, partitions=total, log_ids=log_ids, grown_ms=now_ms)


def _further_partition_puts(
    topic: Topic, first: int, placed: Sequence[Replicas], min_isr: int
) -> list[Put]:
    """Where there was a partition before, leaders' terms go on from there: clients know them."""
    shown_id = topic.record.shown_id
    if not shown_id:
        return _partition_puts(topic.id, first, placed, min_isr)
    puts = []
    for index, replicas in enumerate(placed, first):
        was = topic.last_record(index)
        epoch = was.leader_epoch + 1 if was else 0
        record = _new_partition(replicas, min_isr)
        record = msgspec.structs.replace(
            record, leader_epoch=epoch, first_epoch=epoch, log_id=shown_id
        )
        puts.append((partition_key(topic.id, index), encode(record)))
    return puts


def rewrite_topic(
    image: Image, topic: Topic, record: TopicRecord, nonce: bytes, ahead: Sequence[Put] = ()
) -> Commit[TopicRecord]:
    return Commit(
        answer=record,
        checks=topic_checks(image, topic),
        puts=[catalog_put(nonce), (topic_key(topic.name), encode(record))],
        ahead=ahead,
        ahead_checks=topic_checks(image, topic) if ahead else (),
    )


def existing_topic(image: Image, name: str) -> Topic:
    topic = image.topic(name)
    if topic is not None:
        return topic
    view = image.readable.topic(name)
    if isinstance(view, View):
        raise is_view(view)
    raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")


def topic_checks(image: Image, topic: Topic) -> Sequence[Check]:
    """The catalog too: the topic's own key may be that of another topic of its name by now."""
    return [(CATALOG, image.revision_of(CATALOG)), (topic_key(topic.name), topic.revision)]


def is_topic_name(text: str) -> bool:
    return text not in (".", "..") and _NAME.fullmatch(text) is not None


def check_new_name(image: Image, name: str) -> None:
    if not is_topic_name(name):
        raise Refused(
            ErrorCode.INVALID_TOPIC,
            f"the name of a topic has 1 to 249 letters, digits, dots, underscores and hyphens, "
            f"and {name[:300]!r} is not such a one",
        )
    other = image.colliding(name)
    if other == name:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name} already exists")
    if other is not None:
        raise Refused(
            ErrorCode.INVALID_TOPIC,
            f"topic {name} collides with {other}: in metrics, dots and underscores are the same",
        )


def alike(names: Iterable[str]) -> dict[str, str]:
    """Names that collide with another before them, which the image cannot know of yet."""
    first: dict[str, str] = {}
    pairs = ((name, first.setdefault(name.replace(".", "_"), name)) for name in names)
    return {name: other for name, other in pairs if name != other}


def collides(name: str, other: str) -> Refused:
    return Refused(
        ErrorCode.INVALID_TOPIC,
        f"topic {name} collides with {other} of the same request: in metrics, dots and "
        "underscores are the same",
    )


def check_partition_count(partitions: int) -> None:
    if not 1 <= partitions <= PARTITIONS_MAX:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"a topic has 1 to {PARTITIONS_MAX} partitions, not {partitions}",
        )


def _check_numbers(image: Image, partitions: int, replication: int) -> None:
    check_partition_count(partitions)
    _check_replication(image, replication)


def _check_replication(image: Image, replication: int) -> None:
    if replication < 1:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"a partition has at least 1 replica, not {replication}",
        )
    count = len(open_racks(image))
    if replication > count:
        others = " and not draining" if count < len(image.brokers) else ""
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{replication} replicas need as many brokers, and {count} "
            f"{'is' if count == 1 else 'are'} alive{others}",
        )


def _check_total(topic: Topic, total: int) -> None:
    before = topic.record.partitions
    if topic.record.sealed is not None:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {topic.name} is sealed: it holds what was in partitions of "
            f"{topic.record.sealed.name}, and gets no others",
        )
    if topic.record.closing is not None:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {topic.name} is to have {topic.open_partitions} partitions: cancel that first, "
            f"with `penstock topic alter {topic.name} --unset {OPEN}`",
        )
    if total <= before:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {topic.name} has {before} partitions already, and {total} is not more",
        )
    if total > PARTITIONS_MAX:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"a topic has at most {PARTITIONS_MAX} partitions, not {total}",
        )


def _assigned(image: Image, assignments: Mapping[int, Sequence[int]]) -> list[Replicas]:
    if len(assignments) > PARTITIONS_MAX:
        raise _bad_assignment(f"a topic has at most {PARTITIONS_MAX} partitions")
    if sorted(assignments) != list(range(len(assignments))):
        raise _bad_assignment("partitions are numbered from 0 on, without a gap")
    placed = [tuple(assignments[index]) for index in range(len(assignments))]
    for index, replicas in enumerate(placed):
        _check_replicas(image, index, replicas, len(placed[0]))
    return placed


def _check_replicas(image: Image, index: int, replicas: Replicas, expected: int) -> None:
    if not replicas:
        raise _bad_assignment(f"partition {index} has no replicas")
    if len(replicas) != expected:
        raise _bad_assignment(
            f"partition {index} has {len(replicas)} replicas, and the first has {expected}"
        )
    if len(set(replicas)) != len(replicas):
        raise _bad_assignment(f"partition {index} has a broker twice: {list(replicas)}")
    if missing := [broker for broker in replicas if broker not in image.brokers]:
        raise _bad_assignment(f"partition {index} is on brokers that are not alive: {missing}")


def _bad_assignment(problem: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)


def catalog_put(nonce: bytes) -> Put:
    return CATALOG, encode(CatalogRecord(nonce=nonce))


def _partition_puts(
    topic_id: bytes, first: int, placed: Sequence[Replicas], min_isr: int
) -> list[Put]:
    encoded: dict[Replicas, bytes] = {}
    puts = []
    for index, replicas in enumerate(placed, first):
        if replicas not in encoded:
            encoded[replicas] = encode(_new_partition(replicas, min_isr))
        puts.append((partition_key(topic_id, index), encoded[replicas]))
    return puts


def _new_partition(replicas: Replicas, min_isr: int) -> PartitionRecord:
    return PartitionRecord(replicas=replicas, leader=replicas[0], isr=replicas, min_isr=min_isr)
