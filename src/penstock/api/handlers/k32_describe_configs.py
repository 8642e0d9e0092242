"""DescribeConfigs: the settings of topics, brokers and groups, and where each value comes from.

Version 1 brought the sources and the synonyms, 3 types and documentation. A broker is asked for its
own settings, by its number; an empty name asks for what was changed for all brokers together. A
group need not be there to be asked about.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.config_resources import ResourceType, broker_named, without_settings
from penstock.api.described_configs import (
    Described,
    describe_all_brokers,
    describe_broker,
    describe_group,
    describe_topic,
)
from penstock.errors import ErrorCode, Refused
from penstock.metadata import group_settings
from penstock.metadata.changes import existing_topic
from penstock.wire.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


def describe_configs(
    broker: Broker, request: DescribeConfigsRequest, call: Call
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[_answer(broker, request, resource) for resource in request.resources]
    )


def _answer(
    broker: Broker, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    answer = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        described = _describe(broker, resource)
    except Refused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message
        return answer
    wanted = resource.configuration_keys
    answer.configs = [
        _entry(each, request) for each in described if not wanted or each.name in wanted
    ]
    return answer


def _describe(broker: Broker, resource: DescribeConfigsResource) -> Iterable[Described]:
    match resource.resource_type:
        case ResourceType.TOPIC:
            topic = existing_topic(broker.image, resource.resource_name)
            return describe_topic(broker, topic.record)
        case ResourceType.BROKER if broker_named(broker, resource.resource_name) is None:
            return describe_all_brokers(broker)
        case ResourceType.BROKER:
            return describe_broker(broker)
        case ResourceType.GROUP:
            group_settings.check_name(resource.resource_name)
            return describe_group(broker, resource.resource_name)
    raise without_settings(resource.resource_type)


def _entry(each: Described, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=each.name,
        value=each.value,
        read_only=each.read_only,
        config_source=each.source,
        is_sensitive=each.setting.secret,
        synonyms=[
            DescribeConfigsSynonym(layer.name, layer.value, layer.source) for layer in each.layers
        ]
        if request.include_synonyms
        else [],
        config_type=each.type,
        documentation=each.setting.doc if request.include_documentation else None,
    )


def describe_configs_failed(
    request: DescribeConfigsRequest, code: ErrorCode, message: str
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(code, message, each.resource_type, each.resource_name)
            for each in request.resources
        ]
    )
