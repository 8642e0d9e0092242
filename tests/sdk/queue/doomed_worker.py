"""A worker that says what it was given, and never finishes: to be killed."""

from __future__ import annotations

import sys
import threading

from penstock import Queue


def main(bootstrap: str, topic: str) -> None:
    queue = Queue(bootstrap, topic)
    jobs = []
    for job in queue:
        jobs.append(job)
        sys.stdout.write(f"{job.value}\n")
        sys.stdout.flush()
        if len(jobs) == 3:
            threading.Event().wait()


main(*sys.argv[1:])
