"""What it costs to look inside a batch: nanoseconds a record, compiled and not.

python bench/records.py
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from time import perf_counter_ns
from types import ModuleType
from typing import Any

from penstock.wire import records as installed

RECORDS = 1_000
ROUNDS = 50
SIZES = (100, 1_024)


def pure_source() -> ModuleType:
    """The same module from its source, whether or not a compiled one stands beside it."""
    path = Path(str(installed.__file__)).parent / "records.py"
    spec = importlib.util.spec_from_file_location("pure_records", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def section(records: Any, value_size: int, headers: int) -> bytes:
    tags = tuple((b"tag-%d" % i, b"value") for i in range(headers))
    made = [
        records.Record(i, i * 7, b"key-%06d" % i, bytes(value_size), tags) for i in range(RECORDS)
    ]
    encoded: bytes = records.encode(made, 0, 0)
    return encoded


def best_ns(call: Any, *arguments: object) -> float:
    """Of the fastest round, a record: the others tell of the machine, not of the code."""
    best = sys.maxsize
    for _ in range(ROUNDS):
        began = perf_counter_ns()
        call(*arguments)
        best = min(best, perf_counter_ns() - began)
    return best / RECORDS


def with_cursor(records: Any, call: Any, data: bytes) -> None:
    call(records.Cursor(data, RECORDS))


def main() -> None:
    modules = [("pure", pure_source())]
    if installed.COMPILED:
        modules.insert(0, ("compiled", installed))
    columns = ("value", "headers", "walk", "spans", "verify", "encode")
    print(f"{'ns a record':<11}", *(f"{column:>7}" for column in columns))
    for name, records in modules:
        for size in SIZES:
            for headers in (0, 2):
                data = section(records, size, headers)
                made = records.walk(data, RECORDS)
                costs = (
                    best_ns(records.walk, data, RECORDS),
                    best_ns(with_cursor, records, records.spans, data),
                    best_ns(with_cursor, records, records.verify, data),
                    best_ns(records.encode, made, 0, 0),
                )
                print(f"{name:<11} {size:>7} {headers:>7}", *(f"{cost:>7.0f}" for cost in costs))


if __name__ == "__main__":
    main()
