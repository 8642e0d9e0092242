"""Consumers of KIP-848 that do what they are told, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from tests.coordination.group.consumer.stage import Stage

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.reconciling import together
from penstock.coordination.group.consumer.records import assignment_of, listed
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k68_consumer_group_heartbeat import TopicPartitions

LOST = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)


class Client:
    def __init__(
        self, stage: Stage, member_id: str, *topics: str, regex: str | None = None
    ) -> None:
        self.stage = stage
        self.id = member_id
        self.topics = topics
        self.regex = regex
        self.instance_id: str | None = None
        self.epoch = 0
        self.owned: Assignment = {}
        self.is_unsure = False
        """The last answer did not come: it says everything again."""
        self.is_wordy = False
        """It says everything each time."""

    def beat(self, *, is_lost: bool = False) -> bool:
        """A heartbeat, whose answer may be lost; True if it brought anything new."""
        says_all = self.epoch == 0 or self.is_unsure or self.is_wordy
        try:
            answer = self.stage.beat(
                self.id,
                self.epoch,
                instance_id=self.instance_id,
                rebalance_timeout_ms=30_000 if says_all else -1,
                subscribed_topic_names=list(self.topics) if says_all else None,
                subscribed_topic_regex=self.regex if says_all else None,
                topic_partitions=self.named(says_all),
            )
        except Refused as refused:
            if refused.code not in LOST:
                raise
            self.epoch = 0
            self.drop()
            return True
        if is_lost:
            self.is_unsure = True
            return True
        before = self.epoch, self.owned
        self.epoch, self.is_unsure = answer.member_epoch, False
        told = answer.assignment
        news = self.hear(assignment_of(told.topic_partitions) if told else None)
        return news or before != (self.epoch, self.owned)

    def named(self, says_all: bool) -> list[TopicPartitions] | None:
        """What it says that it has."""
        return listed(self.owned, TopicPartitions)

    def hear(self, told: Assignment | None) -> bool:
        """True if there is something left to be done."""
        if told is not None:
            self.owned = told
        return False

    def take_up(self) -> None:
        """Do what is left to be done."""

    def drop(self) -> None:
        self.owned = {}

    def leave(self) -> None:
        self.drop()
        if self.epoch:
            self.stage.beat(self.id, -1, instance_id=self.instance_id)

    @property
    def claimed(self) -> Assignment:
        """What it has, or will have whatever it is told meanwhile."""
        return self.owned

    @property
    def count(self) -> int:
        return sum(map(len, self.owned.values()))


class SlowClient(Client):
    """As real ones: it takes up later what it is told, and ends what it has begun whatever it is
    told meanwhile. It names what it has when that is done, or when it says everything.

    librdkafka goes on to the next when that was answered, and does not tell of what it has already;
    the Java client (`is_hasty`) goes on at once, and tells of everything.
    """

    is_hasty = False
    begun: Assignment | None = None
    next: Assignment | None = None
    tells = False

    def named(self, says_all: bool) -> list[TopicPartitions] | None:
        if not says_all and not self.tells:
            return None
        named = listed(self.owned, TopicPartitions)
        if self.is_hasty:
            self.tells = False
            self._begin_next()
        return named

    def hear(self, told: Assignment | None) -> bool:
        self.tells = self.tells and self.is_hasty
        if told is not None:
            self.next = told
        self._begin_next()
        return self.begun is not None or self.tells

    def _begin_next(self) -> None:
        if self.begun is None and not self.tells:
            if self.next is not None and (self.is_hasty or self.next != self.owned):
                self.begun = self.next
            self.next = None

    def take_up(self) -> None:
        if self.begun is not None:
            self.owned, self.begun, self.tells = self.begun, None, True

    @property
    def claimed(self) -> Assignment:
        return together(self.owned, self.begun or {})

    def drop(self) -> None:
        self.owned, self.begun, self.next, self.tells = {}, None, None, False


def settle(stage: Stage, clients: Sequence[Client]) -> None:
    """Heartbeats until nothing changes any more."""
    for _ in range(60):
        stage.pass_ms(500)
        news = [client.beat() for client in clients]
        for client in clients:
            client.take_up()
        if not any(news) and not stage.body.is_assigning:
            return
    raise AssertionError("the group does not come to rest")


def check_nothing_is_shared(stage: Stage, clients: Sequence[Client]) -> None:
    owners: dict[tuple[bytes, int], str] = {}
    for client in clients:
        for topic, partitions in client.claimed.items():
            for partition in partitions:
                assert (topic, partition) not in owners
                owners[topic, partition] = client.id
                assert stage.body.members[client.id].holding.has((topic, partition))
    for place, owner in stage.body.owners.items():
        assert stage.body.members[owner].holding.has(place)
