"""Tells partitions how a transaction ends, once that is decided for good.

Every partition gets a marker, from its leader's hand. When all have theirs the transaction is over,
and the next one may begin. Whatever fails is tried again, by the next coordinator if need be: what
is left to do is written down.

Thousands may be held up by one broker that is away, or one partition without a leader. They wait
for that together, and nothing else waits with them.
"""

from __future__ import annotations

import logging
from functools import partial

from penstock.api.broker import Broker
from penstock.api.shard import Shard
from penstock.coordination.transaction.ending import complete
from penstock.coordination.transaction.state import Place, Transaction, Transactions
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.server.asking import Asking
from penstock.server.asking_itself import AskingItself
from penstock.server.door import Door
from penstock.server.held_up import HeldUp
from penstock.server.lines import Lines, Portion, portions
from penstock.server.rota import Rota
from penstock.server.telling import Cause, Ending, Telling, errors_in
from penstock.wire.messages.k27_write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from penstock.world.ports import Network

log = logging.getLogger(__name__)

VERSION = 2
BEGUN_AT_ONCE = 1000
"""Partitions that are told: some milliseconds."""
BEGIN_COST = 10
"""Of a transaction, in partitions."""
COMPLETED_AT_ONCE = 20
"""Transactions whose end is noted; others follow in the next rounds of the loop."""
DONE = frozenset({ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH})
"""A partition whose producer has a later epoch has nothing open of this one's."""


class EndingTransactions:
    def __init__(self, network: Network, door: Door) -> None:
        self._door = door
        self._broker: Broker = door.broker
        self._asking = Asking(network, door, AskingItself(door))
        self._lines: Lines[Telling] = Lines(self._tell)
        self._turns = Rota(door.loop, door.clock)
        """What there is to do for thousands at once, a little in each round of the loop."""
        self._held_up: HeldUp[Cause, Telling] = HeldUp(
            door.loop, attempt=self._attempt, release=self._go_on_soon
        )
        self._endings: dict[Transaction, Ending] = {}
        self._looking: set[Shard[Transaction]] = set()
        """That are going to be looked at soon."""
        self._watched: set[Shard[Transaction]] = set()
        """Where it is waited for what was written to be committed."""
        self._is_over = False
        self._broker.transactions.on_written = self._look_soon

    async def stop(self) -> None:
        self._is_over = True
        self._held_up.stop()
        await self._lines.stop()
        self._asking.close()

    # -- what is to be ended

    def look(self, shard: Shard[Transaction]) -> None:
        """There may be transactions whose end has been decided."""
        self._looking.discard(shard)
        if self._is_over or shard.is_over:
            return
        cost = 0
        for transaction in self._new(shard):
            rest = shard.rest(transaction)
            if cost > BEGUN_AT_ONCE:
                self._look_soon(shard)
                return
            if not rest.is_committed:
                self._watched.add(shard)
                shard.leader.committed.watch(rest.end, partial(self._committed, shard))
                return
            cost += self._begin(shard, transaction)

    def _new(self, shard: Shard[Transaction]) -> list[Transaction]:
        """Those that are not being ended, in the order in which they were decided on. They were
        decided on after all others: thousands may be held up, and are not looked at."""
        assert isinstance(shard.kept, Transactions)
        found: list[Transaction] = []
        for name in reversed(shard.kept.prepared):
            transaction = shard.kept.get(name)
            if transaction is None or transaction.state is None:
                continue
            ending = self._endings.get(transaction)
            if ending is not None and ending.is_current:
                break
            found.append(transaction)
        found.reverse()
        return found

    def _committed(self, shard: Shard[Transaction]) -> None:
        self._watched.discard(shard)
        self._look_soon(shard)

    def _look_soon(self, shard: Shard[Transaction]) -> None:
        """Out of the way of who wakes us, and once for all that is written in one pass. What is
        written while something else has yet to be committed is so after that."""
        assert isinstance(shard.kept, Transactions)
        if not shard.kept.prepared or self._is_over:
            return
        if shard in self._looking or shard in self._watched:
            return
        self._looking.add(shard)
        self._door.loop.call_soon(self.look, shard)

    def _begin(self, shard: Shard[Transaction], transaction: Transaction) -> int:
        """What it costs, in partitions."""
        assert transaction.state is not None
        ending = self._endings[transaction] = Ending(shard, transaction, transaction.state)
        cost = BEGIN_COST + len(ending.left)
        first, *others = list(portions(sorted(ending.left))) or [Portion()]
        for places in others:
            self._go_on_soon(Telling(ending, places))
        self._go_on(Telling(ending, first))
        return cost

    # -- whom to tell

    def _go_on_soon(self, telling: Telling) -> None:
        self._turns.add(partial(self._go_on, telling))

    def _go_on(self, telling: Telling) -> None:
        """Tell those that are left, or be done."""
        ending = telling.ending
        if self._is_over or not ending.is_current:
            self._drop(ending)
            return
        leaders: dict[int, list[Place]] = {}
        for place in telling.places:
            leader = self._leader(place)
            if leader is None:
                ending.left.discard(place)  # it was deleted, and all that was in it
            elif leader < 0 or place in self._held_up:
                self._hold(place, ending)
            else:
                leaders.setdefault(leader, []).append(place)
        for node_id, places in leaders.items():
            for portion in portions(places):
                self._lines.add(node_id, Telling(ending, portion))
        if not ending.left:
            self._complete(ending)

    def _leader(self, place: Place) -> int | None:
        """-1 if there is none; None if there is no such partition any more."""
        topic = self._broker.image.topic(place[0])
        if topic is None or place[1] >= topic.record.partitions:
            return None
        record = topic.partition(place[1])
        return -1 if record is None else record.leader

    def _hold(self, place: Place, ending: Ending) -> None:
        for portion in portions([place]):
            self._held_up.add(place, Telling(ending, portion))

    # -- what is waited for

    def _attempt(self, cause: Cause, telling: Telling) -> None:
        """Whether it is there is seen by one of those who wait."""
        if self._is_there(cause, telling):
            self._held_up.over(cause)
            self._go_on_soon(telling)
        elif (leader := self._only_leader(telling)) >= 0:
            self._lines.add(leader, telling._replace(tries=cause))
        else:
            self._held_up.failed(cause, telling)

    def _is_there(self, cause: Cause, telling: Telling) -> bool:
        """Or whether this one waits for something else by now."""
        if isinstance(cause, Shard):
            return cause.is_over or (cause.is_true and not cause.is_held_up)
        if not telling.ending.is_current:
            return True
        leaders = {self._leader(place) for place in telling.places}
        if isinstance(cause, int):
            return leaders != {cause}
        return any(leader is None or leader in self._held_up for leader in leaders)

    def _only_leader(self, telling: Telling) -> int:
        leaders = {self._leader(place) for place in telling.places}
        leader = leaders.pop() if len(leaders) == 1 else None
        return -1 if leader is None else leader

    # -- telling

    async def _tell(self, node_id: int, tellings: list[Telling]) -> None:
        tellings = [each for each in tellings if self._is_wanted(node_id, each)]
        if not tellings:
            return
        markers = [each.ending.marker(each.places) for each in tellings]
        told: list[dict[Place, int]] | None = None
        try:
            told = await self._asking.ask(
                node_id,
                WriteTxnMarkersRequest(markers),
                VERSION,
                WriteTxnMarkersResponse,
                errors_in,
            )
        except (OSError, TimeoutError, Malformed, Refused) as problem:
            log.warning("broker %d takes no ends of transactions: %s", node_id, problem)
        finally:
            for number, telling in enumerate(tellings):
                if told is None:
                    self._not_reached(node_id, telling)
                    continue
                self._told(node_id, telling, told[number] if number < len(told) else {})
                if not telling.ending.left:
                    self._over(telling.ending, at_once=number < COMPLETED_AT_ONCE)

    def _is_wanted(self, node_id: int, telling: Telling) -> bool:
        """Not if the broker could not be reached since the telling was put in line."""
        if not telling.ending.is_current:
            self._drop(telling.ending)
            if telling.tries is not None:
                self._held_up.over(telling.tries)
            return False
        if node_id in self._held_up and telling.tries != node_id:
            self._not_reached(node_id, telling)
            return False
        return True

    def _not_reached(self, node_id: int, telling: Telling) -> None:
        if self._is_over:
            return
        tries, telling = telling.tries, telling._replace(tries=None)
        if tries == node_id:
            self._held_up.failed(node_id, telling)
            return
        self._held_up.add(node_id, telling)
        if tries is not None:
            self._held_up.over(tries)

    def _told(self, node_id: int, telling: Telling, errors: dict[Place, int]) -> None:
        """What was not done is up to the partition: its leader may be another one by now, or its
        followers slow."""
        ending, _, tries = telling
        if tries == node_id:
            self._held_up.over(node_id)
        for place in telling.places:
            if errors.get(place) in DONE:
                ending.left.discard(place)
                if tries == place:
                    self._held_up.over(place)
            elif tries == place:
                self._held_up.failed(place, telling._replace(tries=None))
            else:
                self._hold(place, ending)

    # -- the end

    def _over(self, ending: Ending, *, at_once: bool) -> None:
        if at_once:
            self._complete(ending)
        else:
            self._turns.add(partial(self._complete, ending))

    def _complete(self, ending: Ending) -> None:
        shard = ending.shard
        if self._is_over or not ending.is_current:
            self._drop(ending)
        elif not shard.is_true or shard.is_held_up:
            self._held_up.add(shard, Telling(ending, Portion()))
        else:
            self._write_end(ending)

    def _write_end(self, ending: Ending) -> None:
        try:
            ending.shard.look_after(ending.transaction, complete)
        except Exception:
            log.exception("the end of transaction %.300s was not noted", ending.transaction.name)
            self._held_up.add(ending.shard, Telling(ending, Portion()))
        else:
            self._drop(ending)
        self._broker.endings.over(ending.transaction.name)
        self._door.settle(patient=ending.shard.leader)  # the next to begin has it synced, too

    def _drop(self, ending: Ending) -> None:
        if self._endings.get(ending.transaction) is ending:
            del self._endings[ending.transaction]
