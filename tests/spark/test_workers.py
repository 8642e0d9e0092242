"""What is spared a worker stays out of its collections; what comes later does not."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc
import weakref
from penstock.spark.workers import keep_modules_out_of_collections

class Cycle:
    def __init__(self):
        self.itself = self

keep_modules_out_of_collections()
frozen = gc.get_freeze_count()
lost = weakref.ref(Cycle())
keep_modules_out_of_collections()
gc.collect()
print(frozen > 5000, gc.get_freeze_count() <= frozen, lost() is None)
"""


def test_modules_are_kept_out_once_and_later_garbage_is_still_found() -> None:
    """In a process of its own, as it is for good."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["True", "True", "True"]
