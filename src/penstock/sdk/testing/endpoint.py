"""What tests want of a broker and of a cluster alike: topics, and clients that end with it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import penstock
from penstock.sdk.admin import Admin
from penstock.sdk.errors import PenstockError

if TYPE_CHECKING:
    from penstock.sdk.admin_line import Value


class Endpoint:
    def __init__(self) -> None:
        self._numbers = count(1)
        self._clients: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        """What any Kafka client connects to."""
        raise NotImplementedError

    @cached_property
    def admin(self) -> Admin:
        made = Admin(self.bootstrap)
        self._clients.append(made)
        return made

    def topic(
        self,
        name: str = "topic",
        partitions: int = 1,
        *,
        replicas: int | None = None,
        **configs: Value,
    ) -> str:
        """Makes one that nobody else uses, and gives its name, which begins with the given one.
        Settings are written with underscores: `retention_ms=1000`."""
        unique = f"{name}-{next(self._numbers)}"
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        self.admin.topics.create(unique, partitions, replicas, settings)
        return unique

    def producer(self, **options: Any) -> Any:
        """A penstock.Producer, closed with the broker."""
        return self._kept("Producer", **options)

    def consumer(self, topics: str | Iterable[str], **options: Any) -> Any:
        """A penstock.Consumer, closed with the broker."""
        return self._kept("Consumer", topics, **options)

    def _kept(self, kind: str, *given: Any, **options: Any) -> Any:
        made = getattr(penstock, kind)(self.bootstrap, *given, **options)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for each in self._clients:
            with suppress(PenstockError):  # its broker may be gone, or paused
                each.close()
        self._clients.clear()
