"""What a job may ask of a source, and what it is told when it asks for something else."""

from __future__ import annotations

import pytest

from penstock.spark.errors import OptionError
from penstock.spark.source.options import Bound, Chosen, Point, SourceOptions, source_options

NEEDED = {"bootstrapServers": "localhost:9092", "subscribe": "orders"}


def options(given: dict[str, str] | None = None, *, is_stream: bool = False) -> SourceOptions:
    return source_options({**NEEDED, **(given or {})}, is_stream=is_stream)


def test_a_batch_is_all_of_a_topic_and_a_stream_is_what_comes() -> None:
    assert options().starting == Bound(point=Point.EARLIEST)
    assert options().ending == Bound(point=Point.LATEST)
    assert options(is_stream=True).starting == Bound(point=Point.LATEST)


def test_names_of_sparks_kafka_source_are_taken() -> None:
    read = source_options(
        {
            "kafka.bootstrap.servers": "one:1,two:2",
            "subscribePattern": "orders.*",
            "startingOffsetsByTimestamp": '{"orders": {"0": 17}}',
            "startingTimestamp": "3",
            "failOnDataLoss": "False",
            "kafka.isolation.level": "read_uncommitted",
            "kafka.group.id": "readers",
            "kafka.max.poll.records": "1000",
            "groupIdPrefix": "mine",
            "minPartitions": "7",
            "maxTriggerDelay": "90s",
        },
        is_stream=True,
    )
    assert read.bootstrap == "one:1,two:2"
    assert read.chosen == Chosen(pattern="orders.*")
    assert read.starting == Bound(timestamps_ms={("orders", 0): 17})
    assert (read.fail_on_data_loss, read.committed, read.group) == (False, False, "readers")
    assert (read.tasks_min, read.trigger_delay_ms_max) == (7, 90_000)


def test_partitions_are_named_as_json() -> None:
    given = {"bootstrapServers": "a:1", "assign": '{"b": [1, 0], "a": [2]}'}
    chosen = source_options(given, is_stream=False).chosen
    assert chosen.partitions == (("a", 2), ("b", 0), ("b", 1))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bootstrapServers": ""}, "bootstrapServers is missing"),
        ({"bootstrapServers": "nowhere"}, "no broker's address"),
        ({"subscribePattern": "a"}, "give one of the options subscribe"),
        ({"subscribe": " , "}, "names no topic"),
        ({"startingOffsets": "latest"}, "give one of earliest, first, a number"),
        ({"startingOffsets": "first"}, "say where that is with the option archive"),
        ({"startingOffsets": "{"}, "no JSON"),
        ({"startingOffsets": '{"orders": 3}'}, "a number for each partition"),
        ({"startingOffsets": '{"orders": {"0": 1.5}}'}, "a number for each partition"),
        ({"startingOffsets": '{"orders": {"0": true}}'}, "a number for each partition"),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "-3 of orders-0 cannot be; give -2 or"),
        ({"startingOffsets": '{"orders": {"-1": 3}}'}, "3 of orders--1 cannot be"),
        ({"endingOffsets": "earliest"}, "give one of latest"),
        ({"endingOffsets": '{"orders": {"0": -2}}'}, "is no end"),
        ({"startingTimestamp": "-1"}, "a whole number from 0 on"),
        ({"minPartitions": "0"}, "a whole number from 1 on"),
        ({"failOnDataLoss": "maybe"}, "give one of true, false"),
        ({"maxTriggerDelay": "soon"}, "a number and a unit"),
        ({"statingOffsets": "earliest"}, "did you mean startingOffsets?"),
        ({"kafka.security.protocol": "SASL_SSL"}, "plain connections only"),
        ({"group.id": "a", "kafka.group.id": "b"}, "are the same option"),
    ],
)
def test_a_mistake_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said.replace("?", r"\?")):
        options(given)


def test_a_pattern_that_is_none_is_named() -> None:
    with pytest.raises(OptionError, match="subscribePattern=\\("):
        source_options({"bootstrapServers": "a:1", "subscribePattern": "("}, is_stream=False)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(OptionError, match="a stream has no end"):
        options({"endingOffsets": "latest"}, is_stream=True)


def test_a_stream_may_be_told_where_to_stop() -> None:
    given = {"stopAtOffsets": '{"t": {"0": 5}}'}
    assert options(given, is_stream=True).stop_at == {("t", 0): 5}
    with pytest.raises(OptionError, match="a batch has endingOffsets"):
        options(given)
    with pytest.raises(OptionError, match="option stopAtOffsets: give a number for each"):
        options({"stopAtOffsets": "[5]"}, is_stream=True)
