"""A member of a share group: it is given records of a topic, and says what has become of each.

Two threads work for it: one fetches and says (this module), and never waits for a broker that
hangs; the other does all that may (`share_control`). `take`, `settle` and the rest may be called
from any thread.
"""

from __future__ import annotations

import atexit
import logging
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, refused
from penstock.client.share_control import Control, Placement
from penstock.client.share_held import Ack, Held, LockLost, OnDone, Phase
from penstock.client.share_link import Who
from penstock.client.share_links import Links
from penstock.client.share_locks import LOOK_EVERY_S, Locks
from penstock.client.share_membership import Membership
from penstock.client.share_shelf import Shelf, Ticket
from penstock.errors import ErrorCode
from penstock.sharing.acknowledging import Answer

log = logging.getLogger(__name__)

CLOSE_S_MAX = 10.0
EXIT_S_MAX = 5.0
PREFETCH = 16

_open: WeakSet[ShareMember] = WeakSet()


class ShareMember:
    def __init__(
        self,
        client: WireClient,
        group: str,
        topic: str,
        *,
        prefetch: int = PREFETCH,
        processing_s_max: float | None = None,
    ) -> None:
        """The client becomes the member's own. `processing_s_max`: so long locks are renewed."""
        self.group, self.topic = group, topic
        self.shelf = Shelf(prefetch, time.monotonic)
        self._client = client
        self._membership = Membership(client, group, topic)
        self._selector = selectors.DefaultSelector()
        self._bell, self._ear = socket.socketpair()
        self._is_rung = False
        self._posted: deque[Callable[[], None]] = deque()
        self._said: deque[Ack] = deque()
        self._answered = threading.Condition(self.shelf.lock)
        self._unanswered = 0
        self._failures: deque[ClientError] = deque(maxlen=1000)
        self._failure: ClientError | None = None
        self._is_closing = False
        self._has_ended_sessions = False
        self._close_by_s = 0.0
        self._is_forked = False
        who = Who(group, self._membership.member_id)
        self._links = Links(
            who, self.shelf, self._selector, time.monotonic, self._post, self._fail_now
        )
        self._locks = Locks(self._links, self.shelf, time.monotonic, processing_s_max)
        self._control = Control(client, self._membership, topic, self._on_placement, self._fail)
        self._links.control = self._control
        self._thread = threading.Thread(target=self._run, name="penstock-share-fetch", daemon=True)

    def start(self) -> None:
        """Joins the group; what does not pass by itself is raised here."""
        client = self._client
        topic = client.retry(lambda deadline: client.topic(self.topic, deadline=deadline))
        if topic.view_of:
            raise refused(
                f"topic {self.topic}",
                ErrorCode.INVALID_REQUEST,
                f"it is a view: its records cannot be shared out; use {topic.view_of}, its source",
            )
        client.retry(self._membership.beat)
        for each in (self._bell, self._ear):
            each.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ, None)
        _open.add(self)
        self._thread.start()
        self._control.thread.start()

    # -- records

    def take(self, most: int) -> list[Held]:
        """What there is; nothing, if there is nothing yet."""
        self.check()
        found = self.shelf.take(most)
        if found and self.shelf.is_low:
            self._ring()
        return found

    def wait(self, most: int, timeout_s: float | None) -> list[Held]:
        """The same; waits until something comes, or for so long, or until it is called off."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not (found := self.take(most)):
            if self.is_called_off:
                return []
            woken = threading.Event()
            ticket = self.listen(most, woken.set)
            try:
                left_s = None if deadline is None else deadline - time.monotonic()
                if not woken.wait(left_s):
                    return self.take(most)
            finally:
                self.withdraw(ticket)
        return found

    def listen(self, most: int, wake: Callable[[], None]) -> Ticket:
        """For who waits in another way: `wake` is called once, mostly by a thread of ours, when it
        is worth to look again. `withdraw` the ticket after that, too."""
        ticket = self.shelf.listen(most, wake)
        self._ring()
        return ticket

    def withdraw(self, ticket: Ticket) -> None:
        self.shelf.withdraw(ticket)

    is_called_off = False

    def call_off(self) -> None:
        """Whoever waits does so no more. A signal handler may call it."""
        self.is_called_off = self.shelf.is_shut = True
        self._posted.append(self.shelf.wake_all)
        self._ring()

    @property
    def held_count(self) -> int:
        """Records that are locked for us now, as far as we know."""
        return sum(len(link.held) for link in self._links)

    # -- what is said of them

    def settle(self, held: Held, answer: Answer, delay_ms: int, on_done: OnDone | None) -> None:
        """`on_done` hears of it, from another thread; without it, what fails is raised by the next
        call of `raise_failures`."""
        self.check()
        with self.shelf.lock:
            if held.phase is Phase.LOST:
                raise LockLost("its lock has ended, or the connection by which it came was lost")
            if held.phase is not Phase.OUT:
                raise ClientError(
                    ErrorCode.INVALID_REQUEST, "it was acknowledged before: that is done once"
                )
            if answer is not Answer.RENEW:
                held.phase = Phase.SAID
                self.shelf.note_done()
            self._unanswered += 1
        self._said.append(Ack(held, answer, delay_ms, self._when_answered(on_done)))
        self._ring()

    def _when_answered(self, on_done: OnDone | None) -> OnDone:
        if on_done is None:
            return self._note

        def told(error: ClientError | None) -> None:
            self._count_answer(None)
            on_done(error)

        return told

    def _note(self, error: ClientError | None) -> None:
        self._count_answer(error)

    def _count_answer(self, failure: ClientError | None) -> None:
        with self._answered:
            self._unanswered -= 1
            if failure is not None:
                self._failures.append(failure)
            if not self._unanswered:
                self._answered.notify_all()

    def flush(self, timeout_s: float) -> bool:
        """Waits until all that was said is answered; whether it is."""
        self._check_not_forked()
        with self._answered:
            return self._answered.wait_for(lambda: not self._unanswered, timeout_s)

    def failures(self) -> list[ClientError]:
        """Of what was said without anybody to hear of it; told once."""
        found: list[ClientError] = []
        with suppress(IndexError):
            while True:
                found.append(self._failures.popleft())
        return found

    # -- the end

    def close(self, timeout_s: float = CLOSE_S_MAX) -> None:
        """Says what is to be said, gives back the rest, and leaves the group."""
        self.abandon(timeout_s)
        if self._is_forked or self._thread.ident is None:
            return
        for thread in (self._thread, self._control.thread):
            if thread is not threading.current_thread():
                thread.join(timeout_s + CLOSE_S_MAX)

    def abandon(self, timeout_s: float = CLOSE_S_MAX) -> None:
        """The same, and nobody waits for it."""
        if self._is_closing or self._is_forked:
            return
        self._is_closing, self._close_by_s = True, time.monotonic() + timeout_s
        if self._thread.ident is None:
            self._client.close()
            self._close_sockets()
        self._ring()

    def check(self) -> None:
        """Raises ClientError if this member can do nothing any more."""
        self._check_not_forked()
        if self._failure is not None:
            raise self._failure
        if self._is_closing:
            raise ClientError(ErrorCode.INVALID_REQUEST, "it is closed: make another")

    def _check_not_forked(self) -> None:
        if self._is_forked:
            raise ClientError(
                ErrorCode.INVALID_REQUEST,
                "it was made before the process was forked, and works in the other one only: "
                "make one in each process",
            )

    def forked(self) -> None:
        """In the child. Connections stay open in the parent, which goes on alone."""
        self._is_forked = self._is_closing = True
        for link in self._links:
            link.connection.close()
        self._client.close()
        self._close_sockets()

    # -- the thread

    def _run(self) -> None:
        try:
            while self._go_on():
                self._round()
        except Exception as error:
            log.exception("a member of share group %s has failed", self.group)
            self._fail_now(ClientError(ErrorCode.UNKNOWN_SERVER_ERROR, f"it has failed: {error!r}"))
        self._finish()

    def _go_on(self) -> bool:
        """Until nothing is under way any more, or the time for that is up. What is to be said is
        said before sessions end: one record of it may be refused, and the others said again."""
        if self._failure is not None:
            return False
        if not self._is_closing:
            return True
        is_late = time.monotonic() >= self._close_by_s
        if not self._has_ended_sessions:
            self._obey()
            if not is_late and any(link.is_saying for link in self._links):
                return True
            self._has_ended_sessions = True
            self._links.end_sessions()
        is_quiet = not self._said and all(link.is_quiet for link in self._links)
        return not (is_quiet or is_late)

    def _round(self) -> None:
        self._obey()
        self._links.lose_overdue()
        if not self._is_closing:
            self._links.dial()
            self._locks.attend()
        self._links.ask(fetches=not self._is_closing)
        for key, _ in self._selector.select(LOOK_EVERY_S):
            if key.data is None:
                self._hear()
            else:
                self._links.receive(key.data)

    def _obey(self) -> None:
        while self._posted:
            self._posted.popleft()()
        while self._said:
            self._links.say(self._said.popleft())

    def _finish(self) -> None:
        self._is_closing = True
        self._obey()
        over = self._failure or ClientError(ErrorCode.INVALID_REQUEST, "it is closed")
        self._links.close(over)
        while self._said:
            self._said.popleft().on_done(LockLost(over.said))
        self.shelf.is_shut = True
        self.shelf.wake_all()
        self._control.end()
        _open.discard(self)
        self._close_sockets()

    def _on_placement(self, placement: Placement) -> None:
        self._post(lambda: self._links.place(placement))

    def _fail(self, error: ClientError) -> None:
        self._post(lambda: self._fail_now(error))

    def _fail_now(self, error: ClientError) -> None:
        self._failure = self._failure or error

    def _post(self, order: Callable[[], None]) -> None:
        self._posted.append(order)
        self._ring()

    def _ring(self) -> None:
        if not self._is_rung:
            self._is_rung = True
            with suppress(OSError):
                self._bell.send(b"!")

    def _hear(self) -> None:
        with suppress(OSError):
            self._ear.recv(64)
        self._is_rung = False  # in this order, or one who rings meanwhile is not heard

    def _close_sockets(self) -> None:
        self._bell.close()
        self._ear.close()
        self._selector.close()


@atexit.register
def _at_exit() -> None:
    """Also those that nobody has any more, and that are about to leave."""
    until_s = time.monotonic() + EXIT_S_MAX
    for member in list(_open):
        member.close(max(0.1, until_s - time.monotonic()))


def _in_child() -> None:
    for member in list(_open):
        member.forked()
    _open.clear()


os.register_at_fork(after_in_child=_in_child)
