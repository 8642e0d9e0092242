"""Where partitions are found that their topics have lost."""

from __future__ import annotations

from tests.metadata.reducing_stage import NONCE, SEALED, SHOWN, Stage
from tests.metadata.staging import ID

from penstock.metadata.changes import add_partitions
from penstock.metadata.reducing import drop_sealed


def place(stage: Stage, index: int, log_id: bytes = ID) -> tuple[str, int] | None:
    found = stage.image.sealed.place("orders", index, log_id)
    return (found[0].name, found[1]) if found else None


def test_a_lost_partition_is_found_in_the_sealed_topic() -> None:
    stage = Stage("")
    stage.reduce()
    assert place(stage, 2) == ("orders.sealed-1", 0)
    assert place(stage, 5) == ("orders.sealed-1", 3)
    assert place(stage, 1) is place(stage, 6) is place(stage, 2, SHOWN) is None


def test_of_partitions_that_were_in_the_same_place_each_is_found() -> None:
    stage = Stage("")
    stage.reduce()
    stage.apply(add_partitions(stage.image, "orders", 4, nonce=NONCE))
    stage.reduce(1, b"t" * 16, b"y" * 16)
    assert place(stage, 2) == ("orders.sealed-1", 0)
    assert place(stage, 2, SHOWN) == ("orders.sealed-2", 1)


def test_what_was_in_a_sealed_topic_that_is_gone_is_found_no_more() -> None:
    stage = Stage("")
    stage.reduce()
    stage.apply(drop_sealed(stage.image, SEALED, nonce=NONCE))
    assert place(stage, 2) is None
