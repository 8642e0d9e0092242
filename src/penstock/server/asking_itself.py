"""Questions of a broker to itself: the handler is called, and no message goes over a connection.

A broker with a transaction's coordinator and its partitions would else send itself two requests for
each transaction, which took it longer than all that they are for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.api.call import Call, Unanswerable
from penstock.api.outcome import Later
from penstock.api.table import APIS
from penstock.api.trust import Client
from penstock.server.announcing import announce
from penstock.server.door import Door
from penstock.server.unwinding import unwound
from penstock.server.waits import awaited
from penstock.wire.codec import Message

T = TypeVar("T")
M = TypeVar("M", bound=Message)


class AskingItself:
    """As over a connection: the answer comes once what was written is safe, and after a question
    that failed the next one has a later number, which shuts out what is left of the first."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._broker = door.broker
        self._client: Client | None = None

    async def ask(self, request: Message, version: int, take: Callable[[M], T]) -> T:
        """Raises OSError."""
        now_ms, name = self._door.clock.now_ms(), f"broker-{self._broker.node_id}"
        call = Call(APIS[request.KEY], version, 0, name, name, now_ms, request)
        call.client = self._client = self._client or self._new_client(name)
        try:
            return take(await self._answer(call))
        except BaseException as problem:
            self._client = None
            if isinstance(problem, Unanswerable):
                raise ConnectionError(str(problem)) from problem
            raise

    def _new_client(self, name: str) -> Client:
        number = self._door.take_number()
        return Client(name, broker_id=self._broker.node_id, number=number)

    async def _answer(self, call: Call) -> Any:
        outcome = call.run(self._broker)
        while True:
            outcome = await unwound(call, outcome, self._door.change)
            if not isinstance(outcome, Later):
                self._write_out()
                return outcome
            outcome = await self._waited_for(call, outcome)

    def _write_out(self) -> None:
        """What could not be written is undone, and must not be waited for: others may write more,
        and be taken for it."""
        try:
            moved = self._door.write_out()
        except OSError as error:
            self._door.disk_failed(error)
            raise
        for leader in moved:
            announce(leader)

    async def _waited_for(self, call: Call, later: Later[Any]) -> Any:
        """Who waits stands in line before anything is written: where nothing is synced, what is
        written is committed, and those who wait for it are woken, at once."""
        answer = await awaited(self._door.loop, self._door.deadlines, later, self._write_out)
        if isinstance(answer, OSError):
            raise answer
        return call.failure(answer) if isinstance(answer, Exception) else answer
