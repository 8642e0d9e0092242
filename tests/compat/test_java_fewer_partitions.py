"""The Java client while a topic loses partitions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.compat.test_java import check_runs, java_libraries

__all__ = ["java_libraries"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_java_clients_go_on_while_a_topic_loses_partitions(
    broker: BrokerProcess,
    topic: str,
    java_libraries: Path,
    protocol: str,
) -> None:
    check_runs(java_libraries, "Fewer.java", broker.address, topic, protocol)
