"""Shares go with their topics."""

from __future__ import annotations

from tests.coordination.share.stage import KEY, TOPIC_ID, Stage, put

from penstock.coordination.share.forgetting import KEPT_MS, Forgetting
from penstock.coordination.share.state import Share
from penstock.coordination.turn import Turn
from penstock.metadata.records import DeletedRecord, deleted_key, encode, topic_key


def look(stage: Stage) -> None:
    def decide(turn: Turn, share: Share) -> None:
        sweep = Forgetting(share)
        sweep.go_on(turn, share)
        assert sweep.is_done

    stage.run(decide)


def begun() -> Stage:
    stage = Stage()
    stage.initialize()
    return stage


def test_a_share_stays_as_long_as_its_partition() -> None:
    stage = begun()
    stage.now_ms += 10 * KEPT_MS
    look(stage)
    assert stage.state is not None


def test_a_share_of_a_topic_that_was_deleted_goes_at_once() -> None:
    stage = begun()
    put(stage.image, topic_key("orders"), None)
    put(stage.image, deleted_key(TOPIC_ID), encode(DeletedRecord("orders")))
    look(stage)
    stage.reload()
    assert len(stage.kept) == 0


def test_a_topic_that_is_not_known_may_be_too_new_to_be() -> None:
    stage = begun()
    put(stage.image, topic_key("orders"), None)
    look(stage)
    assert stage.kept.get(KEY.name) is not None
    stage.now_ms += KEPT_MS
    look(stage)
    assert stage.kept.get(KEY.name) is None


def test_shares_of_other_topics_stay() -> None:
    stage = begun()
    put(stage.image, topic_key("orders"), None)
    put(stage.image, deleted_key(bytes(16)), encode(DeletedRecord("others")))
    look(stage)
    assert stage.state is not None
