"""What etcd's errors mean for what was to be written."""

from __future__ import annotations

import pytest

from penstock.errors import Refused, Unusable
from penstock.metadata.store import NoRoom, SessionLost
from penstock.metadata.stores.etcd_failures import OUT_OF_RANGE, Failed


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (8, "etcdserver: mvcc: database space exceeded", NoRoom),
        (5, "etcdserver: requested lease not found", SessionLost),
        (7, "etcdserver: permission denied", Unusable),
        (3, "etcdserver: authentication failed, invalid user ID or password", Unusable),
        (9, "etcdserver: authentication is not enabled", Unusable),
        (3, "etcdserver: user name is empty", Unusable),
        (3, "etcdserver: request is too large", Refused),
        (8, "grpc: received message larger than max (3 vs. 2)", Refused),
        (3, "etcdserver: key is not provided", Refused),
        (OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", Failed),
    ],
)
def test_what_will_not_pass_is_told_by_its_kind(
    code: int, message: str, kind: type[Exception]
) -> None:
    assert isinstance(Failed(code, message).lasting(), kind)


@pytest.mark.parametrize(
    "message",
    [
        "etcdserver: no leader",
        "etcdserver: too many requests",
        "raft proposal dropped",
        "etcdserver: invalid auth token",
        "etcdserver: revision of auth store is old",
    ],
)
def test_what_is_refused_before_it_is_proposed_was_surely_not_written(message: str) -> None:
    failure = Failed(14, message)
    assert failure.surely_not_done
    assert failure.lasting() is None


@pytest.mark.parametrize(
    "message",
    [
        "etcdserver: request timed out",
        "etcdserver: request timed out, possibly due to previous leader failure",
        "etcdserver: leader changed",
        "etcdserver: server stopped",
        "something new",
    ],
)
def test_all_else_may_have_been_written(message: str) -> None:
    failure = Failed(14, message)
    assert not failure.surely_not_done
    assert failure.lasting() is None
