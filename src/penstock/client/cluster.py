"""The way to the brokers of a cluster: who they are, who leads what, and when to ask again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self, TypeVar

from penstock.client.connection import Address, Connection, Dial, dial_tcp, parse_addresses
from penstock.client.errors import ClientError, Lost, Unreachable, refused
from penstock.client.metadata import NO_BROKER, Metadata, Topic
from penstock.errors import ErrorCode
from penstock.wire.codec import Message
from penstock.wire.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

T = TypeVar("T")
M = TypeVar("M", bound=Message)

PAUSE_S_FIRST = 0.05
PAUSE_S_MAX = 1.0
ATTEMPTS_MIN = 3
"""For which there is time, however long each takes."""
ATTEMPT_S_MIN = 6.0
"""A broker may take five seconds to say that something cannot be done."""
MISSING_S_MAX = 1.0
"""How long a topic that a broker does not know is asked for again: it may just have been made."""


def pauses() -> Iterator[float]:
    """How long to wait before each further attempt."""
    pause_s = PAUSE_S_FIRST
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, PAUSE_S_MAX)


class WireClient:
    """Nothing is connected until something is asked. Every call is done within `timeout_s`."""

    def __init__(
        self,
        bootstrap: str,
        client_id: str = "penstock",
        timeout_s: float = 30.0,
        *,
        is_known: bool = False,
        dial: Dial = dial_tcp,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`is_known`: somebody has reached the cluster before, so it is waited for at once."""
        self.timeout_s = timeout_s
        self.sleep = sleep
        self._bootstrap = parse_addresses(bootstrap)
        self._client_id = client_id
        self._dial = dial
        self._connections: dict[Address, Connection] = {}
        self._brokers: dict[int, Address] = {}
        self._controller = NO_BROKER
        self._has_met_cluster = is_known
        self._is_stale = False
        self._topics: dict[str, Topic] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # What the cluster is.

    def metadata(
        self, names: Sequence[str] | None = None, *, create: bool = False, deadline: float = 0.0
    ) -> Metadata:
        """Asked anew: of these topics, or of all. `create` lets the broker make missing ones."""
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=create)
        answer = self.ask_any(request, MetadataResponse, deadline or self.deadline())
        told = Metadata.of(answer)
        self._has_met_cluster = True
        self._is_stale = False
        self._brokers = told.brokers
        self._controller = told.controller
        self._topics.update(told.topics)
        return told

    def topic(self, name: str, *, create: bool = False, deadline: float = 0.0) -> Topic:
        """As last heard of; asked for only if that is unknown or was forgotten."""
        if name in self._topics:
            return self._topics[name]
        told = self.metadata([name], create=create, deadline=deadline)
        if name in told.topics:
            return told.topics[name]
        code = told.refusals.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        missing = code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise refused(f"topic {name}", code, "there is no such topic" if missing else None)

    def known_topic(self, name: str) -> Topic | None:
        """As last heard of, without asking."""
        return self._topics.get(name)

    def topic_if_any(self, name: str, *, deadline: float = 0.0) -> Topic | None:
        """The same; None if there is no such topic."""
        try:
            return self.topic(name, deadline=deadline)
        except ClientError as error:
            if not error.is_missing:
                raise
            return None

    def brokers(self, deadline: float = 0.0) -> dict[int, Address]:
        if not self._brokers or self._is_stale:
            self.metadata([], deadline=deadline)
        return self._brokers

    def forget(self) -> None:
        """What is known has proved wrong; the next call asks again."""
        self._topics.clear()
        self._is_stale = True

    # Asking.

    def deadline(self) -> float:
        return time.monotonic() + self.timeout_s

    def ask_any(self, request: Message, kind: type[M], deadline: float) -> M:
        """From whichever broker can be reached, those that were at hand before first. Each has its
        share of the time to take a connection, so that one that hangs does not use it up."""
        failures: list[Unreachable] = []
        candidates = self._candidates()
        for number, address in enumerate(candidates):
            now = time.monotonic()
            share_s = (deadline - now) / (len(candidates) - number)
            try:
                return self._connection(address, now + share_s).ask(request, kind, deadline)
            except Unreachable as error:
                failures.append(error)
        if len(failures) == 1:
            raise failures[0]
        raise Unreachable(", ".join(map(str, self._candidates())), "none of them answers")

    def ask_controller(self, request: Message, kind: type[M], deadline: float) -> M:
        """Changes to the cluster. Any broker takes them here; elsewhere only the controller may."""
        known = self.brokers(deadline)  # from which the controller is known, too
        if self._controller in known:
            return self.ask_node(self._controller, request, kind, deadline)
        return self.ask_any(request, kind, deadline)

    def ask_node(self, node: int, request: Message, kind: type[M], deadline: float) -> M:
        return self.node(node, deadline).ask(request, kind, deadline)

    def ask_nodes(
        self, requests: Mapping[int, Message], kind: type[M], deadline: float
    ) -> dict[int, M | ClientError]:
        """Several brokers at once: all are asked before the first answer is waited for."""
        answers: dict[int, M | ClientError] = {}
        asked: dict[int, Connection] = {}
        for node, request in requests.items():
            try:
                connection = self.node(node, deadline)
                connection.send(request, deadline)
                asked[node] = connection
            except ClientError as error:
                answers[node] = error
        for node, connection in asked.items():
            try:
                answers[node] = connection.receive(kind, deadline)
            except ClientError as error:
                answers[node] = error
        return answers

    def node(self, node: int, deadline: float) -> Connection:
        """The connection to one broker."""
        address = self.brokers(deadline).get(node)
        if address is None:
            self._brokers = {}
            raise refused(f"broker {node}", ErrorCode.BROKER_NOT_AVAILABLE, "it is not registered")
        return self._connection(address, deadline)

    def retry(self, attempt: Callable[[float], T], *, changes: bool = False) -> T:
        """Until it succeeds, fails for good, or the time is up. `attempt` is given its deadline:
        a broker that hangs must not use up all of the time, so there is enough for some attempts.

        What `changes` the cluster is not repeated when its fate is unknown: done twice, it would be
        answered with an error although all is well.
        """
        deadline = self.deadline()
        missing_until = min(deadline, time.monotonic() + MISSING_S_MAX)
        for pause_s in pauses():
            try:
                return attempt(deadline if changes else self._attempt_deadline(deadline))
            except ClientError as error:
                if changes and _is_undecided(error):
                    raise _undecided(error) from None
                until = missing_until if error.is_missing else deadline
                if not self._may_pass(error, changes) or time.monotonic() + pause_s >= until:
                    raise
            self.forget()
            self.sleep(pause_s)
        raise AssertionError("pauses never end")

    def _attempt_deadline(self, deadline: float) -> float:
        patience_s = max(self.timeout_s / ATTEMPTS_MIN, ATTEMPT_S_MIN)
        return min(deadline, time.monotonic() + patience_s)

    def _may_pass(self, error: ClientError, changes: bool) -> bool:
        if changes and error.is_missing:
            return False
        if isinstance(error, Unreachable):
            return self._has_met_cluster  # who was never reached is not waited for
        return error.is_retriable

    def _candidates(self) -> list[Address]:
        known = [*self._connections, *self._brokers.values(), *self._bootstrap]
        return list(dict.fromkeys(known))

    def _connection(self, address: Address, deadline: float) -> Connection:
        known = self._connections.get(address)
        if known and known.is_open and not known.is_hung_up:
            return known
        if known:
            known.close()
        self._connections.pop(address, None)
        made = self._connections[address] = self.dial(address, deadline)
        return made

    def dial(self, address: Address, deadline: float) -> Connection:
        """A connection of the caller's own, which closes it."""
        return Connection.open(address, self._client_id, deadline, self._dial)


def _is_undecided(error: ClientError) -> bool:
    return isinstance(error, Lost) or error.code is ErrorCode.REQUEST_TIMED_OUT


def _undecided(error: ClientError) -> ClientError:
    unknown = "whether the change was made is not known: look before you repeat it"
    return Lost(error.code, f"{error}; {unknown}", f"{error.said}; {unknown}")
