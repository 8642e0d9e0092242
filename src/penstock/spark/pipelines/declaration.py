"""What a pipeline is, as it is declared: in a TOML file, or in Python with the same names."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from penstock.spark.errors import SparkError

MODES = ("append", "update", "complete")
FILE_FORMATS = ("csv", "json", "parquet")
VALUE_FORMATS = ("json", "csv", "pattern", "text")
ONCE = "once"

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_UNIT = r"(?:millisecond|second|minute|hour|day)s?"
_DURATION = re.compile(rf"\d+ {_UNIT}")
_WATERMARK = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*) (\d+ {_UNIT})")
_DOTS = frozenset({".", ".."})


class DeclarationError(SparkError):
    """Begins with the place in the declaration."""


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of topic, files, jdbc and table says what is read."""

    topic: str | None = None
    files: str | None = None
    jdbc: str | None = None
    table: str | None = None
    """A Delta table's folder; with `jdbc`, the name of the table there."""
    format: str | None = None
    schema: str | None = None
    pattern: str | None = None
    """With the format pattern: a group for each field of the schema, in its order."""
    watermark: str | None = None
    dead_letters: str | None = None
    starting: str = "earliest"
    group: str | None = None
    static: bool = False
    """Files are looked at once, and not watched."""
    options: dict[str, str] = {}
    """Of the reader, such as maxOffsetsPerTrigger."""
    parsing: dict[str, str] = {}
    """Of the parser of values, such as timestampFormat."""

    @property
    def kind(self) -> str:
        return next(each for each in ("topic", "files", "jdbc", "table") if getattr(self, each))

    @property
    def dead_letter_topic(self) -> str | None:
        """Where rows go whose value cannot be decoded."""
        if self.topic is None or self.format in (None, "text"):
            return None
        return self.dead_letters or f"{self.topic}.dead-letters"

    @property
    def lateness(self) -> tuple[str, str] | None:
        """The column of the watermark, and how late rows may come."""
        found = _WATERMARK.fullmatch(self.watermark or "")
        return (found[1], found[2]) if found else None


class Sink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    topic: str | None = None
    table: str | None = None
    """A folder."""
    mode: str = "append"
    key: str | None = None
    """The column that is the key of a topic's records, in place of `key`."""
    keys: list[str] = []
    """With the mode update: the columns by which a table's rows are known."""
    options: dict[str, str] = {}


class Pipeline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    sources: dict[str, Source]
    sink: Sink
    sql: str | None = None
    """Over the sources' names. Without it and without a function, the one source as it is."""
    function: Any = None
    """`module:function`, or in Python the function itself. It is called with the session and the
    sources by name, and gives the rows."""
    bootstrap: str | None = None
    trigger: str = "1 second"
    checkpoint: str | None = None
    settings: dict[str, str] = {}
    """Of Spark."""

    @property
    def is_copy(self) -> bool:
        """The one source goes to the sink as it is."""
        return not (self.sql or self.function)

    def run(self, **more: Any) -> Any:
        """Until it is stopped, or with `once=True` until all is done that is there now."""
        from penstock.spark.pipelines.running import run  # noqa: PLC0415  # without Spark it is data

        return run(self, **more)


def check(pipeline: Pipeline) -> None:
    """Raises DeclarationError at what contradicts itself; types have been seen to."""
    _require(is_name(pipeline.name), "name", f"{pipeline.name!r} {NAME_RULE}")
    _require(bool(pipeline.sources), "sources", "there is none; give one at least")
    for name, source in pipeline.sources.items():
        place = f"sources.{name}"
        told = "SQL needs a name of letters, digits and underscores"
        _require(bool(_IDENTIFIER.fullmatch(name)), place, told)
        _check_source(place, source)
    _check_work(pipeline)
    _check_sink(pipeline.sink)
    is_trigger = pipeline.trigger == ONCE or bool(_DURATION.fullmatch(pipeline.trigger))
    _require(is_trigger, "trigger", f'{pipeline.trigger!r}: give once, or such as "10 seconds"')


NAME_RULE = "is no name: give up to 100 letters, digits, dots, dashes and underscores"


def is_name(text: str) -> bool:
    """That can be a file's name, too."""
    return bool(_NAME.fullmatch(text)) and text not in _DOTS


def _require(is_so: bool, place: str, said: str) -> None:
    if not is_so:
        raise DeclarationError(f"{place}: {said}")


def _check_source(place: str, source: Source) -> None:
    main = [each for each in ("topic", "files", "jdbc") if getattr(source, each)]
    one = len(main) == 1 or (not main and bool(source.table))
    _require(one, place, "give one of topic, files, jdbc and table")
    if source.table:
        _require(source.kind in ("jdbc", "table"), f"{place}.table", "this is no table")
    if source.kind == "jdbc":
        _require(bool(source.table or "query" in source.options), place, "jdbc needs a table")
    _check_format(place, source)
    if source.watermark is not None:
        told = f'{source.watermark!r}: give a column and a duration, as in "at 10 minutes"'
        _require(source.lateness is not None, f"{place}.watermark", told)
    if source.dead_letters is not None:
        told = "they are of topics whose value is decoded: give a format"
        _require(bool(source.dead_letter_topic), f"{place}.dead_letters", told)
        told = "is the topic itself: what fails would be read, and fail, again and again"
        _require(source.dead_letters != source.topic, f"{place}.dead_letters", told)


def _check_format(place: str, source: Source) -> None:
    allowed = {"topic": VALUE_FORMATS, "files": FILE_FORMATS}.get(source.kind, ())
    if source.format is not None:
        told = f"{source.format!r}: give one of {', '.join(allowed)}" if allowed else "has none"
        _require(source.format in allowed, f"{place}.format", told)
    elif source.kind == "files":
        _require(False, f"{place}.format", f"is missing: give one of {', '.join(allowed)}")
    needs = source.kind == "files" or source.format not in (None, "text")
    if needs:
        told = 'is missing: such as "id string, amount double, at timestamp"'
        _require(bool(source.schema), f"{place}.schema", told)
    else:
        _require(source.schema is None, f"{place}.schema", "is of no use without a format")
    if source.format == "pattern":
        _require(bool(source.pattern), f"{place}.pattern", "is missing: a regular expression")
    else:
        _require(source.pattern is None, f"{place}.pattern", 'is for format = "pattern"')


def _check_work(pipeline: Pipeline) -> None:
    work = pipeline.function
    _require(not (pipeline.sql and work), "function", "there is SQL, too: give one of both")
    if isinstance(work, str):
        module, colon, name = work.partition(":")
        told = f"{work!r}: give module:function"
        _require(bool(module and colon and name), "function", told)
    else:
        _require(work is None or callable(work), "function", "give module:function")
    if not (pipeline.sql or work):
        _require(len(pipeline.sources) == 1, "sql", "is missing: there are several sources")


def _check_sink(sink: Sink) -> None:
    _require(bool(sink.topic) != bool(sink.table), "sink", "give one of topic and table")
    told = f"{sink.mode!r}: give one of {', '.join(MODES)}"
    _require(sink.mode in MODES, "sink.mode", told)
    told = "update is for tables: Spark's sinks of this kind have none, so give append or complete"
    _require(not (sink.topic and sink.mode == "update"), "sink.mode", told)
    if sink.table:
        _require(sink.key is None, "sink.key", "is for topics; a table has keys")
        needs = "update needs the columns by which rows are known"
        _require(sink.mode != "update" or bool(sink.keys), "sink.keys", f"are missing: {needs}")
    _require(not sink.keys or sink.mode == "update", "sink.keys", 'are for mode = "update"')
