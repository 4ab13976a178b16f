"""Inputs of the command line, read by Spark.

Text is cut into lines by Spark and into values by tamis, so that keys are those of a job on one machine. Where
whole records are to be written again, Spark reads them itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import tamis
from tamis import _tamis
from tamis.spark._batch import Source
from tamis.spark._files import first_file

_READING = ("format", "delimiter", "no_header", "no_quotes")


def understood(
    spark: Any,
    inputs: Sequence[str],
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
    file: Optional[_tamis.File] = None,
) -> dict[str, Any]:
    """How inputs are read: as the first of them is."""
    name, head = first_file(spark, inputs[0])
    given = {one: reading.get(one) for one in _READING}
    if head.startswith(b"PAR1"):
        if given["format"] not in (None, "parquet"):
            raise tamis.Error(f"{name}: this is a Parquet file, not {given['format']}; leave out --format")
        return {"format": "parquet"}
    return _tamis.understand(dict(options), file, name, head, given)


def rows(
    spark: Any,
    inputs: Sequence[str],
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
    file: Optional[_tamis.File] = None,
) -> Source:
    """The rows of inputs, as keys are made of them."""
    from pyspark.sql import functions as F

    text = understood(spark, inputs, reading, options, file)
    if text["format"] == "parquet":
        return Source(spark.read.parquet(*inputs))
    # A carriage return may stand in a value: only LF ends a line, and what stands before it is tamis' business.
    lines = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text(list(inputs))
    columns = lines.select(
        F.col("value").cast("binary"), F.xxhash64(F.input_file_name()).alias("file"), F.expr("input_file_block_start()")
    )
    kept = {name: text.get(name) for name in ("format", "delimiter", "no_header", "no_quotes", "header")}
    return Source(columns, kept)


def records(
    spark: Any,
    inputs: Sequence[str],
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
    file: _tamis.File,
) -> tuple[Any, dict[str, Any]]:
    """Whole records as Spark reads them, and how."""
    text = understood(spark, inputs, reading, {**options, "without_group": True}, file)
    form = text["format"]
    if form == "parquet":
        return spark.read.parquet(*inputs), text
    reader = spark.read.option("recursiveFileLookup", "true")
    if form == "lines":
        return reader.text(list(inputs)), text
    if form == "ndjson":
        return reader.json(list(inputs)), text
    quote = "" if text["no_quotes"] else '"'
    options_of_csv = {
        "sep": chr(text["delimiter"]), "header": str(not text["no_header"]).lower(), "quote": quote,
        "escape": '"', "inferSchema": "false", "enforceSchema": "false",
    }
    return reader.options(**options_of_csv).csv(list(inputs)), text
