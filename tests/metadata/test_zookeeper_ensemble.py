"""Three servers of which some fail, and servers that ask for TLS."""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.metadata.zookeeper_backend import ZookeeperServer, free_port, require_server
from tests.metadata.zookeeper_backend import ensemble as three_servers

from penstock.errors import Unusable
from penstock.metadata.store import Conflict, Events, Session, Unavailable, Unknown
from penstock.metadata.stores.zookeeper import ZookeeperStore
from penstock.world.real import RealChance

Ensemble = list[ZookeeperServer]
Open = Callable[[], Awaitable[ZookeeperStore]]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    made = three_servers(tmp_path_factory.mktemp("ensemble"))
    try:
        yield made
    finally:
        for server in made:
            server.end()


@pytest.fixture
async def ensemble(servers: Ensemble) -> Ensemble:
    for server in servers:
        if server.process is None:
            server.start()
    for server in servers:
        await asyncio.to_thread(server.wait_ready)
    return servers


@pytest.fixture
async def opening(ensemble: Ensemble) -> AsyncIterator[Open]:
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in ensemble)
    url = f"zookeeper://{hosts}/{uuid.uuid4().hex}"
    opened: list[ZookeeperStore] = []

    async def open_another() -> ZookeeperStore:
        opened.append(await ZookeeperStore.open(url, chance=RealChance(), timeout_ms=2000))
        return opened[-1]

    yield open_another
    for store in opened:
        await store.close()


async def count_up(store: ZookeeperStore, who: str = "/who") -> None:
    """Exactly once, whatever happens: what is unknown is recognised by its nonce."""
    nonce = uuid.uuid4().bytes
    while True:
        try:
            entry, mark = await store.get("/n"), await store.get(who)
            if mark and mark.value == nonce:
                return
            number, revision = (int(entry.value), entry.revision) if entry else (0, 0)
            await store.commit([("/n", revision)], [("/n", b"%d" % (number + 1)), (who, nonce)])
        except (Unavailable, Unknown, Conflict):
            continue
        return


async def no_longer_suspended(session: Session) -> None:
    while session.suspended and not session.lost:
        await asyncio.sleep(0.05)


def connected_to(store: ZookeeperStore, ensemble: Ensemble) -> ZookeeperServer:
    handler = store._link._handler
    assert handler._socket is not None
    port = handler._socket.getpeername()[1]
    return next(server for server in ensemble if server.port == port)


async def test_with_two_of_three_all_goes_on_and_with_one_nothing_until_more_are_back(
    opening: Open, ensemble: Ensemble
) -> None:
    store = await opening()
    session = await store.session(10_000)
    await store.commit([], [("/lease", b"1")], session=session.id)
    connected_to(store, ensemble).end()
    await count_up(store)
    survivors = [server for server in ensemble if server.process]
    survivors[0].end()
    with pytest.raises((Unavailable, Unknown)) as failed:
        await store.commit([], [("/x", b"1")])
    with pytest.raises(Unavailable):
        await store.get("/n")
    assert session.suspended
    survivors[0].start()
    await asyncio.to_thread(survivors[1].wait_ready)
    await count_up(store)
    await no_longer_suspended(session)
    entries, _ = await store.list("/")
    assert not session.lost
    keys = [entry.key for entry in entries]
    assert "/x" not in keys or failed.type is Unknown
    assert [key for key in keys if key != "/x"] == ["/lease", "/n", "/who"]
    await session.close()


async def test_servers_that_fail_one_after_the_other_lose_nothing(
    opening: Open, ensemble: Ensemble
) -> None:
    writers, watcher = [await opening(), await opening()], await opening()
    failing = True
    counted = 0
    numbers: list[int] = []
    revisions: list[int] = []

    async def count(store: ZookeeperStore, who: str) -> None:
        nonlocal counted
        while failing:
            await count_up(store, who)
            counted += 1

    async def watch() -> None:
        async with aclosing(watcher.watch("/", 0)) as steps:
            async for step in steps:
                assert isinstance(step, Events)
                revisions.append(step.revision)
                for event in step.events:
                    assert event.entry is not None
                    if event.key == "/end":
                        return
                    if event.key == "/n":
                        numbers.append(int(event.entry.value))

    watching = asyncio.create_task(watch())
    counting = [
        asyncio.create_task(count(store, f"/who/{number}")) for number, store in enumerate(writers)
    ]
    for server in sorted(ensemble, key=lambda server: server.mode() == "leader"):
        server.end()
        await asyncio.sleep(0.5)
        server.start()
        await asyncio.to_thread(server.wait_ready)
    failing = False
    await asyncio.gather(*counting)
    while not numbers or numbers[-1] < counted:
        await asyncio.sleep(0.05)
    await writers[0].commit([], [("/end", b"")])
    await watching
    assert numbers == list(range(1, counted + 1))
    assert revisions == sorted(set(revisions))


# TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA that both sides trust, with a certificate for each; and a CA that nobody does."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for ca in ("ca", "stranger"):
        openssl("req", "-x509", *key, "-keyout", f"{ca}.key", "-out", f"{ca}.pem",
                "-subj", f"/CN={ca}", "-days", "2")  # fmt: skip
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name in ("server", "client"):
        openssl(
            "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"
        )
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-out", f"{name}.pem", "-days", "2",
                "-extfile", "names")  # fmt: skip
    both = (folder / "server.key").read_text() + (folder / "server.pem").read_text()
    (folder / "both.pem").write_text(both)
    return folder


@pytest.fixture(scope="module")
def tls_server(
    tmp_path_factory: pytest.TempPathFactory, certificates: Path
) -> Iterator[ZookeeperServer]:
    require_server()
    port = free_port()
    server = ZookeeperServer(
        tmp_path_factory.mktemp("zookeeper-tls"),
        settings=[
            f"secureClientPort={port}",
            "secureClientPortAddress=127.0.0.1",
            "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
            f"ssl.keyStore.location={certificates}/both.pem",
            "ssl.keyStore.type=PEM",
            f"ssl.trustStore.location={certificates}/ca.pem",
            "ssl.trustStore.type=PEM",
        ],
    )
    server.start()
    try:
        server.wait_ready()
        server.port = port
        yield server
    finally:
        server.end()


async def test_tls_with_a_certificate_of_our_own(
    tls_server: ZookeeperServer, certificates: Path
) -> None:
    store = await ZookeeperStore.open(
        tls_server.url("/tls"),
        chance=RealChance(),
        ca_file=str(certificates / "ca.pem"),
        certificate_file=str(certificates / "client.pem"),
        key_file=str(certificates / "client.key"),
    )
    session = await store.session(5000)
    value = bytes(50_000)
    await store.commit([], [("/a", value)], session=session.id)
    entry = await store.get("/a")
    assert entry is not None
    assert entry.value == value
    await session.close()
    await store.close()


async def test_a_server_that_our_ca_does_not_vouch_for_is_not_talked_to(
    tls_server: ZookeeperServer, certificates: Path
) -> None:
    with pytest.raises(Unusable, match="certificate verify failed"):
        await ZookeeperStore.open(
            tls_server.url("/tls"),
            chance=RealChance(),
            timeout_ms=1000,
            ca_file=str(certificates / "stranger.pem"),
        )


async def test_a_key_that_is_not_the_certificates_is_unusable(certificates: Path) -> None:
    with pytest.raises(Unusable, match="do not fit"):
        await ZookeeperStore.open(
            "zookeeper://127.0.0.1:1",
            chance=RealChance(),
            certificate_file=str(certificates / "client.pem"),
            key_file=str(certificates / "server.key"),
        )
