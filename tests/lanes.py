"""Which cases `make test` leaves to `make chaos`: those whose like it has run already."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest

in_chaos = pytest.mark.chaos
"""A test or a case that costs much and says little that the others in `make test` do not."""


def cases(names: Iterable[str], in_test: Container[str], values: Any = None) -> list[Any]:
    """Parameters by name, of which `make test` has the chosen ones and `make chaos` all."""
    return [
        pytest.param(
            name if values is None else values[name],
            id=name,
            marks=() if name in in_test else in_chaos,
        )
        for name in names
    ]
