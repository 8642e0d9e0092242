"""Whether another broker has what a log has, whose partition is held here no more."""

from __future__ import annotations

from penstock.log.partition_log import PartitionLog


def is_handed_over(log: PartitionLog, epoch: int, end: int) -> bool:
    """By the largest epoch at or below the log's last one that the leader has, and its end there.

    All that was committed counts. After a crash less than that may be known here; so a leader that
    shares nothing with the log has not got it from here.
    """
    if log.start_offset == log.end_offset:
        return True
    own_epoch, own_end = log.epoch_end_offset(epoch)
    shared = min(own_end, end) if own_epoch == epoch else own_end
    return shared > log.start_offset and shared >= min(log.high_watermark, log.end_offset)
