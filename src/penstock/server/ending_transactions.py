"""Tells partitions how a transaction ends, once that is decided for good.

Every partition gets a marker, from its leader's hand. When all have theirs the transaction is over,
and the next one may begin. Whatever fails is tried again, by the next coordinator if need be: what
is left to do is written down.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import NamedTuple

from penstock.api.broker import Broker
from penstock.api.shard import Shard
from penstock.coordination.transaction.ending import complete
from penstock.coordination.transaction.state import Place, State, Transaction, Transactions
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.server.asking import Asking
from penstock.server.door import Door
from penstock.server.lines import Lines
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from penstock.world.ports import Network

log = logging.getLogger(__name__)

VERSION = 2
RETRY_MS = 100
DONE = frozenset({ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH})
"""A partition whose producer has a later epoch has nothing open of this one's."""


class Ending:
    """A transaction whose partitions are being told."""

    __slots__ = ("left", "shard", "state", "transaction", "under_way", "will_try_again")

    def __init__(self, shard: Shard[Transaction], transaction: Transaction, state: State) -> None:
        self.shard = shard
        self.transaction = transaction
        self.state = state
        self.left = set(state.partitions)
        self.under_way: set[Place] = set()
        """Those of them that are being told."""
        self.will_try_again = False

    @property
    def is_current(self) -> bool:
        return not self.shard.is_over and self.transaction.state is self.state

    def marker(self, places: list[Place]) -> WritableTxnMarker:
        topics: dict[str, list[int]] = {}
        for topic, index in sorted(places):
            topics.setdefault(topic, []).append(index)
        return WritableTxnMarker(
            self.state.owner.producer_id,
            self.state.owner.epoch,
            self.state.phase.is_commit,
            [WritableTxnMarkerTopic(topic, indexes) for topic, indexes in topics.items()],
            self.shard.leader.epoch,
            self.state.client_version,
        )


class Telling(NamedTuple):
    ending: Ending
    places: list[Place]


class EndingTransactions:
    def __init__(self, network: Network, door: Door) -> None:
        self._door = door
        self._broker: Broker = door.broker
        self._asking = Asking(network, door)
        self._lines: Lines[Telling] = Lines(self._tell)
        self._endings: dict[Transaction, Ending] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._looking: set[Shard[Transaction]] = set()
        """That are going to be looked at soon."""
        self._watched: set[Shard[Transaction]] = set()
        """Where it is waited for what was written to be committed."""
        self._is_over = False
        self._broker.transactions.on_written = self._look_soon

    async def stop(self) -> None:
        self._is_over = True
        for timer in self._timers:
            timer.cancel()
        await self._lines.stop()
        self._asking.close()

    def look(self, shard: Shard[Transaction]) -> None:
        """There may be transactions whose end has been decided."""
        assert isinstance(shard.kept, Transactions)
        self._looking.discard(shard)
        if self._is_over or shard.is_over:
            return
        not_yet: list[int] = []
        for name in list(shard.kept.prepared):
            transaction = shard.kept.get(name)
            if transaction is None or transaction.state is None:
                continue
            ending = self._endings.get(transaction)
            if ending is not None and ending.is_current:
                continue
            rest = shard.rest(transaction)
            if rest.is_committed:
                self._begin(Ending(shard, transaction, transaction.state))
            else:
                not_yet.append(rest.end)
        if not_yet and shard not in self._watched:
            self._watched.add(shard)
            shard.leader.committed.watch(min(not_yet), partial(self._committed, shard))

    def _committed(self, shard: Shard[Transaction]) -> None:
        self._watched.discard(shard)
        self._look_soon(shard)

    def _look_soon(self, shard: Shard[Transaction]) -> None:
        """Out of the way of who wakes us, and once for all that is written in one pass."""
        if not self._is_over and shard not in self._looking:
            self._looking.add(shard)
            self._door.loop.call_soon(self.look, shard)

    def _begin(self, ending: Ending) -> None:
        self._endings[ending.transaction] = ending
        self._go_on(ending)

    def _go_on(self, ending: Ending) -> None:
        """Tell those that are left, or be done."""
        ending.will_try_again = False
        if self._is_over or not ending.is_current:
            self._drop(ending)
            return
        leaders: dict[int, list[Place]] = {}
        is_stuck = False
        for place in sorted(ending.left):
            topic = self._broker.image.topic(place[0])
            record = topic.partition(place[1]) if topic else None
            if topic is None or place[1] >= topic.record.partitions:
                ending.left.discard(place)  # it was deleted, and all that was in it
            elif record is None or record.leader not in self._broker.image.brokers:
                is_stuck = True
            elif place not in ending.under_way:
                leaders.setdefault(record.leader, []).append(place)
        if not ending.left:
            self._complete(ending)
            return
        for node_id, places in leaders.items():
            ending.under_way.update(places)
            self._lines.add(node_id, Telling(ending, places))
        if is_stuck:
            self._try_again(ending)

    def _complete(self, ending: Ending) -> None:
        self._drop(ending)
        shard = ending.shard
        if not shard.is_true or shard.is_held_up:
            self._later(partial(self._look_soon, shard))
            return
        try:
            shard.look_after(ending.transaction, complete)
        except Exception:
            log.exception("the end of transaction %.300s was not noted", ending.transaction.name)
        self._door.settle()
        self._broker.endings.over(ending.transaction.name)

    def _drop(self, ending: Ending) -> None:
        if self._endings.get(ending.transaction) is ending:
            del self._endings[ending.transaction]

    def _try_again(self, ending: Ending) -> None:
        if not ending.will_try_again:
            ending.will_try_again = True
            self._later(partial(self._go_on, ending))

    def _later(self, call: partial[None]) -> None:
        if self._is_over:
            return
        self._timers = {timer for timer in self._timers if timer.when() > self._door.loop.time()}
        self._timers.add(self._door.loop.call_later(RETRY_MS / 1000, call))

    async def _tell(self, node_id: int, tellings: list[Telling]) -> None:
        for each in tellings:
            if not each.ending.is_current:
                self._drop(each.ending)
        tellings = [each for each in tellings if each.ending.is_current]
        if not tellings:
            return
        markers = [each.ending.marker(each.places) for each in tellings]
        told: list[dict[Place, int]] = []
        try:
            told = await self._asking.ask(
                node_id,
                WriteTxnMarkersRequest(markers),
                VERSION,
                WriteTxnMarkersResponse,
                _errors,
            )
        except (OSError, TimeoutError, Malformed, Refused) as problem:
            log.warning("broker %d takes no ends of transactions: %s", node_id, problem)
        finally:
            for number, telling in enumerate(tellings):
                self._told(telling, told[number] if number < len(told) else {})

    def _told(self, telling: Telling, errors: dict[Place, int]) -> None:
        ending = telling.ending
        ending.under_way.difference_update(telling.places)
        for place in telling.places:
            if errors.get(place) in DONE:
                ending.left.discard(place)
        if not ending.left:
            self._go_on(ending)
        elif any(place in ending.left for place in telling.places):
            self._try_again(ending)


def _errors(response: WriteTxnMarkersResponse) -> list[dict[Place, int]]:
    return [
        {
            (topic.name, part.partition_index): part.error_code
            for topic in marker.topics
            for part in topic.partitions
        }
        for marker in response.markers
    ]
