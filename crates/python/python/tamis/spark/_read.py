"""Inputs of the command line, read by Spark.

Text is cut into lines by Spark and into values by tamis, so that keys are those of a job on one machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import tamis
from tamis import _tamis
from tamis.spark._batch import Source
from tamis.spark._inputs import Found, find, head, refuse_output

_READING = ("format", "delimiter", "no_header", "no_quotes")


def _understood(
    spark: Any,
    first: Found,
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
    file: Optional[_tamis.File],
) -> dict[str, Any]:
    """How inputs are read: as the first of them is."""
    begin = head(spark, first)
    given = {one: reading.get(one) for one in _READING}
    if begin.startswith(b"PAR1"):
        if given["format"] not in (None, "parquet"):
            raise tamis.Error(f"{first.name}: this is a Parquet file, not {given['format']}; leave out --format")
        return {"format": "parquet"}
    return _tamis.understand(dict(options), file, first.name, begin, given)


def rows(
    spark: Any,
    inputs: Sequence[str],
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
    file: Optional[_tamis.File] = None,
    output: Optional[str] = None,
) -> Source:
    """The rows of inputs, as keys are made of them. `output` is what must not be among them."""
    from pyspark.sql import functions as F

    files = find(spark, inputs)
    if output is not None:
        refuse_output(output, files)
    text = _understood(spark, files[0], reading, options, file)
    reader = spark.read.option("recursiveFileLookup", "true")  # and no columns of the names of folders
    paths = [one.pattern for one in files]
    if text["format"] == "parquet":
        df = reader.parquet(*paths)
        _refuse_int96(spark, files, df, options, file)
        return Source(df)
    # A carriage return may stand in a value: only LF ends a line, and what stands before it is tamis' business.
    lines = reader.option("lineSep", "\n").text(paths)
    columns = lines.select(
        F.col("value").cast("binary"), F.xxhash64(F.input_file_name()).alias("file"), F.expr("input_file_block_start()")
    )
    return Source(columns, text)


def _refuse_int96(
    spark: Any, files: Sequence[Found], df: Any, options: Mapping[str, Any], file: Optional[_tamis.File]
) -> None:
    """Refuses keys and groups of INT96: Spark reads them as points in time with microseconds, and they are local
    times with nanoseconds."""
    from pyspark.sql.types import TimestampType

    columns = _tamis.asked_columns(dict(options), file)
    asked = {df.columns[one - 1] if isinstance(one, int) and one <= len(df.columns) else one for one in columns}
    times = {name for name in _leaves_of_type(df.schema, TimestampType) if name in asked}
    if not times:
        return
    jvm = spark._jvm
    statuses = jvm.java.util.ArrayList()
    for one in files:
        statuses.add(one.status)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader
    for footer in reader.readAllFootersInParallel(spark._jsc.hadoopConfiguration(), statuses, True):
        schema = footer.getParquetMetadata().getFileMetaData().getSchema()
        for column in schema.getColumns():
            name = ".".join(column.getPath())
            if name in times and column.getPrimitiveType().getPrimitiveTypeName().toString() == "INT96":
                raise tamis.Error(
                    f"{footer.getFile()}: column {name!r} is an INT96, which Spark reads otherwise than tamis does: write "
                    "it as a TIMESTAMP (Spark does, with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS), or "
                    "leave out --on"
                )


def _leaves_of_type(schema: Any, wanted: type, before: str = "") -> list[str]:
    names: list[str] = []
    for field in schema.fields:
        if isinstance(field.dataType, wanted):
            names.append(before + field.name)
        elif hasattr(field.dataType, "fields"):
            names += _leaves_of_type(field.dataType, wanted, before + field.name + ".")
    return names
