"""What a task owes to the worker that runs it."""

from __future__ import annotations

import gc
from functools import cache


@cache
def keep_modules_out_of_collections() -> None:
    """Spark's workers collect garbage behind every task, and go through all that is imported for
    it: 15 ms and more, which is as much as a small task takes. Once a process that is spared."""
    gc.collect()
    gc.freeze()
