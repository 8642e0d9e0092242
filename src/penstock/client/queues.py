"""A topic as a queue: the share groups that read it, how much waits for them, and what they have
given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.client.admin import ConfigValue, group_configs
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.group_listing import list_groups
from penstock.client.groups import SHARE, describe_group
from penstock.client.offsets import EARLIEST, LATEST, ends, vacancies
from penstock.client.share_offsets import ShareStart, share_starts
from penstock.errors import ErrorCode

DEAD_LETTERS = "errors.deadletterqueue.topic.name"
COPIES = "errors.deadletterqueue.copy.record.enable"
ISOLATION, READ_COMMITTED = "share.isolation.level", "read_committed"


class DeadLetters(NamedTuple):
    topic: str
    is_there: bool
    """The topic."""
    held: int | None
    """That are in it, of whichever group; None where nobody knows."""
    have_copies: bool
    """Of the records that they are about, by the group's settings as they are now."""


class QueueGroup(NamedTuple):
    name: str
    state: str
    members: int
    starts: dict[int, ShareStart]
    """By partition; the lag of each is in messages."""
    dead_letters: DeadLetters | None

    @property
    def waiting(self) -> int | None:
        """Messages that are to be delivered, and not finished; None where nobody knows."""
        lags = [each.lag for each in self.starts.values()]
        return None if None in lags else sum(lag for lag in lags if lag is not None)


def queue_groups(client: WireClient, topic: str) -> list[QueueGroup]:
    """By name. Raises ClientError if there is no such topic."""
    client.topic(topic)
    found = []
    for listed in list_groups(client, (), (SHARE,)):
        starts = {
            index: start
            for (name, index), start in share_starts(client, listed.name).items()
            if name == topic
        }
        if starts:
            members = len(describe_group(client, listed.name).members)
            configs = group_configs(client, listed.name)
            counted = _counted(client, topic, starts, configs)
            letters = _dead_letters(client, configs)
            found.append(QueueGroup(listed.name, listed.state, members, counted, letters))
    return sorted(found)


def _counted(
    client: WireClient,
    topic: str,
    starts: dict[int, ShareStart],
    configs: Mapping[str, ConfigValue],
) -> dict[int, ShareStart]:
    """Of what nobody was given yet, some is nothing to be given. A group is done with the rest of
    that, so it is not in the lag."""
    isolation = configs.get(ISOLATION)
    vacant = vacancies(
        client,
        topic,
        {index: start.end for index, start in starts.items() if start.end is not None},
        committed=isolation is not None and isolation.value == READ_COMMITTED,
    )
    return {
        index: start
        if start.lag is None
        else start._replace(lag=max(start.lag - vacant.get(index, 0), 0))
        for index, start in starts.items()
    }


def records_in(client: WireClient, topic: str, indexes: Iterable[int]) -> int:
    """That a reader would get."""
    lasts = ends(client, topic, indexes, LATEST)
    firsts = ends(client, topic, lasts, EARLIEST)
    vacant = vacancies(client, topic, firsts)
    return max(sum(lasts.values()) - sum(firsts.values()) - sum(vacant.values()), 0)


def _dead_letters(client: WireClient, configs: Mapping[str, ConfigValue]) -> DeadLetters | None:
    named = configs.get(DEAD_LETTERS)
    if named is None or not named.value:
        return None
    have_copies = configs[COPIES].value == "true"
    return DeadLetters(named.value, *_count(client, named.value), have_copies)


def _count(client: WireClient, topic: str) -> tuple[bool, int | None]:
    """Whether it is there, and how much is in it. Where a broker is missing, who wants to know how
    a queue fares is told all the rest."""
    try:
        partitions = client.topic(topic).partitions
    except ClientError as error:
        if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return False, None
    if any(each.leader < 0 for each in partitions.values()):
        return True, None
    try:
        return True, records_in(client, topic, partitions)
    except ClientError:
        return True, None
