"""Ready-made pipelines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.spark.pipelines.declaration import DeclarationError, Pipeline, Sink, Source

LOG_PATTERN = (
    r"(?s)^(\d{4}-\d{2}-\d{2}[T ][^\s,]+)(?:,\d+)?\s+"  # fractions behind a comma are left out
    r"\[?([A-Za-z]+)\]?\s+\[?([\w./-]+?)\]?:?\s+(.*)$"
)
"""Such as `2026-07-01T12:00:00Z ERROR checkout card refused`."""
LOG_SCHEMA = (
    "timestamp timestamp not null, level string not null, service string not null, message string"
)
_COUNTS = """
    select window.start as start, window.end as end, upper(level) as level, service,
           count(*) as lines
    from logs group by window(timestamp, 'WINDOW'), upper(level), service"""


def log_aggregation(
    topic: str,
    table: str,
    *,
    name: str = "log-aggregation",
    window: str = "1 minute",
    late: str = "10 minutes",
    pattern: str = LOG_PATTERN,
) -> Pipeline:
    """Lines of logs, counted by window, level and service. A window's row is there with its first
    line, and changes until it is too late for others."""
    counts = _COUNTS.replace("WINDOW", window)
    source = Source(
        topic=topic,
        format="pattern",
        pattern=pattern,
        schema=LOG_SCHEMA,
        watermark=f"timestamp {late}",
    )
    sink = Sink(table=table, mode="update", keys=["start", "level", "service"])
    return Pipeline(name=name, sources={"logs": source}, sql=counts, sink=sink)


TEMPLATES: dict[str, Callable[..., Pipeline]] = {"log-aggregation": log_aggregation}
NEEDED = {"log-aggregation": ("topic", "table")}
_OTHERS = {"log-aggregation": ("name", "window", "late", "pattern")}


def from_template(template: str, given: Mapping[str, str]) -> Pipeline:
    """With what a user has set."""
    needed, others = NEEDED[template], _OTHERS[template]
    for each in needed:
        if not given.get(each):
            raise DeclarationError(f"template {template}: give --set {each}=...")
    for each in given:
        if each not in (*needed, *others):
            known = ", ".join((*needed, *others))
            raise DeclarationError(f"template {template} has no {each}, only {known}")
    for each in ("window", "late"):
        if "'" in given.get(each, ""):
            raise DeclarationError(f"template {template}: {each} is such as 5 minutes")
    return TEMPLATES[template](**given)
