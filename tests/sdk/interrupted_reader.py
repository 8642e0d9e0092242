"""Reads until somebody presses Ctrl-C; says what it was handed."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import Any

from penstock import Consumer


def say(message: Any) -> None:
    sys.stdout.write(f"{message.value}\n")
    sys.stdout.flush()


def read(consumer: Consumer[str], way: str) -> None:
    if way == "iteration":
        for message in consumer:
            say(message)
    elif way == "poll":
        while True:
            found = consumer.poll(30)
            if found:
                say(found)
    elif way == "batches":
        for batch in consumer.batches(10):
            for message in batch:
                say(message)
    else:
        consumer.process(say)


def main(address: str, topic: str, group: str, way: str) -> None:
    if way == "exit":
        signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    with (
        suppress(KeyboardInterrupt),
        Consumer(address, topic, group=group, tune="latency") as consumer,
    ):
        read(consumer, "iteration" if way == "exit" else way)


if __name__ == "__main__":
    main(*sys.argv[1:])
