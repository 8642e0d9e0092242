"""What holds for every command: versions, exit codes, errors in one line."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tests.cli.conftest import Penstock

from penstock import __version__


def test_the_version_is_told(offline: Penstock) -> None:
    assert offline("--version").stdout == f"penstock {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("topic", "list"),
        ("topic", "describe", "t"),
        ("produce", "t", "a"),
        ("consume", "t"),
        ("group", "list"),
        ("group", "describe", "g"),
        ("group", "delete", "g", "--yes"),
        ("group", "reset", "g", "--all-topics", "--to-latest"),
    ],
)
def test_without_a_broker_one_line_says_how_to_start_one(
    offline: Penstock, arguments: tuple[str, ...]
) -> None:
    result = offline(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert re.fullmatch(
        r"Error: cannot connect to 127\.0\.0\.1:1 .*`penstock serve`.*\n", result.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("topik",), "there is no command 'topik'; did you mean topic?"),
        (("--bogus",), "No such option '--bogus'; `penstock --help` tells more"),
        (("topic", "create"), "Missing argument 'NAME'; `penstock topic create --help`"),
        (("topic", "create", "t", "--set", "x"), "'x' is not KEY=VALUE"),
        (("topic", "alter", "t"), "nothing to change"),
        (("topic", "alter", "t", "--set", "a=1", "--unset", "a"), "either --set or --unset"),
        (("topic", "truncate", "t", "--before", "soon"), "'soon' is none of beginning, end"),
        (("consume", "t", "--format", "{secret}"), "{secret} is none of key, value"),
        (("consume", "t", "--format", "{"), "a brace itself is written twice"),
        (("consume", "t", "--json", "--format", "x"), "give one of them"),
        (("produce", "t", "--acks", "1", "--idempotent"), "--idempotent needs --acks all"),
        (("produce", "t", "--key", "k", "--key-separator", ":"), "give one of them"),
        (("produce", "t", "--json", "--key", "k"), "the key is in the JSON object"),
        (("produce", "t", "--keep-partitions"), "--keep-partitions needs --json"),
        (("produce", "t", "x", "--file", "f"), "not both"),
        (("produce", "t", "--key-separator", ""), "must not be empty"),
        (("consume", "t", "--from", "9" * 30), "is none of beginning, end"),
        (("group", "reset", "g", "--all-topics"), "give one of --to-earliest, --to-latest"),
        (("group", "reset", "g", "--to-latest"), "give either --topic or --all-topics"),
        (
            ("group", "reset", "g", "--all-topics", "--to-latest", "--shift-by", "0"),
            "give one of --to-earliest",
        ),
        (("group", "reset", "g", "--topic", "t:x", "--to-latest"), "neither TOPIC nor TOPIC:0,2"),
        (("group", "reset", "g", "--topic", "t:", "--to-latest"), "neither TOPIC nor TOPIC:0,2"),
        (("group", "reset", "g", "--all-topics", "--by-duration", "soon"), "is no duration"),
        (("group", "reset", "g", "--all-topics", "--to-timestamp", "soon"), "is no time"),
        (("group", "config", "g", "--set", "a=1", "--unset", "a"), "either --set or --unset"),
        (("group", "delete"), "Missing argument 'GROUPS...'"),
        (("group", "delete", "g"), "give --yes"),
        (("serve", "--node-id", "one"), "node.id: 'one' is not a whole number"),
        (("serve", "--set", "log.levl=info"), "did you mean log.level?"),
    ],
)
def test_a_wrong_usage_is_one_line_and_exit_code_2(
    offline: Penstock, arguments: tuple[str, ...], said: str
) -> None:
    result = offline(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_address_without_a_port_is_refused(offline: Penstock) -> None:
    result = offline("topic", "list", "--bootstrap", "localhost")
    assert result.exit_code == 2
    assert "Invalid value for '--bootstrap'" in result.stderr
    assert "'localhost' is no broker's address: give HOST:PORT" in result.stderr


HEAVY = ("rich", "msgspec", "asyncio", "socket", "penstock.client.cluster", "penstock.node")


def test_the_start_of_the_command_line_imports_nothing_heavy() -> None:
    code = (
        "import sys, penstock.cli.main, penstock.cli.serve, penstock.cli.topic, "
        "penstock.cli.consume, penstock.cli.group; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
