"""What a pipeline needs before it starts: its checkpoint, its function, topics to write to."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import cloudpickle

from penstock.client.admin import create_topic
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.errors import ErrorCode
from penstock.spark.connected import Connected
from penstock.spark.errors import SparkError
from penstock.spark.pipelines.declaration import DeclarationError, Pipeline
from penstock.spark.pipelines.state import write_whole

CLIENT_S = 30.0
_OWNER = "pipeline.json"


def function_of(told: Any, folder: Path | None) -> Callable[..., Any]:
    if callable(told):
        found: Callable[..., Any] = told
        return found
    name, _, attribute = told.partition(":")
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(name)
        found = getattr(module, attribute)
    except (ImportError, AttributeError) as error:
        raise DeclarationError(f"function: {error}") from None
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # workers do not have it
    return found


def claim(checkpoint: Path, pipeline: Pipeline) -> None:
    """A checkpoint is of one pipeline: another's would make it pass over records."""
    owner = checkpoint / _OWNER
    topics = sorted(each.topic for each in pipeline.sources.values() if each.topic)
    checkpoint.mkdir(parents=True, exist_ok=True)
    if not owner.exists():
        told = {"name": pipeline.name, "topics": topics, "id": str(uuid4())}
        write_whole(owner, json.dumps(told).encode())
        return
    known = json.loads(owner.read_bytes())
    if (known["name"], known["topics"]) != (pipeline.name, topics):
        raise SparkError(
            f"the checkpoint in {checkpoint} is of pipeline {known['name']}, which reads "
            f"{', '.join(known['topics']) or 'no topic'}: give this one another name or checkpoint"
        )


def identity(checkpoint: Path) -> str:
    """By which a table knows the batches: it lives and dies with the checkpoint."""
    return str(json.loads((checkpoint / _OWNER).read_bytes())["id"])


def make_topics(bootstrap: str, pipeline: Pipeline) -> None:
    """What is written to is there, with the cluster's defaults."""
    wanted = [pipeline.sink.topic, *(each.dead_letter_topic for each in pipeline.sources.values())]
    names = [each for each in wanted if each]
    if names:
        with Connected(bootstrap, CLIENT_S).another() as client:
            for name in names:
                _make_topic(client, name)


def _make_topic(client: WireClient, name: str) -> None:
    if client.retry(lambda deadline: client.topic_if_any(name, deadline=deadline)) is not None:
        return
    try:
        create_topic(client, name)
    except ClientError as error:
        if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise
