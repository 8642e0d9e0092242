"""`from penstock import ...` is there for programs, and costs a broker nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import penstock

CLIENTS = ("confluent_kafka", "penstock.sdk", "penstock.client.cluster", "pytest")
LOADED = f"""
import sys
import penstock.node.run
loaded = [name for name in sys.modules if name.startswith({CLIENTS!r})]
assert not loaded, loaded
"""


def test_a_broker_loads_nothing_that_is_for_clients() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True, timeout=60)


@pytest.mark.parametrize("name", penstock.SDK)
def test_what_programs_use_is_found_by_name(name: str) -> None:
    assert getattr(penstock, name).__name__ == name
    assert name in dir(penstock)


def test_a_name_that_is_not_there_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Produser'"):
        penstock.Produser  # type: ignore[attr-defined]  # noqa: B018
