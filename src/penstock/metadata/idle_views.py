"""Views that go when nobody reads them: those that clients make for a predicate of theirs.

Brokers that serve reads of one note that in its record, seldom, and the controller deletes those
of which nothing was noted for their idle time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from penstock.metadata.changes import Commit, catalog_put
from penstock.metadata.image import Image
from penstock.metadata.records import CATALOG, ViewRecord, encode, view_key

NOTED_A_TIME = 8
"""How often at most the use of a view is noted within its idle time."""
AT_ONCE = 20
"""Of views, in one commit."""


def worth_noting(image: Image, used: Collection[bytes], now_ms: int) -> list[str]:
    """Names of those that were read, and of which that was not noted lately."""
    return [
        record.name
        for record, _ in image.views.held()
        if record.idle_ms
        and record.view_id in used
        and now_ms - _seen_ms(record) >= record.idle_ms // NOTED_A_TIME
    ]


def note_used(image: Image, used: Collection[bytes], now_ms: int) -> Commit[list[bytes]]:
    """Answers with their ids."""
    names = worth_noting(image, used, now_ms)[:AT_ONCE]
    found = list(_held(image, names))
    return Commit(
        answer=[record.view_id for record, _ in found],
        checks=[(view_key(record.name), revision) for record, revision in found],
        puts=[
            (view_key(record.name), encode(msgspec.structs.replace(record, used_ms=now_ms)))
            for record, _ in found
        ],
    )


def idle(image: Image, now_ms: int) -> list[str]:
    return [
        record.name
        for record, _ in image.views.held()
        if record.idle_ms and now_ms - _seen_ms(record) >= record.idle_ms
    ]


def delete_idle(image: Image, now_ms: int, nonce: bytes) -> Commit[list[str]]:
    """Answers with their names. One whose use is noted meanwhile stays."""
    names = idle(image, now_ms)[:AT_ONCE]
    if not names:
        return Commit(answer=[])
    found = list(_held(image, names))
    return Commit(
        answer=names,
        checks=[
            (CATALOG, image.revision_of(CATALOG)),
            *((view_key(record.name), revision) for record, revision in found),
        ],
        puts=[catalog_put(nonce)],
        deletes=[view_key(name) for name in names],
        makes_room=True,
    )


def _held(image: Image, names: Collection[str]) -> Iterator[tuple[ViewRecord, int]]:
    return ((record, revision) for record, revision in image.views.held() if record.name in names)


def _seen_ms(record: ViewRecord) -> int:
    return max(record.created_ms, record.used_ms)
