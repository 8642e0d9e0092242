"""InitProducerId, AddPartitionsToTxn and AddOffsetsToTxn as each version says it; what tools see of
transactions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.api.desk import Desk
from tests.api.transacting import (
    BROKER,
    NAME,
    SETTINGS,
    TIMEOUT_MS,
    Office,
    add,
    add_offsets,
    end,
    init,
)

from penstock.api.coordinator import TAKE_UP_AGAIN_MS
from penstock.coordination.transaction.beginning import NEVER_MS
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import EPOCH_GIVEN_MAX, Identity, State
from penstock.coordination.transaction.writing import write
from penstock.errors import ErrorCode
from penstock.log import steps
from penstock.metadata.changes import delete_topic
from penstock.metadata.internal_topics import OFFSETS, TRANSACTIONS
from penstock.wire.codec import Message
from penstock.wire.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from penstock.wire.messages.k65_describe_transactions import DescribeTransactionsRequest
from penstock.wire.messages.k66_list_transactions import ListTransactionsRequest


def codes_of(answer: Any) -> dict[int, int]:
    return {
        part.partition_index: part.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    }


# -- InitProducerId


@pytest.mark.parametrize("version", range(7))
def test_every_version_begins_with_a_transactional_id(office: Office, version: int) -> None:
    asked = office.ask(init(), version)
    assert asked.is_waiting, "not before it is safe"
    office.sync()
    assert asked.answer.error_code == ErrorCode.NONE
    assert (asked.answer.producer_id, asked.answer.producer_epoch) == office.state.owner


@pytest.mark.parametrize(
    ("version", "code"), [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)]
)
def test_who_goes_on_too_late_is_told_in_the_words_of_its_version(
    office: Office, version: int, code: ErrorCode
) -> None:
    writer = office.begun()
    office.begun()
    assert office.tell(init(writer), version).error_code == code


def test_a_transaction_of_before_is_aborted_and_then_the_next_producer_begins(
    office: Office,
) -> None:
    writer = office.opened()
    office.wrote(writer)
    assert office.tell(init()).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    office.finish()
    answer = office.tell(init())
    assert (answer.error_code, answer.producer_epoch) == (ErrorCode.NONE, writer.epoch + 2)


@pytest.mark.parametrize("timeout_ms", [0, -1, 2**31 - 1])
def test_a_timeout_out_of_range_is_refused(office: Office, timeout_ms: int) -> None:
    answer = office.tell(init(transaction_timeout_ms=timeout_ms))
    assert answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_two_phases_are_refused_where_they_are_not_allowed(
    make_desk: Callable[..., Desk],
) -> None:
    office = Office(make_desk({"transaction.two.phase.commit.enable": "false"}))
    answer = office.tell(init(enable2_pc=True), 6)
    assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.mark.parametrize("name", ["", "x" * 1001])
def test_a_name_that_is_none_is_refused(office: Office, name: str) -> None:
    assert office.tell(init(transactional_id=name)).error_code == ErrorCode.INVALID_REQUEST


# -- AddPartitionsToTxn, AddOffsetsToTxn


@pytest.mark.parametrize("version", range(4))
def test_every_version_of_clients_adds_partitions(office: Office, version: int) -> None:
    writer = office.begun()
    assert codes_of(office.tell(add(writer, 0, 1), version)) == {0: 0, 1: 0}
    assert office.state.partitions == {("orders", 0), ("orders", 1)}


@pytest.mark.parametrize("request_of", [lambda writer: add(writer, 1), add_offsets])
def test_the_next_transaction_waits_until_the_last_one_is_over(
    office: Office, request_of: Callable[[Identity], Message]
) -> None:
    writer = office.opened()
    office.tell(end(writer), 3)
    asked = office.ask(request_of(writer), 3)
    office.sync()
    waiting = [asked.is_waiting]
    office.finish()
    assert [*waiting, asked.is_waiting] == [True, False]
    assert office.phase is Phase.ONGOING
    assert ("orders", 0) not in office.state.partitions


def test_who_waits_for_too_long_is_sent_away(office: Office) -> None:
    writer = office.opened()
    office.tell(end(writer), 3)
    asked = office.ask(add(writer, 1), 3)
    asked.time_is_up()
    assert codes_of(asked.answer) == {1: ErrorCode.CONCURRENT_TRANSACTIONS}


def test_if_one_partition_is_not_there_none_is_added(office: Office) -> None:
    writer = office.begun()
    assert codes_of(office.tell(add(writer, 0, 9), 3)) == {
        0: ErrorCode.OPERATION_NOT_ATTEMPTED,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert office.phase is Phase.EMPTY


def test_internal_topics_are_not_added_by_clients(office: Office) -> None:
    answer = office.tell(add(office.begun(), 0, topic=OFFSETS), 3)
    assert codes_of(answer) == {0: ErrorCode.TOPIC_AUTHORIZATION_FAILED}


@pytest.mark.parametrize(
    ("version", "code"), [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)]
)
def test_who_was_shut_out_adds_nothing(office: Office, version: int, code: ErrorCode) -> None:
    writer = office.begun()
    office.begun()
    assert codes_of(office.tell(add(writer, 0), version)) == {0: code}
    assert office.phase is Phase.EMPTY


def test_a_producer_that_does_not_have_the_id_adds_nothing(office: Office) -> None:
    office.begun()
    answer = office.tell(add(Identity(7777, 0), 0), 3)
    assert codes_of(answer) == {0: ErrorCode.INVALID_PRODUCER_ID_MAPPING}


def of_brokers(writer: Identity, *partitions: int, verify: bool) -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnTopic("orders", list(partitions))]
    asked = AddPartitionsToTxnTransaction(NAME, *writer, verify, topics)
    return AddPartitionsToTxnRequest(transactions=[asked])


@pytest.mark.parametrize("version", [4, 5])
def test_newer_versions_are_for_brokers(office: Office, version: int) -> None:
    writer = office.begun()
    answer = office.tell(of_brokers(writer, 0, verify=False), version)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert office.phase is Phase.EMPTY


@pytest.mark.parametrize(
    ("version", "code"), [(4, ErrorCode.INVALID_TXN_STATE), (5, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_a_broker_that_only_looks_adds_nothing(
    office: Office, version: int, code: ErrorCode
) -> None:
    writer = office.opened(0)
    answer = office.tell(of_brokers(writer, 0, 1, verify=True), version, client=BROKER)
    (topic,) = answer.results_by_transaction[0].topic_results
    found = {each.partition_index: each.partition_error_code for each in topic.results_by_partition}
    assert found == {0: ErrorCode.NONE, 1: code}
    assert office.state.partitions == {("orders", 0)}


def test_a_group_is_added_as_its_partition_of_the_offsets_topic(office: Office) -> None:
    assert office.tell(add_offsets(office.begun()), 3).error_code == ErrorCode.NONE
    ((topic, _),) = office.state.partitions
    assert topic == OFFSETS


# -- DescribeTransactions, ListTransactions


def test_a_transaction_is_described(office: Office) -> None:
    writer = office.opened(1, 0)
    answer = office.tell(DescribeTransactionsRequest([NAME, "nobody", NAME]))
    found, unknown = answer.transaction_states
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert (found.transaction_state, found.transaction_timeout_ms) == ("Ongoing", TIMEOUT_MS)
    assert (found.producer_id, found.producer_epoch) == writer
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("orders", [0, 1])]
    assert found.transaction_start_time_ms == office.clock.now_ms()


def listed(office: Office, **filters: Any) -> set[str]:
    answer = office.tell(ListTransactionsRequest(**filters))
    assert answer.error_code == ErrorCode.NONE
    return {each.transactional_id for each in answer.transaction_states}


@pytest.fixture
def three(office: Office) -> dict[str, Identity]:
    """Ids of which the first has a transaction open."""
    found = {}
    for name in ("pay-1", "pay-2", "other"):
        answer = office.tell(init(transactional_id=name))
        found[name] = Identity(answer.producer_id, answer.producer_epoch)
    office.tell(add(found["pay-1"], 0, name="pay-1"), 3)
    return found


def test_transactions_are_listed_by_what_is_asked_for(
    office: Office, three: dict[str, Identity]
) -> None:
    assert listed(office) == set(three)
    assert listed(office, state_filters=["Ongoing"]) == {"pay-1"}
    assert listed(office, producer_id_filters=[three["other"].producer_id]) == {"other"}
    assert listed(office, transactional_id_pattern="pay-.*") == {"pay-1", "pay-2"}
    assert listed(office, transactional_id_pattern="pay") == set(), "as a whole"
    assert listed(office, state_filters=["Empty"], transactional_id_pattern="p.*") == {"pay-2"}


def test_a_state_that_is_not_known_is_said_to_be(office: Office, three: object) -> None:
    answer = office.tell(ListTransactionsRequest(state_filters=["Ongoing", "Sleeping"]))
    assert answer.unknown_state_filters == ["Sleeping"]
    assert len(answer.transaction_states) == 1
    answer = office.tell(ListTransactionsRequest(state_filters=["Sleeping"]))
    assert answer.transaction_states == [], "as Kafka has it"


def test_those_that_have_been_open_for_long_are_listed(office: Office, three: object) -> None:
    office.clock.time_ms += 500
    assert listed(office, duration_filter=499) == {"pay-1"}
    assert listed(office, duration_filter=500) == set()
    assert listed(office, duration_filter=-1) == {"pay-1", "pay-2", "other"}


@pytest.mark.parametrize("pattern", ["(", "a{1000}{1000}", "x" * 1001])
def test_a_pattern_that_is_none_or_takes_too_much_is_refused(office: Office, pattern: str) -> None:
    answer = office.tell(ListTransactionsRequest(transactional_id_pattern=pattern))
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_tools_see_whose_records_they_are_and_not_who_may_end_them(
    make_desk: Callable[..., Desk],
) -> None:
    """A kept transaction whose epochs are used up is ended by a producer with another id. Whoever
    compares ids with those of a partition must not take it for one that hangs."""
    office = Office(make_desk({**SETTINGS, "transaction.two.phase.commit.enable": "true"}))
    writer = office.begun()
    used_up = State(Identity(writer.producer_id, EPOCH_GIVEN_MAX), timeout_ms=NEVER_MS)
    shard = office.desk.broker.transactions.shard(NAME)
    shard.decide_part(NAME, lambda turn, one: write(turn, one, used_up))
    office.sync()
    office.desk.create("orders")
    office.tell(add(used_up.owner, 0), 3)
    kept = office.tell(init(enable2_pc=True, keep_prepared_txn=True), 6)
    assert kept.producer_id != writer.producer_id
    (found,) = office.tell(DescribeTransactionsRequest([NAME])).transaction_states
    assert (found.producer_id, found.producer_epoch) == used_up.owner
    assert listed(office, producer_id_filters=[writer.producer_id]) == {NAME}
    assert listed(office, producer_id_filters=[kept.producer_id]) == set()


# -- logs that take long to open


@pytest.fixture
def slow(office: Office, monkeypatch: pytest.MonkeyPatch) -> Office:
    """After a restart, with a transaction open whose log is opened in many steps."""
    office.wrote(office.opened())
    monkeypatch.setattr(steps, "BATCHES_A_SLICE", 1)
    desk = office.desk.restart()
    for each in Path(desk.log_dir.path).glob(f"{TRANSACTIONS}-*/*"):
        if each.suffix in (".index", ".snapshot"):
            each.unlink()
    desk.broker.opening.soon = lambda log: False
    return Office(desk)


def test_transactions_that_are_not_known_yet_are_not_said_to_be_none(slow: Office) -> None:
    answer = slow.tell(ListTransactionsRequest())
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_what_takes_long_to_open_is_taken_up_without_being_asked_for(slow: Office) -> None:
    """Time goes on for what is open in it."""
    transactions = slow.desk.broker.transactions
    woken: list[float] = [0]
    transactions.wake_by = woken.append
    looks = 0
    while woken and looks < 100:
        woken.clear()
        slow.clock.time_ms += TAKE_UP_AGAIN_MS
        transactions.expire()
        looks += 1
    assert 1 < looks < 100
    slow.load()
    assert listed(slow) == {NAME}
    slow.clock.time_ms += TIMEOUT_MS
    transactions.expire()
    assert slow.phase is Phase.PREPARE_ABORT


def test_what_another_broker_leads_by_now_is_not_tried_again(slow: Office) -> None:
    transactions = slow.desk.broker.transactions
    topic = slow.desk.image.topics[TRANSACTIONS]
    slow.desk.change(lambda image: delete_topic(image, TRANSACTIONS, nonce=topic.id))
    slow.desk.broker.remove_topic(topic)
    woken: list[float] = []
    transactions.wake_by = woken.append
    transactions.expire()
    assert not woken


def test_an_end_is_seen_by_tools(office: Office) -> None:
    writer = office.opened()
    office.tell(end(writer), 3)
    assert listed(office, state_filters=["PrepareCommit"]) == {NAME}
    office.finish()
    assert listed(office, state_filters=["CompleteCommit"]) == {NAME}
