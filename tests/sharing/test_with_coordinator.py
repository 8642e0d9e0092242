"""A leader and the coordinator of its share, as they are meant to work together."""

from __future__ import annotations

from random import Random

import pytest
from tests.coordination.share.offsets import is_in_order, plain
from tests.coordination.share.stage import KEY, Stage
from tests.sharing.queue_desk import LOCK_MS, QueueDesk

from penstock.coordination.share import deciding
from penstock.coordination.share.deciding import Written
from penstock.sharing.acknowledging import Acknowledgement
from penstock.sharing.limits import Limits
from penstock.sharing.restoring import Extent, Stored, restore
from penstock.sharing.writes import Write

LIMITS = Limits(locks=40, deliveries=3)


class Pair(QueueDesk):
    """Leaders come and go, and so do coordinators."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.stage.initialize(start_offset=-1)
        self.leader_epoch = 0
        self.log_end = 400
        self.fail_over()

    def store(self) -> Write | None:
        write = super().store()
        if write is not None:
            written = Written(
                write.state_epoch,
                self.leader_epoch,
                write.start_offset,
                write.complete_count,
                write.batches,
            )
            self.stage.run(lambda turn, one: deciding.write(turn, one, written), KEY)
        return write

    def fail_over(self, **limits: int) -> None:
        self.leader_epoch += 1
        read = self.stage.read(self.leader_epoch)
        stored = Stored(read.state_epoch, read.start_offset, read.batches)
        self.share = restore(stored, LIMITS, Extent(0, self.log_end), beginning=0)


@pytest.mark.parametrize("seed", range(10))
def test_all_records_are_finished_in_the_end_whoever_fails_on_the_way(seed: int) -> None:
    random, pair = Random(seed), Pair()
    for _ in range(2000):
        member = random.choice("abc")
        for first, last, _ in pair.take(member, random.randint(1, 20)):
            types = [random.choice([1, 1, 1, 2, 3]) for _ in range(first, last + 1)]
            said = Acknowledgement(first, last, types)
            if random.random() < 0.8:
                pair.share.acknowledge(member, [said], pair.now_ms)
        event = random.random()
        if event < 0.02:
            pair.fail_over()
        elif event < 0.04:
            pair.stage.compact()
            pair.stage.reload()
        elif event < 0.1:
            pair.wait(LOCK_MS)
        else:
            pair.store()
        state = pair.stage.state
        assert state is not None
        assert plain(state.batches) == pair.storage.rows
        assert is_in_order(state.batches)
        if pair.share.start_offset == pair.log_end:
            break
    pair.store()
    assert pair.share.start_offset == pair.share.stored_start == pair.log_end
    summary = pair.stage.summary()
    assert (summary.start_offset, summary.complete_count) == (pair.log_end, 0)
