"""Which partitions take new messages, and a look at that every few seconds.

librdkafka chooses partitions by itself, and learns of new ones. What it does not know is that some
of a topic's partitions are about to go (`partitions.open`): those are written to no more.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.partitioning import Sticky, partition_for_key
from penstock.sdk.connecting import reach
from penstock.sdk.errors import Misconfigured, PenstockError
from penstock.sdk.waiting import Delays

ANY = -1
"""librdkafka chooses the partition."""
LOOK_EVERY_S = 2.0
ASK_S_MAX = 5.0
FOLLOW_S_MAX = 10.0
"""One change; after that the message goes where it would have gone before."""
STICK_TO = 100
"""Messages without a key that go to one partition before the next has its turn."""

Partitioner = Callable[[bytes | None, int], int]
"""(key, number of partitions) -> partition"""


class Partitions(NamedTuple):
    total: int
    open_count: int
    """Those from the first on that take new messages."""
    topic_id: bytes = b""

    @property
    def are_closing(self) -> bool:
        return self.open_count < self.total


UNKNOWN = Partitions(0, 0)


class Spread:
    """The choice that Java's client makes: keys by murmur2, the others in turn."""

    def __init__(self) -> None:
        self._sticky = Sticky(secrets.randbelow(1 << 16))
        self._taken = 0

    def __call__(self, key: bytes | None, count: int) -> int:
        if key is not None:
            return partition_for_key(key, count)
        self._taken += 1
        if self._taken >= STICK_TO:
            self._taken = 0
            self._sticky.move_on()
        return self._sticky.choose(count)


class Watch:
    """Looks at the topics that a producer sends to, in a thread that ends with it. A look that
    fails leaves things as they were: the next is soon."""

    def __init__(
        self,
        bootstrap: str,
        client_id: str,
        on_change: Callable[[str, Partitions], None],
        period_s: float = LOOK_EVERY_S,
    ) -> None:
        self._client = WireClient(bootstrap, client_id, ASK_S_MAX)
        self._on_change = on_change
        self._period_s = period_s
        self._known: dict[str, Partitions] = {}
        self._lock = threading.Lock()
        """The client serves one at a time."""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def look(self, topic: str) -> Partitions | None:
        """Now, and from now on. None: it could not be found out."""
        found = self._ask([topic]).get(topic)
        if found:
            self._known[topic] = found
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="penstock-partitions", daemon=True
            )
            self._thread.start()
        return found

    def forget(self, topic: str) -> None:
        """The next look tells of it again."""
        self._known[topic] = UNKNOWN

    def close(self) -> None:
        self._ended.set()
        if self._thread:
            self._thread.join(ASK_S_MAX)
        self._client.close()

    def _run(self) -> None:
        while not self._ended.wait(self._period_s):
            for topic, found in self._ask(list(self._known)).items():
                if self._known[topic] != found:
                    self._known[topic] = found
                    self._on_change(topic, found)

    def _ask(self, topics: list[str]) -> dict[str, Partitions]:
        with self._lock:
            try:
                told = self._client.metadata(topics) if topics else None
            except ClientError:
                return {}
        known = told.topics if told else {}
        return {
            name: Partitions(len(each.partitions), each.writable, each.topic_id)
            for name, each in known.items()
        }


class Router:
    """Partitions for messages. `counts` has the topics in use, and how many partitions of each we
    choose from; 0 where librdkafka chooses."""

    def __init__(
        self,
        rdkafka: Any,
        settings: dict[str, Any],
        partitioner: Partitioner | None,
        on_change: Callable[[], None],
    ) -> None:
        self.counts: dict[str, int] = {}
        self.changes: dict[str, int] = {}
        """What the watch has found, to be taken over between two messages."""
        self.delays = Delays(settings)
        self._rdkafka = rdkafka
        self._bootstrap = str(settings["bootstrap.servers"])
        self._partitioner = partitioner
        self._spread: Partitioner = partitioner or Spread()
        self._on_change = on_change
        self._watch: Watch | None = None
        if str(settings.get("security.protocol", "plaintext")).lower() == "plaintext":
            # our own client, which is asked, has no encryption and no authentication
            self._watch = Watch(self._bootstrap, str(settings["client.id"]), self._note)

    def meet(self, topic: str, timeout_s: float) -> int:
        """Before the first message to a topic: whether it is there, and which partitions are open.
        May raise Unreachable or TopicNotFound."""
        count = reach(self._rdkafka, self._bootstrap, topic, timeout_s)
        seen = self._watch.look(topic) if self._watch else None
        self.counts[topic] = self._choice(seen or Partitions(count, count))
        return self.counts[topic]

    def choose(self, topic: str, key: bytes | str | None, timeout_s: float) -> int:
        count = self.counts.get(topic)
        if count is None:
            count = self.meet(topic, timeout_s)
        if count == 0:
            return ANY
        choice = self._spread(key.encode() if isinstance(key, str) else key, count)
        if not isinstance(choice, int) or not 0 <= choice < count:
            raise Misconfigured(
                f"the partitioner has chosen {choice!r} for topic {topic}: give 0 to {count - 1}"
            )
        return choice

    def take_changes(self, flush: Callable[[float], int], timeout_s: float) -> None:
        """Those that cannot be followed, because nobody answers, are told of again by the first
        look that succeeds. Until then messages go where they went before."""
        limit_s = min(timeout_s, FOLLOW_S_MAX)
        while self.changes:
            topic, count = self.changes.popitem()
            if self._follow(topic, flush, time.monotonic() + limit_s):
                self.counts[topic] = count
            elif self._watch:
                self._watch.forget(topic)

    def _follow(self, topic: str, flush: Callable[[float], int], deadline: float) -> bool:
        """What has the same key may go elsewhere now: all that was taken before arrives first. And
        librdkafka has to know of new partitions before it is given messages for them."""
        try:
            if flush(deadline - time.monotonic()):
                return False
            reach(self._rdkafka, self._bootstrap, topic, max(0.001, deadline - time.monotonic()))
        except PenstockError:
            return False
        return True

    def close(self) -> None:
        if self._watch:
            self._watch.close()

    def _choice(self, known: Partitions) -> int:
        return known.open_count if self._partitioner or known.are_closing else 0

    def _note(self, topic: str, found: Partitions) -> None:
        """Called by the watch, in its thread."""
        self.delays.forget(topic)
        if self._choice(found) != self.counts.get(topic):
            self.changes[topic] = self._choice(found)
            self._on_change()
