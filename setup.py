"""Builds the one compiled module where there is a C compiler; without one the same source runs.

PENSTOCK_PURE=1 leaves the compiler out, which also gives a wheel for any platform. PENSTOCK_PURE=0
makes it a failure when the module cannot be compiled, for those who build wheels.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

COMPILED = ["src/penstock/wire/records.py"]
WISH = os.environ.get("PENSTOCK_PURE")


def run_uncompiled(reason: object) -> None:
    logging.warning("penstock: records.py will run uncompiled, about ten times slower: %s", reason)


def extensions() -> list[Any]:
    if WISH == "1":
        return []
    try:
        built: list[Any] = importlib.import_module("mypyc.build").mypycify(COMPILED, opt_level="3")
    except (ImportError, SystemExit) as error:  # no mypyc, or one that objects to the source
        if WISH == "0":
            raise
        run_uncompiled(repr(error))
        return []
    return built


class AllOrNothing(build_ext):
    """mypyc makes two extensions of which one needs the other, so neither may stay alone."""

    def build_extensions(self) -> None:
        try:
            super().build_extensions()
        except (BaseError, CCompilerError, OSError) as error:
            if WISH == "0":
                raise
            run_uncompiled(error)
            self.extensions = []


setup(ext_modules=extensions(), cmdclass={"build_ext": AllOrNothing})
