"""UpdateFeatures: which level of each feature the cluster works at, all of them or none.

Version 0 says whether a downgrade is meant with a flag, 1 with the type of upgrade and brought
validate_only (KIP-778), 2 dropped the results by feature. Our downgrades lose nothing, so safe and
unsafe ones are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Change, Outcome
from penstock.errors import ErrorCode, Refused
from penstock.metadata import cluster_changes
from penstock.metadata.changes import Commit
from penstock.metadata.cluster_changes import FeatureUpdate
from penstock.metadata.image import Image
from penstock.wire.messages.k57_update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
TYPES_SINCE = 1


def update_features(
    broker: Broker, request: UpdateFeaturesRequest, call: Call
) -> Outcome[UpdateFeaturesResponse]:
    updates = [_update(wanted, call.version) for wanted in request.feature_updates]
    if len({update.name for update in updates}) < len(updates):
        raise Refused(ErrorCode.INVALID_REQUEST, "a feature comes more than once in this request")

    def decide(image: Image) -> Commit[Mapping[str, int]]:
        return cluster_changes.update_features(image, updates)

    def respond(levels: Mapping[str, int]) -> UpdateFeaturesResponse:
        return UpdateFeaturesResponse(
            results=[UpdatableFeatureResult(update.name) for update in updates]
        )

    if request.validate_only:
        return respond(decide(broker.image).answer)
    return Change(decide, respond)


def _update(wanted: FeatureUpdateKey, version: int) -> FeatureUpdate:
    if version < TYPES_SINCE:
        return FeatureUpdate(wanted.feature, wanted.max_version_level, wanted.allow_downgrade)
    if wanted.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"{wanted.upgrade_type} is no type of upgrade or downgrade"
        )
    downgrade = wanted.upgrade_type != UPGRADE
    return FeatureUpdate(wanted.feature, wanted.max_version_level, downgrade)
