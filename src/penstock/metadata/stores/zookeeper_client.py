"""kazoo's client, with what it keeps to itself: the one module that knows how kazoo works inside.

kazoo has threads of its own. Its handler is the door to them: the sockets are made there, so there
a connection is cut without ending its session, and there it is not renewed for a loop that hangs.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections import namedtuple
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import EXCEPTIONS, NoNodeError
from kazoo.handlers.threading import AsyncResult, SequentialThreadingHandler
from kazoo.protocol import serialization
from kazoo.retry import KazooRetry
from kazoo.security import make_digest_acl

from penstock.metadata.stores.zookeeper_address import Address, Credentials
from penstock.metadata.stores.zookeeper_nodes import Node
from penstock.world.ports import Chance

_BACKOFF_MIN_S, _BACKOFF_MAX_S = 0.05, 1.0
CONNECT_S = 2.0
_GET_DATA = 4


class _AtOnce:
    running = False


class Handler(SequentialThreadingHandler):  # type: ignore[misc]
    def __init__(
        self, chance: Chance, tls: ssl.SSLContext | None, alive: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._tls = tls
        self._chance = chance
        self._alive = alive
        self._socket: socket.socket | None = None
        self._closed = False
        self.shaking_hands = False
        self.problem = "no answer"

    def sleep_func(self, seconds: float) -> None:
        """Between attempts to connect; not all brokers at the same moment."""
        time.sleep(seconds * (0.5 + self._chance.below(1000) / 1000))

    def async_result(self) -> AsyncResult:
        """Answers go to the loop from the thread that reads them, not through one more."""
        return AsyncResult(_AtOnce)

    def select(self, readable: Any, writable: Any, broken: Any, timeout_s: float) -> Any:
        """Called by kazoo before it sends, heartbeats included, and while it waits.

        A server that is just starting may take a connection and never answer, and kazoo would wait
        for the time of a whole session.
        """
        if not self._alive():
            raise OSError("the loop hangs, so its session is not to be kept alive")
        patience_s = CONNECT_S if self.shaking_hands else timeout_s
        return super().select(readable, writable, broken, min(timeout_s, patience_s))

    def create_connection(
        self, address: tuple[str, int], hostname: str, timeout: float, **_: Any
    ) -> socket.socket:
        if self._closed or not self._alive():
            raise OSError("no longer wanted")
        try:
            made = socket.create_connection(address, min(timeout, CONNECT_S))
            self._socket = self._secured(made, hostname)
        except OSError as problem:
            self.problem = str(problem)
            raise
        return self._socket

    def _secured(self, made: socket.socket, hostname: str) -> socket.socket:
        """kazoo would leave the socket open when the server is not to be trusted."""
        try:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                return made
            return self._tls.wrap_socket(made, server_hostname=hostname)
        except BaseException:
            made.close()
            raise

    def cut(self, *, for_good: bool = False) -> None:
        """kazoo then looks for another server, unless it is for good."""
        self._closed = self._closed or for_good
        if self._socket is not None:
            with suppress(OSError):  # it has been closed already
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Client(KazooClient):  # type: ignore[misc]
    def __init__(
        self, address: Address, credentials: Credentials, ttl_ms: float, handler: Handler
    ) -> None:
        user = f"{credentials.user}:{credentials.password}" if credentials.user else ""
        super().__init__(
            ",".join(address.hosts),
            timeout=ttl_ms / 1000,
            handler=handler,
            connection_retry=_patience(handler),
            command_retry=_patience(handler),
            auth_data=[("digest", user)] if user else None,
            default_acl=_only_for(credentials) if user else None,
        )
        self.granted_ms = ttl_ms
        self._connect = self._connection._connect
        self._connection._connect = self._connect_and_note

    def _connect_and_note(self, *where: Any) -> Any:
        """kazoo tells nobody which session timeout it was granted; this is two thirds of it."""
        self.handler.shaking_hands = True
        try:
            read_timeout_ms, connect_timeout_ms = self._connect(*where)
        finally:
            self.handler.shaking_hands = False
        self.granted_ms = read_timeout_ms * 1.5
        return read_timeout_ms, connect_timeout_ms

    def get_many_async(self, paths: Sequence[str]) -> Any:
        """One request for many nodes: ten times as fast as one for each."""
        answer = self.handler.async_result()
        self._call(MultiRead(tuple(paths)), answer)
        return answer


class MultiRead(namedtuple("MultiRead", "paths")):
    """A request that ZooKeeper has since 3.6 and kazoo has not."""

    __slots__ = ()
    type = 22

    def serialize(self) -> bytearray:
        asked = bytearray()
        for path in self.paths:
            asked += serialization.MultiHeader(_GET_DATA, False, -1).serialize()
            asked += serialization.write_string(path) + b"\0"
        asked += serialization.multiheader_struct.pack(-1, True, -1)
        return asked

    @classmethod
    def deserialize(cls, answer: bytes, offset: int) -> list[Node | None]:
        nodes: list[Node | None] = []
        while True:
            header, offset = serialization.MultiHeader.deserialize(answer, offset)
            if header.done:
                return nodes
            node, offset = _read_one(header.type, answer, offset)
            nodes.append(node)


def _read_one(kind: int, answer: bytes, offset: int) -> tuple[Node | None, int]:
    if kind != _GET_DATA:
        (error,) = serialization.int_struct.unpack_from(answer, offset)
        if error != NoNodeError.code:
            raise EXCEPTIONS[error]()
        return None, offset + serialization.int_struct.size
    data, offset = serialization.read_buffer(answer, offset)
    stat = serialization.ZnodeStat._make(serialization.stat_struct.unpack_from(answer, offset))
    return node_of(data, stat), offset + serialization.stat_struct.size


def node_of(data: bytes | None, stat: Any) -> Node:
    return Node(data or b"", stat.version, stat.czxid, stat.mzxid)


def _patience(handler: Handler) -> KazooRetry:
    return KazooRetry(
        max_tries=-1,
        delay=_BACKOFF_MIN_S,
        max_delay=_BACKOFF_MAX_S,
        max_jitter=0,
        sleep_func=handler.sleep_func,
    )


def _only_for(credentials: Credentials) -> list[Any]:
    return [make_digest_acl(credentials.user, credentials.password, all=True)]
