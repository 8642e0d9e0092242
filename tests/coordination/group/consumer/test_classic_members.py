"""Members of the classic protocol in a group of KIP-848."""

from __future__ import annotations

import pytest
from tests.coordination.group.consumer.answers import refusal
from tests.coordination.group.consumer.classic_clients import ClassicClient
from tests.coordination.group.consumer.clients import Client, settle
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination.group import members
from penstock.coordination.group.consumer import classic_members
from penstock.coordination.group.consumer.commits import check_may_commit, check_may_fetch
from penstock.coordination.group.consumer.requests import TOPICS_MAX
from penstock.errors import ErrorCode


def rest(stage: Stage, natives: list[Client], classics: list[ClassicClient]) -> None:
    for _ in range(30):
        stage.pass_ms(500)
        news = [client.beat() for client in natives]
        news += [client.go_on() for client in classics]
        if not any(news):
            return
    raise AssertionError("the group does not come to rest")


@pytest.mark.parametrize("is_eager", [True, False])
def test_a_classic_member_gets_its_part_and_nobody_leads(is_eager: bool) -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    classic = ClassicClient(stage, "orders", is_eager=is_eager)
    answer = classic.join()
    assert (answer.leader, answer.protocol_name, answer.members) == ("", "range", [])
    assert classic.sync() == {}
    rest(stage, [native], [classic])
    assert len(native.owned[topic]) == len(classic.owned[topic]) == 2
    assert not native.owned[topic] & classic.owned[topic]


@pytest.mark.parametrize("is_eager", [True, False])
def test_a_classic_member_gives_up_what_others_are_to_have(is_eager: bool) -> None:
    stage = Stage()
    topic = stage.create("orders", 6)
    native = Client(stage, "m1", "orders")
    classic = ClassicClient(stage, "orders", is_eager=is_eager)
    settle(stage, [native])
    classic.join()
    classic.sync()
    rest(stage, [native], [classic])
    before = classic.owned[topic]
    other = Client(stage, "m2", "orders")
    other.beat()
    assert classic.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    rest(stage, [native, other], [classic])
    assert classic.owned[topic] < before
    assert len(other.owned[topic]) == 2


def test_a_cooperative_member_keeps_its_epoch_until_it_has_given_up_its_part() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    classic = ClassicClient(stage, "orders", is_eager=False)
    settle(stage, [native])
    classic.join()
    classic.sync()
    rest(stage, [native], [classic])
    generation = classic.generation
    stage.create("unrelated", 1)
    others = [Client(stage, f"n{number}", "orders") for number in range(2)]
    for other in others:
        other.beat()
        stage.pass_ms(100)
    assert classic.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert classic.join().generation_id == generation
    assert len(classic.sync()[topic]) == 1
    assert classic.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert classic.join().generation_id > generation


def test_a_classic_member_that_is_told_to_join_and_does_not_is_removed() -> None:
    stage = Stage()
    stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    classic = ClassicClient(stage, "orders")
    classic.join()
    classic.sync()
    rest(stage, [native], [classic])
    stage.grow("orders", 5)
    for _ in range(25):
        stage.pass_ms(1_000)
        native.beat()
        if classic.id in stage.body.members:
            assert classic.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert classic.beat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_that_never_syncs_is_removed() -> None:
    stage = Stage()
    stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    classic = ClassicClient(stage, "orders")
    classic.join()
    for _ in range(25):
        stage.pass_ms(1_000)
        native.beat()
        classic.beat()
    assert list(stage.body.members) == ["m1"]


def test_a_classic_member_has_its_own_session_timeout() -> None:
    stage = Stage()
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    classic = ClassicClient(stage, "orders")
    classic.join()
    classic.sync()
    stage.pass_ms(10_001)
    assert list(stage.body.members) == ["m1"]


def test_other_protocols_cannot_share_the_group() -> None:
    stage = Stage()
    Client(stage, "m1", "orders").beat()
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    connect = ClassicClient(stage, "orders", protocol_type="connect")
    assert refusal(connect.ask_to_join) == inconsistent
    broken = ClassicClient(stage, "orders")
    broken.metadata = b"?"
    assert refusal(broken.ask_to_join) == inconsistent
    ClassicClient(stage, "orders", protocol="range").join()
    sticky = ClassicClient(stage, "orders", protocol="sticky")
    assert refusal(sticky.ask_to_join) == inconsistent


def test_what_a_classic_member_may_not_do_is_refused() -> None:
    stage = Stage()
    stage.create("orders", 1)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    classic = ClassicClient(stage, "orders")
    classic.join()
    classic.generation += 1
    assert classic.beat() == ErrorCode.ILLEGAL_GENERATION
    assert refusal(classic.ask_to_sync) == ErrorCode.ILLEGAL_GENERATION
    classic.generation -= 1
    classic.protocol = "sticky"
    assert refusal(classic.ask_to_sync) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    classic.id = "m1"
    assert classic.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(classic.leave) == ErrorCode.UNKNOWN_MEMBER_ID


def test_several_members_can_be_removed_at_once() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    stage.join("m2", "orders", instance_id="i2")
    classic = ClassicClient(stage, "orders")
    classic.join()
    codes = stage.run(
        lambda turn, group: classic_members.leave_each(
            turn, group, stage.body, [("", "i2"), (classic.id, None), ("m1", None), ("", "i9")]
        )
    )
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert codes == [ErrorCode.NONE, ErrorCode.NONE, unknown, unknown]
    settle(stage, [native])
    assert native.owned == {topic: {0, 1, 2, 3}}


def test_a_static_classic_member_takes_its_place_without_a_rebalance() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    classic = ClassicClient(stage, "orders", instance_id="i1")
    classic.join()
    classic.sync()
    rest(stage, [native], [classic])
    epoch, before = stage.body.epoch, classic.owned
    again = ClassicClient(stage, "orders", instance_id="i1")
    again.join()
    assert again.sync() == before
    assert stage.body.epoch == epoch
    assert classic.beat() == ErrorCode.FENCED_INSTANCE_ID
    assert not again.owned[topic] & native.owned[topic]


def test_a_static_member_may_come_back_with_the_new_protocol() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    classic = ClassicClient(stage, "orders", instance_id="i1")
    classic.join()
    classic.sync()
    rest(stage, [native], [classic])
    back = Client(stage, "m2", "orders")
    back.instance_id = "i1"
    back.beat()
    assert back.owned[topic] == classic.owned[topic]
    assert classic.id not in stage.body.members


def test_commits_are_taken_of_members_at_their_epoch() -> None:
    stage = Stage()
    stage.create("orders", 2)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    classic = ClassicClient(stage, "orders")
    classic.join()

    def commit(member_id: str, instance_id: str | None, epoch: int) -> None:
        stage.run(lambda turn, _: check_may_commit(turn, stage.body, member_id, instance_id, epoch))

    commit("m1", None, native.epoch)
    commit(classic.id, None, classic.generation)
    assert refusal(commit, "m1", None, native.epoch - 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert refusal(commit, classic.id, None, 99) == ErrorCode.ILLEGAL_GENERATION
    assert refusal(commit, "m9", None, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(commit, "m1", "i9", native.epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(commit, "", None, -1) == ErrorCode.UNKNOWN_MEMBER_ID
    check_may_fetch(stage.body, None, -1)
    check_may_fetch(stage.body, "m1", native.epoch)
    assert refusal(check_may_fetch, stage.body, "m1", 99) == ErrorCode.STALE_MEMBER_EPOCH
    assert refusal(check_may_fetch, stage.body, "m9", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_takes_commits_of_anyone() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    stage.beat("m1", -1)
    stage.run(lambda turn, _: check_may_commit(turn, stage.body, "", None, -1))


@pytest.mark.parametrize("is_reloaded", [True, False])
def test_a_protocol_that_a_member_names_twice_counts_once(is_reloaded: bool) -> None:
    stage = Stage()
    stage.create("orders", 4)
    stage.join("m1", "orders")
    first = ClassicClient(stage, "orders")
    first.protocols = ["x", "x", "y"]
    first.join()
    if is_reloaded:
        stage.reload()
    ClassicClient(stage, "orders", protocol="y").join()
    stranger = ClassicClient(stage, "orders", protocol="x")
    assert refusal(stranger.ask_to_join) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("more", [0, 1])
def test_a_classic_member_subscribes_to_no_more_topics_than_others(more: int) -> None:
    stage = Stage()
    stage.create("orders", 4)
    settle(stage, [Client(stage, "m1", "orders")])
    names = [f"t{number}" for number in range(TOPICS_MAX + more)]
    classic = ClassicClient(stage, *names)
    if more:
        assert refusal(classic.ask_to_join) == ErrorCode.INVALID_REQUEST
        assert len(stage.body.members) == 1
    else:
        assert classic.join().error_code == ErrorCode.NONE


def test_classic_members_together_may_say_so_much_of_themselves_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    stage.create("orders", 4)
    settle(stage, [Client(stage, "m1", "orders")])
    one, two = ClassicClient(stage, "orders"), ClassicClient(stage, "orders")
    one.join()
    said = stage.body.classic_bytes
    assert said == len(one.subscription())
    monkeypatch.setattr(members, "METADATA_BYTES_MAX", 2 * said - 1)
    assert refusal(two.join) == ErrorCode.GROUP_MAX_SIZE_REACHED
    one.join()
    monkeypatch.setattr(members, "METADATA_BYTES_MAX", 2 * said)
    two.join()
    assert stage.body.classic_bytes == 2 * said
