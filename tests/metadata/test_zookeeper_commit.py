"""What needs no server: addresses, names of nodes, and the multi that a commit becomes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Refused, Unusable
from penstock.metadata.store import Conflict, SessionLost
from penstock.metadata.stores import zookeeper_address, zookeeper_nodes
from penstock.metadata.stores.zookeeper import ZookeeperStore
from penstock.metadata.stores.zookeeper_address import Address, Credentials, parse_url
from penstock.metadata.stores.zookeeper_commit import COMMIT_BYTES_MAX, Found, change_of, plan
from penstock.metadata.stores.zookeeper_nodes import (
    Check,
    Create,
    Delete,
    Node,
    Operation,
    Paths,
    Set,
    binding_of,
    key_of,
    name_of,
    pack,
)
from penstock.world.real import RealChance

PATHS = Paths("/penstock")
SHAPE = Node(b"", 3, 1, 8)
HEAD = Node(b"", 7, 1, 90)


def found(session_lives: bool = True, **nodes: Node | None) -> Found:
    return Found(SHAPE, nodes, session_lives, HEAD)


def node(value: bytes, *, version: int, revision: int, session: str | None = None) -> Node:
    return Node(pack(value, session), version, 5, revision)


def steps(operations: list[Operation]) -> list[Operation]:
    """Without the head and the log, which all that write have at their end."""
    assert operations[-2] == Set(PATHS.head, b"")
    assert isinstance(operations[-1], Create)
    return operations[:-2]


# Addresses


@pytest.mark.parametrize(
    ("url", "hosts", "chroot"),
    [
        ("zookeeper://h1:2181,h2:2182/a/b", ("h1:2181", "h2:2182"), "/a/b"),
        ("zookeeper://h1", ("h1:2181",), "/penstock"),
        ("zookeeper://h1:1/", ("h1:1",), "/penstock"),
        ("zookeeper://[::1]:2183,[::2]/x/", ("[::1]:2183", "[::2]:2181"), "/x"),
    ],
)
def test_an_address_names_servers_and_a_path(url: str, hosts: tuple[str, ...], chroot: str) -> None:
    assert parse_url(url) == Address(hosts, chroot)


@pytest.mark.parametrize(
    "url",
    [
        "etcd://h1:2379/x",
        "zookeeper://",
        "zookeeper://h1:port/x",
        "zookeeper://h1:0",
        "zookeeper://h1:70000",
        "zookeeper://h1,,h2",
        "zookeeper://:2181",
        "zookeeper://h1/a/../b",
        "zookeeper://h1/a\nb",
        "zookeeper://" + ",".join(["h"] * 65),
    ],
)
def test_an_address_that_is_wrong_is_refused_with_what_is_wrong(url: str) -> None:
    with pytest.raises(Unusable, match="zookeeper://"):
        parse_url(url)


@pytest.mark.parametrize(
    "credentials",
    [
        Credentials(user="a"),
        Credentials(password="a"),
        Credentials(user="a:b", password="c"),
        Credentials(certificate_file=__file__),
        Credentials(ca_file="/no/such/file"),
        Credentials(ca_file=__file__),
        Credentials(certificate_file=__file__, key_file=__file__),
    ],
)
def test_credentials_that_cannot_be_used_are_refused(credentials: Credentials) -> None:
    with pytest.raises(Unusable):
        zookeeper_address.check(credentials)


async def test_without_the_library_one_is_told_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [each for each in sys.modules if each.split(".")[0] == "kazoo"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("link", "client"):
        monkeypatch.delitem(
            sys.modules, f"penstock.metadata.stores.zookeeper_{name}", raising=False
        )
    monkeypatch.setitem(sys.modules, "kazoo", None)
    with pytest.raises(Unusable, match=r"pip install penstock\[zookeeper\]"):
        await ZookeeperStore.open("zookeeper://localhost", chance=RealChance())


# Names


@given(st.text(min_size=1))
def test_any_key_has_a_name_that_is_allowed_and_leads_back(key: str) -> None:
    try:
        name = name_of(key)
    except UnicodeEncodeError:
        return
    assert key_of(name) == key
    assert name.isascii()
    assert name.isprintable()
    assert "/" not in name
    assert name not in (".", "..")


def test_a_binding_names_its_session_and_its_key() -> None:
    name = Path(PATHS.binding("0a", "/brokers/1,2")).name
    assert binding_of(name) == ("0a", "/brokers/1,2")


# Commits


def test_what_was_read_is_compared_with_its_version_and_the_shape() -> None:
    change = change_of([("a", 40)], [("a", b"2")], [], None)
    operations, writes = plan(PATHS, change, found(a=node(b"1", version=6, revision=40)))
    assert writes
    assert steps(operations) == [
        Check(PATHS.shape, 3),
        Check(PATHS.key("a"), 6),
        Set(PATHS.key("a"), b"\n2", 6),
    ]


def test_what_is_created_changes_the_shape_that_was_read() -> None:
    operations, _ = plan(PATHS, change_of([("a", 0)], [("a", b"1")], [], None), found(a=None))
    assert steps(operations) == [Set(PATHS.shape, b"", 3), Create(PATHS.key("a"), b"\n1")]


def test_a_key_that_is_put_and_deleted_is_deleted() -> None:
    change = change_of([], [("a", b"2")], ["a"], None)
    operations, _ = plan(PATHS, change, found(a=node(b"1", version=6, revision=40)))
    assert steps(operations) == [Check(PATHS.shape, 3), Delete(PATHS.key("a"), 6)]


def test_a_key_that_changes_hands_changes_its_binding() -> None:
    bound = node(b"1", version=6, revision=40, session="01")
    operations, _ = plan(PATHS, change_of([], [("a", b"2")], [], "02"), found(a=bound))
    assert steps(operations) == [
        Set(PATHS.shape, b"", 3),
        Check(PATHS.session("02")),
        Set(PATHS.key("a"), b"02\n2", 6),
        Delete(PATHS.binding("01", "a")),
        Create(PATHS.binding("02", "a")),
    ]


def test_a_key_written_again_by_its_session_keeps_its_binding() -> None:
    bound = node(b"1", version=6, revision=40, session="01")
    operations, _ = plan(PATHS, change_of([], [("a", b"2")], [], "01"), found(a=bound))
    assert steps(operations)[2:] == [Set(PATHS.key("a"), b"01\n2", 6)]


def test_nothing_to_write_is_only_compared() -> None:
    change = change_of([("a", 40)], [], ["b"], None)
    operations, writes = plan(PATHS, change, found(a=node(b"1", version=6, revision=40), b=None))
    assert not writes
    assert operations == [Check(PATHS.shape, 3), Check(PATHS.key("a"), 6)]


def test_a_conflict_tells_the_revision_that_was_read_last() -> None:
    change = change_of([("a", 39)], [("a", b"2")], [], None)
    with pytest.raises(Conflict) as refused:
        plan(PATHS, change, found(a=node(b"1", version=6, revision=40)))
    assert (refused.value.key, refused.value.revision) == ("a", HEAD.revision)


def test_a_conflict_comes_before_a_lost_session() -> None:
    change = change_of([("a", 39)], [("a", b"2")], [], "01")
    with pytest.raises(Conflict):
        plan(PATHS, change, found(session_lives=False, a=None))
    with pytest.raises(SessionLost):
        plan(PATHS, change_of([], [("a", b"2")], [], "01"), found(session_lives=False, a=None))


def test_more_than_zookeeper_takes_at_once_is_refused() -> None:
    change = change_of([], [("a", bytes(COMMIT_BYTES_MAX))], [], None)
    with pytest.raises(Refused, match="more than ZooKeeper takes"):
        plan(PATHS, change, found(a=None))


def test_a_key_without_a_name_is_refused() -> None:
    with pytest.raises(Refused):
        change_of([], [("", b"1")], [], None)


def test_a_commit_too_large_for_the_log_is_not_told() -> None:
    value = bytes(zookeeper_nodes.LOGGED_MAX)
    operations, _ = plan(PATHS, change_of([], [("a", value)], [], None), found(a=None))
    logged = operations[-1]
    assert isinstance(logged, Create)
    assert zookeeper_nodes.events_of(Node(logged.data, 0, 9, 9)) is None
