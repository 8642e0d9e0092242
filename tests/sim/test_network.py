"""Connections of the simulated network: order, bounds, ends, resets and cuts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.sim.disks import Machine

from penstock.errors import Unusable
from penstock.sim.connection import BUFFER_BYTES, SimConnection
from penstock.sim.loop import VirtualLoop, virtual_loop
from penstock.sim.network import CONNECT_S_MAX, RESET_AFTER_S, Internet, SimNetwork
from penstock.sim.scheduler import Scheduler
from penstock.world.ports import Connection, FileRange

Play = Callable[["Stage"], Awaitable[None]]
SEEDS = range(30)


class Stage:
    """A client at one host and a server at another."""

    def __init__(self, seed: int) -> None:
        self.scheduler = Scheduler(seed)
        self.internet = Internet(self._loop("network"), self.scheduler.chance("network"))
        self.server_loop, self.client_loop = self._loop("server"), self._loop("client")
        self.server = SimNetwork(self.internet, self.server_loop, "s")
        self.client = SimNetwork(self.internet, self.client_loop, "c")
        self.accepted: list[Connection] = []
        self.listener = self.server.listen("s", 1, self.accepted.append)

    def _loop(self, name: str) -> VirtualLoop:
        return virtual_loop(self.scheduler, name)

    async def connected(self) -> tuple[Connection, Connection]:
        ours = await self.client.connect("s", 1)
        while not self.accepted:
            await asyncio.sleep(0.001)
        return ours, self.accepted[-1]


def played(play: Play, seed: int = 1) -> Stage:
    stage = Stage(seed)

    async def whole() -> None:
        await play(stage)

    task = stage.client_loop.create_task(whole())
    stage.scheduler.run(task.done, 1000)
    task.result()
    return stage


def is_reset(connection: Connection) -> bool:
    try:
        connection.send([])
    except ConnectionResetError:
        return True
    return False


def received(connection: Connection, most: int = 1 << 20) -> bytes | None:
    """What is there now; None if nothing is."""
    buffer = memoryview(bytearray(most))
    count = connection.recv_into(buffer)
    return None if count is None else bytes(buffer[:count])


async def settle() -> None:
    await asyncio.sleep(1)


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_arrive_whole_and_in_order(seed: int) -> None:
    data = bytes(range(256)) * 4000

    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        got, sent = bytearray(), 0

        def take() -> None:
            got.extend(received(theirs) or b"")

        theirs.on_readable(take)
        while len(got) < len(data):
            sent += ours.send([data[sent : sent + 5000], data[sent + 5000 : sent + 9000]])
            await asyncio.sleep(0.0005)
        assert got[: len(data)] == data

    played(play, seed)


def test_a_peer_that_reads_nothing_is_sent_so_much_and_no_more() -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        sent = 0
        while taken := ours.send([bytes(10_000)]):
            sent += taken
        assert BUFFER_BYTES[0] <= sent <= BUFFER_BYTES[1]
        told: list[bool] = []
        ours.on_writable(lambda: told.append(True))
        await settle()
        assert not told
        received(theirs)
        await settle()
        assert told

    played(play)


def test_readiness_is_told_for_as_long_as_it_lasts() -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        calls = 0

        def count() -> None:
            nonlocal calls
            calls += 1
            if calls == 5:
                theirs.on_readable(None)

        theirs.on_readable(count)
        ours.send([b"x"])
        await settle()
        assert calls == 5

    played(play)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_part_of_a_file_is_read_when_it_is_sent(seed: int) -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        file = Machine().disk.open("/data/log")
        file.append([b"0123456789"])
        sent = ours.send([b"<", FileRange(file, 2, 3), b">"])
        file.truncate(0)
        got = b""
        while len(got) < sent:
            await asyncio.sleep(0.2)
            got += received(theirs) or b""
        assert got == b"<234>"[:sent]

    played(play, seed)


def test_a_file_that_is_shorter_than_promised_cannot_be_sent() -> None:
    async def play(stage: Stage) -> None:
        ours, _ = await stage.connected()
        file = Machine().disk.open("/data/log")
        file.append([b"0123456789"])
        with pytest.raises(OSError, match="shorter"):
            ours.send([FileRange(file, 5, 6)])

    played(play)


def test_a_close_is_seen_after_all_that_was_sent() -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        sent = ours.send([b"last words"])
        ours.close()
        await settle()
        got = b""
        while more := received(theirs):
            got += more
        assert got == b"last words"[:sent]
        assert received(theirs) == b""
        assert not is_reset(theirs)

    played(play)


def test_who_sends_to_a_closed_end_is_reset() -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        ours.close()
        theirs.send([b"too late"])
        await settle()
        assert is_reset(theirs)
        with pytest.raises(ConnectionResetError):
            theirs.send([b"x"])

    played(play)


def test_a_close_with_bytes_unread_is_a_reset() -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        theirs.send([b"never read"])
        await settle()
        ours.close()
        await settle()
        assert is_reset(theirs)
        assert received(theirs) == b""

    played(play)


def test_bytes_on_a_cut_link_arrive_once_it_is_whole_again() -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        stage.internet.cut("c", "s")
        sent = ours.send([b"held"])
        await settle()
        assert received(theirs) is None
        stage.internet.heal()
        await settle()
        assert len(received(theirs) or b"") <= sent
        assert not is_reset(ours)

    played(play)


def test_a_link_cut_one_way_still_carries_the_other() -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        stage.internet.cut("c", "s", both_ways=False)
        ours.send([b"held"])
        theirs.send([b"heard"])
        await settle()
        assert received(theirs) is None
        assert b"heard".startswith(received(ours) or b"?")

    played(play)


@pytest.mark.parametrize("loses", [True, False])
def test_a_cut_that_lasts_or_loses_bytes_resets_connections(loses: bool) -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        stage.internet.cut("c", "s", loses=loses)
        ours.send([b"x"])
        await asyncio.sleep(1 if loses else RESET_AFTER_S + 1)
        stage.internet.heal()
        await settle()
        assert is_reset(ours)
        assert is_reset(theirs)

    played(play)


def test_nobody_gets_through_a_cut_link() -> None:
    async def play(stage: Stage) -> None:
        stage.internet.cut("c", "s")
        begun_s = stage.scheduler.now_s
        with pytest.raises(TimeoutError):
            await stage.client.connect("s", 1)
        assert stage.scheduler.now_s - begun_s >= CONNECT_S_MAX

    played(play)


def test_where_nobody_listens_a_connection_is_refused() -> None:
    async def play(stage: Stage) -> None:
        with pytest.raises(ConnectionRefusedError):
            await stage.client.connect("s", 2)
        stage.listener.close()
        with pytest.raises(ConnectionRefusedError):
            await stage.client.connect("s", 1)

    played(play)


def test_an_address_is_listened_at_once() -> None:
    stage = Stage(1)
    with pytest.raises(Unusable):
        stage.server.listen("s", 1, stage.accepted.append)


@pytest.mark.parametrize("silently", [True, False])
def test_the_end_of_a_process_is_noticed_by_its_peers(silently: bool) -> None:
    async def play(stage: Stage) -> None:
        ours, _ = await stage.connected()
        stage.server_loop.kill()
        stage.internet.ended(stage.server_loop, silently=silently)
        with pytest.raises(ConnectionRefusedError):
            await stage.client.connect("s", 1)
        await asyncio.sleep(11 if silently else 1)
        assert received(ours) == b""

    played(play)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_given_up_arrives_late_and_before_the_end(seed: int) -> None:
    async def play(stage: Stage) -> None:
        ours, theirs = await stage.connected()
        assert isinstance(ours, SimConnection)
        ours.hold_up(2.0)
        ours.send([b"?"])
        ours.close()
        await settle()
        assert received(theirs) is None
        await settle()
        await settle()
        assert received(theirs) == b"?"
        assert received(theirs) == b""

    played(play, seed)
