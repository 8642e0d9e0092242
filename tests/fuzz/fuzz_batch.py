"""Any bytes as a whole batch, its CRC put right: refused, or opened within the limit.

python tests/fuzz/fuzz_batch.py -atheris_runs=1000000
python tests/fuzz/fuzz_batch.py -max_total_time=60
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["penstock.wire"]):
    from penstock.errors import Malformed, Refused
    from penstock.wire import batch_builder
    from penstock.wire.batch import BatchHeader, check, seal
    from penstock.wire.compression import Codec, compress
    from penstock.wire.records import Cursor, Record, encode, spans

LIMIT = 1 << 16


def header_from(provider: atheris.FuzzedDataProvider, codec: int, count: int) -> BatchHeader:
    return BatchHeader(
        base_offset=provider.ConsumeInt(8),
        length=0,
        leader_epoch=provider.ConsumeInt(4),
        magic=2,
        crc=0,
        attributes=provider.ConsumeIntInRange(0, 15) << 3 | codec,
        last_offset_delta=provider.PickValueInList([count - 1, count]),
        base_timestamp=provider.ConsumeInt(8),
        max_timestamp=provider.ConsumeInt(8),
        producer_id=provider.ConsumeInt(8),
        producer_epoch=provider.ConsumeInt(2),
        base_sequence=provider.ConsumeInt(4),
        record_count=provider.PickValueInList([count, count, count, count + 1, -1]),
    )


def section_from(provider: atheris.FuzzedDataProvider) -> tuple[bytes, int]:
    """True records more often than not, or hardly anything would get past the walker."""
    if provider.ConsumeIntInRange(0, 3) == 0:
        return provider.ConsumeBytes(provider.ConsumeIntInRange(0, 500)), 1
    made = []
    for offset in range(provider.ConsumeIntInRange(0, 8)):
        key = provider.ConsumeBytes(provider.ConsumeIntInRange(0, 9))
        value = provider.ConsumeBytes(provider.ConsumeIntInRange(0, 90))
        headers = ((key, None), (b"", value)) if provider.ConsumeBool() else ()
        timestamp = provider.ConsumeIntInRange(-(1 << 61), 1 << 61)
        made.append(Record(offset, timestamp, key or None, value or None, headers))
    return encode(made, 0, provider.ConsumeIntInRange(0, 1 << 45)), len(made)


def batch_from(provider: atheris.FuzzedDataProvider) -> bytearray:
    """Most of them truly compressed, some with one byte changed afterwards."""
    codec = provider.ConsumeIntInRange(0, 7)
    section, count = section_from(provider)
    if provider.ConsumeIntInRange(0, 3) and codec <= max(Codec):
        section = compress(codec, section)
    if section and provider.ConsumeIntInRange(0, 3) == 0:
        place = provider.ConsumeIntInRange(0, len(section) - 1)
        section = section[:place] + provider.ConsumeBytes(1) + section[place + 1 :]
    return seal(header_from(provider, codec, count), section)


def open_all(batch: bytearray) -> None:
    header = check(batch)
    data = batch_builder.records_of(batch, LIMIT)
    assert len(data) <= LIMIT
    found = batch_builder.read_records(batch, LIMIT)
    again = batch_builder.recompress(batch, (header.codec + 1) % 5, None, LIMIT)
    assert batch_builder.read_records(again, LIMIT) == found
    places = spans(Cursor(data, header.record_count))
    rebuilt = batch_builder.rebuild(header, data, places[::2], delete_horizon_ms=1_000)
    kept = batch_builder.read_records(rebuilt, LIMIT)
    assert [each.key for each in kept] == [each.key for each in found[::2]]


def fuzz(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    batch = batch_from(provider)
    for look in (
        check,
        open_all,
        batch_builder.read_marker,
        lambda whole: batch_builder.check_records(whole, LIMIT, keyed=True),
    ):
        try:
            look(batch)
        except (Malformed, Refused):
            continue


def main() -> None:
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
