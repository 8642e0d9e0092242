"""Copies with the SDK, as its docs tell users to."""

from __future__ import annotations

from typing import Any

from penstock import Consumer, Producer
from tests.copy_worker import TRANSACTION_MS, Job, say

PATIENCE = {"transaction.timeout.ms": TRANSACTION_MS, "message.timeout.ms": TRANSACTION_MS}


def promises(job: Job) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a producer and a consumer are told, whichever kind they are of."""
    sending = {"transactional_id": job.name, "settings": PATIENCE}
    reading = {"topics": job.source, "group": job.group}
    return (
        {"bootstrap": job.address, "delivery": "exactly-once", **sending},
        {"bootstrap": job.address, "delivery": "exactly-once", **reading},
    )


def copy(job: Job) -> None:
    sending, reading = promises(job)
    with Producer(**sending) as producer, Consumer(**reading) as consumer:
        say("ready")
        for batch in consumer.transactions(
            producer, max_messages=job.size, max_seconds=job.gather_s
        ):
            with batch:
                for message in batch:
                    producer.send(job.target, message.value, message.key)
                say(f"open {len(batch)}")
                job.leave_if_told()
            say("aborted" if batch.aborted else f"committed {len(batch)}")
