"""Changes and questions about topics, the cluster, and the settings of both and of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.connection import Address
from penstock.client.errors import check, refused
from penstock.errors import ErrorCode
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.wire.messages.k20_delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from penstock.wire.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from penstock.wire.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from penstock.wire.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.wire.messages.k60_describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BY_DEFAULT = -1
"""As a number of partitions or replicas: as many as the broker is set to."""

_TOPIC, _BROKER, _GROUP = 2, 4, 32
_SET, _DELETE = 0, 1
_SOURCES = {
    1: "topic",
    2: "broker",
    3: "cluster",
    4: "file",
    5: "default",
    8: "group",
}
DEFAULT = "default"


class ConfigValue(NamedTuple):
    value: str | None
    source: str
    """Where it was set: topic, broker, cluster, file, group, or default."""
    is_read_only: bool


class ClusterDescription(NamedTuple):
    cluster_id: str
    controller: int
    brokers: dict[int, Address]


def create_topic(
    client: WireClient,
    name: str,
    partitions: int = BY_DEFAULT,
    replication_factor: int = BY_DEFAULT,
    configs: Mapping[str, str] | None = None,
) -> None:
    wanted = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(each, value) for each, value in (configs or {}).items()],
    )
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=_timeout_ms(client))

    def attempt(deadline: float) -> None:
        answer = client.ask_controller(request, CreateTopicsResponse, deadline)
        for each in answer.topics:
            check(f"topic {name}", each.error_code, each.error_message)

    client.retry(attempt, changes=True)


def delete_topic(client: WireClient, name: str) -> None:
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=_timeout_ms(client)
    )

    def attempt(deadline: float) -> None:
        answer = client.ask_controller(request, DeleteTopicsResponse, deadline)
        for each in answer.responses:
            check(f"topic {name}", each.error_code, each.error_message)

    client.retry(attempt, changes=True)
    client.forget()


def add_partitions(client: WireClient, name: str, count: int) -> None:
    """`count` is how many there shall be in all."""
    wanted = CreatePartitionsTopic(name=name, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=_timeout_ms(client))

    def attempt(deadline: float) -> None:
        answer = client.ask_controller(request, CreatePartitionsResponse, deadline)
        for each in answer.results:
            check(f"topic {name}", each.error_code, each.error_message)

    client.retry(attempt, changes=True)
    client.forget()


def alter_topic(client: WireClient, name: str, configs: Mapping[str, str | None]) -> None:
    """Sets what has a value, takes back what has None; all of it or nothing."""
    _alter(client, f"topic {name}", _TOPIC, name, configs)


def alter_group(client: WireClient, name: str, configs: Mapping[str, str | None]) -> None:
    """The same for a group, which need not be there yet."""
    _alter(client, f"group {name}", _GROUP, name, configs)


def alter_broker(client: WireClient, node: int | None, configs: Mapping[str, str | None]) -> None:
    """The same for a broker, which need not be alive; None: for all of them."""
    about, name = ("all brokers", "") if node is None else (f"broker {node}", str(node))
    _alter(client, about, _BROKER, name, configs)


def _alter(
    client: WireClient, about: str, kind: int, name: str, configs: Mapping[str, str | None]
) -> None:
    changes = [
        AlterableConfig(each, _DELETE if value is None else _SET, value)
        for each, value in configs.items()
    ]
    resource = AlterConfigsResource(kind, name, changes)
    request = IncrementalAlterConfigsRequest(resources=[resource])

    def attempt(deadline: float) -> None:
        answer = client.ask_controller(request, IncrementalAlterConfigsResponse, deadline)
        for each in answer.responses:
            check(about, each.error_code, each.error_message)

    client.retry(attempt)


def topic_configs(client: WireClient, name: str) -> dict[str, ConfigValue]:
    return _configs_anywhere(client, f"topic {name}", _TOPIC, name)


def group_configs(client: WireClient, name: str) -> dict[str, ConfigValue]:
    return _configs_anywhere(client, f"group {name}", _GROUP, name)


def check_registered(client: WireClient, node: int) -> None:
    """Raises ClientError at once: it is not waited for, as it may be a number that never was."""
    if node not in describe_cluster(client).brokers:
        raise refused(
            f"broker {node}",
            ErrorCode.BROKER_NOT_AVAILABLE,
            "it is not registered; `penstock broker list` shows those that are",
        )


def broker_configs(client: WireClient, node: int) -> dict[str, ConfigValue]:
    """A broker answers only for itself."""

    def attempt(deadline: float) -> dict[str, ConfigValue]:
        request = _configs_request(_BROKER, str(node))
        answer = client.ask_node(node, request, DescribeConfigsResponse, deadline)
        return _configs(f"broker {node}", answer)

    return client.retry(attempt)


def all_broker_configs(client: WireClient) -> dict[str, ConfigValue]:
    """What was set for all brokers together while they ran."""
    return _configs_anywhere(client, "all brokers", _BROKER, "")


def describe_cluster(client: WireClient) -> ClusterDescription:
    def attempt(deadline: float) -> ClusterDescription:
        answer = client.ask_any(DescribeClusterRequest(), DescribeClusterResponse, deadline)
        check("cluster", answer.error_code, answer.error_message)
        brokers = {each.broker_id: Address(each.host, each.port) for each in answer.brokers}
        return ClusterDescription(answer.cluster_id, answer.controller_id, brokers)

    return client.retry(attempt)


def _configs_anywhere(
    client: WireClient, about: str, kind: int, name: str
) -> dict[str, ConfigValue]:
    def attempt(deadline: float) -> dict[str, ConfigValue]:
        request = _configs_request(kind, name)
        return _configs(about, client.ask_any(request, DescribeConfigsResponse, deadline))

    return client.retry(attempt)


def _configs_request(kind: int, name: str) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(kind, name, configuration_keys=None)
    return DescribeConfigsRequest(resources=[resource])


def _configs(about: str, answer: DescribeConfigsResponse) -> dict[str, ConfigValue]:
    found = {}
    for result in answer.results:
        check(about, result.error_code, result.error_message)
        for each in result.configs:
            source = _SOURCES.get(each.config_source, DEFAULT)
            found[each.name] = ConfigValue(each.value, source, each.read_only)
    return found


def _timeout_ms(client: WireClient) -> int:
    return int(client.timeout_s * 1000)
