"""How Spark finds `format("penstock")`: it looks into every module called `pyspark_*`.

One that cannot be imported would break that for all of them, so nothing is raised from here.
"""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    from penstock.spark.data_source import PenstockDataSource as DefaultSource  # noqa: F401
