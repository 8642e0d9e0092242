"""How the store lies in ZooKeeper's tree, and what is in its nodes.

    format    the version of all this
    head      written by every commit: its mzxid is the store's revision, its version counts commits
    shape     written by every commit that creates a node
    log/      what each commit changed, one node for each, numbered by ZooKeeper
    keys/     the entries; one folder, since a node has a slash in its name as little as a key
              has children
    bound/    a node `session,key` for each key that is bound to a session
    sessions/ an ephemeral node for each session that lives

All nodes that one multi writes get the same zxid: so an entry's revision is its node's mzxid, a
commit's that of its node in the log.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

import msgspec

from penstock.errors import Unusable
from penstock.metadata.store import Entry, Event, Events

FORMAT = 1
READ_TOGETHER = 100
"""Nodes in one request."""
LOGGED_MAX = 100_000
"""Bytes in a node of the log. A commit that is larger is not told: who watches lists again."""


class Node(msgspec.Struct, frozen=True):
    data: bytes
    version: int
    created: int
    revision: int
    """Of the commit that wrote it last: its mzxid, as `created` is its czxid."""


class Check(msgspec.Struct, frozen=True):
    path: str
    version: int = -1


class Create(msgspec.Struct, frozen=True):
    path: str
    data: bytes = b""
    numbered: bool = False
    ephemeral: bool = False
    open_to_all: bool = False


class Set(msgspec.Struct, frozen=True):
    path: str
    data: bytes
    version: int = -1


class Delete(msgspec.Struct, frozen=True):
    path: str
    version: int = -1


Operation = Check | Create | Set | Delete


class Paths:
    def __init__(self, chroot: str) -> None:
        self.root = chroot
        self.format = f"{chroot}/format"
        self.head = f"{chroot}/head"
        self.shape = f"{chroot}/shape"
        self.log = f"{chroot}/log"
        self.keys = f"{chroot}/keys"
        self.bound = f"{chroot}/bound"
        self.sessions = f"{chroot}/sessions"

    def key(self, key: str) -> str:
        return f"{self.keys}/{name_of(key)}"

    def binding(self, session: str, key: str) -> str:
        return f"{self.bound}/{session},{name_of(key)}"

    def session(self, session: str) -> str:
        return f"{self.sessions}/{session}"

    def logged(self, number: int) -> str:
        return f"{self.log}/c{number:010d}"


def name_of(key: str) -> str:
    """A node's name for a key: readable, with colons for slashes."""
    if key in (".", ".."):
        return key.replace(".", "%2E")
    return quote(key, safe="").replace("%2F", ":")


def key_of(name: str) -> str:
    return unquote(name.replace(":", "/"))


def binding_of(name: str) -> tuple[str, str]:
    """The session and the key."""
    session, _, key = name.partition(",")
    return session, key_of(key)


def number_of(name: str) -> int:
    return int(name[1:])


def pack(value: bytes, session: str | None) -> bytes:
    return (session or "").encode() + b"\n" + value


def session_of(node: Node) -> str | None:
    return node.data.partition(b"\n")[0].decode() or None


def entry_of(key: str, node: Node) -> Entry:
    session, _, value = node.data.partition(b"\n")
    return Entry(key, value, node.revision, session.decode() or None)


def there(node: Node | None) -> Node:
    """Of a node that a store has for as long as it lives."""
    if node is None:
        raise deleted()
    return node


def deleted() -> Unusable:
    return Unusable(
        "nodes of the metadata store in ZooKeeper have been deleted; put them back from a backup, "
        "or start with another path"
    )


def revision_of(head: Node) -> int:
    return head.revision if head.version else 0


class Logged(msgspec.Struct, frozen=True, array_like=True):
    """What a commit changed, as it is kept in the log."""

    puts: tuple[tuple[str, bytes], ...]
    deletes: tuple[str, ...]
    session: str | None = None

    def pack(self) -> bytes:
        packed = msgspec.msgpack.encode(self)
        return packed if len(packed) <= LOGGED_MAX else b""


def events_of(node: Node) -> Events | None:
    """What the commit has led to, or None if it was too large to be told."""
    if not node.data:
        return None
    logged = msgspec.msgpack.decode(node.data, type=Logged)
    revision = node.created
    puts = [Entry(key, value, revision, logged.session) for key, value in logged.puts]
    events = [Event(entry.key, entry, revision) for entry in puts]
    events += [Event(key, None, revision) for key in logged.deletes]
    return Events(revision, tuple(events))
