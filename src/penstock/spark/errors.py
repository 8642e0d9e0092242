"""What a Spark job is told when something cannot be done: the cause, and the way out."""

from __future__ import annotations


class SparkError(Exception):
    """Of the connector. What brokers refuse stays a `penstock.client.errors.ClientError`."""


class OptionError(SparkError, ValueError):
    """An option that is missing, wrong, or contradicts another."""


class DataLossError(SparkError):
    """Records that were to be read are not there any more."""


class FolderError(SparkError):
    """The folder of a table does not take what is written to it: its disk is full, say."""


def behind(what: str, last: int) -> SparkError:
    """A batch that comes with a number that was written long ago."""
    return SparkError(
        f"{what} comes after batch {last}, which is written: its checkpoint was put back or "
        "copied, or another driver runs with it. The numbers of its batches belong to other rows "
        "by now: start the query with a new checkpoint, from where the last one ended"
    )
