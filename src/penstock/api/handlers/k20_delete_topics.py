"""DeleteTopics: by name, or by id since version 6.

Version 3 brought an error of its own for `delete.topic.enable=false`, 5 error messages. The topics
of a request share commits, but a topic that is refused does not hold up the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.change_each import change_each, error_of
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices, written
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit, delete_topic
from penstock.metadata.delayed_topics import Scheduled
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import refuse_internal
from penstock.metadata.records import TopicRecord
from penstock.metadata.view_changes import delete_view
from penstock.metadata.views import View, is_view
from penstock.wire.codec import NULL_UUID
from penstock.wire.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

OWN_ERROR_SINCE = 3

Key = tuple[str | None, bytes]
"""What a topic was asked for by: its name, or its id."""


def delete_topics(
    broker: Broker, request: DeleteTopicsRequest, call: Call
) -> Outcome[DeleteTopicsResponse]:
    if not broker.config.delete_topics:
        code = ErrorCode.TOPIC_DELETION_DISABLED
        raise Refused(
            code if call.version >= OWN_ERROR_SINCE else ErrorCode.INVALID_REQUEST,
            "topics are not deleted here: delete.topic.enable is false",
        )
    keys = _keys(request)
    names = {name for name, _ in keys}
    decide = partial(_delete, names=names)

    def respond(answers: Mapping[Key, TopicRecord | Refused]) -> Outcome[DeleteTopicsResponse]:
        results = (_result(key, answer) for key, answer in answers.items())
        return in_slices(
            broker,
            written(call.version, results),
            lambda responses: DeleteTopicsResponse(responses=responses),
        )

    return change_each(
        broker,
        ((key, partial(decide, key=key, nonce=broker.chance.uuid())) for key in keys),
        respond,
        keys_each=2 + _most_views(broker.image, keys),
    )


def _keys(request: DeleteTopicsRequest) -> list[Key]:
    """Versions before 6 have but names."""
    by_name: list[Key] = [(name, NULL_UUID) for name in request.topic_names]
    return by_name + [(topic.name, topic.topic_id) for topic in request.topics]


def _most_views(image: Image, keys: list[Key]) -> int:
    """That any of the topics has: they go with it, in the same commit."""
    if not image.views:
        return 0
    topics = (image.topic(name) if name else image.shown.topic(shown) for name, shown in keys)
    return max((len(image.views.of(topic.id)) for topic in topics if topic), default=0)


def _delete(image: Image, *, key: Key, names: set[str | None], nonce: bytes) -> Commit[TopicRecord]:
    name, topic_id = key
    if (name is None) == (topic_id == NULL_UUID):
        raise Refused(ErrorCode.INVALID_REQUEST, "give either the name of a topic or its id")
    if name is None:
        topic = image.shown.topic(topic_id)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {topic_id.hex()}")
        name = topic.name
        if name in names:
            raise Refused(ErrorCode.INVALID_REQUEST, f"{name} is in this request by name as well")
    refuse_internal(name)
    view = image.readable.topic(name)
    if isinstance(view, Scheduled):
        raise is_view(view)
    if isinstance(view, View):
        return delete_view(image, view, nonce=nonce)
    return delete_topic(image, name, nonce=nonce)


def _result(key: Key, answer: TopicRecord | Refused) -> DeletableTopicResult:
    if not isinstance(answer, Refused):
        key = answer.name, answer.shown_id or answer.topic_id
    return DeletableTopicResult(*key, *error_of(answer))


def delete_topics_failed(
    request: DeleteTopicsRequest, code: ErrorCode, message: str
) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(*key, code, message) for key in _keys(request)]
    )
