"""Who is let in, and who is shown out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest
from tests.raw_client import a_batch, fetch_of, frame_of, produce_of
from tests.server.house import House

from penstock.server.outbox import IN_FLIGHT_MAX
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest

PING = frame_of(ApiVersionsRequest("raw", "1"), 3)
IDLE_MS = 600_000


async def test_connections_past_the_limit_are_turned_away_with_one_line_in_the_log(
    make_house: Callable[..., House], caplog: pytest.LogCaptureFixture
) -> None:
    house = make_house(max_connections="2")
    admitted = [house.connect(), house.connect()]
    with caplog.at_level(logging.WARNING):
        refused = [house.connect(), house.connect()]
    assert [each.is_closed for each in admitted + refused] == [False, False, True, True]
    assert caplog.text.count("max.connections=2") == 1
    house.session_of(admitted[0]).close()
    assert not house.connect().is_closed


async def test_one_address_cannot_take_all_connections(make_house: Callable[..., House]) -> None:
    house = make_house(max_connections_per_ip="1")
    first = house.connect("10.0.0.1")
    assert house.connect("10.0.0.1").is_closed
    assert not house.connect("10.0.0.2").is_closed
    house.session_of(first).close()
    assert not house.connect("10.0.0.1").is_closed


async def test_an_idle_connection_is_closed(house: House) -> None:
    connection, busy = house.connect(), house.connect()
    house.clock.time_ms += IDLE_MS
    busy.give(PING)
    house.door.close_idle()
    assert not connection.is_closed
    house.clock.time_ms += 1
    house.door.close_idle()
    assert (connection.is_closed, busy.is_closed) == (True, False)


async def test_a_connection_with_a_long_poll_is_not_idle_and_counts_from_its_answer(
    house: House,
) -> None:
    house.desk.create("news")
    connection = house.connect()
    connection.give(frame_of(fetch_of("news", max_wait_ms=10**9), 11))
    house.clock.time_ms += 2 * IDLE_MS
    house.door.close_idle()
    assert not connection.is_closed
    await house.ask(house.connect(), produce_of("news", a_batch(b"v")), 9)
    await house.receive(connection, 1)
    house.door.close_idle()
    assert not connection.is_closed
    house.clock.time_ms += IDLE_MS + 1
    house.door.close_idle()
    assert connection.is_closed


async def test_a_client_that_never_takes_its_answers_is_idle_even_with_a_long_poll(
    house: House,
) -> None:
    house.desk.create("news")
    connection = house.connect()
    connection.room = 10
    connection.give(PING + frame_of(fetch_of("news", max_wait_ms=10**9), 11))
    house.clock.time_ms += IDLE_MS + 1
    house.door.close_idle()
    assert connection.is_closed


async def test_a_client_with_too_many_long_polls_to_be_read_from_is_idle(house: House) -> None:
    house.desk.create("news")
    poll = frame_of(fetch_of("news", max_wait_ms=10**9), 11)
    most, all_of_them = house.connect(), house.connect()
    most.give(poll * (IN_FLIGHT_MAX - 1))
    all_of_them.give(poll * IN_FLIGHT_MAX)
    house.clock.time_ms += IDLE_MS + 1
    house.door.close_idle()
    assert (most.is_closed, all_of_them.is_closed) == (False, True)


async def test_a_client_that_takes_its_answers_slowly_is_not_idle(house: House) -> None:
    connection = house.connect()
    connection.room = 10
    connection.give(PING)
    house.clock.time_ms += IDLE_MS
    connection.room = 1
    connection.step()
    house.clock.time_ms += 1
    house.door.close_idle()
    assert not connection.is_closed


async def test_a_request_that_never_ends_is_closed_however_steadily_it_drips(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    connection = house.connect()
    for byte in PING[:-1]:
        connection.give(bytes([byte]))
        await asyncio.sleep(0)
        house.clock.time_ms += 30_000 // (len(PING) - 2)
    house.clock.time_ms += 1000
    house.door.close_idle()
    assert connection.is_closed
    assert "never ended" in caplog.text


async def test_each_request_has_its_own_time_to_arrive(house: House) -> None:
    connection = house.connect()
    for _ in range(5):
        connection.give(PING[5:] + PING[:5] if connection.taken else PING + PING[:5])
        house.clock.time_ms += 20_000
        house.door.close_idle()
    assert not connection.is_closed


async def test_a_reset_does_not_cut_short_what_is_under_way(house: House) -> None:
    house.desk.create("news", record_validation="full")
    connection = house.connect()
    connection.give(frame_of(produce_of("news", a_batch(b"v" * 200_000), acks=0), 9))
    session = house.session_of(connection)
    assert session._task
    connection.is_reset = True
    assert not connection.step()
    await house.settle(lambda: session._task is None)
    assert connection.step()
    assert connection.is_closed
    assert house.broker.leader("news", 0).log.end_offset == 1


async def test_segments_are_synced_once_they_are_full_even_if_nobody_waits_for_it(
    house: House,
) -> None:
    house.desk.create("news", flush_on_acks_all="false", segment_bytes="1024")
    connection = house.connect()
    for _ in range(10):
        await house.ask(connection, produce_of("news", a_batch(b"v" * 400)), 9)
    await house.syncer.drain()
    log = house.broker.leader("news", 0).log
    house.desk.log_dir.checkpoint()
    assert len(log.segments) == 5
    assert log.recovery_point >= log.segments[-1].base
    assert log.rolled == []


async def test_closing_the_door_ends_every_connection_and_frees_everything(house: House) -> None:
    house.desk.create("news")
    connections = [house.connect() for _ in range(3)]
    connections[0].give(frame_of(fetch_of("news", max_wait_ms=10**9), 11))
    connections[1].give(frame_of(produce_of("news", a_batch(b"v" * 200_000)), 9)[:100_000])
    house.door.close()
    assert all(connection.is_closed for connection in connections)
    assert (house.door.connections, house.door.budget.used) == (0, 0)
