"""Whose table it is: a topic of a cluster, known by its id, so that none is taken for another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.spark.errors import SparkError

FORMAT = 1
_FORMAT = "penstock.format"
_TOPIC, _ID, _CLUSTER = "penstock.topic", "penstock.topic.id", "penstock.cluster.id"


class Owner(NamedTuple):
    topic: str
    topic_id: str
    """That it was made with, in hexadecimal digits: it is shown under another one once it has lost
    partitions."""
    cluster_id: str

    def to_properties(self) -> dict[str, str]:
        return {
            _FORMAT: str(FORMAT),
            _TOPIC: self.topic,
            _ID: self.topic_id,
            _CLUSTER: self.cluster_id,
        }

    @classmethod
    def of(cls, folder: object, properties: Mapping[str, str]) -> Owner:
        if not is_owned(properties):
            raise SparkError(
                f"{folder} is a table, but not one of `penstock pipeline archive`: choose another "
                "folder"
            )
        if properties[_FORMAT] != str(FORMAT):
            raise SparkError(
                f"{folder} has format {properties[_FORMAT]}, and this release knows {FORMAT}: "
                "upgrade it"
            )
        return cls(*(properties.get(each, "") for each in (_TOPIC, _ID, _CLUSTER)))


def is_owned(properties: Mapping[str, str]) -> bool:
    """Whether a table is that of a topic."""
    return _FORMAT in properties


def check_same(folder: object, owner: Owner, found: Owner) -> None:
    """`found` is the topic that is to go into, or to be read beside, the table."""
    if owner.topic != found.topic:
        raise SparkError(
            f"{folder} is the table of topic {owner.topic}, not of {found.topic}: choose another "
            "folder"
        )
    if owner.topic_id == found.topic_id:
        return
    if owner.cluster_id != found.cluster_id:
        raise SparkError(
            f"{folder} is the table of topic {owner.topic} in cluster {owner.cluster_id}, and this "
            f"is cluster {found.cluster_id}: choose another folder, or another --bootstrap"
        )
    raise SparkError(
        f"{folder} is the table of a topic {owner.topic} that was deleted, and made anew since: "
        "archive the new one into a new folder"
    )
