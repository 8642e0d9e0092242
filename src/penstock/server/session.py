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
from collections import deque
from collections.abc import Awaitable
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from penstock.api.call import Call, Unanswerable
from penstock.api.dispatch import read_call
from penstock.api.handlers.k00_produce_single import Pledge, produce_single
from penstock.api.outcome import NO_ANSWER, Change, Later, Resume
from penstock.errors import Malformed
from penstock.server.waits import Promise, Slot, Waiting
from penstock.wire.frames import FrameReader
from penstock.wire.single_produce import PRODUCE
from penstock.world.ports import Connection, FileRange, Part

if TYPE_CHECKING:
    from penstock.server.door import Door

log = logging.getLogger(__name__)

IN_FLIGHT_MAX = 1000
"""Answers that may be outstanding on one connection before it is no longer read from."""
PARTS_MAX = 1024
"""Answers are sent on before more than so many pieces of them have piled up in one pass."""
LISTS_BYTES_MAX = 1 << 20
"""For every request but Produce: those are lists of names and numbers, at some microseconds for
each few bytes, and at 4 MiB one of them could hold the loop for a second."""
KEPT_MAX = 32 << 20
"""What the beginnings of requests may take on all connections before larger ones are budgeted."""
SHORT_OF_MEMORY_BYTES = 8 << 10
"""Received at once while memory is short: the beginning of a large request is held too."""
PASS_MS_MAX = 10
"""How long the requests of one connection are handled before it is the turn of others."""
ANSWERS_BYTES_MAX = 4 << 20
"""Memory that answers may take on one connection before no more requests of it are handled."""


class Session:
    __slots__ = (
        "_backlog",
        "_connection",
        "_door",
        "_frames",
        "_granted",
        "_out",
        "_reading",
        "_slots",
        "_task",
        "_weight",
        "_will_go_on",
        "active_ms",
        "closed",
        "frame_since_ms",
    )

    def __init__(self, door: Door, connection: Connection) -> None:
        self._door = door
        self._connection = connection
        self._frames = FrameReader(door.config.max_request_bytes, door.buffers.take)
        self._out: list[Part] = []
        self._slots: deque[Slot] = deque()
        self._backlog: list[memoryview] = []
        self._task: asyncio.Task[None] | None = None
        self._granted = 0
        self._weight = 0
        """Bytes of answers in `_out` and `_slots`, as far as they are in memory and not small."""
        self._reading = False
        self._will_go_on = False
        self.closed = False
        self.active_ms = door.clock.monotonic_ms()
        self.frame_since_ms: float | None = None
        """Since when a request has been arriving; None also while it is us who do not read."""
        self._read_on()

    @property
    def peer(self) -> str:
        return self._connection.peer

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for us, so that it is not idle; not if it does not take what it
        is given, nor if it waits for so much that we do not read, and so would not see it leave."""
        if self._out or self._has_too_many_answers():
            return False
        return bool(self._slots or self._task)

    # -- receiving

    def _readable(self) -> None:
        frames = self._frames
        if frames.big_size and not self._granted and not self._ask_for_memory(frames.big_size):
            return
        kept = frames.kept_size
        try:
            space = frames.space(self._door.buffer)
        except OSError as error:  # the system has no memory for it
            self._expel(f"a request of {frames.big_size} bytes cannot be received: {error}")
            return
        self._door.kept += frames.kept_size - kept
        frames.is_frugal = self._door.kept > KEPT_MAX
        if (frames.is_frugal or self._door.budget.is_short) and not frames.big_size:
            space = space[:SHORT_OF_MEMORY_BYTES]
        count = self._connection.recv_into(space)
        if count is None:
            return
        if count == 0:
            self.close()
            return
        self.active_ms = now_ms = self._door.clock.monotonic_ms()
        is_big = frames.big_size > 0
        kept = frames.kept_size
        try:
            whole = frames.feed(count)
        except Malformed as error:
            self._expel(str(error))
            return
        self._door.kept += frames.kept_size - kept
        if frames.is_between_frames:
            self.frame_since_ms = None
        elif whole or self.frame_since_ms is None:
            self.frame_since_ms = now_ms
        if whole:
            self._pass(whole)
            if is_big:  # written out, or copied: nobody looks at it any more
                self._door.buffers.give_back(whole[0])
        if frames.big_size and not self._granted and not self.closed:
            self._ask_for_memory(frames.big_size)

    def _ask_for_memory(self, size: int) -> bool:
        if self._door.budget.take(size, self._read_on):
            self._granted = size
            return True
        self._stop_reading()
        return False

    def _release_memory(self) -> None:
        granted, self._granted = self._granted, 0
        self._door.budget.give_back(granted)

    def _read_on(self) -> None:
        if not self._reading and not self.closed and not self._is_full():
            self._reading = True
            if not self._frames.is_between_frames:
                self.frame_since_ms = self._door.clock.monotonic_ms()
            self._connection.on_readable(self._readable)

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self.frame_since_ms = None
            self._connection.on_readable(None)

    def _is_full(self) -> bool:
        return bool(self._backlog) or self._is_held_up()

    def _is_held_up(self) -> bool:
        return bool(self._task or self._out) or self._has_too_many_answers()

    def _has_too_many_answers(self) -> bool:
        return len(self._slots) >= IN_FLIGHT_MAX or self._weight > ANSWERS_BYTES_MAX

    # -- one pass

    def _pass(self, frames: list[memoryview], *, are_copies: bool = False) -> None:
        clock = self._door.clock
        now_ms, until_ms = clock.now_ms(), clock.monotonic_ms() + PASS_MS_MAX
        for position, frame in enumerate(frames):
            must_pause = self._task is not None or self._has_too_many_answers()
            if must_pause or clock.monotonic_ms() > until_ms:
                self._keep(frames[position:], are_copies)
                break
            self._take(frame, now_ms)
            if self.closed:
                break
            is_piled_up = len(self._out) > PARTS_MAX or self._weight > ANSWERS_BYTES_MAX
            if is_piled_up and not self._finish_pass():
                self._keep(frames[position + 1 :], are_copies)
                break
        self._finish_pass()
        self._release_if_handled()
        if self._backlog and not self._is_held_up():
            self._go_on_soon()

    def _release_if_handled(self) -> None:
        """A large request's memory, unless it waits, is kept for later, or has just begun."""
        if self._granted and not (self._task or self._backlog or self._frames.big_size):
            self._release_memory()

    def _go_on_soon(self) -> None:
        if not self._will_go_on:
            self._will_go_on = True
            self._door.loop.call_soon(self._go_on)

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
            leader.announce()
        return not self._out and not self.closed

    def _take(self, frame: memoryview, now_ms: int) -> None:
        try:
            short = produce_single(self._door.broker, frame, now_ms)
            if short is not None:
                self._put(short)
                return
            if len(frame) > LISTS_BYTES_MAX and int.from_bytes(frame[:2], "big") != PRODUCE:
                raise Unanswerable(f"a request of {len(frame)} bytes that is not Produce")
            call = read_call(frame, self._connection.peer, now_ms)
            outcome = call.run(self._door.broker)
            if type(outcome) is call.answers and not self._slots:
                parts = call.encode(outcome)
                self._weight += in_memory(parts)
                self._out.extend(parts)
            else:
                self._carry_out(call, outcome)
        except (Malformed, Unanswerable) as error:
            self._expel(str(error))
        except OSError as error:
            self._disk_failed(error)
        except Exception:
            self._break_off()

    def _put(self, answer: bytes | Pledge) -> None:
        """An answer that is encoded already."""
        if isinstance(answer, Pledge):
            self._slots.append(Promise(self._door.deadlines, answer, self._send_soon))
        elif not self._slots:
            self._out.append(answer)
        else:
            slot = Slot()
            self._slots.append(slot)
            self._fill(slot, [answer])

    def _send_soon(self) -> None:
        self._door.send_soon(self)

    def _carry_out(self, call: Call, outcome: Any) -> None:
        if outcome is NO_ANSWER:
            return
        slot = Slot()
        self._slots.append(slot)
        if isinstance(outcome, Resume | Change):
            self._task = self._door.loop.create_task(self._resume(call, slot, outcome))
            self._stop_reading()
        elif isinstance(outcome, Later):
            self._wait(call, slot, outcome)
        else:
            self._answer(slot, call.encode(outcome))

    def _wait(self, call: Call, slot: Slot, later: Later[Any]) -> None:
        until = self._door.loop.time() + later.wait_ms / 1000

        def deliver(answer: Any) -> None:
            if isinstance(answer, Resume):
                late = self._finish_late(call, slot, answer, until)
                self._door.keep(self._door.loop.create_task(late))
            else:
                self._deliver(call, slot, answer)

        slot.waiting = Waiting(self._door.deadlines, later, deliver)

    def _deliver(self, call: Call, slot: Slot, answer: Any) -> None:
        try:
            if isinstance(answer, OSError):
                raise Unanswerable(f"the log could not be read: {answer}")
            if isinstance(answer, Exception):
                answer = call.failure(answer)
            self._answer(slot, call.encode(answer))
        except Unanswerable as error:
            self._expel(str(error))
        except Exception:  # it must not hit who woke us
            self._break_off()
        else:
            self._door.send_soon(self)

    def _answer(self, slot: Slot, parts: list[Part]) -> None:
        self._weight += in_memory(parts)
        self._fill(slot, parts)

    def _fill(self, slot: Slot, parts: list[Part]) -> None:
        """Answers leave in the order of their requests: an early one waits for those before it."""
        slot.parts = parts
        self._collect()

    def _collect(self) -> None:
        slots = self._slots
        while slots and (parts := slots[0].parts) is not None:
            self._out.extend(parts)
            slots.popleft()

    # -- requests that wait themselves

    async def _resume(self, call: Call, slot: Slot, outcome: Resume[Any] | Change[Any]) -> None:
        try:
            result = await self._unwind(call, outcome)
            if isinstance(result, Later):
                self._wait(call, slot, result)
            elif result is NO_ANSWER:
                self._slots.remove(slot)
            else:
                self._answer(slot, call.encode(result))
        except Unanswerable as error:
            self._expel(str(error))
        except OSError as error:
            self._disk_failed(error)
        except Exception:
            self._break_off()
        self._task = None
        self._finish_pass()
        self._release_if_handled()
        self._go_on()

    async def _finish_late(
        self, call: Call, slot: Slot, outcome: Resume[Any], until: float
    ) -> None:
        """`until`, in the loop's time, is when the wait ends even if it has to go on."""
        try:
            result = await self._unwind(call, outcome)
            if self.closed:
                return
            if isinstance(result, Later):
                left_ms = max(0, ceil((until - self._door.loop.time()) * 1000))
                self._wait(call, slot, replace(result, wait_ms=min(result.wait_ms, left_ms)))
            else:
                self._answer(slot, call.encode(result))
                self.send()
        except (Unanswerable, OSError) as error:
            if not self.closed:
                self._expel(str(error))
        except Exception:
            self._break_off()

    async def _unwind(self, call: Call, outcome: Any) -> Any:
        """Carry out what waits until there is an answer, or something that waits off the queue."""
        try:
            while isinstance(outcome, Resume | Change):
                if isinstance(outcome, Resume):
                    work: Awaitable[Any] = outcome.work()
                    outcome = outcome.then(await work)
                else:
                    outcome = outcome.then(await self._door.change(outcome.decide))
        except OSError:
            raise
        except Exception as error:
            return call.failure(error)
        return outcome

    # -- sending

    def send(self) -> None:
        """As much of the answers that are ready as the client takes."""
        self._collect()
        if not self._out or self.closed:
            return
        try:
            sent = self._connection.send(self._out)
        except OSError:
            self.close()
            return
        self._out = remaining(self._out, sent)
        if sent:
            self.active_ms = self._door.clock.monotonic_ms()
        if self._weight and not self._out:
            self._weight = sum(in_memory(slot.parts) for slot in self._slots if slot.parts)
        if self._out:
            self._stop_reading()
            self._connection.on_writable(self._writable)
        elif not self._reading:  # not from here: this may run inside another connection's pass
            self._go_on_soon()

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

    def close_if_broken(self) -> None:
        """After a reset, once what came before it has been received: of that the loop may not tell
        us any more. What is under way is not cut short."""
        if self.closed or not self._connection.is_broken():
            return
        if self._reading:
            self._readable()
            self._door.loop.call_soon(self.close_if_broken)
        elif self._task is None and not self._will_go_on:
            self.close()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        for slot in self._slots:
            slot.cancel()
        if self._task is not None:
            self._task.cancel()
        self._slots.clear()
        self._out.clear()
        self._backlog.clear()
        self._connection.close()
        self._door.kept -= self._frames.kept_size
        self._release_memory()
        self._door.budget.forget(self._read_on)
        self._door.forget(self)


def in_memory(parts: list[Part]) -> int:
    """How many bytes of an answer are not in a file."""
    return sum(len(part) for part in parts if not isinstance(part, FileRange))


def remaining(parts: list[Part], sent: int) -> list[Part]:
    """What is left of the parts once so many bytes of them have gone."""
    for position, part in enumerate(parts):
        if sent < len(part):
            return [cut(part, sent), *parts[position + 1 :]] if sent else parts[position:]
        sent -= len(part)
    return []


def cut(part: Part, taken: int) -> Part:
    if isinstance(part, FileRange):
        return FileRange(part.file, part.position + taken, part.length - taken)
    return memoryview(part)[taken:]
