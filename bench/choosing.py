"""What a view costs: nanoseconds a record to narrow batches down to what matches.

    python bench/choosing.py

Batches of 500 records of 100 B with two headers, of which half match; with headers and patterns
it is every other record, which is the worst. The whole way is measured: CRC, walk, verdicts, and
the new batch. Where the walk is compiled, the same is measured in Python too, in a process of its
own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter_ns

from penstock.predicate.predicate import Predicate, parse
from penstock.wire import choosing
from penstock.wire.batch import HEADER_SIZE
from penstock.wire.batch_builder import build_batch
from penstock.wire.choosing import Digest, Names, Verdicts
from penstock.wire.compression import Codec
from penstock.wire.narrowing import narrowed
from penstock.wire.records import Cursor, Record

RECORDS = 500
ROUNDS = 200
LIMIT = 64 << 20
START_MS = 1_794_830_400_000
CASES = {
    "one header": "region = 'eu'",
    "two headers": "region = 'eu' and tier in ('gold', 'silver')",
    "header and time": f"region = 'eu' and timestamp >= {START_MS}",
    "key": f"key < 'key-{RECORDS // 2:06}'",
    "key, five patterns": " or ".join(f"key like '%{digit}'" for digit in (0, 2, 4, 6, 8)),
    "time": f"timestamp not between 0 and {START_MS + RECORDS // 2 - 1}",
    "all": "region is not null",
    "none": "region = 'cn'",
}


def batch_of(codec: Codec) -> bytes:
    made = [
        Record(
            i,
            START_MS + i,
            b"key-%06d" % i,
            os.urandom(50) + bytes(50),
            ((b"region", b"eu" if i % 2 == 0 else b"us"), (b"tier", b"gold")),
        )
        for i in range(RECORDS)
    ]
    return bytes(build_batch(made, codec=codec))


def best_ns(batch: bytes, predicate: Predicate) -> float:
    """Of the fastest round, a record: the others tell of the machine, not of the code."""
    verdicts: Verdicts = {}
    best = sys.maxsize
    for _ in range(ROUNDS):
        began = perf_counter_ns()
        narrowed(batch, predicate, verdicts, LIMIT)
        best = min(best, perf_counter_ns() - began)
    return best / RECORDS


def digest_ns(batch: bytes) -> float:
    data, names = batch[HEADER_SIZE:], Names((b"region", b"tier"))
    best = sys.maxsize
    for _ in range(ROUNDS):
        began = perf_counter_ns()
        Digest(Cursor(data, RECORDS), names, 64, 64).go_on()
        best = min(best, perf_counter_ns() - began)
    return best / RECORDS


def measure() -> None:
    form = "compiled" if choosing.COMPILED else "pure"
    plain, zstd = batch_of(Codec.NONE), batch_of(Codec.ZSTD)
    print(
        f"{form + ', ns a record':<24} {'plain':>7} {'zstd':>7} {'plain, records/s':>18}",
        flush=True,
    )
    for name, text in CASES.items():
        predicate = parse(text)
        cost = best_ns(plain, predicate)
        row = f"{name:<24} {cost:>7.0f} {best_ns(zstd, predicate):>7.0f} {1e9 / cost:>18,.0f}"
        print(row, flush=True)
    print(f"{'a digest of two headers':<24} {digest_ns(plain):>7.0f}", flush=True)


def measure_pure() -> None:
    """From a copy of the sources without what was compiled."""
    source = Path(str(choosing.__file__)).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        for path in source.rglob("*.py"):
            target = Path(folder) / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        environment = os.environ | {"PYTHONPATH": folder}
        subprocess.run([sys.executable, __file__], env=environment, check=True)


def main() -> None:
    measure()
    if choosing.COMPILED:
        measure_pure()


if __name__ == "__main__":
    main()
