"""What goes to etcd's JSON gateway and comes from it.

Keys and values are base64 there, and 64-bit numbers are strings; msgspec turns both into what they
are. Fields that are zero or empty are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from penstock.metadata.store import Check, Put

Json = dict[str, Any]

RANGE, TXN, WATCH = "/v3/kv/range", "/v3/kv/txn", "/v3/watch"
GRANT, RENEW, REVOKE = "/v3/lease/grant", "/v3/lease/keepalive", "/v3/lease/revoke"
AUTHENTICATE = "/v3/auth/authenticate"
VERSION = "/version"


class Header(msgspec.Struct, frozen=True):
    cluster_id: int = 0
    revision: int = 0
    raft_term: int = 0


class Answer(Protocol):
    @property
    def header(self) -> Header: ...


class KeyValue(msgspec.Struct, frozen=True):
    key: bytes
    value: bytes = b""
    mod_revision: int = 0
    lease: int = 0


class Found(msgspec.Struct, frozen=True):
    header: Header
    kvs: tuple[KeyValue, ...] = ()
    more: bool = False


class Deleted(msgspec.Struct, frozen=True):
    deleted: int = 0


class Written(msgspec.Struct, frozen=True):
    pass


class Outcome(msgspec.Struct, frozen=True):
    """Of one operation in a transaction."""

    response_put: Written | None = None
    response_range: Found | None = None
    response_delete_range: Deleted | None = None


class Transacted(msgspec.Struct, frozen=True):
    header: Header
    succeeded: bool = False
    responses: tuple[Outcome, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether it wrote anything: a delete of what is not there does not."""
        return any(
            each.response_put or (each.response_delete_range and each.response_delete_range.deleted)
            for each in self.responses
        )

    @property
    def revisions(self) -> list[int]:
        """Of the keys that were read, in their order; 0 for one that is not there."""
        found = [each.response_range for each in self.responses]
        return [each.kvs[0].mod_revision if each and each.kvs else 0 for each in found]


class Granted(msgspec.Struct, frozen=True, rename={"id": "ID", "ttl_s": "TTL"}):
    header: Header
    id: int = 0
    ttl_s: int = 0


class Renewed(msgspec.Struct, frozen=True):
    result: Granted

    @property
    def header(self) -> Header:
        return self.result.header


class Revoked(msgspec.Struct, frozen=True):
    header: Header


class Authenticated(msgspec.Struct, frozen=True):
    header: Header
    token: str = ""


class Versions(msgspec.Struct, frozen=True):
    etcdserver: str = ""


class WatchEvent(msgspec.Struct, frozen=True):
    kv: KeyValue
    type: str = "PUT"


class Watched(msgspec.Struct, frozen=True):
    header: Header
    created: bool = False
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""
    fragment: bool = False
    """More of the same follows."""
    events: tuple[WatchEvent, ...] = ()


class StreamFailure(msgspec.Struct, frozen=True):
    message: str = ""


class WatchLine(msgspec.Struct, frozen=True):
    result: Watched | None = None
    error: StreamFailure | None = None


class Failure(msgspec.Struct, frozen=True):
    code: int = 2
    message: str = ""


A = TypeVar("A")


def encode(request: Json) -> bytes:
    return msgspec.json.encode(request)


def decode(kind: type[A], data: bytes) -> A:
    return msgspec.json.decode(data, type=kind, strict=False)


def end_of(prefix: bytes) -> bytes:
    """What sorts after all keys that begin with the prefix; UTF-8 has no byte 255."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def transaction(
    checks: Sequence[Check], puts: Sequence[Put], deletes: Sequence[str], lease: int, prefix: str
) -> Json:
    """If a check fails, the revisions of all that were checked are read instead.

    etcd takes one operation for a key, so only the last one goes there.
    """
    values = {key: value for key, value in puts if key not in deletes}
    return {
        "compare": [
            {"key": (prefix + key).encode(), "target": "MOD", "mod_revision": revision}
            for key, revision in checks
        ],
        "success": [
            *({"request_put": _put(prefix + key, value, lease)} for key, value in values.items()),
            *({"request_delete_range": _key(prefix + key)} for key in dict.fromkeys(deletes)),
        ],
        "failure": [
            {"request_range": {**_key(prefix + key), "keys_only": True}} for key, _ in checks
        ],
    }


def _key(key: str) -> Json:
    return {"key": key.encode()}


def _put(key: str, value: bytes, lease: int) -> Json:
    return {**_key(key), "value": value, "lease": lease}


def trial(prefix: str) -> Json:
    """Can never succeed, but is refused to whoever may not read and write under the prefix."""
    key = f"{prefix}/".encode()
    return {
        "compare": [{"key": key, "target": "MOD", "result": "LESS", "mod_revision": -1}],
        "success": [{"request_put": {"key": key}}],
        "failure": [
            {"request_range": {"key": key, "range_end": end_of(key), "limit": 1, "keys_only": True}}
        ],
    }


def watching(prefix: bytes, after: int) -> Json:
    """Begins with what is known already. If a watch begins at the very revision that was compacted
    up to, some versions of etcd say nothing of a key that was deleted by it.

    Large answers come in pieces; a sign of progress comes when there is nothing else.
    """
    return {
        "create_request": {
            "key": prefix,
            "range_end": end_of(prefix),
            "start_revision": max(after, 1),
            "fragment": True,
            "progress_notify": True,
        }
    }
