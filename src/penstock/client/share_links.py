"""All leaders that a member fetches from: links to them, made again when they are lost."""

from __future__ import annotations

import logging
import selectors
from collections.abc import Callable, Iterator

from penstock.client.cluster import pauses
from penstock.client.connection import Address, Connection
from penstock.client.errors import ClientError, Lost, refused
from penstock.client.share_control import Control, Placement
from penstock.client.share_held import Ack, LockLost, Place
from penstock.client.share_link import Link, Who
from penstock.client.share_shelf import Shelf
from penstock.errors import ErrorCode

log = logging.getLogger(__name__)

CANNOT_RENEW = "it cannot renew locks, which Kafka can from 4.2 on"
PASSING = frozenset(
    {
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""A session that begins anew may get over these, too."""


class _Node:
    def __init__(self, address: Address) -> None:
        self.address = address
        self.places: set[Place] = set()
        self.link: Link | None = None
        self.is_dialling = False
        self.not_before_s = 0.0
        self.waits: Iterator[float] = pauses()


class Links:
    """Used by one thread; `post` brings what another has done back to it."""

    def __init__(
        self,
        who: Who,
        shelf: Shelf,
        selector: selectors.BaseSelector,
        clock: Callable[[], float],
        post: Callable[[Callable[[], None]], None],
        on_failure: Callable[[ClientError], None],
    ) -> None:
        self.control: Control | None = None
        self._who = who
        self._shelf = shelf
        self._selector = selector
        self._clock = clock
        self._post = post
        self._on_failure = on_failure
        self._nodes: dict[int, _Node] = {}
        self._turn = 0

    def __iter__(self) -> Iterator[Link]:
        for node in list(self._nodes.values()):
            if node.link is not None:
                yield node.link

    # -- where to fetch

    def place(self, placement: Placement) -> None:
        for number, address in placement.addresses.items():
            node = self._nodes.setdefault(number, _Node(address))
            node.address = address
        for number, node in self._nodes.items():
            node.places = placement.places.get(number, set())
            if node.link is not None:
                node.link.wanted = set(node.places)

    def dial(self) -> None:
        """Whoever leads something for us, and is not connected."""
        now = self._clock()
        for number, node in self._nodes.items():
            is_free = node.link is None and not node.is_dialling
            if node.places and is_free and now >= node.not_before_s and self.control is not None:
                node.is_dialling = True
                self.control.dial(node.address, self._when_dialled(number))

    def _when_dialled(self, number: int) -> Callable[[Connection | ClientError], None]:
        return lambda found: self._post(lambda: self._dialled(number, found))

    def _dialled(self, number: int, found: Connection | ClientError) -> None:
        node = self._nodes[number]
        node.is_dialling = False
        if isinstance(found, ClientError):
            self._put_off(node, found)
            return
        try:
            link = Link(number, found, self._who, self._clock)
        except ClientError as error:
            found.close()
            self._put_off(node, error)
            return
        link.wanted = set(node.places)
        node.link = link
        self._selector.register(found, selectors.EVENT_READ, link)

    def lose(self, link: Link, error: ClientError) -> None:
        node = self._nodes[link.node]
        if node.link is not link:
            return
        self._selector.unregister(link.connection)
        link.lose_all(error)
        node.link = None
        self._put_off(node, error)

    def _put_off(self, node: _Node, error: ClientError) -> None:
        if not error.is_retriable and error.code not in PASSING:
            self._on_failure(error)
            return
        log.info("share group %s: %s", self._who.group, error.said)
        node.not_before_s = self._clock() + next(node.waits)
        if self.control is not None:
            self.control.look_again()

    # -- what is asked, and comes

    def say(self, ack: Ack) -> None:
        link = ack.held.link
        if not isinstance(link, Link) or not link.has(ack.held):
            ack.on_done(LockLost("the connection to the broker that it came from was lost"))
        elif not ack.is_final and not link.can_renew:
            ack.on_done(refused(f"broker {link.node}", ErrorCode.UNSUPPORTED_VERSION, CANNOT_RENEW))
        else:
            link.outbox.add(ack)

    def ask(self, *, fetches: bool) -> None:
        need = self._shelf.need() if fetches else 0
        idle = [each for each in self if each.wanted and not (each.is_fetching or each.is_ending)]
        self._turn += 1
        room = need - sum(each.claimed for each in self)
        for number in range(len(idle)):
            link = idle[(number + self._turn) % len(idle)]
            if need > 0:  # then everybody is asked: who knows who has something
                share = max(1, room // (len(idle) - number))
                room -= share
                self._try(link, lambda link=link, share=share: link.fetch(share))  # type: ignore[misc]
        for link in self:
            if link.outbox:
                self._try(link, link.say)

    def receive(self, link: Link) -> None:
        try:
            arrival = link.receive()
        except ClientError as error:
            self.lose(link, error)
            return
        self._nodes[link.node].waits = pauses()
        for place, why in arrival.moved.items():
            log.info("share group %s: %s", self._who.group, why.said)
            link.lose_place(place)
        if arrival.moved and self.control is not None:
            self.control.look_again()
        if arrival.held:
            self._shelf.put(arrival.held)

    def lose_overdue(self) -> None:
        now = self._clock()
        for link in self:
            if link.overdue_s is not None and link.overdue_s <= now:
                self.lose(link, Lost(ErrorCode.REQUEST_TIMED_OUT, f"broker {link.node} hangs"))

    def end_sessions(self, only: Link | None = None) -> None:
        for link in [only] if only else list(self):
            self._try(link, link.end_session)

    def close(self, error: ClientError) -> None:
        for link in self:
            self._selector.unregister(link.connection)
            link.lose_all(error)
        self._nodes.clear()

    def _try(self, link: Link, call: Callable[[], None]) -> None:
        try:
            call()
        except ClientError as error:
            self.lose(link, error)
