"""The part of the demo in which messages wait for their time, and one is taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from rich.console import Console

from penstock import Admin, Consumer, Producer
from penstock.sdk import Message

TOPIC = "reminders"
PARTITIONS = 3
SETTING = "delayed.delivery=true"
DELAY = timedelta(seconds=5)
LOOK_S = 0.5
WAIT_S = 60

Run = Callable[..., None]


def delay(address: str, run: Run, console: Console) -> bool:
    """Whether one has come, and not before its time, and the other not at all."""
    due = datetime.now(UTC) + DELAY
    with Producer(address) as producer:
        producer.send(TOPIC, "pay the invoice", key="anna", deliver_at=due)
        later = producer.send(TOPIC, "call back", key="ben", delay=timedelta(hours=1))
        place = later.result(WAIT_S)
    with Consumer(address, TOPIC, group="demo-delay", tune="latency") as consumer:
        message = consumer.poll(LOOK_S)
        is_early = _is_early(message, due)
        console.print(f"  two were sent; a consumer gets {'nothing' if message is None else 'one'}")
        run("schedule", "list", TOPIC)
        run("schedule", "cancel", TOPIC, f"{place.partition}:{place.offset}")
        message = message or consumer.poll(WAIT_S)
        is_early = is_early or _is_early(message, due)
    if message is None:
        console.print(f"  nothing has come in {WAIT_S} s")
        return False
    console.print(f"  {message.value!r} has come, which was due at {message.timestamp}")
    with Admin(address) as admin:
        left = admin.schedules.list(TOPIC)
    return message.value == "pay the invoice" and not is_early and not left


def _is_early(message: Message[str] | None, due: datetime) -> bool:
    return message is not None and datetime.now(UTC) < due
