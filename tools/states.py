"""Draws state machines from their tables: states in a row, moves as arcs above and below them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

BOX_WIDTH, BOX_HEIGHT, GAP = 130, 40, 70
STEP = BOX_WIDTH + GAP
ARC_HEIGHT = 34
"""For each state that an arc passes over."""
SPREAD = 14
"""Between the ends of arcs that meet at one box."""

HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" \
viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">
<title>{title}</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" \
orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>
"""
BOX = """<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="#eef4fb" \
stroke="#4a78a8"/>
<text x="{middle}" y="{text_y}" text-anchor="middle">{name}</text>
"""
ARC = """<path d="M{start} {y} Q{middle} {peak} {end} {y}" fill="none" stroke="#555" \
marker-end="url(#tip)"/>
"""

Moves = Mapping[Any, frozenset[Any]]


def drawing(title: str, moves: Moves) -> str:
    """Moves to the right go above the boxes, moves to the left below them."""
    states = list(moves)
    reach = len(states) * ARC_HEIGHT
    top = reach + 10
    width, height = len(states) * STEP - GAP + 20, 2 * reach + BOX_HEIGHT + 20
    parts = [HEAD.format(width=width, height=height, title=title)]
    parts += [
        _arc(start, end, top)
        for start, state in enumerate(states)
        for end in sorted(states.index(target) for target in moves[state])
    ]
    parts += [_box(number, state, top) for number, state in enumerate(states)]
    return "".join([*parts, "</svg>\n"])


def _box(number: int, state: Enum, top: int) -> str:
    x = 10 + number * STEP
    name = state.value if isinstance(state.value, str) else state.name.capitalize()
    return BOX.format(
        x=x,
        y=top,
        width=BOX_WIDTH,
        height=BOX_HEIGHT,
        middle=x + BOX_WIDTH // 2,
        text_y=top + BOX_HEIGHT // 2 + 5,
        name=name,
    )


def _arc(start: int, end: int, top: int) -> str:
    is_forward = end > start
    far = abs(end - start)
    y = top if is_forward else top + BOX_HEIGHT
    peak = top - 2 * ARC_HEIGHT * far if is_forward else y + 2 * ARC_HEIGHT * far
    lean = SPREAD * far * (1 if is_forward else -1)
    centre = 10 + BOX_WIDTH // 2
    from_x, to_x = centre + start * STEP + lean, centre + end * STEP - lean
    return ARC.format(start=from_x, end=to_x, middle=(from_x + to_x) // 2, y=y, peak=peak)
