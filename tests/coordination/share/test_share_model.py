"""Everything that is asked of a share, in any order, against a state for each offset."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.coordination.share.offsets import BATCHES, LAST, Plain, is_in_order, plain
from tests.coordination.share.stage import Stage, refusal

from penstock.errors import ErrorCode
from penstock.wire.delivery import StateBatch


class ShareMachine(RuleBasedStateMachine):
    @initialize(updates=st.sampled_from([0, 1, 3, 500]), start=st.integers(-1, LAST))
    def begin(self, updates: int, start: int) -> None:
        self.stage = Stage(share_updates_per_snapshot=updates)
        self.stage.initialize(start_offset=start)
        self.start, self.leader_epoch, self.state_epoch = start, 0, 0
        self.expected: Plain = {}

    @rule(batches=BATCHES, start=st.integers(-1, LAST))
    def write(self, batches: list[StateBatch], start: int) -> None:
        self.stage.write(
            *batches, start=start, state_epoch=self.state_epoch, leader_epoch=self.leader_epoch
        )
        self.start = max(self.start, start)
        known = {**self.expected, **plain(batches)}
        self.expected = {at: state for at, state in known.items() if at >= self.start}

    @rule(ahead=st.integers(0, 2))
    def read(self, ahead: int) -> None:
        self.leader_epoch += ahead
        read = self.stage.read(self.leader_epoch)
        assert read == self.stage.state

    @rule(start=st.integers(-1, LAST))
    def begin_anew(self, start: int) -> None:
        self.state_epoch, self.leader_epoch = self.state_epoch + 1, 0
        self.start, self.expected = start, {}
        self.stage.initialize(self.state_epoch, start)

    @rule(start=st.integers(-1, LAST))
    def delete_and_begin(self, start: int) -> None:
        self.stage.delete()
        self.state_epoch, self.leader_epoch = 0, 0
        self.start, self.expected = start, {}
        self.stage.initialize(0, start)

    @rule(batches=BATCHES)
    def write_late(self, batches: list[StateBatch]) -> None:
        for state_epoch, leader_epoch, code in (
            (self.state_epoch - 1, self.leader_epoch, ErrorCode.FENCED_STATE_EPOCH),
            (self.state_epoch, self.leader_epoch - 1, ErrorCode.FENCED_LEADER_EPOCH),
        ):
            if min(state_epoch, leader_epoch) >= 0:
                epochs = {"state_epoch": state_epoch, "leader_epoch": leader_epoch}
                assert refusal(partial(self.stage.write, *batches, **epochs)) is code

    @rule()
    def compact(self) -> None:
        self.stage.compact()

    @rule()
    def reload(self) -> None:
        self.stage.reload()

    @invariant()
    def is_as_expected(self) -> None:
        known = self.stage.state
        assert known is not None
        assert plain(known.batches) == self.expected
        assert is_in_order(known.batches)
        found = (known.state_epoch, known.leader_epoch, known.start_offset)
        assert found == (self.state_epoch, self.leader_epoch, self.start)


TestShare = ShareMachine.TestCase
