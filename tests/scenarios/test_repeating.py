"""Messages that repeat, with a running broker that is stopped and killed, and real clients.

Nobody waits for a full minute: a message whose timestamp is long ago is due at once, and then at
the next time that its cron has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.group_process import WAIT_S
from tests.group_stage import wait_until
from tests.scenarios.delaying import (
    AFTER,
    AT,
    CANCEL,
    CRON,
    ID,
    NEXT,
    Reader,
    Sent,
    create,
    held,
    listed,
    now_ms,
    producer_of,
    rdkafka,
    send,
)

NEW_YEAR = "0 0 1 jan *"
LONG_AGO = 1_000_000_000_000


def next_new_year() -> str:
    at = datetime(datetime.now(UTC).year + 1, 1, 1, tzinfo=UTC)
    return str(int(at.timestamp()) * 1000)


def sent(
    broker: BrokerProcess, value: str, headers: dict[str, str], time_ms: int = 0, **settings: Any
) -> Sent:
    producer, found = producer_of(broker.address, **settings), Sent()
    send(producer, found, "orders", value, headers, time_ms=time_ms)
    assert producer.flush(WAIT_S) == 0
    return found


def nexts(broker: BrokerProcess) -> dict[str, str]:
    """What is held, and when it comes next."""
    return {each.value: each.headers.get(NEXT, "") for each in held(broker.address, "orders")}


def read(broker: BrokerProcess) -> list[Any]:
    reader = Reader(broker.address, "orders")
    try:
        return list(reader.to_end())
    finally:
        reader.close()


@pytest.fixture
def own_broker(tmp_path: Any) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path / "data").start()
    create(broker.address, "orders")
    yield broker
    assert broker.stop() == 0
    assert "Traceback" not in broker.log


@pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill])
def test_a_message_that_repeats_comes_once_for_all_that_was_missed_and_is_held_on(
    own_broker: BrokerProcess, end: Callable[[BrokerProcess], Any]
) -> None:
    broker, next_ms = own_broker, next_new_year()
    place = sent(broker, "greet", {"tier": "gold", CRON: NEW_YEAR}, LONG_AGO).offsets["greet"]
    sent(broker, "later", {CRON: NEW_YEAR})
    for _ in range(2):
        wait_until(lambda: nexts(broker) == {"greet": next_ms, "later": next_ms}, "the next time")
        (copy,) = read(broker)
        assert (copy.value, copy.key) == ("greet", "k")
        assert copy.headers == {"tier": "gold", ID: str(place), NEXT: next_ms}
        assert datetime.fromtimestamp(copy.time_ms / 1000, UTC) == datetime(2002, 1, 1, tzinfo=UTC)
        end(broker)
        broker.start()
    assert sent(broker, "-", {CANCEL: str(place)}).refused == {}
    assert nexts(broker) == {"later": next_ms}
    again = sent(broker, "again", {CANCEL: str(place)})
    assert again.refused == {"again": rdkafka.KafkaError.INVALID_RECORD}
    end(broker)
    broker.start()
    assert nexts(broker) == {"later": next_ms}
    assert [each.value for each in read(broker)] == ["greet"]


def test_messages_with_the_same_cron_come_at_the_same_times_and_apart(
    own_broker: BrokerProcess,
) -> None:
    """Each for itself: an hour has passed for all of them, and comes once."""
    broker, count = own_broker, 500
    producer, found = producer_of(broker.address, **{"linger.ms": 20}), Sent()
    before = now_ms()
    for number in range(count):
        send(
            producer,
            found,
            "orders",
            str(number),
            {CRON: "0 * * * *"},
            time_ms=before - 3_600_000,
        )
    assert producer.flush(WAIT_S) == 0
    hour_ms = 3_600_000
    wait_until(lambda: len(read(broker)) >= count, "all deliveries")
    copies = read(broker)
    if now_ms() // hour_ms == before // hour_ms:  # else another hour has struck meanwhile
        assert [each.value for each in copies] == [str(number) for number in range(count)]
        assert {each.time_ms for each in copies} == {before // hour_ms * hour_ms}
    assert {each.headers[ID]: each.value for each in copies} == {
        str(offset): value for value, offset in found.offsets.items()
    }
    assert sorted(map(int, nexts(broker))) == list(range(count))
    assert all(int(each) > before for each in nexts(broker).values())


def test_a_forwarder_that_copies_all_headers_repeats_nothing(own_broker: BrokerProcess) -> None:
    broker = own_broker
    sent(broker, "greet", {CRON: NEW_YEAR}, LONG_AGO)
    wait_until(lambda: len(read(broker)) == 1, "the delivery")
    (copy,) = read(broker)
    sent(broker, "forwarded", copy.headers)
    sent(broker, "forwarded later", {**copy.headers, AFTER: "1"})
    wait_until(lambda: len(read(broker)) == 3, "the others")
    found = {each.value: each.headers for each in read(broker)}
    assert found["forwarded"] == copy.headers
    assert found["forwarded later"] == {ID: "3"}
    assert nexts(broker) == {"greet": next_new_year()}


def test_what_is_aborted_never_repeats(own_broker: BrokerProcess) -> None:
    producer, found = producer_of(own_broker.address, **{"transactional.id": "t"}), Sent()
    producer.init_transactions(WAIT_S)
    for value, end in (
        ("aborted", producer.abort_transaction),
        ("committed", producer.commit_transaction),
    ):
        producer.begin_transaction()
        send(producer, found, "orders", value, {CRON: NEW_YEAR}, time_ms=LONG_AGO)
        producer.flush(WAIT_S)
        end(WAIT_S)
    wait_until(lambda: len(read(own_broker)) == 1, "what was committed")
    assert [each.value for each in read(own_broker)] == ["committed"]
    assert nexts(own_broker) == {"committed": next_new_year()}


@pytest.mark.parametrize(
    "headers",
    [
        {CRON: "0 25 * * *"},
        {CRON: ""},
        {CRON: "0 0 30 2 *"},
        {CRON: "* * * * *", AT: "1"},
        {CRON: "* * * * *", AFTER: "1"},
        {CRON: "* * * * *", CANCEL: "0"},
        {CRON: "1," * 50 + "1 * * * *"},
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_kept_of_it(
    own_broker: BrokerProcess, headers: dict[str, str]
) -> None:
    refused = sent(own_broker, "wrong", headers).refused
    assert refused == {"wrong": rdkafka.KafkaError.INVALID_RECORD}
    assert listed(own_broker.address, "orders") == []
    assert read(own_broker) == []
