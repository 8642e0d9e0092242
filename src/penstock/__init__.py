"""Penstock: a distributed message queue that speaks the Apache Kafka wire protocol."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.sdk.admin import Admin as Admin
    from penstock.sdk.aio_consumer import AsyncConsumer as AsyncConsumer
    from penstock.sdk.aio_producer import AsyncProducer as AsyncProducer
    from penstock.sdk.aio_queue import AsyncQueue as AsyncQueue
    from penstock.sdk.consumer import Consumer as Consumer
    from penstock.sdk.errors import PenstockError as PenstockError
    from penstock.sdk.producer import Producer as Producer
    from penstock.sdk.queue import Queue as Queue

__version__ = "0.1.0"

SDK = {
    "Admin": "penstock.sdk.admin",
    "AsyncConsumer": "penstock.sdk.aio_consumer",
    "AsyncProducer": "penstock.sdk.aio_producer",
    "AsyncQueue": "penstock.sdk.aio_queue",
    "Consumer": "penstock.sdk.consumer",
    "PenstockError": "penstock.sdk.errors",
    "Producer": "penstock.sdk.producer",
    "Queue": "penstock.sdk.queue",
}
"""What programs use, and where it is: loaded when it is asked for, as a broker needs none of it."""


if not TYPE_CHECKING:  # a type checker shall say so of a name that is not there

    def __getattr__(name: str) -> object:
        if name not in SDK:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(SDK[name]), name)


__all__ = [
    "Admin",
    "AsyncConsumer",
    "AsyncProducer",
    "AsyncQueue",
    "Consumer",
    "PenstockError",
    "Producer",
    "Queue",
]


def __dir__() -> list[str]:
    return sorted([*globals(), *SDK])
