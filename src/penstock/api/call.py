"""One request on its way: which API, which version, who asks, when."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.api.trust import NOBODY
from penstock.errors import ErrorCode, Refused
from penstock.wire.codec import Message, encode_response
from penstock.world.ports import Part

if TYPE_CHECKING:
    from penstock.api.broker import Broker

log = logging.getLogger(__name__)


class Unanswerable(Exception):
    """There is no answer that the client would understand: its connection is closed."""


class Versions(NamedTuple):
    min: int
    max: int


Handler = Callable[["Broker", Any, "Call"], Any]


@dataclass(frozen=True, slots=True)
class Api:
    """One row of the table of APIs."""

    key: int
    versions: Versions
    request: type[Message]
    response: type[Message]
    handler: Handler
    advertised_from: int | None = None
    """Where a version is announced that is then refused, for a client that needs it so."""
    failed: Callable[[Any, ErrorCode, str], Message] | None = None
    """The answer to a request that fails as a whole; by default one with an `error_code`."""

    @property
    def name(self) -> str:
        return self.request.__name__.removesuffix("Request")

    def failure(self, request: Message, code: ErrorCode, message: str) -> Message:
        if self.failed is not None:
            return self.failed(request, code, message)
        fields = self.response.__struct_fields__
        if "error_code" not in fields:
            raise Unanswerable(f"{self.name} cannot be answered: {code.name} {message}")
        texts = {"error_message": message} if "error_message" in fields else {}
        return self.response(error_code=code, **texts)


class Call:
    """A request and what stands around it. Handlers get it beside the request's body."""

    __slots__ = (
        "answers",
        "api",
        "asked_version",
        "client",
        "client_id",
        "correlation_id",
        "now_ms",
        "peer",
        "request",
        "version",
    )

    def __init__(
        self,
        api: Api,
        version: int,
        correlation_id: int,
        client_id: str | None,
        peer: str,
        now_ms: int,
        request: Message,
    ) -> None:
        self.api = api
        self.answers = api.response
        self.version = self.asked_version = version
        self.correlation_id = correlation_id
        self.client = NOBODY
        """Who has this connection; set by the session."""
        self.client_id = client_id
        self.peer = peer
        self.now_ms = now_ms
        self.request = request

    def run(self, broker: Broker) -> Any:
        """Raises OSError when the disk failed: what this connection appended may be undone."""
        try:
            return self.api.handler(broker, self.request, self)
        except OSError:
            raise
        except Exception as error:
            return self.failure(error)

    def failure(self, error: Exception) -> Message:
        """The answer to a request that was refused as a whole, or in which we have a bug."""
        if isinstance(error, Unanswerable):
            raise error
        if isinstance(error, Refused):
            return self.api.failure(self.request, error.code, error.message)
        log.error("%s from %s failed", self.api.name, self.peer, exc_info=error)
        text = "an error in the broker; its log has the details"
        return self.api.failure(self.request, ErrorCode.UNKNOWN_SERVER_ERROR, text)

    def is_long(self, answer: Message) -> bool:
        """Whether it takes so long to encode that it is to be done off the loop. Most answers of
        many elements are encoded as they are made."""
        return False

    def encode(self, answer: Message) -> list[Part]:
        return encode_response(answer, self.version, self.correlation_id)
