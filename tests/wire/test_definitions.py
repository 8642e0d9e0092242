from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.wire import generate
from penstock.wire.definitions.layout import condition
from penstock.wire.definitions.notation import every_api, parse, parse_field, parse_versions
from penstock.wire.definitions.stored_notation import everything_stored, parse_stored
from penstock.wire.messages import APIS, ApiKey, message_types

EXAMPLE = """\
api 99 Example
versions 1-5
flexible 4+

request
  topics  [Topic]?2+
    name    string?
    places  [int32]   3-4  ignorable
  epoch   int64       3+   = -1
  rack    string      4+   tag 0

response
  topics  [Topic]
"""


RECORD = """\
record 98-99 Example
versions 0-2
flexible 1+

key
  group   string

value
  places  [Place]
    name  string
  others  [Place]  2+
"""

FORMAT = """\
format Example
versions 0-3
flexible never

value
  rack  string?  3+  = null ignorable
"""


def test_the_committed_modules_are_what_is_generated() -> None:
    assert generate.main(["--check"]) == 0


def test_check_notices_a_module_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    (tmp_path / "messages/k00_produce.py").write_text("")
    (tmp_path / "stored/offset_commit.py").write_text("")
    (tmp_path / "stored/gone.py").write_text("")
    assert generate.main(["--check"]) == 1
    assert sorted(line.split()[0] for line in capsys.readouterr().err.splitlines()) == [
        "messages/k00_produce.py",
        "stored/gone.py",
        "stored/offset_commit.py",
    ]
    generate.main([])
    assert not (tmp_path / "stored/gone.py").exists()
    assert generate.main(["--check"]) == 0


def test_a_definition_is_read(tmp_path: Path) -> None:
    path = tmp_path / "k99_example.txt"
    path.write_text(EXAMPLE)
    api = parse(path)
    assert (api.key, api.name, api.versions, api.flexible_since) == (99, "Example", range(1, 6), 4)
    topics, epoch, rack = api.request.fields
    assert topics.array
    assert topics.nullable == range(2, 6)
    assert (epoch.kind, epoch.versions, epoch.default) == ("int64", range(3, 6), "-1")
    assert rack.tag == 0
    assert topics.struct is api.response.fields[0].struct is api.structs["Topic"]
    name, places = api.structs["Topic"].fields
    assert name.nullable == range(1, 6)
    assert (places.versions, places.ignorable) == (range(3, 5), True)


def test_a_stored_record_is_read(tmp_path: Path) -> None:
    path = tmp_path / "example.txt"
    path.write_text(RECORD)
    stored = parse_stored(path)
    assert (stored.name, stored.module, stored.types) == ("Example", "example", range(98, 100))
    assert stored.key is not None
    assert [struct.name for struct in stored.key.messages] == ["ExampleKey"]
    assert (stored.key.versions, stored.key.flexible_since) == (range(1), 32767)
    assert [struct.name for struct in stored.value.messages] == ["ExampleValue"]
    assert (stored.value.versions, stored.value.flexible_since) == (range(3), 1)
    places, others = stored.value.messages[0].fields
    assert places.struct is others.struct is stored.value.structs["Place"]
    assert not places.ignorable


def test_a_format_has_no_key(tmp_path: Path) -> None:
    path = tmp_path / "example.txt"
    path.write_text(FORMAT)
    stored = parse_stored(path)
    assert (stored.key, len(stored.types)) == (None, 0)
    assert [struct.name for struct in stored.value.messages] == ["Example"]
    assert stored.value.messages[0].fields[0].ignorable


@pytest.mark.parametrize(
    ("text", "versions"),
    [(None, range(1, 9)), ("3+", range(3, 9)), ("0-4", range(1, 5)), ("7", range(7, 8))],
)
def test_versions_are_cut_to_those_there_are(text: str | None, versions: range) -> None:
    assert parse_versions(text, range(1, 9)) == versions


@pytest.mark.parametrize("line", ["  name", "  name string tagged", "  name string = "])
def test_a_line_that_makes_no_sense_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not a field"):
        parse_field(line, range(3))


def test_tagged_fields_are_only_in_flexible_versions() -> None:
    for schema in (*every_api(), *(stored.value for stored in everything_stored())):
        for struct in (*schema.structs.values(), *schema.messages):
            for field in struct.fields:
                assert field.versions, f"{struct.name}.{field.name}"
                assert field.tag is None or field.versions[0] >= schema.flexible_since


def test_no_two_records_have_the_same_type() -> None:
    types = [(stored.topic, number) for stored in everything_stored() for number in stored.types]
    assert len(types) == len(set(types))


def test_a_single_version_in_the_middle_is_told_apart() -> None:
    assert condition(range(1, 2), range(5)) == "version == 1"
    assert condition(range(1, 3), range(5)) == "1 <= version <= 2"


def test_the_table_agrees_with_the_classes() -> None:
    assert set(APIS) == set(ApiKey)
    for key, api in APIS.items():
        for kind in message_types(key):
            facts = (kind.KEY, kind.MIN_VERSION, kind.MAX_VERSION, kind.FLEXIBLE_SINCE)
            assert facts == (key, api.min_version, api.max_version, api.flexible_since)


def test_a_message_is_imported_when_it_is_asked_for() -> None:
    script = (
        "import sys, penstock.wire.codec, penstock.wire.messages as messages\n"
        "def loaded(): return [name for name in sys.modules if '.messages.k' in name]\n"
        "assert not loaded()\n"
        "assert messages.message_types(0)[0].__name__ == 'ProduceRequest'\n"
        "assert loaded() == ['penstock.wire.messages.k00_produce']\n"
        "assert 'penstock.wire.definitions' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_stored_record_is_imported_when_it_is_asked_for() -> None:
    script = (
        "import sys, penstock.wire.stored_codec, penstock.wire.stored as stored\n"
        "assert 'penstock.wire.stored.offset_commit' not in sys.modules\n"
        "assert stored.key_types('__consumer_offsets')[1].__name__ == 'OffsetCommitKey'\n"
        "assert 'penstock.wire.definitions' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
