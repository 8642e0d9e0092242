"""With a safeguard switched off, runs fail: what passes with it passes because of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest

from penstock.api.refused_batches import RefusedBatches
from penstock.coordination.group import protocols
from penstock.log import loading, unwritten
from penstock.log.log_state import LogState
from penstock.log.producer_state import ProducerStates
from penstock.metadata.cluster import Topic
from penstock.metadata.cluster_changes import join
from penstock.node.rejoining import Change, Rejoining
from penstock.replication.leader import Leader
from penstock.server.surveying import Survey
from penstock.sim.file import SimFile
from penstock.sim.run import play
from penstock.sim.storage import Content
from penstock.wire.batch import BatchHeader

SEEDS_MAX = 60


def failing(scenario: str, first: int = 1) -> Iterator[int]:
    """The first is one that was seen to fail: to begin with it saves time, and nothing else."""
    seeds = chain(range(first, SEEDS_MAX), range(1, first))
    return (seed for seed in seeds if play(scenario, seed).findings)


def test_a_disk_that_syncs_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Content, "settle", lambda self, mark: None)
    assert next(failing("power", 2), None) is not None


def test_an_acknowledgement_before_the_sync_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Leader, "own_end", property(lambda self: self.log.end_offset))
    assert next(failing("power", 8), None) is not None


def test_producers_forgotten_at_recovery_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "feed", lambda *_: None)
    assert next(failing("kill"), None) is not None


def test_holes_that_count_as_damage_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unwritten, "has_hole", lambda *_: False)
    assert next(failing("torn", 8), None) is not None


def test_a_page_cache_that_is_believed_after_a_failed_sync_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SimFile, "forget", lambda self, position: None)
    assert next(failing("device"), None) is not None


def test_producers_that_are_told_of_a_gap_at_once_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RefusedBatches, "may_come_late", lambda *_: False)
    assert next(failing("kill"), None) is not None


def test_a_batch_of_an_unknown_producer_that_is_taken_for_its_first_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacks = ProducerStates.lacks_some_before

    def only_of_known(self: ProducerStates, header: BatchHeader) -> bool:
        return header.producer_id in self.producers and lacks(self, header)

    monkeypatch.setattr(ProducerStates, "lacks_some_before", only_of_known)
    assert next(failing("first-start", 2), None) is not None


def test_commits_of_members_that_are_out_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocols, "check_may_commit", lambda *_: None)
    assert next(failing("calm", 7), None) is not None


def test_commits_with_fewer_in_sync_than_there_must_be_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Leader, "has_too_few_in_sync", False)
    monkeypatch.setattr(Leader, "check_enough_in_sync", lambda self: None)
    assert next(failing("last-standing", 2), None) is not None


def test_a_follower_counted_out_before_that_is_known_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def only_wanted(self: Leader) -> None:
        members = self.in_sync if self.wanted is None else self.wanted
        self._counted = [self._followers[each] for each in members if each != self.node_id]

    monkeypatch.setattr(Leader, "_count", only_wanted)
    assert next(failing("shrinking-isr", 2), None) is not None


def test_a_broker_in_sync_with_an_empty_disk_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def as_if_it_had_all(self: Rejoining, change: Change) -> None:
        mark = self._raised_mark()
        await change(lambda image: join(image, self._node_id, self._owner, mark))

    monkeypatch.setattr(Rejoining, "run", as_if_it_had_all)
    assert next(failing("replaced"), None) is not None


def test_partitions_that_go_before_groups_have_read_them_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Survey, "behind", lambda *_, **more: {})
    assert next(failing("fewer-partitions"), None) is not None


def test_partitions_that_stay_and_are_left_out_where_keys_move_between_them_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def only_closing(self: Topic) -> range:
        return range(self.open_partitions, self.record.partitions)

    monkeypatch.setattr(Topic, "closed_range", property(only_closing))
    assert next(failing("fewer-partitions", 8), None) is not None


def test_a_broker_in_sync_that_has_cut_off_a_damaged_tail_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    never = property(lambda self: False, lambda self, value: None)
    monkeypatch.setattr(LogState, "was_cut", never)
    monkeypatch.setattr(unwritten, "has_hole", lambda *_: True)  # as if it looked torn
    assert next(failing("flip", 6), None) is not None
