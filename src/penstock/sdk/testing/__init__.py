"""Brokers for tests. `penstock.testing` is where others find it.

A broker is a process of its own, forked from one that has everything loaded (`nursery`), or a
thread of the process that tests run in (`in_thread`). Nothing outlives the tests.
"""
