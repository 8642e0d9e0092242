"""What `penstock topic describe` says of a topic whose retention waits for its archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.output import counted, plain

if TYPE_CHECKING:
    from penstock.client.admin import ConfigValue
    from penstock.client.cluster import WireClient
    from penstock.client.metadata import Topic

_HOLD = "retention.hold.for.archive"


def with_archived(
    client: WireClient,
    topic: Topic,
    rows: Sequence[dict[str, Any]],
    configs: dict[str, ConfigValue],
) -> list[dict[str, Any]]:
    """The rows, with how far each partition is archived where retention waits for that."""
    from penstock.client.group_offsets import committed_offsets  # noqa: PLC0415
    from penstock.wire.archive_group import archive_group  # noqa: PLC0415

    if _HOLD not in configs or configs[_HOLD].value != "true":
        return [{**row, "archived": None} for row in rows]
    told = committed_offsets(client, archive_group(topic.sealed_from or topic.name))
    at = {index: each.offset for (name, index), each in told.items() if name == topic.name}
    return [{**row, "archived": at.get(row["partition"], 0)} for row in rows]


def archived_lines(topic: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is not archived, if retention waits for it."""
    known = [row for row in rows if None not in (row["archived"], row["start"], row["end"])]
    left = sum(max(0, row["end"] - max(row["archived"], row["start"])) for row in known)
    if not left:
        return []
    told = f"retention waits for the archive: {counted(left, 'message')} not archived yet"
    return [f"{told} (`penstock pipeline archive {plain(topic)} --to DIR`)"]
