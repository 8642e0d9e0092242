"""How a topic loses partitions: closed, reopened, cut over, sealed, and grown again."""

from __future__ import annotations

import pytest
from tests.metadata.reducing_stage import NONCE, SEALED, SHOWN, Stage
from tests.metadata.staging import ID, broker

from penstock.errors import Refused
from penstock.metadata.changes import add_partitions, delete_topic
from penstock.metadata.election import WantedIsr, change_isr, resign, settle_partitions
from penstock.metadata.image import Image
from penstock.metadata.records import PartitionRecord, decode, encode
from penstock.metadata.reducing import close, cut_over, drop_sealed, is_closed, reopen
from penstock.metadata.store import Entry

SEALED_NAME = "orders.sealed-1"


@pytest.fixture
def stage() -> Stage:
    return Stage("", "", "", replication=2)


def records(stage: Stage, name: str = "orders") -> list[PartitionRecord]:
    found = stage.image.topics[name].partitions
    return [each for each in found if each is not None]


def test_closing_partitions_are_closed_in_a_new_term_and_the_others_are_not(stage: Stage) -> None:
    stage.begin()
    before = records(stage)
    assert not is_closed(stage.orders)
    stage.close(now_ms=7)
    after = records(stage)
    assert after[:2] == before[:2]
    assert [each.is_closed for each in after] == [False] * 2 + [True] * 4
    assert [each.leader_epoch for each in after[2:]] == [
        each.leader_epoch + 1 for each in before[2:]
    ]
    assert is_closed(stage.orders)
    assert stage.orders.record.closing is not None
    assert stage.orders.record.closing.closed_ms == 7


def test_all_partitions_are_closed_where_the_new_number_does_not_divide_the_old_one(
    stage: Stage,
) -> None:
    """Keys move between those that stay, too."""
    stage.begin(4)
    before = records(stage)
    stage.apply(close(stage.image, ID, nonce=NONCE, now_ms=7))
    stage.apply(settle_partitions(stage.image, [(ID, index) for index in range(1, 6)]))
    assert not is_closed(stage.orders), "the first is open yet"
    stage.settle()
    assert is_closed(stage.orders)
    terms = [each.leader_epoch for each in records(stage)]
    assert terms == [each.leader_epoch + 1 for each in before]


def test_partitions_that_stay_are_opened_after_the_cut_over(stage: Stage) -> None:
    stage.begin(4)
    stage.close()
    stage.cut_over()
    assert [each.is_closed for each in records(stage)] == [True] * 4
    terms = [each.leader_epoch for each in records(stage)]
    stage.settle()
    assert [each.is_closed for each in records(stage)] == [False] * 4
    assert [each.leader_epoch for each in records(stage)] == terms
    assert not any(each.is_closed for each in records(stage, SEALED_NAME))


def test_partitions_are_not_closed_twice_nor_where_none_are_closing(stage: Stage) -> None:
    assert not close(stage.image, ID, nonce=NONCE, now_ms=1).answer
    stage.begin()
    stage.close()
    assert not close(stage.image, ID, nonce=NONCE, now_ms=1).answer


def test_partitions_that_were_closed_in_vain_are_opened_again_with_the_reason(
    stage: Stage,
) -> None:
    stage.begin()
    stage.close()
    commit = reopen(stage.image, ID, nonce=NONCE, now_ms=9, reason="a group is slow")
    stage.apply(commit)
    stage.settle()
    closing = stage.orders.record.closing
    assert closing is not None
    assert (closing.closed_ms, closing.reopened_ms, closing.reason) == (0, 9, "a group is slow")
    assert not any(each.is_closed for each in records(stage))


def test_cancelling_opens_what_was_closed(stage: Stage) -> None:
    stage.begin()
    stage.close()
    stage.set(partitions_open=None)
    stage.settle()
    assert not any(each.is_closed for each in records(stage))


def test_leaders_change_nothing_of_a_closed_partition(stage: Stage) -> None:
    stage.begin()
    stage.close()
    for index, is_changed in ((0, True), (2, False)):
        record = records(stage)[index]
        wanted = {(ID, index): WantedIsr(record.leader_epoch, frozenset({record.leader}))}
        epoch = stage.image.brokers[record.leader].epoch
        commit = change_isr(stage.image, record.leader, wanted, broker_epoch=epoch)
        assert bool(commit.puts) == is_changed


def test_whoever_changes_a_closed_partition_all_the_same_is_noticed(stage: Stage) -> None:
    stage.begin()
    stage.close()
    planned = cut_over(stage.image, ID, shown_id=SHOWN, sealed_id=SEALED, now_ms=1)
    stage.apply(resign(stage.image, 2, lambda topic, index: index >= 2))
    assert stage.revisions["/catalog"] != dict(planned.checks)["/catalog"]


def test_at_the_cut_over_one_commit_shows_fewer_partitions_under_a_new_id(stage: Stage) -> None:
    stage.set(retention_ms="5")
    stage.begin()
    stage.close()
    before = records(stage)
    changed = stage.cut_over()
    topic = stage.orders
    assert topic.record.partitions == len(topic.partitions) == 2
    assert records(stage) == before[:2]
    assert (topic.id, topic.shown_id, topic.record.former_ids) == (ID, SHOWN, (ID,))
    assert topic.record.configs == {"retention.ms": "5"}
    assert topic.record.closing is None
    assert changed.reduced == {ID: range(2, 6)}
    assert stage.image.partition(ID, 2) is None


def test_the_others_are_a_topic_of_their_own_from_then_on(stage: Stage) -> None:
    stage.set(retention_ms="5")
    stage.begin()
    stage.close()
    before = records(stage)[2:]
    changed = stage.cut_over()
    sealed = stage.image.topics[SEALED_NAME]
    assert list(changed.created) == [sealed.id] == [SEALED]
    assert sealed.record.configs == {"retention.ms": "5"}
    assert sealed.record.sealed is not None
    assert (sealed.record.sealed.name, sealed.record.sealed.first) == ("orders", 2)
    assert [sealed.log_id(index) for index in range(4)] == [ID] * 4
    for was, now in zip(before, records(stage, SEALED_NAME), strict=True):
        assert (now.replicas, now.leader, now.isr) == (was.replicas, was.leader, was.isr)
        assert now.leader_epoch > was.leader_epoch
        assert not now.is_closed


def test_nothing_is_cut_over_before_all_are_closed(stage: Stage) -> None:
    stage.begin()
    stage.apply(close(stage.image, ID, nonce=NONCE, now_ms=1))
    stage.apply(settle_partitions(stage.image, [(ID, 2), (ID, 3)]))
    assert not cut_over(stage.image, ID, shown_id=SHOWN, sealed_id=SEALED, now_ms=1).puts


def test_only_the_controller_of_the_term_cuts_over(stage: Stage) -> None:
    stage.begin()
    stage.close()
    commit = cut_over(stage.image, ID, shown_id=SHOWN, sealed_id=SEALED, now_ms=1)
    term = "/term", stage.revisions["/term"]
    assert term in commit.checks
    assert term in commit.ahead_checks


def test_hundreds_of_partitions_go_in_one_commit_that_all_see() -> None:
    stage = Stage("", partitions=350)
    stage.reduce(1)
    assert stage.orders.record.partitions == 1
    assert len(records(stage, SEALED_NAME)) == 349


def test_clients_find_the_topic_by_the_new_id_and_are_understood_by_the_old_one(
    stage: Stage,
) -> None:
    stage.reduce()
    shown = stage.image.shown
    assert shown.topic(SHOWN) is stage.orders
    assert shown.topic(ID) is None
    assert shown.topic_meant(ID) is stage.orders
    stage.apply(delete_topic(stage.image, "orders", nonce=NONCE))
    assert shown.topic(SHOWN) is shown.topic_meant(ID) is None


def test_a_sealed_topic_whose_name_is_taken_gets_the_next_one(stage: Stage) -> None:
    stage.create("orders_sealed-1", topic_id=b"t" * 16)
    stage.reduce()
    assert "orders.sealed-2" in stage.image.topics


def test_partitions_that_come_after_others_have_logs_of_their_own(stage: Stage) -> None:
    stage.reduce()
    epochs = [each.leader_epoch for each in records(stage, SEALED_NAME)]
    stage.apply(add_partitions(stage.image, "orders", 7, nonce=NONCE))
    topic = stage.orders
    assert [topic.log_id(index) for index in range(7)] == [ID] * 2 + [SHOWN] * 5
    assert set(topic.log_ids) == {ID, SHOWN}
    again = [each.leader_epoch for each in records(stage)[2:6]]
    assert again == epochs, "terms go on after those that clients have seen"
    assert not any(each.is_closed for each in records(stage))


def test_a_partition_is_newer_than_who_knows_what_was_in_its_place_before(stage: Stage) -> None:
    stage.reduce()
    stage.apply(add_partitions(stage.image, "orders", 4, nonce=NONCE))
    first = records(stage)[3].leader_epoch
    nameless, topic = bytes(16), stage.orders
    assert topic.is_newer(3, ID, -1), "by an id of before"
    assert topic.is_newer(3, nameless, first - 1), "by a leader of before"
    assert not topic.is_newer(3, SHOWN, -1)
    assert not topic.is_newer(3, nameless, first)
    assert not topic.is_newer(3, nameless, -1), "it may be either"
    assert not topic.is_newer(0, ID, 0), "it was there all the time"
    stage.reduce(3, b"t" * 16, b"y" * 16)
    assert not stage.orders.is_newer(2, SHOWN, -1), "it is the same as under that id"
    assert stage.orders.is_newer(2, ID, -1)


def test_a_topic_can_be_reduced_again_after_it_has_grown(stage: Stage) -> None:
    stage.reduce()
    stage.apply(add_partitions(stage.image, "orders", 4, nonce=NONCE))
    stage.reduce(1, b"t" * 16, b"y" * 16)
    sealed = stage.image.topics["orders.sealed-2"]
    assert [sealed.log_id(index) for index in range(3)] == [ID, SHOWN, SHOWN]
    assert set(sealed.log_ids) == {sealed.id, ID, SHOWN}
    assert stage.orders.record.former_ids == (SHOWN, ID)
    assert stage.orders.log_ids == (ID,)


def test_a_sealed_topic_grows_no_more(stage: Stage) -> None:
    stage.reduce()
    with pytest.raises(Refused, match="is sealed"):
        add_partitions(stage.image, SEALED_NAME, 9, nonce=NONCE)


def test_only_sealed_topics_are_dropped(stage: Stage) -> None:
    stage.reduce()
    assert not drop_sealed(stage.image, ID, nonce=NONCE).answer
    stage.apply(drop_sealed(stage.image, SEALED, nonce=NONCE))
    assert SEALED_NAME not in stage.image.topics


def test_a_deleted_topic_leaves_no_records_of_partitions_it_once_had(stage: Stage) -> None:
    stage.reduce()
    stage.apply(delete_topic(stage.image, "orders", nonce=NONCE))
    assert not any(key.startswith(f"/partitions/{ID.hex()}") for key in stage.revisions)


def test_a_topic_can_be_deleted_while_it_is_closed(stage: Stage) -> None:
    stage.begin()
    stage.close()
    stage.apply(delete_topic(stage.image, "orders", nonce=NONCE))
    assert not cut_over(stage.image, ID, shown_id=SHOWN, sealed_id=SEALED, now_ms=1).puts


def test_a_leader_that_was_started_anew_begins_a_term_in_the_sealed_topic(stage: Stage) -> None:
    stage.begin()
    stage.close()
    stage.lose(1)
    again = broker(1, clean=False)
    stage.register(again, "session 1b")
    terms = [each.leader_epoch for each in records(stage)[2:]]
    stage.cut_over()
    assert [each.leader_epoch for each in records(stage, SEALED_NAME)] == [n + 1 for n in terms]


def test_who_comes_back_after_all_of_it_sees_the_same(stage: Stage) -> None:
    stage.reduce()
    stage.apply(add_partitions(stage.image, "orders", 4, nonce=NONCE))
    later = Image()
    entries = [Entry(key, encode(record), revision) for key, record, revision in stage.image.held()]
    later.load(entries, stage.now)
    assert later.topics["orders"].record == stage.orders.record
    assert later.shown.topic(SHOWN) is later.topics["orders"]
    assert records(stage) == [each for each in later.topics["orders"].partitions if each]


def test_a_partitions_record_of_before_is_open_and_has_its_topics_id() -> None:
    known = b'{"version":1,"replicas":[1],"leader":1,"isr":[1]}'
    record = decode(PartitionRecord, "/partitions/0", known)
    assert not record.is_closed
    assert not record.log_id
