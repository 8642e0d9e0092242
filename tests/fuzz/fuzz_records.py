"""Any bytes as a records section: Malformed or records, and the same from both forms of the walker.

    python tests/fuzz/fuzz_records.py -atheris_runs=1000000
    python tests/fuzz/fuzz_records.py -max_total_time=60

The source runs instrumented, so that the fuzzer sees its branches; the compiled form must agree.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import atheris

from penstock.errors import Malformed
from penstock.wire import records as installed


def instrumented_source() -> Any:
    path = Path(str(installed.__file__)).parent / "records.py"
    spec = importlib.util.spec_from_file_location("records_as_source", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for name in ("walk", "spans", "verify", "encode", "gather", "varint", "long_varint"):
        setattr(module, name, atheris.instrument_func(getattr(module, name)))
    for name in ("advance", "read_fields", "pass_headers", "headers"):
        setattr(module.Cursor, name, atheris.instrument_func(getattr(module.Cursor, name)))
    return module


SOURCE = instrumented_source()


def verdict(records: Any, data: bytes, count: int, base_timestamp: int) -> str:
    try:
        return repr(records.walk(data, count, 0, base_timestamp))
    except Malformed as error:
        return str(error)


def fuzz(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    count = provider.ConsumeIntInRange(0, 8)
    base_timestamp = provider.ConsumeInt(8)
    section = provider.ConsumeBytes(provider.remaining_bytes())
    told = verdict(SOURCE, section, count, base_timestamp)
    assert told == verdict(installed, section, count, base_timestamp)
    try:
        found = SOURCE.walk(section, count)
    except Malformed:
        return
    places = SOURCE.spans(SOURCE.Cursor(section, count))
    assert SOURCE.gather(section, places) == section
    assert SOURCE.walk(SOURCE.encode(found, 0, 0), count) == found


def main() -> None:
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
