"""Where a pipeline begins that is to begin with what comes: at its first start, once and for all.

Spark asks for `latest` when a query starts, and writes nothing down before there is a batch. So it
would be another place for the query of the rows and that of the dead letters, and what came between
the two and cannot be decoded would be in neither; and another one after a kill before the first
batch.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from penstock.client.cluster import WireClient
from penstock.client.offsets import LATEST, ends
from penstock.spark.connected import Connected
from penstock.spark.pipelines.declaration import Pipeline, Source
from penstock.spark.pipelines.state import write_whole

_WORD = "latest"
_FILE = "starting.json"
_CLIENT_S = 30.0


def with_starts(pipeline: Pipeline, bootstrap: str, checkpoint: Path) -> Pipeline:
    """The same, with offsets in the place of `latest`."""
    wanted = {name: each for name, each in pipeline.sources.items() if _is_latest(each)}
    if not wanted:
        return pipeline
    with Connected(bootstrap, _CLIENT_S).another() as client:
        ends_now = {name: _ends(client, each.topic or "") for name, each in wanted.items()}
    kept = _kept(checkpoint, ends_now)
    replaced = {
        name: msgspec.structs.replace(each, starting=_told(each, kept[name], ends_now[name]))
        for name, each in wanted.items()
    }
    return msgspec.structs.replace(pipeline, sources={**pipeline.sources, **replaced})


def _is_latest(source: Source) -> bool:
    return source.topic is not None and source.starting.lower() == _WORD


def _ends(client: WireClient, topic: str) -> dict[str, int]:
    told = client.retry(lambda deadline: client.topic(topic, deadline=deadline))
    found = ends(client, topic, told.partitions, LATEST, committed=True)
    return {str(index): at for index, at in found.items()}


def _kept(checkpoint: Path, now: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """As it was at the first start, which may be this one."""
    path = checkpoint / _FILE
    known: dict[str, dict[str, int]] = json.loads(path.read_bytes()) if path.exists() else {}
    found = {**now, **known}
    if found != known:
        write_whole(path, json.dumps(found).encode())
    return found


def _told(source: Source, kept: dict[str, int], now: dict[str, int]) -> str:
    """Partitions that have come since are read from their beginning."""
    return json.dumps({source.topic: {index: kept.get(index, 0) for index in now}})
