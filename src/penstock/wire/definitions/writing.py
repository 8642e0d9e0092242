"""Writes the code that writes a struct."""

from __future__ import annotations

from penstock.wire.definitions import reading
from penstock.wire.definitions.layout import (
    Formats,
    Lines,
    Span,
    blocks,
    branches,
    condition,
    differs,
    has_tail,
    indented,
    item,
    newest,
    spans,
    tagged,
    tail_versions,
)
from penstock.wire.definitions.notation import FIXED, Field, Schema, Struct


class Writing:
    def __init__(self, schema: Schema, formats: Formats) -> None:
        self.schema = schema
        self.formats = formats

    def body(self, struct: Struct) -> Lines:
        lines: Lines = []
        for block in blocks(struct):
            since = newest(block, struct)
            if since is None:
                lines += [line for run in block for line in self.run_if(run, struct.versions)]
                continue
            older = range(struct.versions[0], since)
            lines += [
                f"if version >= {since}:",
                *indented(self.run([field for run in block for field in run])),
                "else:",
            ]
            for run in block:
                lines += indented(self.run_if(run, older))
        if has_tail(self.schema, struct):
            lines += self.tail(struct)
        return lines or ["pass"]

    def run_if(self, run: list[Field], whole: range) -> Lines:
        """Writes a run in those versions of the whole that have it, and minds the others."""
        versions = range(run[0].versions[0], min(run[0].versions.stop, whole.stop))
        if not versions:
            return self.complaint("if", run)
        return self.guarded(condition(versions, whole), self.run(run), run)

    def guarded(self, when: str, body: Lines, run: list[Field]) -> Lines:
        if not when:
            return body
        return [f"if {when}:", *indented(body), *self.complaint("elif", run)]

    @staticmethod
    def complaint(word: str, run: list[Field]) -> Lines:
        """What is raised in a version that would lose a value."""
        kept = [field for field in run if not field.ignorable]
        names = ", ".join(field.name for field in kept)
        test = " or ".join(differs(field) for field in kept)
        return [f"{word} {test}:", f'    raise absent(version, "{names}")'] if kept else []

    def run(self, run: list[Field], out: str = "out") -> Lines:
        """Writes neighbours of fixed size, or one other field."""
        field = run[0]
        if field.array:
            return self.array(field, out)
        if field.struct:
            return self.struct(field, out)
        if field.kind in FIXED:
            values = ", ".join(f"self.{field.name}" for field in run)
            return [f"{out} += {self.formats.name(run)}.pack({values})"]
        return branches(
            [
                (span, [f"{function(field, span)}({out}, {given(field, span)})"])
                for span in spans(self.schema, field)
            ]
        )

    def array(self, field: Field, out: str) -> Lines:
        value = f"self.{field.name}"
        arms: list[tuple[Span, Lines]] = []
        for span in spans(self.schema, field):
            count = f"len({given(field, span)})"
            if span.nullable:
                count = f"-1 if {value} is None else {count}"
            arms.append((span, [f"write_{'compact_' * span.flexible}count({out}, {count})"]))
        loop = f"for {item(field)} in {value}{' or ()' if field.nullable else ''}:"
        return [*branches(arms), loop, *indented(self.element(field, out))]

    def element(self, field: Field, out: str) -> Lines:
        if field.struct:
            return [f"{item(field)}.write({out}, version)"]
        if field.kind in FIXED:
            return [f"{out} += {self.formats.name([field])}.pack({item(field)})"]
        kinds = [span._replace(nullable=False) for span in spans(self.schema, field)]
        return branches(
            [(kind, [f"{function(field, kind)}({out}, {item(field)})"]) for kind in kinds]
        )

    @staticmethod
    def struct(field: Field, out: str) -> Lines:
        value = f"self.{field.name}"
        if not field.nullable:
            return [f"{value}.write({out}, version)"]
        return [
            f"write_presence({out}, {value})",
            f"if {value} is not None:",
            f"    {value}.write({out}, version)",
        ]

    def tail(self, struct: Struct) -> Lines:
        """Writes the tagged fields that are not at their defaults."""
        whole = tail_versions(self.schema, struct)
        known = tagged(struct)
        body = ["out.append(0)"]
        if known:
            body = ["tagged: list[tuple[int, Sink]] = []"]
            for field in known:
                one = [
                    f"if {differs(field)}:",
                    "    value = Sink()",
                    *indented(self.run([field], "value")),
                    f"    tagged.append(({field.tag}, value))",
                ]
                body += self.guarded(condition(field.versions, whole), one, [field])
            body += ["if tagged:", "    write_tagged(out, tagged)", "else:", "    out.append(0)"]
        return self.guarded(condition(whole, struct.versions), body, known)


def function(field: Field, span: Span) -> str:
    return reading.function(field, span).replace("read", "write", 1)


def given(field: Field, span: Span) -> str:
    """A field's value, which must not be null where the version does not allow it."""
    value = f"self.{field.name}"
    if field.nullable and not span.nullable:
        return f'required({value}, version, "{field.name}")'
    return value
