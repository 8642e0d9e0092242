"""One connection to one broker: requests out, answers in, in their order.

Every wait has a deadline (of `time.monotonic`). What fails closes the connection: whatever else was
under way on it cannot be told apart any more.
"""

from __future__ import annotations

import io
import socket
import time
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from penstock import __version__
from penstock.client.errors import ClientError, Lost, Unreachable, refused
from penstock.errors import ErrorCode, Malformed
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.wire.messages import APIS, ApiKey
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

M = TypeVar("M", bound=Message)

_SIZE = Struct(">i")
_RESPONSE_BYTES_MAX = 512 << 20
"""More is not announced by a broker, but by something else that listens on that port."""
_TAKEN_BYTES_MAX = 1 << 20
_ERROR_CODE = Struct(">4xh")
_CONNECT_S_MAX = 10.0
_BUFFER_BYTES = 1 << 16


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class _Awaited(NamedTuple):
    correlation_id: int
    key: int
    version: int


Dial = Callable[[Address, float], socket.socket]
"""(where, seconds) -> a connected socket."""


def parse_addresses(text: str) -> list[Address]:
    """`HOST:PORT,HOST:PORT`, as in --bootstrap."""
    found = []
    for item in (part.strip() for part in text.split(",")):
        host, _, port = item.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ClientError(
                ErrorCode.INVALID_REQUEST, f"{item!r} is no broker's address: give HOST:PORT"
            )
        found.append(Address(host.strip("[]"), int(port)))
    return found


def dial_tcp(address: Address, timeout_s: float) -> socket.socket:
    made = socket.create_connection(address, timeout_s)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


class _Incoming(io.RawIOBase):
    """What a socket brings until a deadline. Read through Python's own buffer, a large answer comes
    to lie in bytes without another copy."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.deadline = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._sock.settimeout(_left(self.deadline))
        return self._sock.recv_into(buffer)


def _left(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


class Connection:
    def __init__(self, address: Address, sock: socket.socket, client_id: str) -> None:
        self.address = address
        self.is_open = True
        self._sock = sock
        self._incoming = _Incoming(sock)
        self._buffered = io.BufferedReader(self._incoming, _BUFFER_BYTES)
        self._client_id = client_id
        self._versions: dict[int, tuple[int, int]] = {}
        self.features: frozenset[str] = frozenset()
        """What the broker's cluster can be told to do, by name: Kafka has others than we have."""
        self._awaited: deque[_Awaited] = deque()
        self._correlation_id = 0
        self._gathered = bytearray()
        """Of an answer that is not there whole: see `take`."""

    @classmethod
    def open(cls, address: Address, client_id: str, deadline: float, dial: Dial) -> Connection:
        """Connected, and agreed on versions. A proxy may take calls for a broker that is down."""
        patience_s = min(_CONNECT_S_MAX, max(0.001, deadline - time.monotonic()))
        try:
            sock = dial(address, patience_s)
        except OSError as error:
            raise Unreachable(str(address), error.strerror or str(error)) from None
        made = cls(address, sock, client_id)
        try:
            made._agree_on_versions(min(deadline, time.monotonic() + _CONNECT_S_MAX))
        except Lost as error:
            is_late = error.code is ErrorCode.REQUEST_TIMED_OUT
            reason = "it does not answer" if is_late else "it closed the connection"
            raise Unreachable(str(address), reason) from None
        return made

    @property
    def is_hung_up(self) -> bool:
        """Whether the other side has closed it since the last answer: it has nothing else to say
        before it is asked."""
        if self._awaited or not self.is_open:
            return False
        try:
            self._sock.settimeout(0)
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def _agree_on_versions(self, deadline: float) -> None:
        request = ApiVersionsRequest("penstock", __version__)
        version = ApiVersionsRequest.MAX_VERSION
        self._send(request, version, deadline)
        answer = self._receive_frame(deadline)
        # An older broker says so in version 0, whatever was asked, and gives its list with that.
        if len(answer) >= 6 and _ERROR_CODE.unpack_from(answer)[0] == ErrorCode.UNSUPPORTED_VERSION:
            self._awaited[0] = self._awaited[0]._replace(version=0)
        response = self._decode(ApiVersionsResponse, answer)
        if response.error_code not in {ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION}:
            raise refused(str(self.address), response.error_code)
        self._versions = {
            each.api_key: (each.min_version, each.max_version) for each in response.api_keys
        }
        self.features = frozenset(each.name for each in response.supported_features)

    def version_of(self, kind: type[Message]) -> int:
        """The highest version of an API that both sides speak."""
        theirs = self._versions.get(kind.KEY)
        if theirs:
            version = min(theirs[1], kind.MAX_VERSION)
            if version >= max(theirs[0], kind.MIN_VERSION):
                return version
        name = APIS[ApiKey(kind.KEY)].name
        raise refused(f"{self.address} has no {name} that we speak", ErrorCode.UNSUPPORTED_VERSION)

    def ask(self, request: Message, kind: type[M], deadline: float) -> M:
        self.send(request, deadline)
        return self.receive(kind, deadline)

    def send(self, request: Message, deadline: float, *, answered: bool = True) -> None:
        """`answered` is false for the one request that has no answer: Produce with acks=0."""
        self._send(request, self.version_of(type(request)), deadline)
        if not answered:
            self._awaited.pop()

    def receive(self, kind: type[M], deadline: float) -> M:
        """The answer to the oldest request that has none yet."""
        return self._decode(kind, self._receive_frame(deadline))

    def take(self, kind: type[M]) -> M | None:
        """The same, if all of it has come by now: this waits for nothing. Who has begun to take an
        answer takes it to its end."""
        if not self._gather(_SIZE.size):
            return None
        (size,) = _SIZE.unpack_from(self._gathered)
        if not 4 <= size <= _RESPONSE_BYTES_MAX:
            raise self._nonsense("answers in no form that a Kafka broker would")
        if not self._gather(_SIZE.size + size):
            return None
        whole, self._gathered = memoryview(self._gathered)[_SIZE.size :], bytearray()
        return self._decode(kind, whole)

    def fileno(self) -> int:
        """For who waits for several connections at once."""
        return self._sock.fileno()

    def close(self) -> None:
        self.is_open = False
        self._sock.close()

    def _send(self, request: Message, version: int, deadline: float) -> None:
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        parts = encode_request(request, version, self._correlation_id, self._client_id)
        whole = b"".join(parts)  # type: ignore[arg-type]  # a client has no parts in files
        self._awaited.append(_Awaited(self._correlation_id, request.KEY, version))
        try:
            self._sock.settimeout(_left(deadline))
            self._sock.sendall(whole)
        except OSError as error:
            raise self._lost(error) from None

    def _receive_frame(self, deadline: float) -> memoryview:
        (size,) = _SIZE.unpack(self._receive_bytes(_SIZE.size, deadline))
        if not 4 <= size <= _RESPONSE_BYTES_MAX:
            raise self._nonsense("answers in no form that a Kafka broker would")
        return self._receive_bytes(size, deadline)

    def _receive_bytes(self, size: int, deadline: float) -> memoryview:
        self._incoming.deadline = deadline
        try:
            whole = self._buffered.read(size)
        except OSError as error:
            raise self._lost(error) from None
        if len(whole) < size:
            raise self._lost(ConnectionError("it closed the connection"))
        return memoryview(whole)

    def _gather(self, size: int) -> bool:
        """Whether so many bytes of the next answer have come."""
        while (missing := size - len(self._gathered)) > 0:
            try:
                self._sock.settimeout(0)
                data = self._sock.recv(min(missing, _TAKEN_BYTES_MAX))
            except BlockingIOError:
                return False
            except OSError as error:
                raise self._lost(error) from None
            if not data:
                raise self._lost(ConnectionError("it closed the connection"))
            self._gathered += data
        return True

    def _decode(self, kind: type[M], answer: memoryview) -> M:
        awaited = self._awaited.popleft()
        try:
            correlation_id, message = decode_response(kind, answer, awaited.version)
        except Malformed as error:
            raise self._nonsense(f"answered something malformed ({error})") from None
        if correlation_id != awaited.correlation_id or awaited.key != kind.KEY:
            raise self._nonsense("answered out of order")
        return message

    def _lost(self, error: OSError) -> Lost:
        self.close()
        if isinstance(error, TimeoutError):
            said = f"{self.address} did not answer in time"
            advice = "try again, or allow more with --timeout"
            return Lost(ErrorCode.REQUEST_TIMED_OUT, f"{said}; {advice}", said)
        reason = error.strerror or str(error)
        return Lost(
            ErrorCode.NETWORK_EXCEPTION,
            f"lost the connection to {self.address} ({reason}); look whether the broker is running",
        )

    def _nonsense(self, what: str) -> ClientError:
        self.close()
        return ClientError(
            ErrorCode.INVALID_REQUEST,
            f"{self.address} {what}; is it a Kafka listener without TLS?",
        )
