"""Writes the generated pages of the documentation; `--check` only says whether they are current."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock import config_file
from penstock.api.table import APIS
from penstock.coordination.group.classic import phases as classic
from penstock.coordination.group.consumer import phases as consumer
from penstock.coordination.transaction import phases as transaction
from penstock.sharing import phases as shared
from penstock.wire.messages import APIS as DECLARED
from tools.sdk_settings import sdk_settings
from tools.states import drawing

DOCS = Path(__file__).parent.parent / "docs"
STATES = DOCS / "states"

COMPATIBILITY_HEAD = """# Compatibility

Generated from the table of APIs by `make generate`; do not edit.

Penstock speaks the Apache Kafka wire protocol. Clients ask which versions a broker has before they
do anything else, and use the newest that both know. What is listed as not answered is known to the
codec, and not offered to clients: they report it as an unsupported feature or version.

| key | API | answered | declared |
|---|---|---|---|
"""

COMPATIBILITY_TAIL = """
Produce is advertised from version 0 on, because older librdkafka turns compression off otherwise;
versions 0 to 2, which carry older message formats, are refused by closing the connection.
[not-implemented.md](not-implemented.md) says what is missing inside the APIs that are answered.
"""


def compatibility() -> str:
    rows = []
    for key, declared in sorted(DECLARED.items()):
        api = APIS.get(key)
        answered = f"{api.versions.min}-{api.versions.max}" if api else "no"
        rows.append(
            f"| {int(key)} | {declared.name} | {answered} "
            f"| {declared.min_version}-{declared.max_version} |"
        )
    return COMPATIBILITY_HEAD + "\n".join(rows) + "\n" + COMPATIBILITY_TAIL


def pages() -> dict[Path, str]:
    return {
        DOCS / "compatibility.md": compatibility(),
        DOCS / "config.md": config_file.page(),
        DOCS / "sdk-settings.md": sdk_settings(),
        STATES / "classic-group.svg": drawing("A group, classic protocol", classic.MOVES),
        STATES / "consumer-group.svg": drawing("A group, KIP-848", consumer.GROUP_MOVES),
        STATES / "consumer-member.svg": drawing("A member, KIP-848", consumer.MEMBER_MOVES),
        STATES / "transaction.svg": drawing("A transaction", transaction.MOVES),
        STATES / "shared-record.svg": drawing("A record in a share group", shared.MOVES),
    }


def _current(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def main(check: bool) -> int:
    stale = [path for path, text in pages().items() if _current(path) != text]
    if check:
        for path in stale:
            sys.stderr.write(f"{path} is out of date: run `make generate`\n")
        return 1 if stale else 0
    for path, text in pages().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
