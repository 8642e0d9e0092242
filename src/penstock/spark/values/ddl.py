"""Schemas as Spark writes them: `id STRING NOT NULL, amount DOUBLE, tags ARRAY<STRING>`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from penstock.spark.errors import OptionError

_TOKEN = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<word>\w+)|(?P<sign>[<>(),:]))")
_KINDS = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "BYTE": pa.int8(),
    "SMALLINT": pa.int16(),
    "SHORT": pa.int16(),
    "INT": pa.int32(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "REAL": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
}
_DIGITS_MAX = 38
_DEPTH_MAX = 50


class _Words:
    def __init__(self, text: str) -> None:
        self._text = text
        self._rest = self._split()
        self.next, self.is_name = "", False
        self._depth = 0
        self.step()

    def _split(self) -> Iterator[tuple[str, bool]]:
        position, end = 0, len(self._text.rstrip())
        while position < end:
            found = _TOKEN.match(self._text, position)
            if found is None:
                raise self.wrong(f"{self._text[position:end][:20]!r} is no name and no type")
            position = found.end()
            yield found["quoted"] or found["word"] or found["sign"], found["sign"] is None
        yield "", False

    def step(self) -> None:
        self.next, self.is_name = next(self._rest)

    def wrong(self, problem: str) -> OptionError:
        return OptionError(f"schema {self._text[:80]!r}: {problem}")

    def expect(self, sign: str) -> None:
        if self.next != sign or self.is_name:
            raise self.wrong(f"{sign!r} is needed, and there is {self.next or 'the end'!r}")
        self.step()

    def has(self, word: str) -> bool:
        """And goes on behind it, if so."""
        if self.next.upper() != word:
            return False
        self.step()
        return True

    def name(self) -> str:
        if not self.is_name:
            raise self.wrong(f"a name is needed, and there is {self.next or 'the end'!r}")
        found = self.next
        self.step()
        return found

    def fields(self) -> list[pa.Field]:
        found = [self.field()]
        while self.has(","):
            found.append(self.field())
        names = Counter(each.name.lower() for each in found)
        if twice := [name for name, count in names.items() if count > 1]:
            raise self.wrong(f"there are two fields {twice[0]}")
        return found

    def field(self) -> pa.Field:
        name = self.name()
        self.has(":")
        kind = self.kind()
        if not self.has("NOT"):
            return pa.field(name, kind)
        if not self.has("NULL"):
            raise self.wrong("NOT is followed by NULL")
        if self._depth:
            raise self.wrong("only a field of the value itself can be NOT NULL")
        return pa.field(name, kind, nullable=False)

    def kind(self) -> pa.DataType:
        word = self.name().upper()
        if word in _KINDS:
            return _KINDS[word]
        if word in ("DECIMAL", "NUMERIC"):
            return self.decimal()
        if word not in ("ARRAY", "STRUCT"):
            known = ", ".join([*_KINDS, "DECIMAL(p, s)", "ARRAY<...>", "STRUCT<...>"])
            raise self.wrong(f"there is no type {word}: known are {known}")
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self.wrong(f"types lie more than {_DEPTH_MAX} deep in each other")
        self.expect("<")
        made = pa.list_(self.kind()) if word == "ARRAY" else pa.struct(self.fields())
        self.expect(">")
        self._depth -= 1
        return made

    def decimal(self) -> pa.DataType:
        if not self.has("("):
            return pa.decimal128(10, 0)
        digits, scale = self.name(), "0"
        if self.has(","):
            scale = self.name()
        self.expect(")")
        if not (digits + scale).isdecimal() or not int(scale) <= int(digits) <= _DIGITS_MAX:
            raise self.wrong(f"DECIMAL({digits}, {scale}) has 1 to {_DIGITS_MAX} digits in all")
        return pa.decimal128(max(1, int(digits)), int(scale))


def parsed(text: str) -> list[pa.Field]:
    """Raises OptionError for what is no such schema."""
    words = _Words(text)
    fields = words.fields()
    if words.next:
        raise words.wrong(f"{words.next!r} is more than a schema")
    return fields
