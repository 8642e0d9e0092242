"""Which versions of etcd are warned of."""

from __future__ import annotations

import pytest

from penstock.metadata.stores.etcd_version import ends_leases_early, warn_if_old


@pytest.mark.parametrize("version", ["3.4.0", "3.4.30", "3.5.12", "3.5.12+git"])
def test_a_version_with_a_known_fault_is_warned_of(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_if_old(version)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert version in caplog.text


@pytest.mark.parametrize("version", ["3.4.31", "3.5.13", "3.6.0", "4.0.0", "", "unknown"])
def test_other_versions_are_not(version: str) -> None:
    assert not ends_leases_early(version)
