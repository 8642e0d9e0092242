"""Consumers of KIP-848 that do what they are told, for tests."""

from __future__ import annotations

from tests.coordination.group.consumer.stage import Stage

from penstock.coordination.group.assignors import Assignment
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

    def beat(self, *, is_lost: bool = False) -> bool:
        """A heartbeat, whose answer may be lost; True if it brought anything new."""
        says_all = self.epoch == 0 or self.is_unsure
        try:
            answer = self.stage.beat(
                self.id,
                self.epoch,
                instance_id=self.instance_id,
                rebalance_timeout_ms=30_000 if says_all else -1,
                subscribed_topic_names=list(self.topics) if says_all else None,
                subscribed_topic_regex=self.regex if says_all else None,
                topic_partitions=listed(self.owned, TopicPartitions),
            )
        except Refused as refused:
            if refused.code not in LOST:
                raise
            self.epoch, self.owned = 0, {}
            return True
        if is_lost:
            self.is_unsure = True
            return True
        before = self.epoch, self.owned
        self.epoch, self.is_unsure = answer.member_epoch, False
        if answer.assignment is not None:
            self.owned = assignment_of(answer.assignment.topic_partitions)
        return before != (self.epoch, self.owned)

    def leave(self) -> None:
        self.owned = {}
        if self.epoch:
            self.stage.beat(self.id, -1, instance_id=self.instance_id)

    @property
    def count(self) -> int:
        return sum(map(len, self.owned.values()))


def settle(stage: Stage, clients: list[Client]) -> None:
    """Heartbeats until nothing changes any more."""
    for _ in range(60):
        stage.pass_ms(500)
        news = [client.beat() for client in clients]
        if not any(news) and not stage.body.is_assigning:
            return
    raise AssertionError("the group does not come to rest")


def check_nothing_is_shared(stage: Stage, clients: list[Client]) -> None:
    owners: dict[tuple[bytes, int], str] = {}
    for client in clients:
        for topic, partitions in client.owned.items():
            for partition in partitions:
                assert (topic, partition) not in owners
                owners[topic, partition] = client.id
                assert stage.body.members[client.id].holding.has((topic, partition))
    for place, owner in stage.body.owners.items():
        assert stage.body.members[owner].holding.has(place)
