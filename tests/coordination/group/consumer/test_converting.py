"""What a classic group becomes is made ready ahead of the turn, and dropped if it has changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.coordination.group.consumer.classic_clients import ClassicClient, plan, running
from tests.coordination.group.consumer.stage import HOST, NAME, Stage

from penstock.coordination.group.assignors import at_once
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import converting, upgrading
from penstock.coordination.group.consumer.converting import Conversion
from penstock.coordination.group.consumer.heartbeat import heartbeat
from penstock.coordination.group.consumer.upgrading import make_ready
from penstock.coordination.pace import COST_A_SLICE
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


class Changing:
    def __init__(self, members: int = 3) -> None:
        self.stage = Stage()
        self.topic = self.stage.create("orders", 4)
        self.clients = [ClassicClient(self.stage, "orders") for _ in range(members)]
        running(self.stage, self.clients, [plan(orders=[each]) for each in range(members)])

    @property
    def classic(self) -> Classic:
        assert isinstance(self.stage.group.body, Classic)
        return self.stage.group.body

    def made_ready(self) -> Conversion:
        return at_once(make_ready(self.stage.config, self.stage.image, NAME, self.classic))

    def join(self, ready: Conversion | None) -> None:
        request = ConsumerGroupHeartbeatRequest(
            NAME,
            "m1",
            0,
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=["orders"],
            topic_partitions=[],
        )
        self.stage.run(lambda turn, group: heartbeat(turn, group, request, "client", HOST, ready))

    def held(self) -> dict[str, tuple[object, object]]:
        members = self.stage.body.members
        return {each.id: (each.holding, each.profile) for each in members.values()}


def test_what_was_made_ready_makes_the_group_that_it_would_be_without() -> None:
    one, other = Changing(), Changing()
    one.join(one.made_ready())
    other.join(None)
    assert one.held() == other.held()
    assert len(one.held()) == 4
    assert one.stage.log == other.stage.log
    assert one.stage.body.owners == other.stage.body.owners


def test_another_coordinator_reads_back_what_was_made_ready() -> None:
    changing = Changing()
    ready = changing.made_ready()
    changing.join(ready)
    held, owners = changing.held(), changing.stage.body.owners
    changing.stage.reload()
    assert changing.held() == held
    assert changing.stage.body.owners == owners


def test_what_was_made_ready_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    changing = Changing()
    ready = changing.made_ready()
    monkeypatch.setattr(upgrading, "convert", None)
    changing.join(ready)
    assert len(changing.held()) == 4


def comes(changing: Changing) -> None:
    ClassicClient(changing.stage, "orders").ask_to_join()


def wants_something_else(changing: Changing) -> None:
    client = changing.clients[0]
    client.topics = ("returns",)
    client.ask_to_join()


def goes(changing: Changing) -> None:
    changing.classic.remove(changing.classic.members[changing.clients[0].id])


def gets_something_else(changing: Changing) -> None:
    changing.classic.members[changing.clients[0].id].assignment = plan(orders=[3])


def topic_is_another(changing: Changing) -> None:
    changing.stage.delete("orders")
    changing.stage.create("orders", 4)


@pytest.mark.parametrize(
    "change", [comes, wants_something_else, goes, gets_something_else, topic_is_another]
)
def test_what_was_made_ready_for_another_group_is_dropped(
    change: Callable[[Changing], None],
) -> None:
    one, other = Changing(), Changing()
    ready = one.made_ready()
    assert ready.is_for(one.stage.image, one.classic)
    for each in (one, other):
        change(each)
    assert not ready.is_for(one.stage.image, one.classic)
    one.join(ready)
    other.join(None)
    assert one.held() == other.held()


def test_many_are_made_ready_with_pauses() -> None:
    changing = Changing(1)
    body = changing.classic
    (known,) = body.members.values()
    for number in range(2 * COST_A_SLICE // converting.READ_COST):
        body.members[f"c{number}"] = known
    steps = list(make_ready(changing.stage.config, changing.stage.image, NAME, body))
    assert len(steps) >= 4
