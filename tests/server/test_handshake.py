"""A broker that connects to another one: both prove that they know the cluster's secret."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.server.house import House, MemoryConnection

from penstock.errors import ErrorCode, Refused
from penstock.metadata.records import SECRET, SecretRecord, encode
from penstock.metadata.store import Entry, Event
from penstock.server.handshake import prove
from penstock.server.peer import Peer

MakeHouse = Callable[..., House]


def tell_secret(house: House, secret: bytes) -> None:
    revision = house.desk.image.revision + 1
    entry = Entry(SECRET, encode(SecretRecord(secret=secret)), revision)
    house.desk.image.apply([Event(SECRET, entry, revision)], revision)


class Wire:
    """From one house's peer to the door of another, carried by hand."""

    def __init__(self, client: House, server: House) -> None:
        self.here = MemoryConnection()
        self.there = server.connect()
        self.peer = Peer(self.here, client.door.buffer, client.door.buffers, "broker-1")
        self.session = server.session_of(self.there)
        self.garble: Callable[[bytes], bytes] = lambda data: data

    async def carry(self, work: asyncio.Task[None]) -> None:
        async with asyncio.timeout(30):
            while not work.done():
                sent, self.here.taken = bytes(self.here.taken), bytearray()
                self.there.give(sent)
                self.there.step()
                answered, self.there.taken = bytes(self.there.taken), bytearray()
                if answered:
                    self.here.give(self.garble(answered))
                await asyncio.sleep(0)
        await work


@pytest.fixture
async def houses(make_house: MakeHouse) -> tuple[House, House]:
    return make_house(), make_house()


async def proved(wire: Wire, client: House) -> None:
    await wire.carry(asyncio.ensure_future(prove(wire.peer, client.broker)))


async def test_two_brokers_of_one_cluster_trust_each_other(houses: tuple[House, House]) -> None:
    client, server = houses
    wire = Wire(client, server)
    await proved(wire, client)
    assert wire.session._client.broker_id == client.broker.node_id


async def test_a_broker_of_another_cluster_is_not_trusted_by_who_connects(
    houses: tuple[House, House],
) -> None:
    """It is told nothing that it could use: the client's proof comes only after its own."""
    client, server = houses
    tell_secret(server, b"another")
    wire = Wire(client, server)
    with pytest.raises(Refused, match="does not know the secret"):
        await proved(wire, client)
    assert wire.session._client.broker_id == -1


async def test_an_answer_that_was_changed_on_its_way_is_not_trusted(
    houses: tuple[House, House],
) -> None:
    client, server = houses
    wire = Wire(client, server)
    answers = iter((0, 1))

    def garble(data: bytes) -> bytes:
        last = next(answers, 0)
        return data[:-20] + bytes([data[-20] ^ last]) + data[-19:]

    wire.garble = garble
    with pytest.raises(Refused) as refused:
        await proved(wire, client)
    assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert wire.session._client.broker_id == -1
