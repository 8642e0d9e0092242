"""Declarations: what is taken, and what is refused, with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.spark.errors import SparkError
from penstock.spark.pipelines.declaration import DeclarationError
from penstock.spark.pipelines.reading import SIZE_MAX, read_file
from penstock.spark.pipelines.templates import LOG_PATTERN, from_template

WHOLE = """
name = "by-minute"
bootstrap = "127.0.0.1:9092"
sql = "select * from orders join names using (id)"
trigger = "10 seconds"
checkpoint = "checkpoint"

[sources.orders]
topic = "orders"
format = "json"
schema = "id string, at timestamp"
watermark = "at 10 minutes"
options = {maxOffsetsPerTrigger = "1000"}

[sources.names]
jdbc = "jdbc:postgresql://host/db"
table = "names"

[sources.more]
files = "more/*.csv"
format = "csv"
schema = "id string"

[sink]
table = "/tables/by-minute"
mode = "update"
keys = ["id"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "pipeline.toml"
    path.write_text(text)
    return path


def test_a_whole_declaration_is_read(tmp_path: Path) -> None:
    read = read_file(written(tmp_path, WHOLE))
    assert list(read.sources) == ["orders", "names", "more"]
    orders, names, more = read.sources.values()
    assert (orders.kind, orders.lateness) == ("topic", ("at", "10 minutes"))
    assert orders.dead_letter_topic == "orders.dead-letters"
    assert (names.kind, names.table, names.dead_letter_topic) == ("jdbc", "names", None)
    assert more.files == str(tmp_path / "more/*.csv"), "beside the declaration"
    assert read.checkpoint == str(tmp_path / "checkpoint")
    assert read.sink.table == "/tables/by-minute"


SOURCE = '[sources.a]\ntopic = "t"\n'
SINK = '[sink]\ntopic = "out"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "is no TOML: Invalid value"),
        (f"{SOURCE}{SINK}", "missing required field `name`"),
        (f'name = "a/b"\n{SOURCE}{SINK}', "name: 'a/b' is no name"),
        (f'name = ".."\n{SOURCE}{SINK}', "name: '..' is no name"),
        (f'name = "p"\ntriger = "1 second"\n{SOURCE}{SINK}', "unknown field `triger`"),
        (f'name = "p"\ntrigger = "soon"\n{SOURCE}{SINK}', "trigger: 'soon': give once"),
        (f'name = "p"\nsql = 3\n{SOURCE}{SINK}', "sql: Expected `str"),
        (f'name = "p"\n{SINK}', "sources: there is none"),
        (f'name = "p"\nsources = 3\n{SINK}', "sources: give a table for each"),
        (f'name = "p"\n[sources."a-b"]\ntopic = "t"\n{SINK}', "sources.a-b: SQL needs"),
        (f'name = "p"\n{SOURCE}topics = "u"\n{SINK}', "sources.a: .*unknown field `topics`"),
        (f'name = "p"\n{SOURCE}static = "yes"\n{SINK}', "sources.a.static: Expected `bool`"),
        (f'name = "p"\n{SOURCE}files = "u"\n{SINK}', "sources.a: give one of topic"),
        (f'name = "p"\n{SOURCE}table = "u"\n{SINK}', "sources.a.table: this is no table"),
        (f'name = "p"\n{SOURCE}format = "avro"\n{SINK}', "sources.a.format: 'avro': give one of"),
        (f'name = "p"\n{SOURCE}format = "json"\n{SINK}', "sources.a.schema: is missing"),
        (f'name = "p"\n{SOURCE}schema = "a int"\n{SINK}', "sources.a.schema: is of no use"),
        (f'name = "p"\n{SOURCE}watermark = "at"\n{SINK}', "sources.a.watermark: 'at': give"),
        (f'name = "p"\n{SOURCE}dead_letters = "d"\n{SINK}', "sources.a.dead_letters: they are"),
        (
            f'name = "p"\n{SOURCE}dead_letters = "t"\nformat = "json"\nschema = "a int"\n{SINK}',
            "sources.a.dead_letters: is the topic itself",
        ),
        (
            f'name = "p"\n{SOURCE}format = "pattern"\nschema = "a int"\n{SINK}',
            "sources.a.pattern: is missing",
        ),
        (f'name = "p"\n[sources.a]\nfiles = "f"\n{SINK}', "sources.a.format: is missing"),
        (f'name = "p"\n[sources.a]\njdbc = "u"\n{SINK}', "sources.a: jdbc needs a table"),
        (f'name = "p"\n{SOURCE}[sources.b]\ntopic = "u"\n{SINK}', "sql: is missing"),
        (f'name = "p"\nsql = "x"\nfunction = "m:f"\n{SOURCE}{SINK}', "function: there is SQL"),
        (f'name = "p"\nfunction = "m"\n{SOURCE}{SINK}', "function: 'm': give module:function"),
        (f'name = "p"\n{SOURCE}', "sink: give one of topic and table"),
        (f'name = "p"\n{SOURCE}{SINK}table = "d"\n', "sink: give one of topic and table"),
        (f'name = "p"\n{SOURCE}{SINK}mode = "all"\n', "sink.mode: 'all': give one of"),
        (f'name = "p"\n{SOURCE}{SINK}mode = "update"\n', "sink.mode: update is for tables"),
        (f'name = "p"\n{SOURCE}[sink]\ntable = "d"\nmode = "update"\n', "sink.keys: are missing"),
        (f'name = "p"\n{SOURCE}[sink]\ntable = "d"\nkey = "k"\n', "sink.key: is for topics"),
        (f'name = "p"\n{SOURCE}[sink]\ntable = "d"\nkeys = ["k"]\n', "sink.keys: are for mode"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DeclarationError, match=f"pipeline.toml:? .*{said}"):
        read_file(written(tmp_path, text))


def test_a_file_that_is_no_declaration_is_not_read_whole(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="larger than a declaration"):
        read_file(written(tmp_path, "#" * (SIZE_MAX + 1)))


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        (
            "2026-07-01T12:00:00.5Z ERROR checkout card: refused",
            ("2026-07-01T12:00:00.5Z", "ERROR", "checkout", "card: refused"),
        ),
        (
            "2026-07-01 12:00:00,123 [warn] [pay.cards]: slow\nvery",
            ("2026-07-01 12:00:00", "warn", "pay.cards", "slow\nvery"),
        ),
        ("2026-07-01T12:00:00Z INFO app/x: ", ("2026-07-01T12:00:00Z", "INFO", "app/x", "")),
        ("Traceback (most recent call last):", None),
        ("2026-07-01T12:00:00Z INFO", None),
    ],
)
def test_lines_of_logs_have_a_time_a_level_a_service_and_a_message(
    line: str, groups: tuple[str, ...] | None
) -> None:
    found = re.search(LOG_PATTERN, line)
    assert (found and found.groups()) == groups


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topic": "logs"}, "give --set table="),
        ({"topic": "logs", "table": "d", "windw": "1 hour"}, "has no windw"),
        ({"topic": "logs", "table": "d", "window": "1' or '"}, "window is such as"),
    ],
)
def test_a_template_says_what_it_needs(given: dict[str, str], said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        from_template("log-aggregation", given)
