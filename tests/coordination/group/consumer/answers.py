"""What tests ask of answers and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.coordination.group.consumer.records import assignment_of
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatResponse


def given(answer: ConsumerGroupHeartbeatResponse) -> dict[bytes, frozenset[int]]:
    """The assignment that it carries."""
    assert answer.assignment is not None
    return dict(assignment_of(answer.assignment.topic_partitions))


def refusal(ask: Callable[..., Any], *words: Any, **fields: Any) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        ask(*words, **fields)
    return caught.value.code
