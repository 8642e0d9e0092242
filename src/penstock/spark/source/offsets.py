"""Offsets as Spark keeps and shows them: `{"orders": {"0": 17}}`, with the topics' ids beside.

A query's checkpoint holds them, so a topic that was deleted and made anew is known for another,
and one that has lost partitions for the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.spark.errors import OptionError, SparkError

Place = tuple[str, int]
"""A topic and the number of a partition."""

IDS = "/ids"
"""No topic can be called that."""


@dataclass(frozen=True)
class Offsets:
    """Where reading stands: the first offset of each partition that was not read."""

    at: Mapping[Place, int]
    ids: Mapping[Place, bytes]
    """What the records of each partition are known by."""

    def to_json(self) -> dict[str, Any]:
        """A topic's partitions have the id of its first, but for those that say otherwise."""
        ids: dict[str, str] = {}
        told: dict[str, Any] = {IDS: ids}
        for (topic, index), offset in sorted(self.at.items()):
            told.setdefault(topic, {})[str(index)] = offset
            log_id = self.ids[topic, index].hex()
            if ids.setdefault(topic, log_id) != log_id:
                ids[f"{topic}/{index}"] = log_id
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Offsets:
        try:
            ids = told[IDS]
            at = {
                (topic, int(index)): int(offset)
                for topic, partitions in told.items()
                if topic != IDS
                for index, offset in partitions.items()
            }
            known = {
                (topic, index): bytes.fromhex(ids.get(f"{topic}/{index}") or ids[topic])
                for topic, index in at
            }
        except (AttributeError, KeyError, TypeError, ValueError):
            raise SparkError(
                f"the checkpoint holds offsets of another source: {str(told)[:200]}; give this "
                "query a checkpoint of its own"
            ) from None
        return cls(at, known)


def places_of(option: str, told: object, least: int = 0) -> dict[Place, int]:
    """What a job has given as `{"orders": {"0": 17}}`."""
    try:
        assert isinstance(told, dict)
        found = {
            (topic, int(index)): number
            for topic, partitions in told.items()
            for index, number in partitions.items()
        }
        assert all(type(number) is int for number in found.values())
    except (AssertionError, AttributeError, TypeError, ValueError):
        raise OptionError(
            f'option {option}: give a number for each partition, as in {{"orders": {{"0": 17}}}}'
        ) from None
    for (topic, index), number in found.items():
        if index < 0 or number < least:
            raise OptionError(
                f"option {option}: {number} of {topic}-{index} cannot be; give {least} or more for "
                "partitions from 0"
            )
    return found
