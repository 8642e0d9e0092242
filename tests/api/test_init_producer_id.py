from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.metadata.cluster_changes import PRODUCER_ID_BLOCK, allocate_producer_ids
from penstock.wire.messages.k22_init_producer_id import InitProducerIdRequest


@pytest.mark.parametrize("version", range(6))
def test_each_producer_gets_an_id_of_its_own(desk: Desk, version: int) -> None:
    answers = [desk.ask(InitProducerIdRequest(None), version) for _ in range(3)]
    assert [answer.error_code for answer in answers] == [0, 0, 0]
    assert [answer.producer_epoch for answer in answers] == [0, 0, 0]
    assert len({answer.producer_id for answer in answers}) == 3


def test_ids_are_taken_from_the_store_a_block_at_a_time(desk: Desk) -> None:
    for _ in range(PRODUCER_ID_BLOCK + 1):
        desk.ask(InitProducerIdRequest(None))
    assert len(desk.commits) == 2


def test_ids_that_another_broker_has_taken_are_not_given_out(desk: Desk) -> None:
    taken = desk.change(lambda image: allocate_producer_ids(image, nonce=b"other"))
    assert desk.ask(InitProducerIdRequest(None)).producer_id not in taken
