"""What sources say of their columns."""

from __future__ import annotations

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from penstock.spark.pipelines.declaration import DeclarationError
from penstock.spark.pipelines.sources import check_names


def test_a_column_that_is_there_twice_is_named() -> None:
    fields = [StructField("id", StringType()), StructField("n", IntegerType())]
    check_names("sources.orders.schema", StructType(fields))
    with pytest.raises(DeclarationError, match=r"sources\.orders\.schema: ID is there twice"):
        check_names("sources.orders.schema", StructType([*fields, StructField("ID", StringType())]))
