"""Inputs of the command line, read by Spark.

Text is cut into lines by Spark and into values by tamis, so that keys are those of a job on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

import tamis
from tamis import _tamis
from tamis.spark._batch import Source, file_number
from tamis.spark._inputs import Found, find, head, names, refuse_output
from tamis.spark._tasks import plain

_READING = ("format", "delimiter", "recorded", "no_header", "with_header", "quotes", "comment")


def understood(
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
    text = _tamis.understand(dict(options), file, first.name, begin, given)
    if b"\n" in plain(text["header"] or b""):
        raise tamis.Error(
            f"{first.path}: a quoted value of its header holds a line end, which it cannot on Spark: leave out --on"
        )
    return text


def rows(
    spark: Any,
    inputs: Sequence[str],
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
    file: Optional[_tamis.File] = None,
    output: Optional[str] = None,
) -> Source:
    """The rows of inputs, as keys are made of them. `output` is what must not be among them."""
    files = find(spark, inputs)
    if output is not None:
        refuse_output(output, files)
    text = understood(spark, files[0], reading, options, file)
    asks_name = ... in _tamis.asked_columns({**options, "names": {}}, file)
    called = names(spark, files) if asks_name else None
    reader = spark.read.option("recursiveFileLookup", "true")  # and no columns of the names of folders
    paths = [one.pattern for one in files]
    if text["format"] == "parquet":
        df = reader.parquet(*paths)
        refuse_unlike(spark, files, df, options, file)
        return Source(df, names=called)
    # A carriage return may stand in a value: only LF ends a line, and what stands before it is tamis' business.
    return Source(as_lines(reader.option("lineSep", "\n").text(paths)), text, called)


def as_lines(lines: Any) -> Any:
    """Lines of text as tasks take them: with a number for their file, and where their block begins."""
    from pyspark.sql import functions as F

    return lines.select(
        F.col("value").cast("binary"), file_number(lines).alias("file"), F.expr("input_file_block_start()")
    )


def refuse_unlike(
    spark: Any, files: Sequence[Found], df: Any, options: Mapping[str, Any], file: Optional[_tamis.File]
) -> None:
    """Refuses columns of which Spark would make other keys than one machine does. It takes the columns of one file:
    what another file lacks is null to it, and what is of another type there is converted. INT96 it reads as points in
    time with microseconds, and they are local times with nanoseconds."""
    options = {**options, "names": {}}
    columns = _tamis.asked_columns(options, file)
    asked = [1 if one is None else one for one in columns if one is not ...]
    numbers = {one: df.columns[one - 1 : one] for one in asked if isinstance(one, int)}
    names = [name for one in asked for name in (numbers.get(one) or [str(one)])]
    first: Optional[tuple[str, dict[str, str]]] = None
    for path, types in _footers(spark, files):
        first = first or (path, types)
        if ... in columns and "(file)" in types:
            _tamis.find_columns(options, file, [*types])  # refuses it
        for number, found in numbers.items():
            if [*types][number - 1 : number] != found:
                raise tamis.Error(
                    f"{path}: its column {number} is not the one that Spark counts so: ask for it by name, or leave out --on"
                )
        for name in names:
            here, there = types.get(name), first[1].get(name)
            if here == "INT96":
                raise tamis.Error(
                    f"{path}: column {name!r} is an INT96, which Spark reads otherwise than tamis does: write it as a "
                    "TIMESTAMP (Spark does, with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS), or leave out --on"
                )
            if (here is None) != (there is None):
                lacks, has = (path, first[0]) if here is None else (first[0], path)
                raise tamis.Error(
                    f"{lacks}: there is no column {name!r}, and {has} has it: read them by jobs of their own"
                )
            if here != there:
                raise tamis.Error(
                    f"{path}: column {name!r} is {here}, and {there} in {first[0]}: Spark would turn one into the other, and "
                    "keys would not be those of one machine; write them alike, or leave out --on"
                )


def _footers(spark: Any, files: Sequence[Found]) -> Iterator[tuple[str, dict[str, str]]]:
    """Parquet files, each with its columns and their types."""
    statuses = spark._jvm.java.util.ArrayList()
    for one in files:
        statuses.add(one.status)
    reader = spark._jvm.org.apache.parquet.hadoop.ParquetFileReader
    settings = spark._jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    settings.setInt("parquet.metadata.read.parallelism", 32)  # to read is to wait, where files are far away
    known: dict[str, dict[str, str]] = {}
    for footer in reader.readAllFootersInParallel(settings, statuses, True):
        schema = footer.getParquetMetadata().getFileMetaData().getSchema()
        # Each question to the JVM takes its time, and most files are alike.
        text = str(schema.toString())
        if text not in known:
            known[text] = {".".join(column.getPath()): _type(column) for column in schema.getColumns()}
        yield str(footer.getFile()), known[text]


def _type(column: Any) -> str:
    """What the values are; what they are stored as, where that is all that is said."""
    primitive = column.getPrimitiveType()
    return str((primitive.getLogicalTypeAnnotation() or primitive.getPrimitiveTypeName()).toString())
