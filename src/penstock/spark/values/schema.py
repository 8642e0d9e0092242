"""The schema that a table decodes values by: given once, and kept with the table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from penstock.spark.errors import OptionError
from penstock.spark.source.columns import ARROW_WITH_HEADERS
from penstock.spark.values import avro_schema, ddl
from penstock.spark.values.avro_values import AvroValues
from penstock.spark.values.json_values import JsonValues

DECODED, ERROR = "value_decoded", "value_error"
"""Columns beside `value`, which stays as it came: it may be replayed, and decoded otherwise."""
_CHARS_MAX = 1 << 20


class ValueSchema(NamedTuple):
    form: str
    """json or avro."""
    text: str
    """As Spark writes schemas, for JSON; or Avro's own."""
    schema_id: int | None = None
    """Values of Avro begin with this one."""

    def to_text(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def from_text(cls, text: str) -> ValueSchema:
        return cls(**json.loads(text))

    def decoder(self) -> JsonValues | AvroValues:
        if self.form == "avro":
            return AvroValues(avro_schema.parsed(self.text), self.schema_id)
        return JsonValues(ddl.parsed(self.text))

    def columns(self) -> pa.Schema:
        """Those of a table with decoded values."""
        if self.form == "avro":
            kind = avro_schema.parsed(self.text).arrow
        else:
            kind = pa.struct([each.with_nullable(True) for each in ddl.parsed(self.text)])
        return pa.schema([*ARROW_WITH_HEADERS, (DECODED, kind), (ERROR, pa.string())])

    def decoded(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row whose value cannot be decoded has the reason in the place of it."""
        decoder, columns = self.decoder(), self.columns()
        for batch in batches:
            found, errors = decoder.decode(batch.column("value").to_pylist())
            made = [*batch.columns, found, pa.array(errors, pa.string())]
            yield pa.record_batch(made, schema=columns)


def columns_of(schema: ValueSchema | None) -> pa.Schema:
    return ARROW_WITH_HEADERS if schema is None else schema.columns()


def given_schema(given: str, schema_id: int | None = None) -> ValueSchema:
    """Fields as Spark writes them, for JSON; or the path of an Avro schema. It is checked here."""
    if given.endswith(".avsc"):
        try:
            text = Path(given).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"{given} cannot be read: {error}") from None
        made = ValueSchema("avro", _normal(text), schema_id)
    elif schema_id is not None:
        raise OptionError("a schema's id is for Avro: name a schema file that ends with .avsc")
    else:
        made = ValueSchema("json", " ".join(given.split()))
    if len(made.text) > _CHARS_MAX:
        raise OptionError(f"the schema has more than {_CHARS_MAX} characters")
    made.columns()
    return made


def _normal(text: str) -> str:
    """The same for the same schema, however it is laid out."""
    try:
        return json.dumps(json.loads(text), separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise OptionError(f"the Avro schema cannot be read: {error}") from None
