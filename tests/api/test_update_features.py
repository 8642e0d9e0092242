from __future__ import annotations

from typing import Any

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.features import (
    GROUP_VERSION,
    INITIAL,
    SHARE_VERSION,
    SUPPORTED,
    TRANSACTION_VERSION,
)
from penstock.metadata.records import (
    FEATURES,
    BrokerRecord,
    FeaturesRecord,
    broker_key,
    encode,
)
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest
from penstock.wire.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest

FEATURE = "penstock.version"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


@pytest.fixture
def able(desk: Desk) -> Desk:
    """All brokers can work at levels 1 to 3; the cluster works at 1."""
    record = BrokerRecord(node_id=1, host="broker.test", port=9092, features={FEATURE: (1, 3)})
    desk.change(lambda image: Commit(None, puts=[(broker_key(1), encode(record))]))
    return desk


def update(desk: Desk, level: int, version: int = 2, **rest: Any) -> Any:
    validate_only = rest.pop("validate_only", False)
    wanted = FeatureUpdateKey(FEATURE, level, **rest)
    return desk.ask(UpdateFeaturesRequest(60_000, [wanted], validate_only), version)


@pytest.mark.parametrize("version", range(3))
def test_a_feature_is_upgraded(able: Desk, version: int) -> None:
    answer = update(able, 3, version)
    assert answer.error_code == ErrorCode.NONE
    expected = [(FEATURE, 0)] if version < 2 else []
    assert [(each.feature, each.error_code) for each in answer.results] == expected
    assert able.image.feature_level(FEATURE) == 3
    assert able.image.features_epoch == 1


def test_a_level_that_a_broker_does_not_support_is_refused(able: Desk) -> None:
    answer = update(able, 4)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "supports 1 to 3" in answer.error_message
    assert able.image.feature_level(FEATURE) == 1


@pytest.mark.parametrize("kind", [SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
def test_a_downgrade_must_be_asked_for_as_such(able: Desk, kind: int) -> None:
    update(able, 3)
    assert update(able, 2).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert update(able, 2, upgrade_type=kind).error_code == ErrorCode.NONE
    assert able.image.feature_level(FEATURE) == 2


def test_version_0_asks_for_a_downgrade_with_a_flag(able: Desk) -> None:
    update(able, 3)
    assert update(able, 2, version=0).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert update(able, 2, version=0, allow_downgrade=True).error_code == ErrorCode.NONE


def test_a_type_of_upgrade_that_there_is_not_is_refused(able: Desk) -> None:
    assert update(able, 2, upgrade_type=0).error_code == ErrorCode.INVALID_REQUEST


def test_all_updates_are_made_or_none(able: Desk) -> None:
    updates = [FeatureUpdateKey(FEATURE, 2), FeatureUpdateKey("unknown", 1)]
    answer = able.ask(UpdateFeaturesRequest(feature_updates=updates))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert able.image.feature_level(FEATURE) == 1


def test_a_feature_that_comes_twice_is_refused(able: Desk) -> None:
    updates = [FeatureUpdateKey(FEATURE, 2), FeatureUpdateKey(FEATURE, 3)]
    answer = able.ask(UpdateFeaturesRequest(feature_updates=updates))
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("name", ["streams.version", "kraft.version"])
def test_a_feature_that_no_broker_knows_is_refused_and_told_of(desk: Desk, name: str) -> None:
    desk.register(1)
    answer = desk.ask(UpdateFeaturesRequest(60_000, [FeatureUpdateKey(name, 1)]))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert f"{name} cannot be 1: broker 1 does not know the feature {name}" in answer.error_message
    assert f"it knows {GROUP_VERSION}, {FEATURE}" in answer.error_message


@pytest.mark.parametrize("kind", [UPGRADE, SAFE_DOWNGRADE])
def test_a_feature_that_no_broker_knows_may_be_switched_off(desk: Desk, kind: int) -> None:
    desk.register(1)
    wanted = FeatureUpdateKey("streams.version", 0, upgrade_type=kind)
    answer = desk.ask(UpdateFeaturesRequest(60_000, [wanted]))
    assert answer.error_code == ErrorCode.NONE
    assert desk.image.finalized_features == INITIAL
    assert desk.image.features_epoch == 0


def test_validate_only_changes_nothing(able: Desk) -> None:
    assert update(able, 3, validate_only=True).error_code == ErrorCode.NONE
    assert update(able, 9, validate_only=True).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert able.image.feature_level(FEATURE) == 1


@pytest.fixture
def aged(desk: Desk) -> Desk:
    """A cluster that was founded before there was group.version."""
    record = FeaturesRecord(levels={FEATURE: 1}, epoch=0)
    desk.change(lambda image: Commit(None, puts=[(FEATURES, encode(record))]))
    return desk


def raise_groups(desk: Desk) -> Any:
    return desk.ask(UpdateFeaturesRequest(60_000, [FeatureUpdateKey(GROUP_VERSION, 1)]))


def test_a_new_cluster_has_the_highest_level_of_everything(desk: Desk) -> None:
    assert desk.image.finalized_features == INITIAL
    assert desk.image.feature_level(GROUP_VERSION) == 1


def test_a_feature_that_came_after_the_cluster_is_off_until_it_is_raised(aged: Desk) -> None:
    aged.register(1)
    assert aged.image.feature_level(GROUP_VERSION) == 0
    assert raise_groups(aged).error_code == ErrorCode.NONE
    assert aged.image.finalized_features == {FEATURE: 1, GROUP_VERSION: 1}
    assert aged.image.features_epoch == 1


def test_a_feature_is_not_raised_while_a_broker_of_an_older_release_is_there(aged: Desk) -> None:
    older = BrokerRecord(node_id=2, host="broker.test", port=9092, features={FEATURE: (1, 1)})
    aged.change(lambda image: Commit(None, puts=[(broker_key(2), encode(older))]))
    answer = raise_groups(aged)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "broker 2 does not know the feature group.version" in answer.error_message
    assert aged.image.feature_level(GROUP_VERSION) == 0


def test_the_level_of_groups_can_be_taken_back(desk: Desk) -> None:
    wanted = FeatureUpdateKey(GROUP_VERSION, 0, upgrade_type=SAFE_DOWNGRADE)
    answer = desk.ask(UpdateFeaturesRequest(60_000, [wanted]))
    assert answer.error_code == ErrorCode.NONE
    assert desk.image.feature_level(GROUP_VERSION) == 0


@pytest.mark.parametrize("version", [3, 4])
def test_api_versions_lists_levels_that_every_client_can_read(aged: Desk, version: int) -> None:
    """Highest levels of 0 must not be listed; in version 3 clients stumble over lowest ones too."""
    answer = aged.ask(ApiVersionsRequest("test", "1"), version)
    listed = {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
    lowest = 0 if version >= 4 else 1
    assert listed == {
        FEATURE: SUPPORTED[FEATURE],
        GROUP_VERSION: (lowest, 1),
        SHARE_VERSION: (lowest, 1),
        TRANSACTION_VERSION: (lowest, 2),
    }
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    assert finalized == {FEATURE: 1}
