"""Records of files that pass, written by Spark.

Lines of text are written unchanged, because keys and records are those of one machine. Only where another format is asked
for does Spark read those that passed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Callable, Optional

import tamis
from tamis import Sketch
from tamis.spark import _answers, _batch, _tasks
from tamis.spark._batch import Source
from tamis.spark._session import ship


def filter_source(
    source: Source,
    sketch: Sketch,
    options: Mapping[str, Any],
    group: Any,
    invert: bool,
    output: Optional[str],
    form: Optional[str],
    partial: bool = False,
) -> dict[str, int]:
    """Writes the records that pass to a folder, where one is given; how many there were, were admitted, and had no
    key."""
    from pyspark.sql import Observation

    _answers.Contains.refuse(sketch._file, group, options["bad_rows"], partial)
    text = source.text or {"format": "parquet"}
    # Whether lines are written as they are. Delimited text has its own delimiter, unless CSV is asked for.
    raw = form in (None, text["format"]) and not (form == "csv" and text["delimiter"] != ord(","))
    sieve = _sieved_rows if source.text is None else _sieved_lines
    header = _header(text) if raw and output is not None else b""
    sieved, numbers, passed = sieve(source, sketch, options, group, (invert, partial), header)
    if output is None:
        return dict(sieved.agg(*numbers).collect()[0].asDict())
    seen = Observation("tamis")
    df = passed(sieved.observe(seen, *numbers))
    if source.text is not None and not raw:
        df = _parsed(source, df)
    writer = df.write
    kind: str = form or text["format"]
    if source.text is not None and raw:
        writer.text(output)
    elif kind in ("csv", "tsv"):
        named = text["format"] in ("parquet", "ndjson", "lines") or not text["no_header"]
        sep = "," if kind == "csv" else "\t"
        blanks = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
        # Quotes in TSV are ordinary characters: only what cannot stand there otherwise is quoted.
        writer.csv(output, header=named, sep=sep, escape='"', escapeQuotes=kind == "csv", **blanks)
    else:
        writer.format({"ndjson": "json"}.get(kind, kind)).save(output)
    return dict(seen.get)


def _header(text: Mapping[str, Any]) -> bytes:
    """The header of text, as a line; of no byte order mark, since more than one file is written."""
    header: bytes = text.get("header") or b""
    line = _tasks.unmarked(header)
    return line if line.endswith(b"\n") or not line else line + b"\n"


_Passed = Callable[[Any], Any]


def _sieved_rows(
    source: Source, sketch: Sketch, options: Mapping[str, Any], group: Any, how: tuple[bool, bool], _: bytes
) -> tuple[Any, list[Any], _Passed]:
    """Rows with a code each."""
    from pyspark.sql import functions as F

    marked, (invert, partial) = bool(options.get("marked")), how
    key, bad_rows = options.get("key"), options["bad_rows"]
    coded = _batch.with_codes(source.df, sketch, key, group, bad_rows, None, marked, source.names, partial)

    def count(name: str, condition: Any) -> Any:
        return F.coalesce(F.sum(condition.cast("long")), F.lit(0)).alias(name)

    column = F.col(_batch.CODE)
    numbers = [
        count("records", F.lit(True)),
        count("admitted", column == 1),
        count("keyless", column == 2),
    ]
    return coded, numbers, lambda df: _batch.passed(df, invert)


def _sieved_lines(
    source: Source, sketch: Sketch, options: Mapping[str, Any], group: Any, how: tuple[bool, bool], header: bytes
) -> tuple[Any, list[Any], _Passed]:
    """Lines that pass, many in a row, with numbers."""
    from pyspark.sql import functions as F

    file = ship(source.spark, sketch)
    task = _tasks.SieveLines(file, source.options(options), group, *how, header)
    sieved = source.df.mapInArrow(_batch._function(task), _tasks.SIEVED)
    numbers = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("records", "admitted", "keyless")]
    text = F.col("text").cast("string").alias("value")
    return sieved, numbers, lambda df: df.filter(F.length("text") > 0).select(text)


def _parsed(source: Source, df: Any) -> Any:
    """The values of lines, as Spark reads them: of CSV text, of NDJSON what it infers of the whole input."""
    from pyspark.sql import functions as F

    text: Mapping[str, Any] = source.text or {}
    line = F.explode(F.split("value", "\n")).alias("value")
    lines = df.select(line).select(F.regexp_replace("value", "\r$", "").alias("value"))
    if text["format"] == "lines":
        return lines
    if text["format"] == "log":
        raise tamis.Error(
            "Spark cannot cut access logs into columns: leave out --output-format, or leave out --on"
        )
    if text["format"] == "ndjson":
        values = F.from_json("value", _inferred(source))
    else:
        if text["delimiter"] == "whitespace" or text["quotes"] == "log":
            raise tamis.Error(
                "Spark cannot cut text with quotes of logs, or runs of blanks between values, into columns: leave out "
                "--output-format, or leave out --on"
            )
        schema = ", ".join(f"{_batch._quoted(name)} string" for name in text["columns"])
        dialect = {"sep": chr(text["delimiter"]), "quote": "" if text["quotes"] == "none" else '"', "escape": '"'}
        values = F.from_csv("value", schema, dialect)
    return lines.select(values.alias("_")).select("_.*")


def _inferred(source: Source) -> Any:
    """The types of NDJSON. What is no object has none."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    jvm, session = source.spark._jvm, source.spark._jsparkSession
    lines = source.df.select(F.regexp_replace(F.col("value").cast("string"), "^\ufeff", ""))
    strings = getattr(lines._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING())
    schema = session.read().option("mode", "DROPMALFORMED").json(strings).schema().json()
    return StructType.fromJson(json.loads(schema))
