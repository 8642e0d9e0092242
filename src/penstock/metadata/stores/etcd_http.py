"""Requests to one of etcd's servers over HTTP: the only module that knows aiohttp."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from io import BytesIO
from typing import Any

import aiohttp
import msgspec

from penstock.metadata.stores.etcd_failures import Failed, NoAnswer, NotSent
from penstock.metadata.stores.etcd_messages import Failure, decode

CONNECTIONS_MAX = 100
ANSWER_BYTES_MAX = 1 << 26
SMALL_BYTES_MAX = 1 << 16
_KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""Seconds, seconds and times: a watch is silent for long, and a firewall may forget about it."""


class Http:
    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._scheme = "https" if tls else "http"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=tls or True, limit=CONNECTIONS_MAX, socket_factory=_keepalive_socket
            )
        )

    async def post(
        self, endpoint: str, path: str, body: bytes, token: str, connect_s: float, answer_s: float
    ) -> bytes:
        limits = aiohttp.ClientTimeout(total=answer_s, connect=connect_s)
        async with self._posted(endpoint, path, body, token, limits) as response:
            parts = [part async for part in _bounded(response.content)]
            return b"".join(parts)

    async def get(self, endpoint: str, path: str, seconds: float) -> bytes:
        limits = aiohttp.ClientTimeout(total=seconds)
        with _told_apart(endpoint):
            async with self._session.get(
                f"{self._scheme}://{endpoint}{path}", timeout=limits, allow_redirects=False
            ) as response:
                return await response.content.read(SMALL_BYTES_MAX)

    @asynccontextmanager
    async def stream(
        self, endpoint: str, path: str, body: bytes, token: str, connect_s: float, answer_s: float
    ) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
        """Yields what reads on. After the first sign of life the caller sets the limit of time."""
        limits = aiohttp.ClientTimeout(connect=connect_s)
        with _told_apart(endpoint):
            async with asyncio.timeout(answer_s) as patience:
                async with self._posted(endpoint, path, body, token, limits) as response:
                    patience.reschedule(None)
                    yield response.content.readany

    @asynccontextmanager
    async def _posted(
        self, endpoint: str, path: str, body: bytes, token: str, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        url = f"{self._scheme}://{endpoint}{path}"
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = token
        with _told_apart(endpoint):
            async with self._session.post(
                url, data=BytesIO(body), headers=headers, timeout=limits, allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise _failure(
                        endpoint, response.status, await response.content.read(SMALL_BYTES_MAX)
                    )
                yield response

    async def close(self) -> None:
        await self._session.close()


@contextmanager
def _told_apart(endpoint: str) -> Iterator[None]:
    """What surely was not sent from what may have been."""
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as problem:
        raise NotSent(f"{endpoint}: {problem}") from problem
    except TimeoutError as problem:
        raise NoAnswer(f"{endpoint} did not answer in time") from problem
    except (aiohttp.ClientError, OSError) as problem:
        raise NoAnswer(f"{endpoint}: {problem or type(problem).__name__}") from problem


async def _bounded(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    size = 0
    async for part in content.iter_any():
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise aiohttp.ClientPayloadError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
        yield part


def _failure(endpoint: str, status: int, body: bytes) -> Failed:
    try:
        failure = decode(Failure, body)
    except msgspec.MsgspecError:
        return Failed(2, f"{endpoint} answers HTTP {status}, which no etcd from 3.4 on does")
    return Failed(failure.code, failure.message)


def _keepalive_socket(address: tuple[Any, ...]) -> socket.socket:
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
