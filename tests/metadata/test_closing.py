"""Settings that say how many partitions of a topic are to stay."""

from __future__ import annotations

import pytest
from tests.metadata.reducing_stage import NONCE, NOW_MS, Stage
from tests.metadata.staging import ID

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import add_partitions, create_topic
from penstock.metadata.config_changes import change_topic_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.internal_topics import OFFSETS
from penstock.metadata.records import Closing


@pytest.fixture
def stage() -> Stage:
    return Stage("", "", "")


def test_a_lower_number_of_open_partitions_begins_closing(stage: Stage) -> None:
    stage.set(partitions_open="2")
    assert stage.orders.record.closing == Closing(since_ms=NOW_MS)
    assert stage.orders.open_partitions == 2
    assert stage.orders.record.partitions == 6


@pytest.mark.parametrize("text", ["6", "-1", None])
def test_closing_is_cancelled_by_keeping_all(stage: Stage, text: str | None) -> None:
    stage.set(partitions_open="2")
    stage.set(partitions_open=text)
    assert stage.orders.record.closing is None
    assert stage.orders.open_partitions == 6
    assert "partitions.open" not in stage.orders.record.configs


def test_other_settings_leave_closing_as_it_is(stage: Stage) -> None:
    stage.begin()
    stage.close()
    before = stage.orders.record.closing
    stage.set(retention_ms="5")
    assert stage.orders.record.closing == before


def test_another_number_begins_anew(stage: Stage) -> None:
    stage.begin(2)
    stage.close()
    stage.set(partitions_open="3")
    assert stage.orders.record.closing == Closing(since_ms=NOW_MS)


@pytest.mark.parametrize(
    ("configs", "code", "problem"),
    [
        ({"partitions_open": "7"}, ErrorCode.INVALID_CONFIG, "topic alter orders --partitions 7"),
        ({"partitions_open": "0"}, ErrorCode.INVALID_PARTITIONS, "1 to 100000 partitions"),
        ({"partitions_open": "-2"}, ErrorCode.INVALID_CONFIG, "less than -1"),
        (
            {"partitions_open": "2", "retention_ms": "-1"},
            ErrorCode.INVALID_CONFIG,
            "--when drained",
        ),
        (
            {"partitions_open": "2", "cleanup_policy": "compact"},
            ErrorCode.INVALID_CONFIG,
            "compacted",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    stage: Stage, configs: dict[str, str], code: ErrorCode, problem: str
) -> None:
    with pytest.raises(Refused, match=problem) as refused:
        stage.set(**configs)
    assert refused.value.code is code


def test_what_never_expires_can_be_drained(stage: Stage) -> None:
    stage.set(partitions_open="2", retention_ms="-1", partitions_close_when="drained")
    with pytest.raises(Refused, match=r"retention\.ms is -1"):
        stage.set(partitions_close_when=None)


def test_internal_topics_keep_their_partitions(stage: Stage) -> None:
    stage.create(OFFSETS, topic_id=b"o" * 16, partitions=3, configs={"cleanup.policy": "compact"})
    change = ConfigChange("partitions.open", Operation.SET, "1")
    with pytest.raises(Refused, match="internal"):
        change_topic_configs(stage.image, OFFSETS, [change], nonce=NONCE, now_ms=1)


def test_a_sealed_topic_keeps_its_partitions(stage: Stage) -> None:
    stage.reduce()
    change = ConfigChange("partitions.open", Operation.SET, "1")
    with pytest.raises(Refused, match="is sealed"):
        change_topic_configs(stage.image, "orders.sealed-1", [change], nonce=NONCE, now_ms=1)


def test_a_name_that_leaves_no_room_for_the_sealed_topics_is_refused(stage: Stage) -> None:
    name = "n" * 240
    stage.create(name, topic_id=b"n" * 16, partitions=2)
    change = ConfigChange("partitions.open", Operation.SET, "1")
    with pytest.raises(Refused, match="too long a name"):
        change_topic_configs(stage.image, name, [change], nonce=NONCE, now_ms=1)


def test_a_topic_cannot_be_made_with_closing_partitions(stage: Stage) -> None:
    with pytest.raises(Refused, match="topics that are there"):
        create_topic(
            stage.image,
            "new",
            topic_id=ID,
            now_ms=1,
            partitions=2,
            replication=1,
            configs={"partitions.open": "1"},
        )


def test_no_partitions_are_added_while_others_are_closing(stage: Stage) -> None:
    stage.begin()
    with pytest.raises(Refused, match=r"--unset partitions\.open") as refused:
        add_partitions(stage.image, "orders", 8, nonce=NONCE)
    assert refused.value.code is ErrorCode.INVALID_PARTITIONS
