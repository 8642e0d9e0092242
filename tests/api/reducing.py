"""A topic that loses partitions, on a broker whose handlers are asked directly."""

from __future__ import annotations

from tests.api.desk import NOW_MS, Desk

from penstock.api.sealing import take_over_logs
from penstock.metadata.config_changes import change_topic_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.election import settle_partitions
from penstock.metadata.reducing import close, cut_over

NONCE = b"n" * 16


def begin(desk: Desk, name: str, count: int) -> None:
    texts = {"partitions.open": str(count), "partitions.close.when": "drained"}
    changes = [ConfigChange(each, Operation.SET, text) for each, text in texts.items()]
    desk.change(
        lambda image: change_topic_configs(image, name, changes, nonce=NONCE, now_ms=NOW_MS)
    )
    desk.broker.reconfigure(desk.image.topics[name])


def close_all(desk: Desk, name: str) -> None:
    topic = desk.image.topics[name]
    desk.change(lambda image: close(image, topic.id, nonce=NONCE, now_ms=NOW_MS + 1))
    places = [(topic.id, index) for index in range(topic.record.partitions)]
    desk.change(lambda image: settle_partitions(image, places))
    for place in places:
        desk.broker.follow_partition(*place)


def reduce_to(desk: Desk, name: str, count: int) -> bytes:
    """What the controller does, and what a broker does that hears of it; the id that is shown."""
    begin(desk, name, count)
    close_all(desk, name)
    topic, shown_id, sealed_id = desk.image.topics[name], desk.chance.uuid(), desk.chance.uuid()
    before = topic.record.partitions
    sealed = desk.change(
        lambda image: cut_over(
            image, topic.id, shown_id=shown_id, sealed_id=sealed_id, now_ms=NOW_MS + 2
        )
    )
    for index in range(count, before):
        desk.broker.drop_partition((topic.id, index))
    take_over_logs(desk.log_dir, desk.image.topics[sealed])
    desk.broker.reconfigure(topic)
    return shown_id
