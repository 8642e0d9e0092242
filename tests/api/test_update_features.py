from __future__ import annotations

from typing import Any

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.records import BrokerRecord, broker_key, encode
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
    assert able.image.finalized_features == {FEATURE: 3}
    assert able.image.features_epoch == 1


def test_a_level_that_a_broker_does_not_support_is_refused(able: Desk) -> None:
    answer = update(able, 4)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "supports 1 to 3" in answer.error_message
    assert able.image.finalized_features == {FEATURE: 1}


@pytest.mark.parametrize("kind", [SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
def test_a_downgrade_must_be_asked_for_as_such(able: Desk, kind: int) -> None:
    update(able, 3)
    assert update(able, 2).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert update(able, 2, upgrade_type=kind).error_code == ErrorCode.NONE
    assert able.image.finalized_features == {FEATURE: 2}


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
    assert able.image.finalized_features == {FEATURE: 1}


def test_a_feature_that_comes_twice_is_refused(able: Desk) -> None:
    updates = [FeatureUpdateKey(FEATURE, 2), FeatureUpdateKey(FEATURE, 3)]
    answer = able.ask(UpdateFeaturesRequest(feature_updates=updates))
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_validate_only_changes_nothing(able: Desk) -> None:
    assert update(able, 3, validate_only=True).error_code == ErrorCode.NONE
    assert update(able, 9, validate_only=True).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert able.image.finalized_features == {FEATURE: 1}
