"""A part of a topic, processed again: a stream that has an end.

Where it begins and ends is decided when it is started first, and kept beside its checkpoint. So the
same backfill goes on where it stood, and one that is complete does nothing more.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import msgspec

from penstock.client import offsets
from penstock.client.cluster import WireClient
from penstock.client.locating import locate
from penstock.client.positions import Position
from penstock.spark.errors import SparkError
from penstock.spark.pipelines.declaration import Pipeline
from penstock.spark.pipelines.state import write_whole

Offsets = dict[int, int]
_FILE = "range.json"


class Part(NamedTuple):
    """Of each partition, from the first offset to before the last."""

    topic: str
    starts: Offsets
    ends: Offsets

    @property
    def rows(self) -> int:
        """At most: markers of transactions have offsets, too."""
        return sum(end - self.starts[index] for index, end in self.ends.items())

    def bounded(self, pipeline: Pipeline) -> Pipeline:
        """The same, and no more of the topic than this."""
        starting = self.to_json(self.starts)
        sources = {
            name: msgspec.structs.replace(each, starting=starting)
            for name, each in pipeline.sources.items()
        }
        return msgspec.structs.replace(pipeline, sources=sources)

    def to_json(self, of: Offsets) -> str:
        """As the source takes offsets."""
        return json.dumps({self.topic: {str(index): at for index, at in of.items()}})


class Wanted(NamedTuple):
    """What was asked for; None: from the beginning, or to the end."""

    topic: str
    start: Position | None
    end: Position | None
    target: str
    """The topic or the folder that it is written to."""


def decided(client: WireClient, wanted: Wanted, folder: Path) -> Part:
    """As it was at the first start, or now. What was written to one place is not in another, so
    that is part of what was asked for."""
    path = folder / _FILE
    told = [wanted.topic, _told(wanted.start), _told(wanted.end), wanted.target]
    if path.exists():
        known = json.loads(path.read_bytes())
        if known["asked"] != told:
            raise SparkError(
                "a backfill of this name has another topic, range or target: give this one "
                "another --name"
            )
        starts, ends = ({int(at): to for at, to in each.items()} for each in known["part"])
        return Part(wanted.topic, starts, ends)
    part = decide(client, wanted)
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"asked": told, "part": [part.starts, part.ends]}
    write_whole(path, json.dumps(kept).encode())
    return part


def _told(position: Position | None) -> list[int | None] | None:
    return None if position is None else [position.offset, position.timestamp_ms]


def decide(client: WireClient, wanted: Wanted) -> Part:
    topic = wanted.topic
    indexes = list(client.retry(lambda deadline: client.topic(topic, deadline=deadline)).partitions)
    firsts = offsets.ends(client, topic, indexes, offsets.EARLIEST)
    lasts = offsets.ends(client, topic, indexes, offsets.LATEST, committed=True)
    starts = locate(client, topic, indexes, wanted.start) if wanted.start else firsts
    ends = locate(client, topic, indexes, wanted.end) if wanted.end else lasts
    lost = [index for index in indexes if starts[index] < firsts[index] < lasts[index]]
    if wanted.start and wanted.start.offset is not None and lost:
        index = lost[0]
        raise SparkError(
            f"{topic}-{index} begins at {firsts[index]}: what was before is gone. Begin there, or "
            "replay the topic's table, if it was archived"
        )
    starts = {index: min(max(starts[index], firsts[index]), lasts[index]) for index in indexes}
    ends = {index: min(max(ends[index], starts[index]), lasts[index]) for index in indexes}
    return Part(topic, starts, ends)
