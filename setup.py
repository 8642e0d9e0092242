"""Builds the compiled modules where there is a C compiler; without one the same source runs.

PENSTOCK_PURE=1 leaves the compiler out, which also gives a wheel for any platform. PENSTOCK_PURE=0
makes it a failure when they cannot be compiled, for those who build wheels.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

COMPILED = [
    "src/penstock/wire/records.py",
    "src/penstock/wire/choosing.py",
    "src/penstock/wire/holding.py",
    "src/penstock/wire/places.py",
]
GROUP = "penstock.wire.records"
"""What they share is one library beside them, and not at the top of everybody's packages."""
WISH = os.environ.get("PENSTOCK_PURE")


def run_uncompiled(reason: object) -> None:
    logging.warning("penstock: records will be read uncompiled, about ten times slower: %s", reason)


def extensions() -> list[Any]:
    if WISH == "1":
        return []
    try:
        mypyc = importlib.import_module("mypyc.build")
        built: list[Any] = mypyc.mypycify(COMPILED, opt_level="3", group_name=GROUP)
    except (ImportError, SystemExit) as error:  # no mypyc, or one that objects to the source
        if WISH == "0":
            raise
        run_uncompiled(repr(error))
        return []
    return built


class AllOrNothing(build_ext):
    """mypyc makes one extension that all the others need, so none may stay alone."""

    def build_extensions(self) -> None:
        try:
            super().build_extensions()
        except (BaseError, CCompilerError, OSError) as error:
            if WISH == "0":
                raise
            run_uncompiled(error)
            self.extensions = []


setup(ext_modules=extensions(), cmdclass={"build_ext": AllOrNothing})
