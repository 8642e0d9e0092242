"""Long stories of Spark, and the one line that matters."""

from __future__ import annotations

from penstock.spark.errors import FolderError, SparkError
from penstock.spark.pipelines.watching import line_of
from penstock.spark.task_failure import cause_in, task_failed

STORY = """An error occurred while calling o56.collectToPython.
: org.apache.spark.SparkException: Job aborted: Traceback (most recent call last):
  File "worker.py", line 1, in main
{}
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner
"""


def test_our_own_errors_are_told_without_their_names() -> None:
    told = STORY.format("penstock.client.errors.Unreachable: cannot connect: start one")
    assert cause_in(told) == "cannot connect: start one"


def test_others_are_told_with_them() -> None:
    assert cause_in(STORY.format("OSError: [Errno 28] No space left")) == (
        "OSError: [Errno 28] No space left"
    )


def test_an_error_without_a_word_is_told_by_its_name() -> None:
    assert cause_in(STORY.format('  File "a.py", line 2\n    assert x\nAssertionError')) == (
        "AssertionError"
    )
    assert cause_in(STORY.format("shop.Refused: no")) == "shop.Refused: no"
    assert line_of(STORY.format("AssertionError")) == "AssertionError"


def test_a_pipeline_names_its_own_option_for_more_time() -> None:
    told = "penstock.client.errors.Lost: a:1 did not answer; allow more with --timeout"
    assert line_of(STORY.format(told)).endswith(
        "with the option timeoutMs of the source or the sink"
    )


def test_what_has_no_traceback_is_told_as_it_is() -> None:
    assert cause_in("  the executor is gone\n") == "the executor is gone"
    assert len(cause_in("x" * 9999)) == 500


def test_what_can_be_told_apart_in_a_task_can_be_so_by_who_waits_for_it() -> None:
    full = task_failed(ValueError(STORY.format("penstock.spark.errors.FolderError: it is full")))
    assert (type(full), str(full)) == (FolderError, "a task failed: it is full")
    other = task_failed(ValueError(STORY.format("penstock.spark.errors.OptionError: no")))
    assert type(other) is SparkError
