"""The page that says which settings `delivery` and `tune` stand for, also for other clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.sdk import semantics
from penstock.sdk.semantics import Row

HEAD = """# What `delivery` and `tune` set

Generated from the tables of the SDK by `make generate`; do not edit.

The same promises for clients of other languages: those on librdkafka (C, C++, Go, Rust, .NET, Node)
take the first column, the Java client the second. How offsets have to be committed stands in
[sdk.md](sdk.md).
"""
COLUMNS = "| librdkafka | Java | value |\n|---|---|---|\n"


def sdk_settings() -> str:
    parts = [
        HEAD,
        _chapters("Producer, delivery", semantics.PRODUCER, semantics.PATIENCE),
        "With exactly-once, `transactional.id` is set, too.\n",
        _chapters("Consumer, delivery", semantics.CONSUMER),
        _chapters("Producer, tune", semantics.PRODUCER_TUNE),
        _chapters("Consumer, tune", semantics.CONSUMER_TUNE),
        _intervals(),
        _chapter("Producer, always", semantics.ALWAYS_PRODUCER),
        _chapter("Consumer, always", semantics.ALWAYS_CONSUMER),
    ]
    return "\n".join(parts)


def _chapters(title: str, *tables: Mapping[Any, tuple[Row, ...]]) -> str:
    words = tables[0]
    return "\n".join(
        _chapter(f'{title}="{word}"', tuple(row for table in tables for row in table[word]))
        for word in words
    )


def _chapter(title: str, rows: tuple[Row, ...]) -> str:
    return f"## {title}\n\n{COLUMNS}" + "".join(_line(row) for row in rows)


def _line(row: Row) -> str:
    java = "" if row.java is None else f"`{row.java or row.name}`"
    value = str(row.value).lower() if isinstance(row.value, bool) else row.value
    return f"| `{row.name}` | {java} | {value} |\n"


def _intervals() -> str:
    each = ", ".join(
        f"{seconds * 1000:.0f} for {word}" for word, seconds in semantics.COMMIT_INTERVAL_S.items()
    )
    return (
        "The SDK commits by itself. A client that lets its library do so, for at-least-once, sets\n"
        f"`enable.auto.commit=true` and `auto.commit.interval.ms`: {each}.\n"
    )
