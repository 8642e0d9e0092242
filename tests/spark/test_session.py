"""Which settings a session has to be started with."""

from __future__ import annotations

from penstock.spark.session import of_the_start


def test_what_is_not_of_queries_has_to_be_there_at_the_start() -> None:
    late = {"spark.sql.shuffle.partitions": "4", "spark.sql.session.timeZone": "UTC"}
    early = {"spark.jars": "driver.jar", "spark.driver.memory": "2g", "spark.sql.extensions": "x.Y"}
    assert of_the_start({**late, **early}) == early
