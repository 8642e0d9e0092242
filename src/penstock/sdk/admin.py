"""`penstock.Admin`: a cluster looked after from Python."""

from __future__ import annotations

from typing import Self

from penstock.sdk.admin_brokers import Brokers
from penstock.sdk.admin_groups import Groups
from penstock.sdk.admin_line import Line
from penstock.sdk.admin_schedules import Schedules
from penstock.sdk.admin_topics import Topics


class Admin:
    """Topics, groups and brokers of a cluster, and messages that wait.

        with Admin("127.0.0.1:9092") as admin:
            admin.topics.create("orders", partitions=3)

    Nothing is connected until something is asked. Every call is done, or has failed with a
    PenstockError, within `timeout_s`; the few that wait for a cluster to get somewhere have a
    timeout of their own. Threads may share one: calls are made one after the other.
    """

    def __init__(
        self, bootstrap: str, *, timeout_s: float = 30.0, client_id: str = "penstock-admin"
    ) -> None:
        self._line = Line(bootstrap, client_id, timeout_s)
        self.topics = Topics(self._line)
        self.groups = Groups(self._line)
        self.brokers = Brokers(self._line)
        self.schedules = Schedules(self._line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._line.close()
