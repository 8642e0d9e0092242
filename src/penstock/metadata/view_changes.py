"""Views come and go like topics, by names of the same kind: no two of either have the same."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit, catalog_put, check_new_name
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import INTERNAL
from penstock.metadata.records import CATALOG, TopicRecord, ViewRecord, encode, topic_key, view_key
from penstock.metadata.store import OPERATIONS_MAX
from penstock.metadata.views import VIEW_IDLE, VIEW_OF, VIEW_WHERE, View
from penstock.predicate.predicate import parse
from penstock.predicate.refusal import BadPredicate

VIEWS_MAX = OPERATIONS_MAX // 2
"""Of one topic: they are deleted with it in one commit."""
BY_DEFAULT = -1
IDLE_MS_MIN, IDLE_MS_MAX = 2000, 10 * 365 * 24 * 3600 * 1000


def names_view(configs: Mapping[str, str | None]) -> bool:
    return VIEW_OF in configs or VIEW_WHERE in configs


def create_view(
    image: Image,
    name: str,
    configs: Mapping[str, str | None],
    *,
    view_id: bytes,
    now_ms: int,
    partitions: int = BY_DEFAULT,
    replication: int = BY_DEFAULT,
) -> Commit[TopicRecord]:
    check_new_name(image, name)
    of, where = _checked(configs)
    idle_ms = _idle_ms(configs.get(VIEW_IDLE))
    source = _source(image, of)
    if partitions not in (BY_DEFAULT, source.record.partitions) or (
        replication not in (BY_DEFAULT, source.record.replication_factor)
    ):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"a view has the partitions and replicas of its topic: ask for {BY_DEFAULT} of both",
        )
    _check_predicate(where)
    record = ViewRecord(
        name=name,
        view_id=view_id,
        source_id=source.id,
        where=where,
        created_ms=now_ms,
        idle_ms=idle_ms,
    )
    return Commit(
        answer=View(record, 0, source).record,
        checks=[
            (CATALOG, image.revision_of(CATALOG)),
            (view_key(name), 0),
            (topic_key(source.name), source.revision),
        ],
        puts=[(view_key(name), encode(record)), catalog_put(view_id)],
    )


def delete_view(image: Image, view: View, *, nonce: bytes) -> Commit[TopicRecord]:
    return Commit(
        answer=view.record,
        checks=[(CATALOG, image.revision_of(CATALOG)), (view_key(view.name), view.revision)],
        puts=[catalog_put(nonce)],
        deletes=[view_key(view.name)],
        makes_room=True,
    )


def _checked(configs: Mapping[str, str | None]) -> tuple[str, str]:
    of, where = configs.get(VIEW_OF), configs.get(VIEW_WHERE)
    if not of or not where:
        raise Refused(
            ErrorCode.INVALID_CONFIG, f"a view needs {VIEW_OF}=TOPIC and {VIEW_WHERE}=PREDICATE"
        )
    if others := configs.keys() - {VIEW_OF, VIEW_WHERE, VIEW_IDLE}:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"a view has no settings of its own, so {', '.join(sorted(others))} cannot be set: its "
            f"records are those of {of}",
        )
    return of, where


def _idle_ms(text: str | None) -> int:
    """0 where it is to stay."""
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and IDLE_MS_MIN <= int(text[:20]) <= IDLE_MS_MAX):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"{VIEW_IDLE} is a number of ms from {IDLE_MS_MIN} to {IDLE_MS_MAX}, not {text}; leave "
            "it out for a view that stays until it is deleted",
        )
    return int(text)


def _check_predicate(where: str) -> None:
    try:
        parse(where)
    except BadPredicate as bad:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{VIEW_WHERE}: {bad}") from bad


def _source(image: Image, name: str) -> Topic:
    source = image.readable.topic(name)
    if source is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name} to view")
    if isinstance(source, View):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"{name} is a view itself, of {source.source.name}: make one of that, with both "
            f"predicates: ({source.held.where}) and (...)",
        )
    if name in INTERNAL:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{name} is the brokers' own: no views of that")
    if len(image.views.of(source.id)) >= VIEWS_MAX:
        raise Refused(
            ErrorCode.POLICY_VIOLATION,
            f"{name} has {VIEWS_MAX} views, which is the most: delete some that nobody reads",
        )
    return source
