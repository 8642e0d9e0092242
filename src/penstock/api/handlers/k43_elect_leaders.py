"""ElectLeaders: partitions that their preferred leaders are to lead, or anyone who is left.

Version 1 brought unclean elections (KIP-460), of partitions that nobody who has all their records
can lead. Null asks for all partitions; of those only the ones that an election was held for, or
could not be, are answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from penstock.api.broker import Broker
from penstock.api.by_topic import by_topic
from penstock.api.call import Call
from penstock.api.change_each import change_each, error_of
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices, written
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.leadership import Election, elect, preferred, unclean
from penstock.wire.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

ELECTIONS: Mapping[int, Election] = {0: preferred, 1: unclean}

Key = tuple[str, int]
"""A partition, by its topic's name and its index."""


def elect_leaders(
    broker: Broker, request: ElectLeadersRequest, call: Call
) -> Outcome[ElectLeadersResponse]:
    election = ELECTIONS.get(request.election_type)
    if election is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{request.election_type} is no kind of election")
    are_all = request.topic_partitions is None

    def respond(answers: Mapping[Key, Refused | None]) -> Outcome[ElectLeadersResponse]:
        told = {key: each for key, each in answers.items() if not (are_all and _is_idle(each))}
        return in_slices(
            broker,
            written(call.version, _results(told)),
            lambda results: ElectLeadersResponse(replica_election_results=results),
        )

    return change_each(
        broker,
        (
            (key, partial(_elect, key=key, election=election, nonce=broker.chance.uuid()))
            for key in _keys(broker.image, request)
        ),
        respond,
    )


def _keys(image: Image, request: ElectLeadersRequest) -> Iterator[Key]:
    if request.topic_partitions is None:
        for name, topic in list(image.topics.items()):
            yield from ((name, index) for index in range(topic.record.partitions))
        return
    for asked in request.topic_partitions:
        yield from ((asked.topic, index) for index in asked.partitions)


def _elect(image: Image, *, key: Key, election: Election, nonce: bytes) -> Commit[None]:
    return elect(image, *key, election, nonce=nonce)


def _is_idle(answer: Refused | None) -> bool:
    return isinstance(answer, Refused) and answer.code is ErrorCode.ELECTION_NOT_NEEDED


def _results(answers: Mapping[Key, Refused | None]) -> Iterator[ReplicaElectionResult]:
    for name, own in by_topic(answers).items():
        results = [PartitionResult(index, *error_of(each)) for index, each in own]
        yield ReplicaElectionResult(name, results)
