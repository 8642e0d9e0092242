"""What a job has asked of a sink: where rows go, and how surely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.spark.given_options import GivenOptions
from penstock.wire.compression import Codec

WAIT_S = 60.0
ORPHAN_TIMEOUT = "1h"
IGNORED = ("includeHeaders",)
"""Of Spark's Kafka sink: headers are written wherever there are some."""


@dataclass(frozen=True)
class SinkOptions:
    bootstrap: str
    topic: str | None
    """Goes before a column of that name."""
    is_exactly_once: bool
    codec: Codec
    orphan_timeout_ms: int
    timeout_s: float
    checkpoint: str | None = None
    """Of a stream, where its writer was given one."""


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    given = GivenOptions(options)
    read = SinkOptions(
        bootstrap=given.bootstrap(),
        topic=given.text("topic"),
        is_exactly_once=given.choice(
            "delivery", of={"exactly-once": True, "at-least-once": False}, default="exactly-once"
        ),
        codec=given.choice(
            "compression",
            "compression.type",
            "kafka.compression.type",
            of={codec.word: codec for codec in Codec},
            default=Codec.NONE.word,
        ),
        orphan_timeout_ms=given.duration_ms("sink.orphan.timeout", ORPHAN_TIMEOUT),
        timeout_s=(given.number("timeoutMs") or int(WAIT_S * 1000)) / 1000,
        checkpoint=given.text("checkpointLocation"),
    )
    given.check_rest(IGNORED)
    return read
