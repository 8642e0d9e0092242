"""What `penstock topic` says of a topic that is to have fewer partitions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from penstock.cli.output import counted, duration_text, plain, time_text

if TYPE_CHECKING:
    from penstock.client.closing import State


def closing_lines(state: State, total: int) -> list[str]:
    going = f"partitions {state.open_partitions} to {total - 1} go"
    if total - state.open_partitions == 1:
        going = f"partition {state.open_partitions} goes"
    since = time_text(state.since_ms)
    lines = [f"closing: {state.open_partitions} of {total} partitions stay, since {since}"]
    what = "all partitions" if total % state.open_partitions else "them"
    lines.append(f"  {going} {_moment(state, what)}")
    if state.closed_ms is not None:
        lines.append(f"  writes to {what} have been refused since {time_text(state.closed_ms)}")
    elif state.reopened_ms is not None:
        reason = plain(state.reopened_reason)
        lines.append(f"  it was tried, and given up at {time_text(state.reopened_ms)}: {reason}")
    for group, lag in state.groups.items():
        lines.append(f"  group {plain(group)} has {counted(lag, 'message')} of {what} to read")
    for client, last_ms in state.writers.items():
        ago = duration_text(max(0, int(time.time() * 1000) - last_ms))
        lines.append(f"  client {plain(client)} wrote to them {ago} ago")
    return lines


def _moment(state: State, what: str) -> str:
    if state.due_ms is None:
        return f"once every group has read {what}"
    return f"at {time_text(state.due_ms)}, when what is there now has expired"


def closing_document(state: State) -> dict[str, Any]:
    return {
        "open_partitions": state.open_partitions,
        "since_ms": state.since_ms,
        "when": state.when,
        "due_ms": state.due_ms,
        "closed_ms": state.closed_ms,
        "reopened_ms": state.reopened_ms,
        "reopened_reason": state.reopened_reason or None,
        "groups": state.groups,
        "writers": state.writers,
    }
