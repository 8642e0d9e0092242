"""Keys go where the Java client would send them."""

from __future__ import annotations

import pytest

from penstock.client.partitioning import Sticky, murmur2, partition_for_key


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_that_of_java(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed


def test_a_key_with_a_negative_hash_gets_a_partition_that_exists() -> None:
    assert partition_for_key(b"21", 7) == (-973932308 & 0x7FFFFFFF) % 7


def test_records_without_a_key_stay_together_until_a_batch_is_full() -> None:
    sticky = Sticky(5)
    assert [sticky.choose(3), sticky.choose(3)] == [2, 2]
    sticky.move_on()
    assert sticky.choose(3) == 0
