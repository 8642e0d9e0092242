"""Any bytes as the small files beside a log: taken, called not whole, or refused; never a crash.

python tests/fuzz/fuzz_files.py -max_total_time=60
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["penstock.log"]):
    from penstock.errors import Unusable
    from penstock.log import (
        aborted_index,
        checkpoints,
        damage,
        leader_epochs,
        producer_snapshot,
    )
    from penstock.log.offset_index import OffsetIndex
    from penstock.log.time_index import TimeIndex

DECODERS = (
    lambda data: aborted_index.decode(data, "file"),
    lambda data: checkpoints.decode_offsets(data, "file"),
    lambda data: checkpoints.decode_meta(data, "file"),
    lambda data: checkpoints.decode_partition(data, "file"),
    checkpoints.decode_clean_stop,
    lambda data: damage.decode(data, "file"),
    lambda data: leader_epochs.decode(data, "file"),
    lambda data: producer_snapshot.decode(data, "file"),
    lambda data: OffsetIndex.decode(data, 1 << 20),
    TimeIndex.decode,
)


def fuzz(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    decode = DECODERS[provider.ConsumeIntInRange(0, len(DECODERS) - 1)]
    try:
        decode(provider.ConsumeBytes(provider.remaining_bytes()))
    except Unusable:
        return


def main() -> None:
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
