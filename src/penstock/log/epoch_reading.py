"""What the batches of a log say of leader epochs, one after the other: no checksum covers that.

Epochs only rise. So one that is lower than those before it is a wrong field, and so is one that the
batches after it take back; and an epoch that only the last batch knows of is believed if the
cluster has reached it. Whose epoch is wrong counts for one of its neighbours', the later one where
they differ: then a follower that asks is sent the batch again, where it would else have kept one
of its own. See docs/decisions/0010.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from penstock.log.leader_epochs import EpochStart, LeaderEpochs

lines = logging.getLogger(__name__)


class EpochReader:
    """Adds to epochs what can be believed."""

    __slots__ = ("_begin", "_doubted", "_epochs", "_first_wrong", "_noted", "_since", "_wrong")

    def __init__(self, epochs: LeaderEpochs, begin: int, noted: Collection[int] = ()) -> None:
        """`begin`: below this offset all epochs are known. `noted`: others that are sure."""
        self._epochs = epochs
        self._begin = begin
        self._noted = noted
        self._since: int | None = None
        """The first batch after the last whose epoch is believed."""
        self._doubted: list[EpochStart] = []
        """Later epochs since then: one, or two of which the second is lower."""
        self._wrong = 0
        self._first_wrong = EpochStart(0, 0)

    def take(self, epoch: int, offset: int) -> None:
        """Of the next batch."""
        if epoch == self._epochs.latest:
            if self._since is not None:
                self._reject()
        elif offset >= self._begin:
            if self._since is None:
                self._since = offset
            if epoch < self._epochs.latest:
                self._note_wrong(EpochStart(epoch, offset))
            else:
                self._take_later(EpochStart(epoch, offset))

    def _take_later(self, news: EpochStart) -> None:
        """It bears out another that is the same, or else the first that is not later."""
        others = [each for each in self._doubted if each.epoch <= news.epoch]
        others.sort(key=lambda each: each.epoch != news.epoch)
        if others:
            self._believe(others[0])
        if news.epoch == self._epochs.latest:
            return
        if self._since is None:
            self._since = news.start_offset
        self._doubted.append(news)
        if news.epoch in self._noted:
            self._believe(news)

    def finish(self, reached: int | None, path: str) -> None:
        """Nothing comes after. `reached`: the epoch of the cluster, if that is known."""
        likely = [each for each in self._doubted if reached is None or each.epoch <= reached]
        if likely:
            self._believe(likely[0])
        since = self._since
        self._reject()
        if since is not None and reached is not None:
            self._epochs.assign(max(reached, self._epochs.latest), since)
        if self._wrong:
            text = "%s: the leader epoch of %d batches cannot be true, first of the one at offset "
            text += "%d, which says %d; those of the batches beside them are taken instead"
            lines.warning(text, path, self._wrong, *reversed(self._first_wrong))

    def _believe(self, borne_out: EpochStart) -> None:
        assert self._since is not None
        self._epochs.assign(borne_out.epoch, self._since)
        self._doubted.remove(borne_out)
        self._reject()

    def _reject(self) -> None:
        for each in self._doubted:
            self._note_wrong(each)
        self._doubted.clear()
        self._since = None

    def _note_wrong(self, wrong: EpochStart) -> None:
        if not self._wrong or wrong.start_offset < self._first_wrong.start_offset:
            self._first_wrong = wrong
        self._wrong += 1
