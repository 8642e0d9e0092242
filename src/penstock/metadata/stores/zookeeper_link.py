"""One session with ZooKeeper, as the loop sees it: requests that end in time, and what they mean.

Reads are tried again while there is time. A write is sent once: when its answer does not come, it
may have been carried out, or may yet be. A request that is not answered in time cuts the
connection, because kazoo, which hears of a server that is stopped only by its own heartbeats, sends
none while there are requests to send.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    InvalidACLError,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotReadOnlyCallError,
    OperationTimeoutError,
    QuotaExceededError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
    SessionMovedError,
    ThrottledOpError,
    ZookeeperError,
)
from kazoo.protocol.states import KazooState
from kazoo.security import OPEN_ACL_UNSAFE

from penstock.errors import Unusable
from penstock.metadata.store import NoRoom, Unavailable, Unknown
from penstock.metadata.stores.zookeeper_address import Address, Credentials
from penstock.metadata.stores.zookeeper_client import Client, Handler, node_of
from penstock.metadata.stores.zookeeper_loop import Moved, hand_over
from penstock.metadata.stores.zookeeper_nodes import (
    READ_TOGETHER,
    Check,
    Create,
    Node,
    Operation,
    Set,
    deleted,
)
from penstock.world.ports import Chance

T = TypeVar("T")

_AGAIN_S = 0.02
_CLOSE_S = 1.0
_REFUSED = (BadVersionError, NoNodeError, NodeExistsError, RolledBackError, RuntimeInconsistency)
_NO_ACCESS = (NoAuthError, InvalidACLError)
_NOT_NOW = (SessionMovedError, ThrottledOpError, NotReadOnlyCallError)
_INTERRUPTED = (ConnectionLoss, SessionExpiredError, OperationTimeoutError, *_NOT_NOW)


class Link:
    def __init__(
        self,
        address: Address,
        credentials: Credentials,
        tls: ssl.SSLContext | None,
        chance: Chance,
        *,
        ttl_ms: float,
        timeout_ms: float,
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._address = address
        self.timeout_ms = timeout_ms
        self._handler = Handler(chance, tls, alive)
        self._client = Client(address, credentials, ttl_ms, self._handler)
        self._client.add_listener(self._note_state)
        self._connected = asyncio.Event()
        self.closed = False
        self.lost: Callable[[], None] = lambda: None
        """Called on the loop when the session has ended; the link then has another."""

    # Its session

    async def connect(self, within_ms: float) -> None:
        """Unavailable if there is no server in time, with the last problem."""
        self._client.start_async()
        try:
            async with asyncio.timeout(within_ms / 1000):
                await self._connected.wait()
        except BaseException as problem:
            await self.close()
            if isinstance(problem, TimeoutError):
                raise Unavailable(self._handler.problem) from None
            raise

    @property
    def connected(self) -> bool:
        return self._connected.is_set()

    @property
    def session_id(self) -> str:
        number, _ = self._client.client_id or (0, b"")
        return f"{number & 0xFFFF_FFFF_FFFF_FFFF:016x}"

    @property
    def granted_ms(self) -> float:
        return float(self._client.granted_ms)

    async def close(self) -> None:
        """Ends the session, if the server is there to hear of it."""
        self.closed = True
        self._client.remove_listener(self._note_state)
        self._connected.clear()
        stopping = self._loop.run_in_executor(None, self._stop)
        await asyncio.wait([stopping], timeout=_CLOSE_S)
        self._handler.cut(for_good=True)
        await stopping

    async def abandon(self) -> None:
        """Leaves the session to end by itself, as when the process dies."""
        self._handler.cut(for_good=True)
        await self.close()

    def _stop(self) -> None:
        self._client.stop()
        self._client.close()

    def _note_state(self, state: str) -> None:
        """Called by kazoo's thread."""
        hand_over(self._loop, self._take_state, state)

    def _take_state(self, state: str) -> None:
        if state == KazooState.CONNECTED and not self.closed:
            self._connected.set()
        else:
            self._connected.clear()
        if state == KazooState.LOST:
            self.lost()

    # Reading

    async def nodes(
        self, paths: Sequence[str], *, fresh: bool = True, moved: Moved | None = None
    ) -> list[Node | None]:
        """Read in this order, after all that anyone had committed before, if it is to be fresh.

        Who is to hear of it is told when the first of them is written.
        """
        return await self._patiently(lambda: self._nodes(paths, fresh, moved))

    async def _nodes(
        self, paths: Sequence[str], fresh: bool, moved: Moved | None
    ) -> list[Node | None]:
        asked = [self._ask(self._client.sync_async(paths[0]))] if fresh else []
        first = [self._ask(self._client.get_async(paths[0], watch=moved))] if moved else []
        rest = paths[1:] if moved else paths
        groups = [
            self._ask(self._client.get_many_async(rest[start : start + READ_TOGETHER]))
            for start in range(0, len(rest), READ_TOGETHER)
        ]
        answers = await asyncio.gather(*asked, *first, *groups)
        found = answers[len(asked) :]
        begun = [node_of(*found[0])] if moved else []
        return begun + [node for group in found[len(begun) :] for node in group]

    async def children(self, path: str, *, moved: Moved | None = None) -> list[str]:
        return await self._patiently(lambda: self._children(path, moved))

    async def _children(self, path: str, moved: Moved | None) -> list[str]:
        asked = self._client.sync_async(path), self._client.get_children_async(path, watch=moved)
        _, names = await asyncio.gather(*(self._ask(each) for each in asked))
        return list(names)

    async def _patiently(self, read: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self.timeout_ms / 1000):
                while True:
                    await self._wait_connected()
                    with suppress(*_INTERRUPTED):
                        return await read()
                    await asyncio.sleep(_AGAIN_S)
        except TimeoutError:
            if self.connected:
                self._handler.cut()
            raise Unavailable(f"ZooKeeper at {self._where} does not answer") from None
        except _NO_ACCESS as problem:
            raise self._no_access() from problem
        except NoNodeError as problem:
            raise deleted() from problem
        except ZookeeperError as problem:
            raise Unavailable(f"ZooKeeper cannot read now: {problem!r}") from problem

    # Writing

    async def write(self, operations: Sequence[Operation]) -> list[Any] | None:
        """All of them or none: a result for each, or None if one of them could not be.

        Unavailable if it was not sent, Unknown if it was and there is no answer.
        """
        try:
            async with asyncio.timeout(self.timeout_ms / 1000):
                await self._wait_connected()
        except TimeoutError:
            raise Unavailable(f"ZooKeeper at {self._where} cannot be reached") from None
        try:
            async with asyncio.timeout(self.timeout_ms / 1000):
                results = await self._ask(self._multi(operations).commit_async())
        except TimeoutError:
            self._handler.cut()
            raise Unknown(f"ZooKeeper at {self._where} does not answer") from None
        except ZookeeperError as problem:
            results = [problem]
        return self._judge(results)

    def _judge(self, results: list[Any]) -> list[Any] | None:
        problems = [each for each in results if isinstance(each, ZookeeperError)]
        if not problems:
            return results
        for problem in problems:
            if isinstance(problem, _NO_ACCESS):
                raise self._no_access() from problem
            if isinstance(problem, QuotaExceededError):
                raise NoRoom("the quota of the node in ZooKeeper is used up; raise it")
            if isinstance(problem, _NOT_NOW):
                raise Unavailable(f"ZooKeeper does not take it now: {problem!r}")
        if all(isinstance(problem, _REFUSED) for problem in problems):
            return None
        raise Unknown(f"the connection to ZooKeeper broke: {problems[0]!r}")

    def _multi(self, operations: Sequence[Operation]) -> Any:
        multi = self._client.transaction()
        for each in operations:
            if isinstance(each, Check):
                multi.check(each.path, each.version)
            elif isinstance(each, Create):
                acl = OPEN_ACL_UNSAFE if each.open_to_all else None
                multi.create(each.path, each.data, acl, each.ephemeral, each.numbered)
            elif isinstance(each, Set):
                multi.set_data(each.path, each.data, each.version)
            else:
                multi.delete(each.path, each.version)
        return multi

    # Both

    async def _wait_connected(self) -> None:
        if self.closed:
            raise Unavailable("the metadata store is closed")
        await self._connected.wait()

    def _ask(self, answer: Any) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        answer.rawlink(lambda done: hand_over(self._loop, _settle, future, done))
        return future

    def _no_access(self) -> Unusable:
        return Unusable(
            f"ZooKeeper at {self._where} does not let us read or write {self._address.chroot}: it "
            "belongs to another user; check the user name and the password, or choose another path"
        )

    @property
    def _where(self) -> str:
        return ",".join(self._address.hosts)


def _settle(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():
        return
    if answer.exception is None:
        future.set_result(answer.value)
    else:
        future.set_exception(answer.exception)
