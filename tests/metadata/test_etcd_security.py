"""The etcd store with users and passwords, and over TLS."""

from __future__ import annotations

import asyncio
import gc
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.etcd_backend import EtcdProcess, open_store, shared_server, url_of

from penstock.errors import Unusable
from penstock.metadata.store import Events
from penstock.metadata.stores.etcd_messages import AUTHENTICATE, RANGE

QUICK_MS = 500

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""asyncio leaves a socket to the collector when time is up in the middle of a TLS handshake."""


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Here, and not in the middle of another test."""
    yield
    gc.collect()


BROKER = {"user": "broker", "password": "secret"}


def end_of(key: str) -> str:
    return key[:-1] + chr(ord(key[-1]) + 1)


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def grant(server: EtcdProcess, user: str, prefix: str) -> None:
    """A user, with the password "secret", who may read and write under the prefix."""
    server.call("/v3/auth/user/add", {"name": user, "password": "secret"})
    server.call("/v3/auth/role/add", {"name": user})
    permission = {
        "permType": "READWRITE",
        "key": base64(prefix),
        "range_end": base64(end_of(prefix)),
    }
    server.call("/v3/auth/role/grant", {"name": user, "perm": permission})
    server.call("/v3/auth/user/grant", {"user": user, "role": user})


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdProcess]:
    """One that wants a password of its users: root, broker and stranger."""
    server = EtcdProcess(tmp_path_factory.mktemp("etcd"), "one", "--bcrypt-cost", "4").start()
    try:
        grant(server, "broker", "/tests/")
        grant(server, "stranger", "/elsewhere/")
        server.call("/v3/auth/user/add", {"name": "root", "password": "secret"})
        server.call("/v3/auth/role/add", {"name": "root"})
        server.call("/v3/auth/user/grant", {"user": "root", "role": "root"})
        server.call("/v3/auth/enable", {})
        yield server
    finally:
        server.kill()


# Users


async def test_a_user_who_may_reads_writes_watches_and_holds_leases(guarded: EtcdProcess) -> None:
    store = await open_store(url_of(guarded), **BROKER)
    session = await store.session(5000)
    revision = await store.commit([], [("/a", b"1")], session=session.id)
    async with aclosing(store.watch("/", revision - 1)) as steps:
        assert isinstance(await anext(steps), Events)
    assert await session._renew_once()
    await session.close()
    assert (await store.list("/"))[0] == []
    await store.close()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"user": "broker", "password": "wrong"}, "authentication failed"),
        ({"user": "nobody", "password": "secret"}, "authentication failed"),
        ({}, "user name is empty"),
        ({"user": "stranger", "password": "secret"}, "permission denied.*grant the user a role"),
    ],
)
async def test_a_user_who_may_not_is_told_what_to_do(
    guarded: EtcdProcess, settings: dict[str, str], why: str
) -> None:
    with pytest.raises(Unusable, match=why):
        await open_store(url_of(guarded), **settings)


async def test_a_user_where_etcd_wants_none_is_told() -> None:
    with pytest.raises(Unusable, match="authentication is not enabled"):
        await open_store(url_of(shared_server()), **BROKER)


async def test_a_token_that_etcd_has_forgotten_is_replaced(guarded: EtcdProcess) -> None:
    """A restart takes all tokens with it."""
    url = url_of(guarded)
    reader, writer, watcher = [await open_store(url, **BROKER) for _ in range(3)]
    first = await writer.commit([], [("/a", b"1")])
    async with aclosing(watcher.watch("/", first - 1)) as steps:
        assert isinstance(await anext(steps), Events)
        guarded.kill()
        guarded.start()
        await asyncio.sleep(0.05)  # so that connections which have ended are not used
        second = await writer.commit([("/a", first)], [("/a", b"2")])
        step = await anext(steps)
    entry = await reader.get("/a")
    assert isinstance(step, Events)
    assert [event.entry for event in step.events] == [entry]
    assert step.revision == second
    for store in (reader, writer, watcher):
        await store.close()


async def test_many_who_find_the_token_forgotten_log_in_once(
    guarded: EtcdProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(url_of(guarded), **BROKER)
    store._gateway._token = "no.1"
    paths: list[str] = []
    post = store._gateway._http.post

    async def posting(endpoint: str, path: str, *rest: Any) -> bytes:
        paths.append(path)
        return await post(endpoint, path, *rest)

    monkeypatch.setattr(store._gateway._http, "post", posting)
    await asyncio.gather(*(store.get(f"/{i}") for i in range(20)))
    assert (paths.count(AUTHENTICATE), paths.count(RANGE)) == (1, 40)
    await store.close()


async def test_a_watch_of_a_user_who_lost_the_right_to_ends(guarded: EtcdProcess) -> None:
    store = await open_store(url_of(guarded), **BROKER)
    store._prefix = "/elsewhere"
    with pytest.raises(Unusable, match="refuses to watch"):
        await anext(store.watch("/", 0))
    with pytest.raises(Unusable, match="permission denied"):
        await store.commit([], [("/a", b"1")])
    await store.close()


# TLS


class Authority:
    """Signs certificates for servers and clients on this host."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self.file = self._make(name, "-x509", "-subj", f"/CN={name}")

    def sign(self, name: str) -> dict[str, str]:
        """The certificate's file and its key's."""
        authority = ("-CA", self.file, "-CAkey", f"{self._folder}/{self._name}.key")
        address = ("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE")
        made = self._make(name, "-x509", "-subj", f"/CN={name}", *address, *authority)
        return {"certificate_file": made, "key_file": f"{self._folder}/{name}.key"}

    def _make(self, name: str, *options: str) -> str:
        path = f"{self._folder}/{name}"
        subprocess.run(
            [
                *("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
                *(
                    "-nodes",
                    "-days",
                    "2",
                    "-keyout",
                    f"{path}.key",
                    "-out",
                    f"{path}.pem",
                    *options,
                ),
            ],
            check=True,
            capture_output=True,
        )
        return f"{path}.pem"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture(scope="module")
def encrypted(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority
) -> Iterator[EtcdProcess]:
    """One that speaks TLS only, and wants a certificate of its clients."""
    files = authority.sign("server")
    server = EtcdProcess(
        tmp_path_factory.mktemp("etcd"),
        "one",
        *("--cert-file", files["certificate_file"], "--key-file", files["key_file"]),
        *("--trusted-ca-file", authority.file, "--client-cert-auth"),
    )
    server.scheme = "https"
    try:
        yield server.start()
    finally:
        server.kill()


async def test_both_sides_know_each_other_by_their_certificates(
    encrypted: EtcdProcess, authority: Authority
) -> None:
    store = await open_store(url_of(encrypted), ca_file=authority.file, **authority.sign("client"))
    revision = await store.commit([], [("/a", b"1")])
    async with aclosing(store.watch("/", revision - 1)) as steps:
        assert isinstance(await anext(steps), Events)
    await store.close()


async def test_a_server_that_another_authority_vouches_for_is_not_trusted(
    encrypted: EtcdProcess, authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other")
    with pytest.raises(Unusable, match="certificate verify failed"):
        await open_store(
            url_of(encrypted), timeout_ms=QUICK_MS, ca_file=other.file, **authority.sign("client")
        )


async def test_a_client_without_a_certificate_is_not_let_in(
    encrypted: EtcdProcess, authority: Authority
) -> None:
    with pytest.raises(Unusable, match="no etcd can be used"):
        await open_store(url_of(encrypted), timeout_ms=QUICK_MS, ca_file=authority.file)


async def test_plain_connections_to_a_server_with_tls_are_told(encrypted: EtcdProcess) -> None:
    with pytest.raises(Unusable, match="whether it wants TLS"):
        await open_store(url_of(encrypted), timeout_ms=QUICK_MS)


async def test_tls_to_a_plain_server_is_told(authority: Authority) -> None:
    with pytest.raises(Unusable, match="whether it wants TLS"):
        await open_store(url_of(shared_server()), timeout_ms=QUICK_MS, ca_file=authority.file)


async def test_a_key_that_is_not_the_certificates_is_told(authority: Authority) -> None:
    files = {**authority.sign("one"), "key_file": authority.sign("two")["key_file"]}
    with pytest.raises(Unusable, match="give a pair in PEM form"):
        await open_store(url_of(shared_server()), ca_file=authority.file, **files)
