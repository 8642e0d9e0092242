"""What one connection, and all of them together, may have in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.raw_client import a_batch, fetch_of, frame_of, produce_of
from tests.server.house import ANY, House

from penstock.server import intake, outbox
from penstock.wire.frames import FrameReader
from penstock.wire.messages.k03_metadata import MetadataRequest

LARGE = 300_000
"""More than the shared buffer holds, and so received into memory of its own."""

METADATA = frame_of(MetadataRequest(None), 9)


def large_request(size: int = LARGE) -> bytes:
    return frame_of(produce_of("news", a_batch(b"v" * size), acks=1), 9)


async def test_requests_past_the_budget_are_not_received_until_there_is_room(
    make_house: Callable[..., House],
) -> None:
    house = make_house(queued_max_request_bytes="1500000")
    house.desk.create("news")
    connections = [house.connect() for _ in range(5)]
    request = large_request()
    for connection in connections:
        connection.give(request[:1000])
        connection.give(request[1000:-1])
    assert house.door.budget.used <= 750_000
    waiting = [connection for connection in connections if connection.inbound]
    assert len(waiting) == 3
    for connection in connections:
        connection.give(request[-1:])
    for connection in connections:
        await house.receive(connection, 1)
    assert house.door.budget.used == 0


async def test_of_requests_that_wait_for_memory_only_the_beginning_is_held(
    make_house: Callable[..., House],
) -> None:
    house = make_house(queued_max_request_bytes="900000")
    house.desk.create("news")
    connections = [house.connect() for _ in range(10)]
    request = large_request()
    for connection in connections:
        connection.give(request[:250_000])
    held = [250_000 - len(connection.inbound) for connection in connections]
    assert max(held[2:]) <= intake.SHORT_OF_MEMORY_BYTES
    for connection in connections:
        connection.give(request[250_000:])
    for connection in connections:
        await house.receive(connection, 1)


async def test_large_requests_that_hardly_arrive_do_not_hold_up_ordinary_ones(
    make_house: Callable[..., House],
) -> None:
    house = make_house()
    house.desk.create("news")
    hogs = [house.connect() for _ in range(3)]
    for hog, size in zip(hogs, (100 << 20, 100 << 20, 56 << 20), strict=True):
        hog.give(size.to_bytes(4, "big") + bytes(LARGE))
    assert house.door.budget.is_short
    connection = house.connect()
    connection.give(large_request())
    await house.receive(connection, 1)
    for hog in hogs:
        house.session_of(hog).close()
    assert (house.door.budget.used, house.door.budget.is_short) == (0, False)


async def test_who_leaves_gives_its_memory_to_who_waits(make_house: Callable[..., House]) -> None:
    house = make_house(queued_max_request_bytes="900000")
    house.desk.create("news")
    first, second = house.connect(), house.connect()
    request = large_request()
    for connection in (first, second):
        connection.give(request[:1000])
        connection.give(request[1000:-1])
    assert second.inbound
    house.session_of(first).close()
    second.give(request[-1:])
    await house.receive(second, 1)


async def test_a_large_request_that_is_kept_for_later_still_counts(house: House) -> None:
    house.desk.create("news")
    house.desk.create("quiet")
    connection = house.connect()
    poll = frame_of(fetch_of("quiet", max_wait_ms=60_000), 11)
    connection.give(poll * outbox.IN_FLIGHT_MAX)
    request = large_request()
    connection.give(request)
    assert house.door.budget.used >= LARGE
    await house.ask(house.connect(), produce_of("quiet", a_batch(b"v")), 9)
    await house.receive(connection, outbox.IN_FLIGHT_MAX + 1)
    assert house.door.budget.used == 0


async def test_a_large_request_that_waits_itself_counts_until_it_is_done(house: House) -> None:
    house.desk.create("news", record_validation="full")
    connection = house.connect()
    connection.give(large_request() + METADATA)
    assert house.door.budget.used >= LARGE
    await house.receive(connection, 2)
    assert house.door.budget.used == 0


async def test_requests_in_the_shared_buffer_that_wait_themselves_count_with_the_beginnings(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "KEPT_MAX", 150_000)
    house.desk.create("news", record_validation="full")
    connections = [house.connect() for _ in range(4)]
    request = large_request(100_000)
    for connection in connections:
        connection.give(request + METADATA)
    assert 200_000 <= house.door.kept <= 250_000
    assert house.door.budget.used >= 200_000
    house.session_of(connections[0]).close()
    for connection in connections[1:]:
        await house.receive(connection, 2)
    assert (house.door.kept, house.door.budget.used) == (0, 0)


async def test_a_request_that_waits_for_our_memory_does_not_count_as_one_that_never_ends(
    make_house: Callable[..., House],
) -> None:
    house = make_house(queued_max_request_bytes="900000", request_receive_timeout_ms="30000")
    house.desk.create("news")
    first, second = house.connect(), house.connect()
    request = large_request()
    for connection in (first, second):
        connection.give(request[:1000])
        connection.give(request[1000:-1])
    house.clock.time_ms += 20_000
    first.give(request[-1:])
    await house.receive(first, 1)
    house.clock.time_ms += 20_000
    house.door.close_idle()
    assert house.door.connections == 2
    second.step()
    house.clock.time_ms += 30_001
    house.door.close_idle()
    assert (first.is_closed, second.is_closed) == (False, True)
    assert house.door.budget.used == 0


async def test_half_a_request_behind_answers_that_are_not_taken_does_not_count_either(
    house: House,
) -> None:
    connection = house.connect()
    connection.room = 0
    connection.give(METADATA + METADATA[:-1])
    house.clock.time_ms += 31_000
    house.door.close_idle()
    assert not connection.is_closed
    connection.room = ANY
    connection.give(METADATA[-1:])
    await house.receive(connection, 2)


@pytest.fixture
def answers_bytes_max(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(outbox, "ANSWERS_BYTES_MAX", 100_000)
    return 100_000


async def test_large_answers_are_not_made_before_those_before_them_are_taken(
    house: House, answers_bytes_max: int
) -> None:
    house.desk.create("wide", 500)
    connection = house.connect()
    connection.room = 0
    connection.give(METADATA * 50)
    held = house.session_of(connection)._answers.weight
    assert answers_bytes_max < held < 2 * answers_bytes_max
    connection.room = ANY
    await house.receive(connection, 50)
    assert house.session_of(connection)._answers.weight == 0


async def test_large_answers_behind_a_long_poll_are_not_all_made_at_once(
    house: House, answers_bytes_max: int
) -> None:
    house.desk.create("wide", 500)
    house.desk.create("quiet")
    connection = house.connect()
    poll = frame_of(fetch_of("quiet", max_wait_ms=60_000), 11)
    connection.give(poll + METADATA * 25 + poll + METADATA * 25)
    held = house.session_of(connection)._answers.weight
    assert answers_bytes_max < held < 2 * answers_bytes_max
    await house.ask(house.connect(), produce_of("quiet", a_batch(b"v")), 9)
    await house.receive(connection, 52)
    assert house.session_of(connection)._answers.weight == 0


async def test_a_request_that_the_system_has_no_memory_for_ends_its_connection(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_memory(reader: FrameReader, shared: memoryview) -> memoryview:
        raise OSError("Cannot allocate memory")

    connection = house.connect()
    monkeypatch.setattr(FrameReader, "space", no_memory)
    connection.give(METADATA)
    assert connection.is_closed
    assert "Cannot allocate memory" in caplog.text


async def test_a_session_that_ended_is_held_by_nobody(house: House) -> None:
    house.desk.create("news")
    connection = house.connect()
    connection.give(frame_of(fetch_of("news", max_wait_ms=60_000), 11) * 10)
    leader = house.broker.leader("news", 0)
    assert len(leader.moved) == 10
    house.session_of(connection).close()
    assert (len(leader.moved), house.door.connections, house.door._sending) == (0, 0, set())


async def test_beginnings_of_requests_are_budgeted_once_they_take_much_memory(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "KEPT_MAX", 150_000)
    house.desk.create("news")
    request = large_request(100_000)  # too small to be a large one, by itself
    connections = [house.connect() for _ in range(4)]
    for connection in connections:
        connection.give(request[:80_000])
    assert house.door.kept <= 160_000 + 2 * intake.SHORT_OF_MEMORY_BYTES
    assert house.door.budget.used >= 200_000
    for connection in connections:
        connection.give(request[80_000:])
        await house.receive(connection, 1)
    assert (house.door.kept, house.door.budget.used) == (0, 0)
