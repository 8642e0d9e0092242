"""A pipeline's TOML file. What is wrong is told with its place in the file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from penstock.spark.pipelines.declaration import DeclarationError, Pipeline, Sink, Source, check

T = TypeVar("T")
SIZE_MAX = 1 << 20


def read_file(path: Path) -> Pipeline:
    """Folders that it names are beside it, unless they begin at the root."""
    if path.stat().st_size > SIZE_MAX:
        raise DeclarationError(f"{path} is larger than a declaration can be")
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{path} is no TOML: {error}") from None
    try:
        return _beside(path.absolute().parent, from_document(told))
    except DeclarationError as error:
        raise DeclarationError(f"{path}: {error}") from None


def from_document(told: Mapping[str, Any]) -> Pipeline:
    sources = told.get("sources", {})
    if not isinstance(sources, dict):
        raise DeclarationError("sources: give a table for each, as in [sources.orders]")
    read = {name: _converted(f"sources.{name}", each, Source) for name, each in sources.items()}
    sink = _converted("sink", told.get("sink", {}), Sink)
    rest = {name: each for name, each in told.items() if name not in ("sources", "sink")}
    bare = _converted("", {**rest, "sources": {}, "sink": {}}, Pipeline)
    whole = msgspec.structs.replace(bare, sources=read, sink=sink)
    check(whole)
    return whole


def _converted(place: str, told: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        inner = path.rstrip("`").lstrip(".")
        where = ".".join(each for each in (place, inner) if each)
        raise DeclarationError(f"{where}: {said}" if where else said) from None


def _beside(folder: Path, pipeline: Pipeline) -> Pipeline:
    replace = msgspec.structs.replace
    sources = {
        name: replace(
            each,
            files=each.files and _placed(folder, each.files),
            table=each.table and (each.table if each.jdbc else _placed(folder, each.table)),
        )
        for name, each in pipeline.sources.items()
    }
    sink = replace(
        pipeline.sink, table=pipeline.sink.table and _placed(folder, pipeline.sink.table)
    )
    checkpoint = pipeline.checkpoint and _placed(folder, pipeline.checkpoint)
    return replace(pipeline, sources=sources, sink=sink, checkpoint=checkpoint)


def _placed(folder: Path, path: str) -> str:
    return path if "://" in path else str(folder / path)
