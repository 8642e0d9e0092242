"""A commit as one multi of ZooKeeper's, decided by what was read before it.

What was read must still hold when the multi is carried out. A node's version tells that it was not
written, but versions begin again when a node is created anew: so `shape` is compared too, which
every commit that creates nodes writes. Then nothing has been created since, and what was not there
still is not. When the multi is refused, something has moved: read again and decide again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.errors import ErrorCode, Refused
from penstock.metadata import store
from penstock.metadata.store import Conflict, SessionLost
from penstock.metadata.stores.zookeeper_nodes import (
    Check,
    Create,
    Delete,
    Logged,
    Node,
    Operation,
    Paths,
    Set,
    pack,
    revision_of,
    session_of,
)

COMMIT_BYTES_MAX = 900_000
"""ZooKeeper closes the connection on more than 1 MB, all of a multi together."""
_OPERATION_BYTES = 100


class Change(msgspec.Struct, frozen=True):
    checks: tuple[store.Check, ...]
    values: Mapping[str, bytes | None]
    """What the keys are to have; None: to be gone."""
    session: str | None

    @property
    def keys(self) -> list[str]:
        return sorted({key for key, _ in self.checks} | self.values.keys())


class Found(msgspec.Struct, frozen=True):
    """What a commit rests on. The head was read last: nothing here is newer than it."""

    shape: Node
    nodes: Mapping[str, Node | None]
    session_lives: bool
    head: Node


def change_of(
    checks: Sequence[store.Check],
    puts: Sequence[store.Put],
    deletes: Sequence[str],
    session: str | None,
) -> Change:
    values: dict[str, bytes | None] = {**dict(puts), **dict.fromkeys(deletes)}
    change = Change(tuple(checks), values, session)
    if "" in change.keys:
        raise Refused(ErrorCode.INVALID_REQUEST, "a key in the metadata store cannot be empty")
    return change


def plan(paths: Paths, change: Change, found: Found) -> tuple[list[Operation], bool]:
    """The multi, and whether it writes anything; raises Conflict, SessionLost or Refused."""
    _hold_against(change, found)
    writes = [step for key in change.values for step in _steps(paths, change, found, key)]
    operations: list[Operation] = [_guard_shape(paths, found, writes)]
    if change.session is not None:
        operations.append(Check(paths.session(change.session)))
    for key, _ in change.checks:
        node = found.nodes[key]
        if node is not None:
            operations.append(Check(paths.key(key), node.version))
    operations += writes
    if writes:
        operations += [Set(paths.head, b""), _record(paths, change, found)]
    _refuse_too_large(operations)
    return operations, bool(writes)


def _hold_against(change: Change, found: Found) -> None:
    for key, expected in change.checks:
        node = found.nodes[key]
        if (node.revision if node else 0) != expected:
            raise Conflict(key, revision_of(found.head))
    if not found.session_lives:
        raise SessionLost(f"session {change.session} has ended")


def _steps(paths: Paths, change: Change, found: Found, key: str) -> list[Operation]:
    value, node, path = change.values[key], found.nodes[key], paths.key(key)
    before = session_of(node) if node else None
    after = change.session if value is not None else None
    steps: list[Operation] = []
    if value is None and node:
        steps.append(Delete(path, node.version))
    elif value is not None:
        data = pack(value, after)
        steps.append(Set(path, data, node.version) if node else Create(path, data))
    if before and before != after:
        steps.append(Delete(paths.binding(before, key)))
    if after and before != after:
        steps.append(Create(paths.binding(after, key)))
    return steps


def _guard_shape(paths: Paths, found: Found, writes: Sequence[Operation]) -> Operation:
    if any(isinstance(step, Create) for step in writes):
        return Set(paths.shape, b"", found.shape.version)
    return Check(paths.shape, found.shape.version)


def _record(paths: Paths, change: Change, found: Found) -> Create:
    puts = tuple((key, value) for key, value in change.values.items() if value is not None)
    deletes = tuple(key for key, value in change.values.items() if value is None)
    gone = tuple(key for key in deletes if found.nodes[key])
    return Create(f"{paths.log}/c", Logged(puts, gone, change.session).pack(), numbered=True)


def _refuse_too_large(operations: Sequence[Operation]) -> None:
    size = sum(
        _OPERATION_BYTES + len(each.path) + len(getattr(each, "data", b"")) for each in operations
    )
    if size > COMMIT_BYTES_MAX:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"a change of {size} bytes is more than ZooKeeper takes at once "
            f"({COMMIT_BYTES_MAX}); make it smaller, or several",
        )
