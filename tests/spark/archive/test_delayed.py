"""The table of a topic whose messages wait has what is delivered, once, and never what waits."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from tests.broker_process import BrokerProcess
from tests.group_stage import wait_until
from tests.spark.records import Seen, in_table, in_topic, send

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.producer import Producer
from penstock.spark.archive.archiver import ArchiveOptions, Archiver, Round
from penstock.spark.archive.tasks import Here

AT, DELAY, CRON = b"penstock-deliver-at", b"penstock-delay-ms", b"penstock-cron"
CANCEL, ID = b"penstock-cancel", "penstock-scheduled-id"
SOON_MS = 4000
COUNT = 300
NEW_YEAR = b"0 0 1 jan *"
LONG_AGO_MS = 1_000_000_000_000
"""So that it is due at once, and then at the next new year."""


def archive(address: str, topic: str, folder: Path) -> int:
    """All that there is now; the rows that it was."""
    rounds: list[Round] = []
    options = ArchiveOptions(address, topic=topic, folder=str(folder), once=True)
    Archiver(options, Here(), rounds.append).run()
    return sum(each.rows for each in rounds)


def values(rows: list[Seen]) -> Counter[bytes | None]:
    return Counter(each.value for each in rows)


def test_what_waits_is_archived_when_it_is_delivered_and_never_before(
    broker: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    folder = tmp_path / "table"
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, partitions=2, configs={"delayed.delivery": "true"})
        producer = Producer(client, topic)
        due_ms = time.time_ns() // 1_000_000 + SOON_MS
        producer.send(b"cancelled", headers=((AT, b"%d" % due_ms),), partition=0)
        producer.flush()
        for number in range(COUNT):  # of what waits and what does not, in the same batches
            headers = ((AT, b"%d" % (due_ms + number)),) if number % 3 else ()
            producer.send(b"soon %d" % number, headers=headers, partition=number % 2)
        producer.send(b"much later", headers=((DELAY, b"3600000"),), partition=0)
        producer.send(b"yearly", headers=((CRON, NEW_YEAR),), partition=1, timestamp_ms=LONG_AGO_MS)
        producer.flush()
        producer.send(None, headers=((CANCEL, b"0"),), partition=0)
        producer.flush()
        archive(broker.address, topic, folder)
        early = in_table(folder)
        assert {b"soon %d" % number for number in range(0, COUNT, 3)} <= values(early).keys()
        check_delivered(early)

        wait_until(lambda: len(in_topic(client, topic)) > COUNT, "all that is due soon")
        archive(broker.address, topic, folder)
        send(client, topic, range(1, 2))
        assert archive(broker.address, topic, folder) == 1
        assert archive(broker.address, topic, folder) == 0
        found = in_table(folder)
        check_delivered(found)
        assert found == in_topic(client, topic)
        soon = [b"soon %d" % number for number in range(COUNT)]
        assert values(found) == Counter([*soon, b"yearly", b"value 1"])


def check_delivered(rows: list[Seen]) -> None:
    """None of them is one that waits, and what was delivered says where it was sent."""
    asking = {each.decode() for each in (AT, DELAY, CRON, CANCEL)}
    assert not [each for each in rows if asking & dict(each.headers).keys()]
    sent_at = [
        (each.partition, dict(each.headers)[ID]) for each in rows if ID in dict(each.headers)
    ]
    assert len(set(sent_at)) == len(sent_at)
