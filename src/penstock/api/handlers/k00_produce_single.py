"""Produce, the short way: acks=1, one batch for one partition that is known and stores it as it is.

Half of what a small request costs is reading and building messages; this way there are none. What
is not as usual, or wrong, is left to `k00_produce`, which has the words for it: nothing has been
done by then.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.errors import Refused
from penstock.log.validation import check_batch
from penstock.wire.single_produce import TOPIC_IDS_SINCE, answer_single, read_single


def produce_single(broker: Broker, frame: memoryview, now_ms: int) -> bytes | None:
    asked = read_single(frame)
    if asked is None or broker.disk_is_full:
        return None
    version, _, topic, index, batch = asked
    leader = broker.known_leader(topic, index, by_id=version >= TOPIC_IDS_SINCE)
    if leader is None:
        return None
    log = leader.log
    config = log.config
    if not config.keeps_batches:
        return None
    try:
        header = check_batch(batch, config, now_ms)
        if header.is_transactional:
            return None
        done = log.append(batch, header, now_ms, leader.epoch)
    except Refused:
        return None
    broker.appended(leader)
    return answer_single(asked, done.base_offset, done.append_time_ms, log.start_offset)
