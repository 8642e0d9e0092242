"""ListConfigResources: what there is that has settings, by name.

Version 0 asks for client metrics alone, of which there are none here; 1 says which types it wants,
and none at all means every type. Topics and brokers always have settings, groups are listed if
they have some of their own; broker loggers have none here.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.config_resources import ResourceType
from penstock.api.outcome import Outcome
from penstock.api.slices import in_slices, written
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k74_list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

TYPES_SINCE = 1


def list_config_resources(
    broker: Broker, request: ListConfigResourcesRequest, call: Call
) -> Outcome[ListConfigResourcesResponse]:
    wanted = [ResourceType.CLIENT_METRICS]
    if call.version >= TYPES_SINCE:
        wanted = [_known(number) for number in dict.fromkeys(request.resource_types)]
    resources = (
        ConfigResource(name, kind)
        for kind in wanted or ResourceType
        for name in list(_names(broker, kind))
    )
    return in_slices(
        broker,
        written(call.version, resources),
        lambda found: ListConfigResourcesResponse(config_resources=found),
    )


def _known(number: int) -> ResourceType:
    try:
        return ResourceType(number)
    except ValueError:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION, f"there are no resources of type {number}"
        ) from None


def _names(broker: Broker, kind: ResourceType) -> Iterable[str]:
    match kind:
        case ResourceType.TOPIC:
            return broker.image.topics
        case ResourceType.BROKER:
            return map(str, sorted(broker.image.brokers))
        case ResourceType.GROUP:
            return broker.image.settings.group_configs()
    return ()
