"""What went wrong in a task, without the long way that Spark tells of."""

from __future__ import annotations

import re

from penstock.spark.errors import DataLossError, FolderError, SparkError

_OURS = re.compile(r"^penstock\.[\w.]+: (.+)$", re.MULTILINE)
_LAST = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(\S.*)$", re.MULTILINE)
_ANY = re.compile(r"^(\w[\w.]*(?:Error|Exception|Exit|Interrupt): .+)$", re.MULTILINE)
_KINDS = {each.__name__: each for each in (DataLossError, FolderError)}
_KIND = re.compile(rf"^penstock\.spark\.errors\.({'|'.join(_KINDS)}): ", re.MULTILINE)
_LONGEST = 500


def task_failed(error: Exception) -> SparkError:
    """Of the kind that it had in the task, where whoever waits for it may ask for that."""
    told = str(error)
    found = _KIND.search(told)
    kind = _KINDS[found[1]] if found else SparkError
    return kind(f"a task failed: {cause_in(told)}")


def cause_in(told: str) -> str:
    """The last line of the first traceback in it, and what can be had where there is none."""
    for pattern in (_OURS, _LAST, _ANY):
        if found := pattern.search(told):
            return found[1].strip()[:_LONGEST]
    return told.strip()[:_LONGEST]
