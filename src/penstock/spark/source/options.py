"""What a job has asked of a source: which topics, from where to where, and how."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.predicate.predicate import parse
from penstock.predicate.refusal import BadPredicate
from penstock.spark.errors import OptionError
from penstock.spark.given_options import GivenOptions
from penstock.spark.source.offsets import Place, places_of

WAIT_S = 60.0
TASKS_MAX = 8
IGNORED = (
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "includeTimestampType",
)
"""Of Spark's Kafka source: they set how its consumer works, which is none here."""


class Point(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    FIRST = "first"
    """The very first record ever, be it in the topic's table only."""


@dataclass(frozen=True)
class Bound:
    """Where reading begins or ends. What is given for single partitions goes before the point."""

    point: Point | None = None
    offsets: Mapping[Place, int] | None = None
    timestamp_ms: int | None = None
    timestamps_ms: Mapping[Place, int] | None = None


@dataclass(frozen=True)
class Chosen:
    """The topics: by name, by pattern, or by partition. One of them."""

    names: tuple[str, ...] = ()
    pattern: str = ""
    partitions: tuple[Place, ...] = ()


@dataclass(frozen=True)
class SourceOptions:
    bootstrap: str
    chosen: Chosen
    starting: Bound
    ending: Bound
    late_is_latest: bool
    """Where no record is as late as a timestamp: read from the end on, in place of an error."""
    fail_on_data_loss: bool
    headers: bool
    committed: bool
    tasks_min: int | None
    rows_a_task_max: int | None
    tasks_max: int
    rows_a_trigger_max: int | None
    rows_a_trigger_min: int | None
    trigger_delay_ms_max: int
    group: str | None
    stop_at: Mapping[Place, int] | None
    """Where a stream ends: it reads no further, and nothing of other partitions."""
    where: str | None
    """A predicate: only what matches is read."""
    archive: str | None
    """The folder of the topic's table, for what the topic does not have any more."""
    timeout_s: float


def source_options(options: Mapping[str, str], *, is_stream: bool) -> SourceOptions:
    given = GivenOptions(options)
    read = SourceOptions(
        bootstrap=given.bootstrap(),
        chosen=_chosen(given),
        starting=_starting(given, is_stream=is_stream),
        ending=_ending(given, is_stream=is_stream),
        late_is_latest=given.choice(
            "startingOffsetsByTimestampStrategy",
            of={"error": False, "latest": True},
            default="error",
        ),
        fail_on_data_loss=given.flag("failOnDataLoss", default=True),
        headers=given.flag("includeHeaders", default=False),
        committed=given.choice(
            "isolation.level",
            "isolationLevel",
            "kafka.isolation.level",
            of={"read_committed": True, "read_uncommitted": False},
            default="read_committed",
        ),
        tasks_min=given.number("minPartitions"),
        rows_a_task_max=given.number("maxRecordsPerPartition"),
        tasks_max=given.number("maxPartitions") or TASKS_MAX,
        rows_a_trigger_max=given.number("maxOffsetsPerTrigger"),
        rows_a_trigger_min=given.number("minOffsetsPerTrigger"),
        trigger_delay_ms_max=given.duration_ms("maxTriggerDelay", "15m"),
        group=given.text("group.id", "groupId", "kafka.group.id"),
        stop_at=_stop_at(given, is_stream=is_stream),
        where=_where(given),
        archive=given.text("archive"),
        timeout_s=(given.number("timeoutMs") or int(WAIT_S * 1000)) / 1000,
    )
    given.check_rest(IGNORED)
    if read.starting.point is Point.FIRST and read.archive is None:
        raise OptionError(
            "startingOffsets=first begins in the topic's table: say where that is with the option "
            "archive, or use earliest"
        )
    return read


def _where(given: GivenOptions) -> str | None:
    text = given.text("where")
    if text is None:
        return None
    for name in ("subscribePattern", "archive"):
        if given.has(name):
            raise OptionError(
                f"option where does not go with {name}: leave one of them out; DataFrame.where "
                "chooses rows once they are read"
            )
    try:
        return parse(text).text
    except BadPredicate as bad:
        raise OptionError(f"option where: {bad}") from None


def _chosen(given: GivenOptions) -> Chosen:
    names, pattern = given.text("subscribe"), given.text("subscribePattern")
    partitions = given.text("assign")
    if sum(each is not None for each in (names, pattern, partitions)) != 1:
        raise OptionError("give one of the options subscribe, subscribePattern and assign")
    if names is not None:
        found = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
        if not found:
            raise OptionError("option subscribe names no topic")
        return Chosen(names=found)
    if pattern is not None:
        return Chosen(pattern=_pattern(pattern))
    return Chosen(partitions=_assigned(partitions or ""))


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise OptionError(f"option subscribePattern={text}: {error}") from None
    return text


def _assigned(text: str) -> tuple[Place, ...]:
    told = _json("assign", text)
    try:
        return tuple(sorted((name, int(each)) for name, held in told.items() for each in held))
    except (AttributeError, TypeError, ValueError):
        raise OptionError('option assign: give partitions, as in {"orders": [0, 1]}') from None


def _starting(given: GivenOptions, *, is_stream: bool) -> Bound:
    default = Point.LATEST if is_stream else Point.EARLIEST
    allowed = [Point.EARLIEST, Point.FIRST] + ([Point.LATEST] if is_stream else [])
    return _bound(given, "starting", default, allowed)


def _ending(given: GivenOptions, *, is_stream: bool) -> Bound:
    names = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
    if is_stream and any(given.has(name) for name in names):
        raise OptionError(
            "a stream has no end: endingOffsets and the like are for batches; stopAtOffsets, with "
            "the trigger availableNow, ends one"
        )
    bound = _bound(given, "ending", Point.LATEST, [Point.LATEST])
    if -2 in (bound.offsets or {}).values():
        raise OptionError("option endingOffsets: -2, the earliest, is no end")
    return bound


def _stop_at(given: GivenOptions, *, is_stream: bool) -> dict[Place, int] | None:
    name = "stopAtOffsets"
    text = given.text(name)
    if text is None:
        return None
    if not is_stream:
        raise OptionError(f"option {name} is for streams: a batch has endingOffsets")
    return places_of(name, _json(name, text))


LEAST = -2
"""Stands for the earliest offset."""


def _bound(given: GivenOptions, which: str, default: Point, allowed: list[Point]) -> Bound:
    """Timestamps of single partitions go before one for all, and that before offsets, as in
    Spark's Kafka source."""
    stamps = given.text(f"{which}OffsetsByTimestamp")
    stamp = given.number(f"{which}Timestamp", least=0)
    offsets = given.text(f"{which}Offsets")
    if stamps is not None:
        name = f"{which}OffsetsByTimestamp"
        return Bound(timestamps_ms=places_of(name, _json(name, stamps)))
    if stamp is not None:
        return Bound(timestamp_ms=stamp)
    if offsets is None:
        return Bound(point=default)
    if offsets.strip().startswith("{"):
        name = f"{which}Offsets"
        return Bound(offsets=places_of(name, _json(name, offsets), LEAST))
    points = {point.value: point for point in allowed}
    if offsets.lower() not in points:
        told = ", ".join([*points, "a number for each partition as JSON"])
        raise OptionError(f"option {which}Offsets={offsets}: give one of {told}")
    return Bound(point=points[offsets.lower()])


def _json(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise OptionError(f"option {option} is no JSON: {error}") from None
