"""Which partition a record goes to. As in the Java client, so that keys meet in the same one."""

from __future__ import annotations

from struct import Struct

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_MASK = 0xFFFFFFFF
_WORD = Struct("<I")


def murmur2(data: bytes) -> int:
    """The 32-bit hash of Kafka's default partitioner, signed as Java has it."""
    size = len(data)
    mixed = _SEED ^ size
    whole = size & ~3
    for (word,) in _WORD.iter_unpack(data[:whole]):
        scrambled = word * _FACTOR & _MASK
        scrambled = (scrambled ^ scrambled >> 24) * _FACTOR & _MASK
        mixed = (mixed * _FACTOR & _MASK) ^ scrambled
    if size & 3:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    mixed = (mixed ^ mixed >> 13) * _FACTOR & _MASK
    mixed ^= mixed >> 15
    return mixed - (1 << 32) if mixed & 0x80000000 else mixed


def partition_for_key(key: bytes, partition_count: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class Sticky:
    """Where records without a key go: to one partition until its batch is full, then to the next.

    Whole batches in turn are as even as single records in turn, and far cheaper.
    """

    def __init__(self, start: int) -> None:
        self._turn = start

    def choose(self, partition_count: int) -> int:
        return self._turn % partition_count

    def move_on(self) -> None:
        self._turn += 1
