"""Which brokers there are, what they hold, and replicas on their way from one to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, check, refused
from penstock.errors import ErrorCode
from penstock.wire.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from penstock.wire.messages.k35_describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from penstock.wire.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from penstock.wire.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.wire.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from penstock.wire.messages.k60_describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from penstock.wire.messages.k64_unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from penstock.wire.messages.k75_describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)

DRAINING = "broker.draining"
PARTITIONS_A_REQUEST = 1000
_BROKER = 4
_PREFERRED, _UNCLEAN = 0, 1

Named = tuple[str, int]
"""A partition, by its topic's name and its index."""


class Member(NamedTuple):
    """A broker that belongs to the cluster."""

    node_id: int
    host: str
    port: int
    rack: str
    is_alive: bool
    is_draining: bool

    @property
    def place(self) -> str:
        """Its rack, as placement sees it: without one, a host is a rack."""
        return self.rack or f"host {self.host}"


class Move(NamedTuple):
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


STILL = Move((), (), ())
"""Of a partition that does not move."""


@dataclass(frozen=True, slots=True)
class Disk:
    """What a broker holds, by partition, and the room that its disk has left."""

    sizes: Mapping[Named, int]
    free_bytes: int


def members(client: WireClient) -> tuple[dict[int, Member], int]:
    """All brokers, alive or not, by id; and which one is the controller."""

    def attempt(deadline: float) -> tuple[dict[int, Member], int]:
        request = DescribeClusterRequest(include_fenced_brokers=True)
        answer = client.ask_any(request, DescribeClusterResponse, deadline)
        check("cluster", answer.error_code, answer.error_message)
        draining = _draining(client, [each.broker_id for each in answer.brokers], deadline)
        found = {
            each.broker_id: Member(
                each.broker_id,
                each.host,
                each.port,
                each.rack or "",
                not each.is_fenced,
                each.broker_id in draining,
            )
            for each in answer.brokers
        }
        return found, answer.controller_id

    return client.retry(attempt)


def _draining(client: WireClient, nodes: Iterable[int], deadline: float) -> set[int]:
    resources = [DescribeConfigsResource(_BROKER, str(node), [DRAINING]) for node in nodes]
    request = DescribeConfigsRequest(resources=resources)
    answer = client.ask_any(request, DescribeConfigsResponse, deadline)
    found = set()
    for result in answer.results:
        check(f"broker {result.resource_name}", result.error_code, result.error_message)
        if any(each.name == DRAINING and each.value == "true" for each in result.configs):
            found.add(int(result.resource_name))
    return found


def disks(client: WireClient) -> dict[int, Disk]:
    """Of all brokers that can be reached."""
    deadline = client.deadline()
    client.metadata([], deadline=deadline)
    requests = dict.fromkeys(client.brokers(deadline), DescribeLogDirsRequest(topics=None))
    answers = client.ask_nodes(requests, DescribeLogDirsResponse, deadline)
    return {
        node: _disk(answer)
        for node, answer in answers.items()
        if not isinstance(answer, ClientError)
    }


def _disk(answer: DescribeLogDirsResponse) -> Disk:
    sizes = {
        (topic.name, each.partition_index): each.partition_size
        for folder in answer.results
        for topic in folder.topics
        for each in topic.partitions
    }
    return Disk(sizes, min((folder.usable_bytes for folder in answer.results), default=-1))


def moves(client: WireClient) -> dict[Named, Move]:
    """Partitions that are on the move."""

    def attempt(deadline: float) -> dict[Named, Move]:
        request = ListPartitionReassignmentsRequest(topics=None)
        answer = client.ask_any(request, ListPartitionReassignmentsResponse, deadline)
        check("cluster", answer.error_code, answer.error_message)
        return {
            (topic.name, each.partition_index): Move(
                tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
            )
            for topic in answer.topics
            for each in topic.partitions
        }

    return client.retry(attempt)


def eligible(client: WireClient, topic: str) -> dict[int, tuple[int, ...]]:
    """Brokers that have all that is committed of a partition and are not in sync, by partition."""

    def attempt(deadline: float) -> dict[int, tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        request = DescribeTopicPartitionsRequest([TopicRequest(topic)])
        while True:
            answer = client.ask_any(request, DescribeTopicPartitionsResponse, deadline)
            for each in answer.topics[0].partitions if answer.topics else ():
                found[each.partition_index] = tuple(each.eligible_leader_replicas or ())
            if answer.next_cursor is None:
                return found
            request.cursor = answer.next_cursor

    return client.retry(attempt)


def reassign(client: WireClient, plan: Mapping[Named, Sequence[int] | None]) -> None:
    """Begins the moves; None ends the one that is under way. Raises if one is refused."""
    rest = iter(plan.items())
    while batch := dict(islice(rest, PARTITIONS_A_REQUEST)):
        _reassign(client, batch)


def _reassign(client: WireClient, plan: Mapping[Named, Sequence[int] | None]) -> None:
    topics: dict[str, list[ReassignablePartition]] = {}
    for (name, index), replicas in plan.items():
        given = None if replicas is None else list(replicas)
        topics.setdefault(name, []).append(ReassignablePartition(index, given))
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name, partitions) for name, partitions in topics.items()]
    )

    def attempt(deadline: float) -> None:
        answer = client.ask_controller(request, AlterPartitionReassignmentsResponse, deadline)
        check("moving replicas", answer.error_code, answer.error_message)
        for topic in answer.responses:
            for each in topic.partitions:
                if each.error_code != ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                    check(
                        f"{topic.name}-{each.partition_index}", each.error_code, each.error_message
                    )

    client.retry(attempt)


def elect_leaders(client: WireClient, partitions: Iterable[Named], *, unclean: bool = False) -> int:
    """Lets preferred leaders lead, where they can; or anyone, where nobody does. How many lead that
    did not."""
    topics: dict[str, list[int]] = {}
    for name, index in partitions:
        topics.setdefault(name, []).append(index)
    wanted = [TopicPartitions(name, indexes) for name, indexes in topics.items()]
    request = ElectLeadersRequest(_UNCLEAN if unclean else _PREFERRED, wanted)

    def attempt(deadline: float) -> int:
        answer = client.ask_controller(request, ElectLeadersResponse, deadline)
        check("electing leaders", answer.error_code)
        results = [
            each for topic in answer.replica_election_results for each in topic.partition_result
        ]
        return sum(not each.error_code for each in results)

    return client.retry(attempt)


def unregister(client: WireClient, node: int) -> None:
    def attempt(deadline: float) -> None:
        request = UnregisterBrokerRequest(node)
        answer = client.ask_controller(request, UnregisterBrokerResponse, deadline)
        check(f"broker {node}", answer.error_code, answer.error_message)

    client.retry(attempt, changes=True)


def unknown_broker(node: int, known: Iterable[int]) -> ClientError:
    there = ", ".join(map(str, sorted(known)))
    return refused(
        f"broker {node}", ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is none; there are {there}"
    )
