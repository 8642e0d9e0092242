"""IncrementalAlterConfigs: single settings of topics, brokers, groups; what is not given stays.

A setting can be set, deleted (so that it falls to its default), and, where it is a list, appended
to or subtracted from. The resources of a request share commits, but one that is refused does not
hold up the others. A group need not be there to be given settings.
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
from penstock.metadata.config_changes import (
    change_broker_configs,
    change_group_configs,
    change_topic_configs,
)
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.image import Image
from penstock.wire.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

Key = tuple[int, str]
"""Type and name of a resource."""


def incremental_alter_configs(
    broker: Broker, request: IncrementalAlterConfigsRequest, call: Call
) -> Outcome[IncrementalAlterConfigsResponse]:

    def change(resource: AlterConfigsResource) -> Callable[[Image], Commit[Any]]:
        nonce = broker.chance.uuid()
        return partial(_change, broker=broker, resource=resource, nonce=nonce, now_ms=call.now_ms)

    def respond(answers: Mapping[Key, object]) -> Outcome[IncrementalAlterConfigsResponse]:
        return in_slices(
            broker,
            written(call.version, _results(answers)),
            lambda responses: IncrementalAlterConfigsResponse(responses=responses),
        )

    return change_each(
        broker,
        (((each.resource_type, each.resource_name), change(each)) for each in request.resources),
        respond,
        validate_only=request.validate_only,
    )


def _change(
    image: Image, *, broker: Broker, resource: AlterConfigsResource, nonce: bytes, now_ms: int
) -> Commit[Any]:
    name = resource.resource_name
    changes = [_config_change(config) for config in resource.configs]
    match resource.resource_type:
        case ResourceType.TOPIC:
            return change_topic_configs(image, name, changes, nonce=nonce, now_ms=now_ms)
        case ResourceType.BROKER:
            return change_broker_configs(image, broker_named(broker, name), changes)
        case ResourceType.GROUP:
            return change_group_configs(image, name, changes)
    raise without_settings(resource.resource_type)


def _config_change(config: AlterableConfig) -> ConfigChange:
    try:
        operation = Operation(config.config_operation)
    except ValueError:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"{config.config_operation} is nothing that can be done to {config.name}",
        ) from None
    return ConfigChange(config.name, operation, config.value)


def _results(answers: Mapping[Key, object]) -> Iterator[AlterConfigsResourceResponse]:
    for key, answer in answers.items():
        yield AlterConfigsResourceResponse(*error_of(answer), *key)


def incremental_alter_configs_failed(
    request: IncrementalAlterConfigsRequest, code: ErrorCode, message: str
) -> IncrementalAlterConfigsResponse:
    refused = Refused(code, message)
    keys = ((each.resource_type, each.resource_name) for each in request.resources)
    return IncrementalAlterConfigsResponse(responses=list(_results(dict.fromkeys(keys, refused))))
