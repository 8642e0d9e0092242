"""Programs of other languages, which end with the test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.compat.foreign import ForeignClient


@pytest.fixture
def foreign(tmp_path: Path, topic: str) -> Iterator[Callable[..., ForeignClient]]:
    """Starts a program; variables of its environment are given by name."""
    made: list[ForeignClient] = []

    def start(command: Sequence[object], **variables: object) -> ForeignClient:
        more = {name: str(value) for name, value in variables.items()}
        made.append(ForeignClient(list(map(str, command)), tmp_path, topic, os.environ | more))
        return made[-1]

    yield start
    for each in made:
        each.end()
