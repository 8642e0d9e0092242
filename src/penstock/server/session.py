"""One connection: requests in, answers out in the order of the requests.

A pass is what one readiness of the socket brings: receive, cut into frames, let the handlers run,
write all appends out in one go, send all answers in one go. A request whose answer waits holds a
place in the queue of answers; a request that must wait itself (`Resume`, `Change`) holds up those
behind it, which are kept until it is done. What a client may have in flight is bounded: past that,
or while it does not take its answers, nothing more is read from it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

from penstock.api.call import Call, Unanswerable
from penstock.api.dispatch import Large
from penstock.api.handlers.k00_produce_single import Pledge, produce_single
from penstock.api.outcome import NO_ANSWER, Change, Later, Resume
from penstock.api.refused_batches import RefusedBatches
from penstock.api.trust import Client
from penstock.errors import Malformed
from penstock.server.announcing import announce
from penstock.server.intake import Ended, Intake
from penstock.server.outbox import Outbox
from penstock.server.unwinding import Begun, at_hand, unwound
from penstock.server.waits import Promise, Slot, Waiting
from penstock.wire.messages import ApiKey
from penstock.world.ports import Connection

if TYPE_CHECKING:
    from penstock.server.door import Door

log = logging.getLogger(__name__)

FETCH = ApiKey.FETCH.to_bytes(2, "big")
"""How such a request begins."""
PASS_MS_MAX = 10
"""How long the requests of one connection are handled before it is the turn of others."""


class Session:
    __slots__ = (
        "_answers",
        "_backlog",
        "_client",
        "_connection",
        "_door",
        "_held",
        "_intake",
        "_reading",
        "_refused",
        "_task",
        "_task_bytes",
        "_will_go_on",
        "active_ms",
        "closed",
    )

    def __init__(self, door: Door, connection: Connection) -> None:
        self._door = door
        self._connection = connection
        self._intake = Intake(door, self._read_on)
        self._answers = Outbox()
        self._backlog: list[memoryview] = []
        self._task: asyncio.Task[None] | None = None
        self._task_bytes = 0
        """Of the request that it is for, unless that is in the budget."""
        self._held = 0
        """Bytes of requests that wait here, and are not in the budget."""
        self._reading = False
        self._will_go_on = False
        self._refused = RefusedBatches()
        self._client = Client(connection.peer, refused=self._refused, number=door.take_number())
        self.closed = False
        self.active_ms = door.clock.monotonic_ms()
        self._read_on()

    @property
    def peer(self) -> str:
        return self._connection.peer

    @property
    def number(self) -> int:
        return self._client.number

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for us, so that it is not idle; not if it does not take what it
        is given, nor if it waits for so much that we do not read, and so would not see it leave."""
        answers = self._answers
        if answers.has_unsent or answers.is_full:
            return False
        return answers.has_waiting or self._task is not None

    @property
    def request_since_ms(self) -> float | None:
        """Since when we have been waiting for the rest of a request."""
        return self._intake.frame_since_ms

    # -- receiving

    def _readable(self) -> None:
        if self._door.round.is_over():
            self._stop_reading()
            self._will_go_on = True
            self._door.requests.add(self._take_turn)
        else:
            self._receive()

    def _take_turn(self) -> None:
        """What is there to be received has waited in line."""
        self._will_go_on = False
        self._read_on()
        if self._reading:
            self._receive()

    def _receive(self) -> None:
        if not self._has_room():
            return
        is_big = self._intake.is_receiving_big
        try:
            frames = self._intake.receive(self._connection)
        except Ended:
            self.close()
            return
        except Malformed as error:
            self._expel(str(error))
            return
        if frames is None:
            return
        self.active_ms = self._door.clock.monotonic_ms()
        if frames:
            self._pass(frames)
            if is_big:  # written out, or copied: nobody looks at it any more
                self._door.buffers.give_back(frames[0])
        if not self.closed:
            self._has_room()

    def _has_room(self) -> bool:
        if self._intake.has_room():
            return True
        self._stop_reading()
        return False

    def _read_on(self) -> None:
        if not self._reading and not self.closed and not self._is_full():
            self._reading = True
            self._intake.start_clock()
            self._connection.on_readable(self._readable)

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._intake.stop_clock()
            self._connection.on_readable(None)

    def _is_full(self) -> bool:
        return bool(self._backlog) or self._is_held_up()

    def _is_held_up(self) -> bool:
        answers = self._answers
        return self._task is not None or answers.has_unsent or answers.is_full

    # -- one pass

    def _pass(self, frames: list[memoryview], *, are_copies: bool = False) -> None:
        clock = self._door.clock
        now_ms, until_ms = clock.now_ms(), clock.monotonic_ms() + PASS_MS_MAX
        for position, frame in enumerate(frames):
            must_pause = self._task is not None or self._answers.is_full
            if must_pause or clock.monotonic_ms() > until_ms:
                self._keep(frames[position:], are_copies)
                break
            self._take(frame, now_ms)
            if self.closed:
                break
            if self._answers.should_go and not self._finish_pass():
                if not self.closed:
                    self._keep(frames[position + 1 :], are_copies)
                break
        self._finish_pass()
        self._release_if_handled()
        if self._task is not None or self._backlog or self._held:
            self._note_held()
        if self._backlog and not self._is_held_up():
            self._go_on_soon()

    def _note_held(self) -> None:
        """While all connections hold much, larger requests are not received before there is room
        in the budget."""
        held = sum(map(len, self._backlog)) + (self._task_bytes if self._task else 0)
        if self._intake.is_granted or self.closed:
            held = 0
        self._door.kept += held - self._held
        self._held = held

    def _release_if_handled(self) -> None:
        """A large request's memory, unless it waits, is kept for later, or has just begun."""
        if not (self._task or self._backlog):
            self._intake.release()

    def _go_on_soon(self) -> None:
        if not self._will_go_on:
            self._will_go_on = True
            self._door.requests.add(self._go_on)

    def _go_on(self) -> None:
        """Take up what was kept, then reading, once nothing stands in the way any more."""
        self._will_go_on = False
        if self.closed or self._is_held_up():
            return
        if self._backlog:
            frames, self._backlog = self._backlog, []
            self._pass(frames, are_copies=True)
        self._read_on()

    def _keep(self, frames: list[memoryview], are_copies: bool) -> None:
        """For later: the memory that they were received into is about to be used again."""
        if not are_copies:
            frames = [memoryview(bytearray(frame)) for frame in frames]
        self._backlog += frames
        self._stop_reading()

    def _finish_pass(self) -> bool:
        """Write out, then answer, then wake others. True if all of the answers were taken.

        Also for a connection that was closed on the way: what it had appended before lies in a
        buffer that is about to be used again.
        """
        try:
            moved = self._door.write_out()
        except OSError as error:
            self._disk_failed(error)
            return False
        self.send()
        for leader in moved:
            announce(leader)
        return not self._answers.has_unsent and not self.closed

    def _announce_written(self) -> None:
        """What has been appended so far, for an answer that takes its time. Raises OSError."""
        for leader in self._door.write_out():
            announce(leader)

    def _take(self, frame: memoryview, now_ms: int) -> None:
        self._task_bytes = len(frame)
        if self._answers.has_polls and frame[:2] != FETCH:
            self._answers.end_polls()
        try:
            short = None
            if not self._refused:
                short = produce_single(self._door.broker, frame, now_ms, self._client)
            if short is not None:
                self._put(short)
                return
            call = self._door.decoding.read(frame, self._connection.peer, now_ms)
            call.client = self._client
            outcome = call.run(self._door.broker)
            if type(outcome) is call.answers:
                self._answers.put(call.encode(outcome))
            else:
                self._carry_out(call, outcome)
        except Large:
            self._take_large(frame, now_ms)
        except (Malformed, Unanswerable) as error:
            self._expel(str(error))
        except OSError as error:
            self._disk_failed(error)
        except Exception:
            self._break_off()

    def _take_large(self, frame: memoryview, now_ms: int) -> None:
        """Its memory is about to be used again, and it is decoded on another thread."""
        copy = memoryview(bytearray(frame))
        task = self._begin(self._answers.reserve(), partial(self._decoded, copy, now_ms))
        self._door.decoding.count(task)

    def _begin(self, slot: Slot, begin: Callable[[], Awaitable[Begun]]) -> asyncio.Task[None]:
        task = self._task = self._door.loop.create_task(self._resume(slot, begin))
        self._stop_reading()
        return task

    def _put(self, answer: bytes | Pledge) -> None:
        """An answer that is encoded already."""
        if isinstance(answer, Pledge):
            self._answers.add(Promise(self._door.deadlines, answer, self._send_soon))
        else:
            self._answers.put_small(answer)

    def _send_soon(self) -> None:
        self._door.send_soon(self)

    def _carry_out(self, call: Call, outcome: Any) -> None:
        if outcome is NO_ANSWER:
            return
        slot = self._answers.reserve()
        if isinstance(outcome, Resume | Change):
            self._begin(slot, partial(at_hand, call, outcome))
        elif isinstance(outcome, Later):
            self._wait(call, slot, outcome)
        else:
            self._answers.fill(slot, call.encode(outcome))

    def _wait(self, call: Call, slot: Slot, later: Later[Any]) -> None:
        until = self._door.loop.time() + later.wait_ms / 1000

        def deliver(answer: Any) -> None:
            slot.waiting = None  # or they would hold each other, and only the collector part them
            if isinstance(answer, Resume):
                late = self._finish_late(call, slot, answer, until)
                self._door.keep(self._door.loop.create_task(late))
            else:
                self._door.answers.add(partial(self._deliver, call, slot, answer))

        slot.waiting = Waiting(self._door.deadlines, later, deliver)
        if later.is_poll:
            self._answers.add_poll(slot.waiting)

    def _deliver(self, call: Call, slot: Slot, answer: Any) -> None:
        if self.closed:
            return
        try:
            if isinstance(answer, OSError):
                raise Unanswerable(f"the log could not be read: {answer}")
            if isinstance(answer, Exception):
                answer = call.failure(answer)
            if call.is_long(answer):
                late = self._finish_late(call, slot, answer, 0)
                self._door.keep(self._door.loop.create_task(late))
                return
            self._answers.fill(slot, call.encode(answer))
        except Unanswerable as error:
            self._expel(str(error))
        except Exception:  # it must not hit who woke us
            self._break_off()
        else:
            self._door.send_soon(self)

    # -- requests that wait themselves

    async def _decoded(self, frame: memoryview, now_ms: int) -> Begun:
        call = await self._door.decoding.read_apart(frame, self._connection.peer, now_ms)
        call.client = self._client
        return call, call.run(self._door.broker)

    async def _resume(self, slot: Slot, begin: Callable[[], Awaitable[Begun]]) -> None:
        try:
            call, outcome = await begin()
            result = await unwound(call, outcome, self._door.change)
            if isinstance(result, Later):
                self._wait(call, slot, result)
            elif result is NO_ANSWER:
                self._answers.give_up(slot)
            else:
                if call.is_long(result):
                    self._announce_written()  # before there is a pause, in which it may be undone
                self._answers.fill(slot, await self._door.decoding.encoded(call, result))
        except asyncio.CancelledError:  # the client has left: what it had appended stays
            self._door.settle()
            raise
        except (Malformed, Unanswerable) as error:
            self._expel(str(error))
        except OSError as error:
            self._disk_failed(error)
        except Exception:
            self._break_off()
        self._task = None
        self._finish_pass()
        self._release_if_handled()
        self._note_held()
        self._go_on()

    async def _finish_late(self, call: Call, slot: Slot, outcome: Any, until: float) -> None:
        """`until`, in the loop's time, is when the wait ends even if it has to go on."""
        try:
            result = await unwound(call, outcome, self._door.change)
            if isinstance(result, Later) and not self.closed:
                left_ms = max(0, ceil((until - self._door.loop.time()) * 1000))
                self._wait(call, slot, replace(result, wait_ms=min(result.wait_ms, left_ms)))
            self._announce_written()  # what it has appended may be what it waits for
            if self.closed or isinstance(result, Later):
                return
            parts = await self._door.decoding.encoded(call, result)
            if not self.closed:
                self._answers.fill(slot, parts)
                self.send()
        except OSError as error:
            self._disk_failed(error)
        except Unanswerable as error:
            if not self.closed:
                self._expel(str(error))
        except Exception:
            self._break_off()

    # -- sending

    def send(self) -> None:
        """As much of the answers that are ready as the client takes."""
        if self.closed:
            return
        try:
            sent = self._answers.send(self._connection)
        except OSError:
            self.close()
            return
        if sent:
            self.active_ms = self._door.clock.monotonic_ms()
        if self._answers.has_unsent:
            self._stop_reading()
            self._connection.on_writable(self._writable)
        elif sent and not self._reading:
            self._go_on_soon()  # not now: this may run inside another connection's pass

    def _writable(self) -> None:
        self._connection.on_writable(None)
        self.send()

    # -- the end

    def _disk_failed(self, error: OSError) -> None:
        """What was appended in this pass is undone, so none of its answers may be sent: the client
        finds the connection closed, and sends again."""
        self._door.disk_failed(error)
        self._expel(f"the log could not be read or written: {error}")

    def _expel(self, reason: str) -> None:
        log.warning("closing the connection from %s: %s", self.peer, reason)
        self.close()

    def _break_off(self) -> None:
        """We have a bug."""
        log.exception("a request from %s could not be handled", self.peer)
        self.close()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if self._task is not None:
            self._task.cancel()
        self._answers.clear()
        self._backlog.clear()
        self._task_bytes = 0
        self._note_held()
        self._connection.close()
        self._intake.close()
        self._door.forget(self)
