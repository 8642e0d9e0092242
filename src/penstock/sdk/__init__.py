"""What Python programs use: `from penstock import Producer, Consumer, Queue, Admin`;
`penstock.testing` for their tests.

Producer and consumer are typed, small, and over librdkafka (confluent-kafka). `delivery` says what
is promised and `tune` what it is for; each is a table of settings in `semantics`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.sdk.aio_consumer import AsyncConsumer as AsyncConsumer
    from penstock.sdk.aio_producer import AsyncProducer as AsyncProducer
    from penstock.sdk.aio_queue import AsyncQueue as AsyncQueue
    from penstock.sdk.consumer import Consumer as Consumer
    from penstock.sdk.errors import DeliveryFailed as DeliveryFailed
    from penstock.sdk.errors import Empty as Empty
    from penstock.sdk.errors import Fenced as Fenced
    from penstock.sdk.errors import LockLost as LockLost
    from penstock.sdk.errors import Misconfigured as Misconfigured
    from penstock.sdk.errors import NotDeserializable as NotDeserializable
    from penstock.sdk.errors import NotSerializable as NotSerializable
    from penstock.sdk.errors import PenstockError as PenstockError
    from penstock.sdk.errors import TimedOut as TimedOut
    from penstock.sdk.errors import TopicNotFound as TopicNotFound
    from penstock.sdk.errors import TransactionAborted as TransactionAborted
    from penstock.sdk.errors import Unreachable as Unreachable
    from penstock.sdk.job import AsyncJob as AsyncJob
    from penstock.sdk.job import Job as Job
    from penstock.sdk.job import Reject as Reject
    from penstock.sdk.message import Message as Message
    from penstock.sdk.message import TopicPartition as TopicPartition
    from penstock.sdk.producer import Producer as Producer
    from penstock.sdk.queue import Queue as Queue
    from penstock.sdk.sending import Delivered as Delivered
    from penstock.sdk.sending import Sending as Sending
    from penstock.sdk.serializers import Deserializer as Deserializer
    from penstock.sdk.serializers import Float64 as Float64
    from penstock.sdk.serializers import Int64 as Int64
    from penstock.sdk.serializers import Json as Json
    from penstock.sdk.serializers import Serde as Serde
    from penstock.sdk.serializers import Serializer as Serializer
    from penstock.sdk.serializers import raw as raw
    from penstock.sdk.serializers import text as text
    from penstock.sdk.transaction import Transaction as Transaction

PLACES = {
    "AsyncConsumer": "aio_consumer",
    "AsyncJob": "job",
    "AsyncProducer": "aio_producer",
    "AsyncQueue": "aio_queue",
    "Consumer": "consumer",
    "Delivered": "sending",
    "DeliveryFailed": "errors",
    "Deserializer": "serializers",
    "Empty": "errors",
    "Fenced": "errors",
    "Float64": "serializers",
    "Int64": "serializers",
    "Job": "job",
    "Json": "serializers",
    "LockLost": "errors",
    "Message": "message",
    "Misconfigured": "errors",
    "NotDeserializable": "errors",
    "NotSerializable": "errors",
    "PenstockError": "errors",
    "Producer": "producer",
    "Queue": "queue",
    "Reject": "job",
    "Sending": "sending",
    "Serde": "serializers",
    "Serializer": "serializers",
    "TimedOut": "errors",
    "TopicNotFound": "errors",
    "TopicPartition": "message",
    "Transaction": "transaction",
    "TransactionAborted": "errors",
    "Unreachable": "errors",
    "raw": "serializers",
    "text": "serializers",
}
"""Loaded when asked for: who uses the Admin or the pytest plugin need not load librdkafka."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{PLACES[name]}"), name)
