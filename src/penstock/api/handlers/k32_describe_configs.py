"""DescribeConfigs: the settings of topics, brokers and groups, and where each value comes from.

Version 1 brought the sources and the synonyms, 3 types and documentation. A broker is asked for its
own settings, by its number; of another one it knows what was changed while that ran. An empty name
asks for what was changed for all brokers together. A group need not be there to be asked about.
What is asked for twice is answered once, with all that was asked about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.config_resources import ResourceType, broker_named, without_settings
from penstock.api.described_configs import (
    Described,
    describe_all_brokers,
    describe_broker,
    describe_group,
    describe_other_broker,
    describe_topic,
    describe_view,
)
from penstock.api.outcome import Outcome
from penstock.api.slices import SLICE_HEAVY, Writing, in_slices
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata import group_settings
from penstock.metadata.changes import existing_topic
from penstock.metadata.views import View
from penstock.wire.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

Key = tuple[int, str]
"""Type and name of a resource."""


def describe_configs(
    broker: Broker, request: DescribeConfigsRequest, call: Call
) -> Outcome[DescribeConfigsResponse]:
    return in_slices(
        broker,
        _results(broker, request, call.version),
        lambda results: DescribeConfigsResponse(results=results),
    )


def _results(broker: Broker, request: DescribeConfigsRequest, version: int) -> Steps[Any]:
    results = Writing(version, at_once=SLICE_HEAVY)
    for (kind, name), wanted in _wanted(request).items():
        result = DescribeConfigsResult(resource_type=kind, resource_name=name)
        try:
            results.check_room()
            described = _describe(broker, kind, name)
        except Refused as refused:
            result.error_code, result.error_message = refused.code, refused.message
        else:
            result.configs = [
                _entry(each, request) for each in described if not wanted or each.name in wanted
            ]
        if results.add(result):
            yield None
    return results


def _wanted(request: DescribeConfigsRequest) -> dict[Key, frozenset[str]]:
    """The keys that are asked for; none at all means every one."""
    wanted: dict[Key, frozenset[str]] = {}
    for resource in request.resources:
        key = resource.resource_type, resource.resource_name
        keys = frozenset(resource.configuration_keys or ())
        before = wanted.get(key, keys)
        wanted[key] = before | keys if before and keys else frozenset()
    return wanted


def _describe(broker: Broker, kind: int, name: str) -> Iterable[Described]:
    match kind:
        case ResourceType.TOPIC:
            return _describe_topic(broker, name)
        case ResourceType.BROKER:
            return _describe_broker(broker, broker_named(broker, name))
        case ResourceType.GROUP:
            group_settings.check_name(name)
            return describe_group(broker, name)
    raise without_settings(kind)


def _describe_topic(broker: Broker, name: str) -> Iterable[Described]:
    view = broker.image.readable.topic(name)
    if isinstance(view, View):
        return describe_view(view)
    return describe_topic(broker, existing_topic(broker.image, name).record)


def _describe_broker(broker: Broker, node_id: int | None) -> Iterable[Described]:
    if node_id is None:
        return describe_all_brokers(broker)
    if node_id != broker.node_id:
        return describe_other_broker(broker, node_id)
    return describe_broker(broker)


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
