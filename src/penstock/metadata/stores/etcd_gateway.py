"""Asks etcd: which server, with which token, how long, and what a failure means.

Requests go to one server until it fails, then to the next. What may be asked twice is asked of each
in turn. What may not, a commit, goes on to the next server only if it surely has not been carried
out; else it is Unknown.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

import msgspec

from penstock.errors import Unusable
from penstock.metadata.store import Unavailable, Unknown
from penstock.metadata.stores.etcd_address import EtcdAddress
from penstock.metadata.stores.etcd_failures import Failed, NoAnswer, NotSent
from penstock.metadata.stores.etcd_http import Http
from penstock.metadata.stores.etcd_messages import (
    AUTHENTICATE,
    RANGE,
    VERSION,
    Answer,
    Authenticated,
    Found,
    Header,
    Json,
    Versions,
    decode,
    encode,
)

A = TypeVar("A", bound=Answer)

_TO_CONNECT = 0.8
"""Of the time for a request. Less than all: who times out while connecting has sent nothing."""


class Gateway:
    def __init__(
        self,
        tls: ssl.SSLContext | None,
        address: EtcdAddress,
        user: str,
        password: str,
        timeout_ms: float,
    ) -> None:
        self.timeout_ms = timeout_ms
        self._http = Http(tls)
        self._endpoints = address.endpoints
        self._anything: Json = {"key": f"{address.prefix}/".encode(), "count_only": True}
        self._at = 0
        self._user = user
        self._password = password
        self._token = ""
        self._login = asyncio.Lock()
        self._cluster_id = 0
        self._closed = False
        self._waiting: set[asyncio.Timeout] = set()

    async def close(self) -> None:
        """Who waits for an answer does so no longer."""
        self._closed = True
        for patience in self._waiting:
            if not patience.expired():
                patience.reschedule(asyncio.get_running_loop().time())
        await self._http.close()

    async def ask(
        self, path: str, request: Json, kind: type[A], timeout_ms: float | None = None
    ) -> A:
        """For what may be carried out twice. Each server gets its share of the time."""
        seconds = (timeout_ms or self.timeout_ms) / 1000 / len(self._endpoints)
        problem: Exception | None = None
        for endpoint in self._in_turn():
            try:
                return await self._call(endpoint, path, request, kind, seconds)
            except (NotSent, NoAnswer) as failure:
                problem = failure
            except Failed as failure:
                if lasting := failure.lasting():
                    raise lasting from failure
                problem = failure
            self._pass_over(endpoint)
        raise Unavailable(f"etcd cannot be used now: {problem}") from problem

    async def write(self, path: str, request: Json, kind: type[A]) -> A:
        """For what may not be carried out twice."""
        problem: Exception | None = None
        for endpoint in self._in_turn():
            try:
                return await self._call(endpoint, path, request, kind, self.timeout_ms / 1000)
            except NotSent as failure:
                problem = failure
            except NoAnswer as failure:
                self._pass_over(endpoint)
                raise Unknown(f"etcd may have taken a change: {failure}") from failure
            except Failed as failure:
                problem = _outcome(failure)
            self._pass_over(endpoint)
        raise Unavailable(f"etcd cannot be used now: {problem}") from problem

    async def agree(self, timeout_ms: float) -> Header:
        """Of a read that tells nothing but that a majority of the servers is in touch."""
        return (await self.ask(RANGE, self._anything, Found, timeout_ms)).header

    async def version(self) -> str:
        """Of the server that we talk to; empty if it does not tell."""
        endpoint = self._endpoints[self._at]
        try:
            data = await self._http.get(endpoint, VERSION, self.timeout_ms / 1000)
            return decode(Versions, data).etcdserver
        except (NotSent, NoAnswer, msgspec.MsgspecError):
            return ""

    @asynccontextmanager
    async def stream(self, path: str, request: Json) -> AsyncIterator[AsyncIterator[bytes]]:
        """What one server sends, until it fails with NotSent, NoAnswer or Failed."""
        self._refuse_if_closed()
        endpoint = self._endpoints[self._at]
        seconds = self.timeout_ms / 1000
        try:
            async with (
                self._http.stream(
                    endpoint, path, encode(request), self._token, seconds, seconds
                ) as read,
                aclosing(self._parts(endpoint, read)) as parts,
            ):
                yield parts
        except (NotSent, NoAnswer, Failed):
            self._pass_over(endpoint)
            raise

    async def _parts(
        self, endpoint: str, read: Callable[[], Awaitable[bytes]]
    ) -> AsyncGenerator[bytes, None]:
        """Silence may mean that nothing happens, or that the server has stopped or is cut off from
        the others; then it cannot answer a read."""
        while True:
            try:
                async with self._limit(self.timeout_ms / 1000):
                    part = await read()
            except TimeoutError:
                await self._call(endpoint, RANGE, self._anything, Found, self.timeout_ms / 1000)
                continue
            if not part:
                raise NoAnswer(f"{endpoint} ended a watch")
            yield part

    # Servers

    def _in_turn(self) -> Sequence[str]:
        return [*self._endpoints[self._at :], *self._endpoints[: self._at]]

    def _pass_over(self, endpoint: str) -> None:
        """Unless another request has done so already."""
        if self._endpoints[self._at] == endpoint:
            self._at = (self._at + 1) % len(self._endpoints)

    def check_cluster(self, header: Header) -> None:
        """Revisions of two clusters must never be taken for one count."""
        self._cluster_id = self._cluster_id or header.cluster_id
        if header.cluster_id != self._cluster_id:
            raise Unusable(
                f"one of the etcd servers {', '.join(self._endpoints)} belongs to another cluster "
                "than the rest, or their data was replaced; name the servers of one cluster, and "
                "start again"
            )

    # One request

    async def _call(
        self, endpoint: str, path: str, request: Json, kind: type[A], seconds: float
    ) -> A:
        self._refuse_if_closed()
        token = self._token
        try:
            async with self._limit(seconds):
                try:
                    return await self._post(endpoint, path, request, kind, seconds)
                except Failed as failure:
                    if not (self._user and failure.wants_login):
                        raise
                await self._log_in_again(endpoint, token, seconds)
                return await self._post(endpoint, path, request, kind, seconds)
        except TimeoutError as problem:
            raise NoAnswer(f"{endpoint} did not answer in time") from problem

    async def _post(
        self, endpoint: str, path: str, request: Json, kind: type[A], seconds: float
    ) -> A:
        connect_s = min(seconds, self.timeout_ms / 1000 / len(self._endpoints)) * _TO_CONNECT
        token = "" if path == AUTHENTICATE else self._token  # an old one is refused there, too
        data = await self._http.post(endpoint, path, encode(request), token, connect_s, seconds)
        try:
            answer = decode(kind, data)
        except msgspec.MsgspecError as problem:
            raise NoAnswer(f"{endpoint} does not answer as etcd does: {problem}") from problem
        self.check_cluster(answer.header)
        return answer

    @asynccontextmanager
    async def _limit(self, seconds: float) -> AsyncIterator[None]:
        async with asyncio.timeout(seconds) as patience:
            self._waiting.add(patience)
            try:
                yield
            finally:
                self._waiting.discard(patience)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise Unavailable("the metadata store is closed")

    # Logging in

    async def log_in(self) -> None:
        """Unusable if etcd does not know the user, or wants none."""
        if self._user:
            answer = await self.ask(AUTHENTICATE, self._credentials(), Authenticated)
            self._token = answer.token

    async def _log_in_again(self, endpoint: str, token: str, seconds: float) -> None:
        """Once for all who found that the token they showed is no longer good."""
        async with self._login:
            if self._token != token:
                return
            try:
                answer = await self._post(
                    endpoint, AUTHENTICATE, self._credentials(), Authenticated, seconds
                )
            except NoAnswer as problem:
                raise NotSent(f"could not log in again: {problem}") from problem
            self._token = answer.token

    def _credentials(self) -> Json:
        return {"name": self._user, "password": self._password}


def _outcome(failure: Failed) -> Exception:
    """Of a change that failed: raised, or returned if another server may be asked for it."""
    if lasting := failure.lasting():
        raise lasting from failure
    if not failure.surely_not_done:
        raise Unknown(f"etcd does not say what became of a change: {failure}") from failure
    return failure
