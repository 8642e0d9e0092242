"""What was found out of partitions, put together as answers want it: by topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def by_topic(found: Mapping[tuple[str, int], T]) -> dict[str, list[tuple[int, T]]]:
    topics: dict[str, list[tuple[int, T]]] = {}
    for (name, index), each in found.items():
        topics.setdefault(name, []).append((index, each))
    return topics
