"""How long a test waits for its broker: the first, and those after it.

python -m bench.brokers_for_tests
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from penstock.testing import Broker, Cluster, running_broker, running_cluster

COUNT = 20


def ready_ms(start: Callable[[], Broker | Cluster]) -> float:
    begun_s = time.perf_counter()
    with start() as made:
        taken_ms = (time.perf_counter() - begun_s) * 1000
        assert made.admin.brokers.list()
    return taken_ms


def report(what: str, start: Callable[[], Broker | Cluster], count: int) -> None:
    first, *rest = (ready_ms(start) for _ in range(count + 1))
    middle, worst = statistics.median(rest), max(rest)
    print(f"{what:<22} first {first:6.0f} ms   then {middle:5.0f} ms   at most {worst:5.0f} ms")


def main() -> None:
    report("process", running_broker, COUNT)
    report("thread", lambda: running_broker(in_process=True), COUNT)
    report("cluster of three", lambda: running_cluster(3), COUNT // 4)


if __name__ == "__main__":
    main()
