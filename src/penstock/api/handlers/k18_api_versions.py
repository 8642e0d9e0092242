"""ApiVersions: what this broker answers, and the features of the cluster.

Version 3 names the client's software, 4 lets the lowest level of a feature be 0: clients that ask
in 3, the Java ones before 3.9 among them, take a 0 for a broken answer, and are told 1. A client
newer than us is answered in version 0 with UNSUPPORTED_VERSION and the list, so that it can choose
(`api/dispatch.py`).
"""

from __future__ import annotations

import re

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused
from penstock.metadata.features import SUPPORTED
from penstock.wire.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

LEVEL_0_SINCE = 4
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def api_versions(broker: Broker, request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
    code = ErrorCode.NONE
    if call.asked_version != call.version:
        code = ErrorCode.UNSUPPORTED_VERSION
    elif call.version >= 3:
        _check_software(request)
    least = 0 if call.version >= LEVEL_0_SINCE else 1
    return ApiVersionsResponse(
        error_code=code,
        api_keys=[ApiVersion(*row) for row in broker.answered],
        supported_features=[
            SupportedFeatureKey(name, max(lowest, least), highest)
            for name, (lowest, highest) in SUPPORTED.items()
        ],
        finalized_features_epoch=broker.image.features_epoch,
        finalized_features=[
            FinalizedFeatureKey(name, level, level)
            for name, level in broker.image.finalized_features.items()
        ],
    )


def _check_software(request: ApiVersionsRequest) -> None:
    for text in (request.client_software_name, request.client_software_version):
        if not SOFTWARE.fullmatch(text):
            raise Refused(ErrorCode.INVALID_REQUEST, "client software name or version is no name")
