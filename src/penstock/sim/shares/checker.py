"""Whether what leaders have read and stored in shares can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.sim.shares.history import NOTHING, ShareHistory, Step


def check(history: ShareHistory) -> list[str]:
    findings = list(history.problems)
    for share in sorted({step.share for step in history.steps}):
        steps = [step for step in history.steps if step.share == share]
        reads = [step for step in steps if step.is_read and step.ended is not None]
        writes = [step for step in steps if not step.is_read]
        findings += _unheard_of(share, reads, writes)
        findings += _lost(share, reads, writes)
        findings += _not_shut_out(share, reads, writes)
        findings += _changed_behind(share, reads)
    return findings


def _unheard_of(share: int, reads: Sequence[Step], writes: Sequence[Step]) -> Iterator[str]:
    for read in reads:
        known = {write.value for write in writes if write.begun < _end(read)} | {NOTHING}
        if read.value not in known:
            yield f"share {share}: {read.value} was read, and nobody has written it"


def _lost(share: int, reads: Sequence[Step], writes: Sequence[Step]) -> Iterator[str]:
    """What was acknowledged before a read began is in what it finds, or something later is."""
    for read in reads:
        kept = [each.value for each in writes if each.ended is not None and each.ended < read.begun]
        last = max(kept, default=NOTHING)
        if read.value < last:
            yield f"share {share}: {read.value} was read, after {last} was acknowledged"


def _not_shut_out(share: int, reads: Sequence[Step], writes: Sequence[Step]) -> Iterator[str]:
    for write in writes:
        over = [each for each in reads if _end(each) < write.begun and each.epoch > write.epoch]
        if write.ended is not None and over:
            yield f"share {share}: {write.value} was acknowledged, after {over[0].epoch} had read"


def _changed_behind(share: int, reads: Sequence[Step]) -> Iterator[str]:
    """What a leader has read is changed by itself and by later ones, and by no one before it."""
    for first in reads:
        for later in reads:
            if later.begun < _end(first) or later.epoch < first.epoch:
                continue
            if later.value != first.value and later.value.epoch < first.epoch:
                yield (
                    f"share {share}: leader {first.epoch} has read {first.value}, and after that "
                    f"{later.value} was found there"
                )


def _end(read: Step) -> int:
    assert read.ended is not None
    return read.ended
