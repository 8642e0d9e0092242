"""Log lines on standard error, as text or as a JSON object each.

Messages hold texts that clients chose: their names, and those of their topics and groups. So that
none of them can look like a line of its own, what is not printed as itself is escaped here, for all
calls; JSON does so anyway.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import msgspec

LIBRARIES = ("aiohttp", "asyncio", "kazoo")
"""Their warnings are lines like our own, whatever level we are at."""


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        return f"{super().formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Its last lines are what the exception says, which may be a client's text as well."""
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  {escaped(line)}" for line in lines)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time_ms": int(record.created * 1000),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def set_up(level: str, kind: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if kind == "json" else TextLines())
    for name in ("penstock", *LIBRARIES):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
    logging.getLogger("penstock").setLevel(level.upper())
