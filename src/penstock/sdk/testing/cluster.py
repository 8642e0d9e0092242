"""Several brokers for tests, on one metadata store."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.sdk.admin_line import Value
from penstock.sdk.errors import TimedOut
from penstock.sdk.testing.broker import Broker
from penstock.sdk.testing.endpoint import Endpoint
from penstock.sdk.testing.nursery import shared_nursery
from penstock.sdk.testing.vessels import Process

T = TypeVar("T")

WAIT_S_MAX = 60.0
ASK_S_MAX = 5.0
LOOK_S = 0.02


class Cluster(Endpoint):
    """All brokers are processes. `brokers[0]` has the node id 1, and so on."""

    def __init__(self, count: int, settings: Mapping[str, Value]) -> None:
        super().__init__()
        nursery = shared_nursery()
        self._folder = folder = nursery.new_folder()
        self.brokers: list[Broker] = []
        together = {"metadata.store": f"sqlite:{folder / 'metadata.sqlite'}", **settings}
        try:
            for node_id in range(1, count + 1):
                vessel = Process(nursery, folder / f"broker-{node_id}.log")
                self.brokers.append(Broker(vessel, folder, together, node_id=node_id))
            self.wait_until_known()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        return ",".join(each.bootstrap for each in self.brokers)

    def topic(
        self,
        name: str = "topic",
        partitions: int = 1,
        *,
        replicas: int | None = None,
        **configs: Value,
    ) -> str:
        """With a replica on every broker, unless said otherwise; all brokers know of it."""
        count = len(self.brokers) if replicas is None else replicas
        made = super().topic(name, partitions, replicas=count, **configs)
        self._wait(lambda: self._all_lead(made, partitions), f"all brokers to know of {made}")
        return made

    def leader_of(self, topic: str, partition: int = 0) -> Broker:
        """Waits for one that is well: after a kill it may take until its lease has run out."""
        return self._wait(
            lambda: self._leader(topic, partition), f"a leader of {topic}-{partition}"
        )

    def wait_until_known(self) -> None:
        """Until all brokers that are well know each other."""
        ids = {each.node_id for each in self._well}
        self._wait(lambda: all(_known_to(each) >= ids for each in self._well), f"brokers {ids}")

    def mend(self) -> None:
        """Whatever was done to them: all run, and know each other."""
        for each in self.brokers:
            each.mend()
        self.wait_until_known()

    @property
    def _well(self) -> list[Broker]:
        return [each for each in self.brokers if each.is_running and not each.is_paused]

    def _leader(self, topic: str, partition: int) -> Broker | None:
        for asked in self._well:
            leader = _leaders(asked, topic).get(partition, -1)
            for each in self._well:
                if each.node_id == leader:
                    return each
        return None

    def _all_lead(self, topic: str, count: int) -> bool:
        """Whether everyone says of every partition who leads it."""
        found = [_leaders(each, topic) for each in self._well]
        return all(len(each) == count and min(each.values()) > 0 for each in found)

    def _wait(self, look: Callable[[], T | None], what: str) -> T:
        give_up_s = time.monotonic() + WAIT_S_MAX
        while not (found := look()):
            if time.monotonic() > give_up_s:
                raise TimedOut(
                    f"waited {WAIT_S_MAX:g} s for {what}; `.logs` of the brokers may say why"
                )
            time.sleep(LOOK_S)
        return found

    def close(self) -> None:
        super().close()
        for each in self.brokers:
            each.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def running_cluster(count: int = 3, settings: Mapping[str, Value] | None = None) -> Cluster:
    """A context manager: so many brokers, each a process of its own."""
    return Cluster(count, settings or {})


def _known_to(broker: Broker) -> set[int]:
    return _asked(broker, lambda client: set(client.metadata([]).brokers)) or set()


def _leaders(broker: Broker, topic: str) -> dict[int, int]:
    """By partition, as one broker knows it; empty if it does not answer."""

    def look(client: WireClient) -> dict[int, int]:
        found = client.metadata([topic]).topics
        if topic not in found:
            return {}
        return {index: each.leader for index, each in found[topic].partitions.items()}

    return _asked(broker, look) or {}


def _asked(broker: Broker, look: Callable[[WireClient], T]) -> T | None:
    with WireClient(broker.bootstrap, timeout_s=ASK_S_MAX) as client:
        try:
            return look(client)
        except ClientError:
            return None
