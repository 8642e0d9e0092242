"""Locks of a member: kept for what is being worked on, given up for what nobody takes."""

from __future__ import annotations

from collections.abc import Callable

from penstock.client.errors import ClientError
from penstock.client.share_held import Ack, Held, Phase
from penstock.client.share_link import Link
from penstock.client.share_links import Links
from penstock.client.share_shelf import Shelf
from penstock.sharing.acknowledging import UNSEEN, Answer

LOOK_EVERY_S = 0.2
UNWANTED_S_MAX = 1.0
"""So long a record may wait for somebody to take it, or a quarter of its lock."""


def _ignore(_: ClientError | None) -> None:
    pass


class Locks:
    def __init__(
        self,
        links: Links,
        shelf: Shelf,
        clock: Callable[[], float],
        processing_s_max: float | None,
    ) -> None:
        self._links = links
        self._shelf = shelf
        self._clock = clock
        self._processing_s_max = processing_s_max
        self._look_due_s = 0.0

    def attend(self) -> None:
        now = self._clock()
        if now < self._look_due_s:
            return
        self._look_due_s = now + LOOK_EVERY_S
        for link in self._links:
            if link.can_renew:
                self._renew(link, now)
            link.lose_dropped(now)
        self._give_back(now)

    def _renew(self, link: Link, now: float) -> None:
        for held in link.held.values():
            if held.phase is Phase.OUT and self._is_due(held, link, now):
                held.is_renewing = True
                link.outbox.add(Ack(held, Answer.RENEW, 0, _ignore))

    def _is_due(self, held: Held, link: Link, now: float) -> bool:
        if held.is_renewing or not held.may_renew or now < held.locked_until_s - link.lock_s / 2:
            return False
        if self._processing_s_max is not None and now - held.since_s > self._processing_s_max:
            return False
        return held.is_kept

    def _give_back(self, now: float) -> None:
        """What nobody has taken for a while goes to others, who may be idle, and does not count as
        delivered: the session is ended for it, if nobody works on what came by it, or the records
        are released as unseen. To Kafka that is a delivery all the same, so there they wait on
        until their locks are about to end."""
        by_link: dict[Link, list[Held]] = {}
        for link in self._links:
            patience_s = 0.0 if self._shelf.is_shut else min(UNWANTED_S_MAX, link.lock_s / 4)
            if found := [held for held in self._shelf.stale(now - patience_s) if held.link is link]:
                by_link[link] = found
        if by_link:
            self._shelf.slow_down()
        for link, found in by_link.items():
            if self._take_back(link):
                self._links.end_sessions(link)
                continue
            for held in found:
                if link.knows_unseen or now > held.locked_until_s - link.lock_s / 4:
                    self._release(link, held)

    def _take_back(self, link: Link) -> bool:
        """All that came by it, if nobody works on any of it; nobody gets it any more then."""
        with self._shelf.lock:
            if any(held.phase is not Phase.WAITING for held in link.held.values()):
                return False
            for held in link.held.values():
                held.phase = Phase.LOST
        return True

    def _release(self, link: Link, held: Held) -> None:
        with self._shelf.lock:
            if held.phase is not Phase.WAITING:
                return
            held.phase = Phase.SAID
        link.outbox.add(Ack(held, Answer.RELEASE, UNSEEN, _ignore))
