"""AlterConfigs: all settings of a topic or broker anew; what is not given falls to its default.

Superseded by IncrementalAlterConfigs, and still sent by older tools. The resources of a request
share commits, but one that is refused does not hold up the others. As in Kafka, groups came too
late for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.change_each import change_each, error_of
from penstock.api.config_resources import ResourceType, broker_named, without_settings
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices, written
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.config_changes import replace_broker_configs, replace_topic_configs
from penstock.metadata.image import Image
from penstock.wire.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

Key = tuple[int, str]
"""Type and name of a resource."""


def alter_configs(
    broker: Broker, request: AlterConfigsRequest, call: Call
) -> Outcome[AlterConfigsResponse]:

    def change(resource: AlterConfigsResource) -> Callable[[Image], Commit[Any]]:
        nonce = broker.chance.uuid()
        return partial(_replace, broker=broker, resource=resource, nonce=nonce, now_ms=call.now_ms)

    def respond(answers: Mapping[Key, object]) -> Outcome[AlterConfigsResponse]:
        return in_slices(
            broker,
            written(call.version, _results(answers)),
            lambda responses: AlterConfigsResponse(responses=responses),
        )

    return change_each(
        broker,
        (((each.resource_type, each.resource_name), change(each)) for each in request.resources),
        respond,
        validate_only=request.validate_only,
    )


def _replace(
    image: Image, *, broker: Broker, resource: AlterConfigsResource, nonce: bytes, now_ms: int
) -> Commit[Any]:
    name = resource.resource_name
    configs = {config.name: config.value for config in resource.configs}
    match resource.resource_type:
        case ResourceType.TOPIC:
            return replace_topic_configs(image, name, configs, nonce=nonce, now_ms=now_ms)
        case ResourceType.BROKER:
            return replace_broker_configs(image, broker_named(broker, name), configs)
        case ResourceType.GROUP:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "settings of groups are changed with IncrementalAlterConfigs, not AlterConfigs",
            )
    raise without_settings(resource.resource_type)


def _results(answers: Mapping[Key, object]) -> Iterator[AlterConfigsResourceResponse]:
    for key, answer in answers.items():
        yield AlterConfigsResourceResponse(*error_of(answer), *key)


def alter_configs_failed(
    request: AlterConfigsRequest, code: ErrorCode, message: str
) -> AlterConfigsResponse:
    refused = Refused(code, message)
    keys = ((each.resource_type, each.resource_name) for each in request.resources)
    return AlterConfigsResponse(responses=list(_results(dict.fromkeys(keys, refused))))
