"""What it costs to give records out and to take what is said of them: the state of a queue alone,
without reading, sending or storing.

    python -m bench.share_partition
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from penstock.sharing.acknowledging import Acknowledgement
from penstock.sharing.acquiring import Wanted
from penstock.sharing.limits import Limits
from penstock.sharing.partition import SharePartition

END = 1 << 40
MEMBERS = 50


def take(share: SharePartition, member: str, most: int, now_ms: float) -> list[Acknowledgement]:
    at = share.next_offset(END)
    assert at is not None
    acquired = share.acquire(Wanted(member, at, END, most), now_ms)
    return [Acknowledgement(each.first, each.last, [1]) for each in acquired]


def store(share: SharePartition) -> None:
    write = share.take_write()
    if write is not None:
        share.keep(write)


def in_order(rounds: int, records: int) -> int:
    """One after the other, each write by itself."""
    share = SharePartition(0, Limits())
    for number in range(rounds):
        share.acknowledge("m", take(share, "m", records, number), number)
        store(share)
    return rounds * records


def crossing(rounds: int, records: int) -> int:
    """Fifty members, who are done in the order in which they began, or the other way round."""
    share = SharePartition(0, Limits(locks=10_000))
    for number in range(rounds):
        held = [(f"m{each}", take(share, f"m{each}", records, number)) for each in range(MEMBERS)]
        for member, said in held if number % 2 else reversed(held):
            share.acknowledge(member, said, number)
            store(share)
    return rounds * records * MEMBERS


def mixed(rounds: int, records: int) -> int:
    """Of every other record is said that it is to be delivered again."""
    share = SharePartition(0, Limits(deliveries=10))
    types = [1, 2] * (records // 2)
    done = 0
    for number in range(rounds):
        for each in take(share, "m", records, number):
            count = each.last - each.first + 1
            share.acknowledge("m", [each._replace(types=types[:count])], number)
            done += count
        store(share)
    return done


def one_by_one(rounds: int, records: int) -> int:
    """Each record by itself, the odd ones last, among as many others as may be."""
    share = SharePartition(0, Limits())
    for number in range(rounds):
        held = [each for _ in range(records) for each in take(share, "m", 1, number)]
        for said in (*held[::2], *held[1::2]):
            share.acknowledge("m", [said], number)
            store(share)
    return rounds * records


def measure(name: str, work: Callable[[int, int], int], rounds: int, records: int) -> None:
    best = 0.0
    for _ in range(3):
        began = process_time()
        done = work(rounds, records)
        best = max(best, done / (process_time() - began))
    print(f"{name:44} {best:12,.0f} records/s  {records / best * 1000:8.3f} ms for {records}")


def main() -> None:
    measure("in order, 500 at a time", in_order, 2000, 500)
    measure("in order, 100 at a time", in_order, 5000, 100)
    measure("50 members, 200 each, both ways", crossing, 40, 200)
    measure("every other one again, 500 at a time", mixed, 100, 500)
    measure("one by one, 2,000 in flight", one_by_one, 3, 2000)


if __name__ == "__main__":
    main()
