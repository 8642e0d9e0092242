"""What can be done for a partition that nobody leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.client.metadata import Partition

Row = dict[str, Any]


def advice(topic: str, row: Row) -> str | None:
    """For a partition as `topic describe` shows it; None if it has a leader."""
    if row["leader"] is not None:
        return None
    return f"{_hope(row)}; {_last_resort(topic, row)}"


def held(partition: Partition, sizes: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """How many bytes each replica has, where nobody leads: who has most would lose least. `sizes`
    are by broker and partition."""
    if partition.leader >= 0:
        return {}
    known = ((broker, sizes.get((broker, partition.index))) for broker in partition.replicas)
    return {broker: size for broker, size in known if size is not None}


def _hope(row: Row) -> str:
    """What loses nothing."""
    whole = (*row["isr"], *row["eligible"])
    if whole and not all(each in row["offline"] for each in whole):
        return "a leader is being elected, look again"
    if whole:
        return f"start broker {_listed(whole, 'or')}, which had all records last"
    if row["offline"]:
        return (
            f"nobody is known to have all records: start broker {_listed(row['offline'], 'and')} "
            "(after a restore, who has most leads once all have been started)"
        )
    return (
        f"nobody is known to have all records: start broker {_listed(row['replicas'], 'and')} "
        "again first, one after the other (after a restore, each says at its start what it has)"
    )


def _last_resort(topic: str, row: Row) -> str:
    up = [each for each in row["replicas"] if each not in row["offline"]]
    if up:
        return (
            f"if that cannot be, `penstock topic alter {topic} --set "
            f"unclean.leader.election.enable=true` lets broker {_listed(up, 'or')} lead, whoever "
            "has most, and the rest is lost"
        )
    lost = row["replicas"][0]
    return (
        f"if they are lost for good, `penstock broker drain {lost} --abandon` gives the records up "
        "and lets the partition go on elsewhere, empty"
    )


def _listed(brokers: Sequence[int], word: str) -> str:
    *rest, last = map(str, brokers)
    return f"{', '.join(rest)} {word} {last}" if rest else last


def by_advice(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Partitions with the same advice together."""
    found: dict[str, list[int]] = {}
    for row in rows:
        if row["advice"]:
            found.setdefault(row["advice"], []).append(row["partition"])
    return found
