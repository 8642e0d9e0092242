"""Writes the code that reads a struct."""

from __future__ import annotations

from penstock.wire.definitions.layout import (
    Formats,
    Lines,
    Span,
    blocks,
    branches,
    condition,
    default,
    has_tail,
    indented,
    item,
    local,
    newest,
    python_type,
    smallest_element,
    spans,
    tagged,
    tail_versions,
)
from penstock.wire.definitions.notation import FIXED, Field, Schema, Struct


class Reading:
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
                *indented(self.run([field for run in block for field in run], declared=True)),
                "else:",
            ]
            for run in block:
                lines += indented(self.run_if(run, older, annotated=False))
        if has_tail(self.schema, struct):
            lines += self.tail(struct)
        return [*lines, *self.built(struct)]

    @staticmethod
    def built(struct: Struct) -> Lines:
        arguments = [local(field) for field in struct.fields]
        line = f"return {struct.name}({', '.join(arguments)}), at"
        if len(line) < 90:
            return [line]
        wrapped = [f"return {struct.name}(", *indented(f"{name}," for name in arguments)]
        return [*wrapped, "), at"]

    def run_if(self, run: list[Field], whole: range, annotated: bool = True) -> Lines:
        """Reads a run in those versions of the whole that have it."""
        versions = range(run[0].versions[0], min(run[0].versions.stop, whole.stop))
        when = condition(versions, whole) if versions else "never"
        if not when:
            return self.run(run, declared=False)
        lines = [
            f"{local(field)}{f': {python_type(field)}' if annotated else ''} = {default(field)}"
            for field in run
        ]
        if versions:
            lines += [f"if {when}:", *indented(self.run(run, declared=True))]
        return lines

    def run(self, run: list[Field], declared: bool) -> Lines:
        """Reads neighbours of fixed size, or one other field, whose variables may be declared."""
        field = run[0]
        if field.array:
            return self.array(field, declared)
        if field.struct:
            return self.struct(field, declared)
        if field.kind in FIXED:
            names = ", ".join(local(field) for field in run)
            size = sum(FIXED[field.kind][1] for field in run)
            target = f"({names},)" if len(run) == 1 else names
            return [f"{target} = {self.formats.name(run)}.unpack_from(buf, at)", f"at += {size}"]
        arms = [
            (span, [f"{local(field)}, at = {function(field, span)}(buf, at)"])
            for span in spans(self.schema, field)
        ]
        if len(arms) == 1 or declared or not field.nullable:
            return branches(arms)
        return [f"{local(field)}: {python_type(field)}", *branches(arms)]

    def array(self, field: Field, declared: bool) -> Lines:
        arms = [(span, self.count(field, span)) for span in spans(self.schema, field)]
        name = local(field)
        annotation = "" if declared else f": {python_type(field)}"
        body = self.elements(field)
        if field.nullable:
            lines = [f"{name}{annotation} = None", "if count >= 0:", *indented(body)]
            return [*branches(arms), *lines]
        if body[0] == f"{name} = []":
            body[0] = f"{name}{annotation} = []"
        return [*branches(arms), *body]

    @staticmethod
    def count(field: Field, span: Span) -> Lines:
        """A count of up to 126 structs is read in place: each of them checks that it is there."""
        step = smallest_element(field, span)
        name = f"read_{'compact_' * span.flexible}{'nullable_' * span.nullable}count"
        call = f"count, at = {name}(buf, at, {step})"
        if not (field.struct and span.flexible):
            return [call]
        return [
            "count = buf[at] - 1",
            "if 0 <= count < 0x7F:",
            "    at += 1",
            "else:",
            f"    {call}",
        ]

    def elements(self, field: Field) -> Lines:
        name = local(field)
        if field.kind == "uuid":
            return [f"{name}, at = read_uuids(buf, at, count)"]
        if field.kind in FIXED:
            code, size = FIXED[field.kind]
            return [f'{name}, at = read_numbers(buf, at, count, "{code}", {size})']
        if field.struct:
            one = [f"{item(field)}, at = {field.kind}.read(buf, at, version)"]
        else:
            kinds = [span._replace(nullable=False) for span in spans(self.schema, field)]
            one = branches(
                [
                    (kind, [f"{item(field)}, at = {function(field, kind)}(buf, at)"])
                    for kind in kinds
                ]
            )
        loop = [*one, f"{name}.append({item(field)})"]
        return [f"{name} = []", "for _ in range(count):", *indented(loop)]

    @staticmethod
    def struct(field: Field, declared: bool) -> Lines:
        name = local(field)
        call = f"{name}, at = {field.kind}.read(buf, at, version)"
        if not field.nullable:
            return [call]
        annotation = "" if declared else f": {python_type(field)}"
        return [
            f"{name}{annotation} = None",
            "present, at = read_presence(buf, at)",
            "if present:",
            f"    {call}",
        ]

    def tail(self, struct: Struct) -> Lines:
        """Reads the tagged fields at the end of a struct."""
        known = tagged(struct)
        whole = tail_versions(self.schema, struct)
        lines = [f"{local(field)}: {python_type(field)} = {default(field)}" for field in known]
        some = ["at = skip_tagged(buf, at)"]
        if known:
            some = ["count, at = read_tag_count(buf, at)", "for _ in range(count):"]
            some += indented(["tag, at, end = read_tag(buf, at)", *self.choice(known, whole)])
        body = ["if buf[at]:", *indented(some), "else:", "    at += 1"]
        when = condition(whole, struct.versions)
        return [*lines, *([f"if {when}:", *indented(body)] if when else body)]

    def choice(self, known: list[Field], whole: range) -> Lines:
        lines: Lines = []
        for field in known:
            when = condition(field.versions, whole)
            test = f"tag == {field.tag}" + (f" and {when}" if when else "")
            lines += [f"{'el' if lines else ''}if {test}:"]
            lines += indented(self.run([field], declared=True))
        return [*lines, "else:", "    at = end", "check_tag(at, end)"]


def function(field: Field, span: Span) -> str:
    nullable = span.nullable or field.kind == "records"
    return f"read_{'compact_' * span.flexible}{'nullable_' * nullable}{field.kind}"
