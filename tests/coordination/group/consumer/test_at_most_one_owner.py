"""Whatever happens to a group, no two of its consumers have a partition at a time."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.coordination.group.consumer.clients import Client, check_nothing_is_shared, settle
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination import pace
from penstock.coordination.group import protocols
from penstock.coordination.group.consumer import making, searches, targets
from penstock.coordination.group.consumer.interests import hash_of, sized
from penstock.coordination.regexes import matching

TOPICS = ["orders", "payments", "returns"]
WISHES = st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3, unique=True)
PICK = st.integers(0, 1_000)


class Life(RuleBasedStateMachine):
    @initialize(assignor=st.sampled_from(["uniform", "range"]))
    def begin(self, assignor: str) -> None:
        self.stage = Stage(group_consumer_assignors=(assignor,))
        self.clients: list[Client] = []
        self.names = 0
        self.stage.create("orders", 4)

    def pick(self, number: int) -> Client:
        return self.clients[number % len(self.clients)]

    @rule(topics=WISHES, is_static=st.booleans())
    def joins(self, topics: list[str], is_static: bool) -> None:
        if len(self.clients) < 6:
            self.names += 1
            client = Client(self.stage, f"m{self.names}", *topics)
            client.instance_id = f"i{self.names}" if is_static else None
            self.clients.append(client)
            client.beat()

    @rule(regex=st.sampled_from(["orders|returns", ".*", "p.*", "nothing"]))
    def joins_by_expression(self, regex: str) -> None:
        if len(self.clients) < 6:
            self.names += 1
            self.clients.append(Client(self.stage, f"m{self.names}", regex=regex))
            self.clients[-1].beat()

    @precondition(lambda self: self.clients)
    @rule(number=PICK, is_lost=st.booleans())
    def beats(self, number: int, is_lost: bool) -> None:
        self.pick(number).beat(is_lost=is_lost)

    @precondition(lambda self: self.clients)
    @rule(number=PICK, topics=WISHES)
    def wants_other_topics(self, number: int, topics: list[str]) -> None:
        client = self.pick(number)
        client.topics, client.is_unsure = tuple(topics), True
        client.beat()

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def leaves(self, number: int) -> None:
        client = self.pick(number)
        self.clients.remove(client)
        client.leave()

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def is_killed(self, number: int) -> None:
        self.clients.remove(self.pick(number))

    @precondition(lambda self: self.clients)
    @rule(number=PICK, comes_back=st.booleans())
    def a_static_one_is_restarted(self, number: int, comes_back: bool) -> None:
        client = self.pick(number)
        if client.instance_id is None or not client.epoch or client.is_unsure:
            return
        self.stage.beat(client.id, -2, instance_id=client.instance_id)
        client.drop()
        client.epoch = 0
        self.names += 1
        client.id = f"m{self.names}"
        if comes_back:
            client.beat()
        else:
            self.clients.remove(client)

    @rule(name=st.sampled_from(TOPICS), partitions=st.integers(0, 6))
    def a_topic_changes(self, name: str, partitions: int) -> None:
        topic = self.stage.image.topic(name)
        if not partitions and topic is not None:
            self.stage.delete(name)
        elif partitions and topic is None:
            self.stage.create(name, partitions)
        elif topic is not None and partitions > topic.record.partitions:
            self.stage.grow(name, partitions)

    @rule(seconds=st.sampled_from([0.001, 0.1, 3]))
    def time_passes(self, seconds: float) -> None:
        self.stage.pass_ms(seconds * 1_000)

    @rule()
    def the_dead_are_noticed(self) -> None:
        for _ in range(16):
            self.stage.pass_ms(3_000)
            for client in self.clients:
                client.beat()

    @rule(keeps_ends=st.booleans())
    def another_coordinator_takes_over(self, keeps_ends: bool) -> None:
        self.stage.reload(keeps_ends=keeps_ends)

    @precondition(lambda self: self.clients)
    @rule()
    def all_comes_to_rest(self) -> None:
        self.the_dead_are_noticed()
        settle(self.stage, self.clients)
        self.the_target_is_for_what_is_there()
        body = self.stage.body
        assert body.members.keys() == {client.id for client in self.clients}
        assert body.settled[body.epoch] == len(body.members)
        for topic in self.stage.image.topics.values():
            subscribers = [client for client in self.clients if self.subscribes(client, topic.name)]
            owners = [
                sum(partition in client.owned.get(topic.id, ()) for client in self.clients)
                for partition in range(topic.record.partitions)
            ]
            assert owners == [1 if subscribers else 0] * topic.record.partitions
        if len({(client.topics, client.regex) for client in self.clients}) == 1:
            counts = [client.count for client in self.clients]
            is_uniform = self.stage.config.group_consumer_assignors == ("uniform",)
            assert max(counts) - min(counts) <= (1 if is_uniform else 3)

    def the_target_is_for_what_is_there(self) -> None:
        body, topics = self.stage.body, self.stage.image.topics
        assert body.lookups.is_done
        for text in body.regex_users:
            assert body.regexes[text].topics == matching(text, topics)
        there = [
            sized(topic)
            for topic in topics.values()
            if any(self.subscribes(client, topic.name) for client in self.clients)
        ]
        body.interests.look(topics)
        assert body.metadata_hash == body.interests.hash == hash_of(there)

    def subscribes(self, client: Client, name: str) -> bool:
        resolved = self.stage.body.regexes.get(client.regex or "")
        return name in client.topics or (resolved is not None and name in resolved.topics)

    @invariant()
    def nothing_is_shared(self) -> None:
        if getattr(self, "clients", None):
            check_nothing_is_shared(self.stage, self.clients)


class LargeLife(Life):
    """As if the group were so large that each target takes many turns, with all else between, and
    had so many expressions that each is looked up in turns of its own."""

    @initialize(assignor=st.sampled_from(["uniform", "range"]))
    def begin(self, assignor: str) -> None:
        self.constants = pytest.MonkeyPatch()
        self.constants.setattr(targets, "AT_ONCE_MAX", 0)
        self.constants.setattr(making, "PARTS_A_TURN", 1)
        self.constants.setattr(pace, "COST_A_SLICE", 1)
        self.constants.setattr(searches, "SLICE_CHARS", 20)
        self.constants.setattr(searches, "AT_ONCE_CHARS", 0)
        super().begin(assignor)

    @rule(turns=st.integers(1, 5))
    def the_target_comes_nearer(self, turns: int) -> None:
        for _ in range(turns):
            self.stage.run(protocols.expire)

    def teardown(self) -> None:
        self.constants.undo()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLargeLife = LargeLife.TestCase
TestLargeLife.settings = TestLife.settings
