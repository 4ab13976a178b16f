"""Building, testing and filtering of whole DataFrames."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import tamis
from tamis import Params, Sketch, _tamis
from tamis._sketch import HashKey, make_known, params_as_json, warned_of_build
from tamis.spark import _answers, _tasks
from tamis.spark._files import is_elsewhere, save
from tamis.spark._session import active, explained, is_connect, session_of, ship, sketch_of, temporary_file
from tamis.spark._tasks import PARTS, Shipped

Fields = Union[str, Sequence[str], None]

# Parts that keys are cut into by their hash, where they are many.
_CUTS = 256


class Source:
    """Rows of a DataFrame, and how they are read."""

    def __init__(
        self, df: Any, text: Optional[dict[str, Any]] = None, names: Optional[dict[int, str]] = None
    ) -> None:
        self.df, self.text, self.names = df, text, names
        self.spark = session_of(df)

    def options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a job, with how text is read, and the names of files where they are asked for."""
        return {**options, "text": self.text, "names": self.names}

    def classes(self, options: Mapping[str, Any], file: Optional[_tamis.File] = None) -> list[str]:
        """The classes of the values of the key, column by column; of lines of text they are text."""
        if self.text is not None:
            return []
        asked = _tamis.asked_columns({**options, "without_group": True}, file)
        return [class_of(_type_of(self.df, column)) for column in asked]

    def rows(self, options: dict[str, Any], file: Optional[_tamis.File] = None) -> Any:
        """A DataFrame with the columns that a job asks for, and no others."""
        if self.text is not None:
            return self.df
        from pyspark.sql import functions as F

        asked = _tamis.asked_columns(options, file)
        if None in asked and len(self.df.columns) == 1 and set(asked) == {None}:
            raise tamis.Error(f"rows have columns: pass key={self.df.columns[0]!r}")
        names = _leaves(self.df.schema)
        _tamis.find_columns(options, file, names)  # says what is missing
        # Spark would look for fields in names with points.
        top = self.df.columns
        # The number of the file comes last, and becomes its name.
        number = [file_number(self.df)] if ... in asked else []
        asked = [column for column in asked if column is not ...]
        if all(isinstance(column, str) for column in asked):
            names = list(dict.fromkeys(asked))
            columns = self.df.select(*(F.col(_quoted(name) if name in top else name) for name in names), *number)
        else:
            names, columns = top, self.df.select("*", *number)  # of which some may have one name
        return columns.toDF(*_tasks.disguised([*names, *("(file)" for _ in number)]))


# The class of the values of each type of Spark, by its name: that which an Arrow column of them has.
_CLASSES = {
    "string": "text",
    "char": "text",
    "varchar": "text",
    "byte": "integer",
    "short": "integer",
    "integer": "integer",
    "long": "integer",
    "decimal": "decimal",
    "float": "single",
    "double": "float",
    "date": "date",
    "time": "time",
    "timestamp": "time",
    "timestamp_ntz": "time",
    "binary": "bytes",
    "boolean": "boolean",
}


def class_of(kind: Any) -> str:
    """The class of the values of a type of Spark; of others, which are refused elsewhere, none."""
    return "text" if kind is None else _CLASSES.get(kind.typeName(), "")


def _type_of(df: Any, column: Any) -> Any:
    """The type of a column by its name or its number; of the name of the file none."""
    from pyspark.sql import functions as F

    if column is ...:
        return None
    if isinstance(column, int):
        fields = df.schema.fields
        return fields[column - 1].dataType if column <= len(fields) else None
    if column is None:
        return df.schema.fields[0].dataType if len(df.schema.fields) == 1 else None
    names = [column] if column in df.columns else []
    if not names and column not in _leaves(df.schema):
        return None
    return df.select(F.col(_quoted(column) if names else column)).schema.fields[0].dataType


def warn_of_classes(df: Any, file: _tamis.File, key: Fields, stacklevel: int) -> None:
    """Says by name where the columns of the key are of another class than the keys of a file, and it is not certain which
    of them mean the same."""
    asks = Source(df).classes({"key": key}, file)
    for doubt in dict.fromkeys(file.doubts(asks)):
        warnings.warn(doubt, tamis.KeyClassWarning, stacklevel=stacklevel + 1)


def file_number(df: Any) -> Any:
    """A column: a number for the file that a row was read from."""
    from pyspark.sql import functions as F

    if hasattr(df, "metadataColumn"):
        return F.xxhash64(df.metadataColumn("_metadata")["file_path"])
    if "_metadata" in df.columns:
        raise tamis.Error("a column is called _metadata, behind which Spark before 4.0 hides the names of files: rename it")
    return F.xxhash64(F.col("_metadata.file_path"))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _leaves(schema: Any, before: str = "") -> list[str]:
    """The names of columns, and of fields of structs."""
    names = [before + field.name for field in schema.fields]
    for field in schema.fields:
        if hasattr(field.dataType, "fields"):
            names += _leaves(field.dataType, before + field.name + ".")
    return names


def _table(df: Any) -> Source:
    source = Source(df)
    if df.isStreaming:
        raise ValueError("this DataFrame is a stream: tamis.spark.train_stream learns of it")
    return source


def build(
    df: Any,
    key: Fields = None,
    group: Optional[str] = None,
    *,
    fpr: Optional[float] = None,
    bits_per_key: Optional[float] = None,
    size: Union[int, str, None] = None,
    bits: Optional[int] = None,
    bits_per_group: Optional[int] = None,
    hashes: Optional[int] = None,
    keys: Optional[int] = None,
    kind: Optional[str] = None,
    hash: Optional[str] = None,
    seed: Optional[int] = None,
    hash_key: HashKey = None,
    keywords: Fields = None,
    layers: Optional[int] = None,
    weight: Optional[str] = None,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    width: Optional[int] = None,
    depth: Optional[int] = None,
    counter_bits: Optional[int] = None,
    params: Union[Mapping[str, Any], Sketch, str, os.PathLike[str], None] = None,
    null: Optional[str] = None,
    bad_rows: str = "fail",
    note: Optional[str] = None,
    source: Optional[str] = None,
    path: Union[str, os.PathLike[str], None] = None,
    range_bytes: int = _tamis.RANGE_BYTES,
) -> Sketch:
    """Builds filters or counts of a Spark DataFrame: the bytes are those of ``tamis.build`` and ``tamis build``
    with the same rows and options, however Spark splits them.

    The options are those of `tamis.build`, except for `heavy` and `conservative`, which depend on the order of rows, and
    `threads`, which Spark decides. The file is written to `path` on the driver's machine, or where Hadoop has a file system
    for its scheme (``hdfs://``, ``s3a://``), or to a temporary place. Rows that are not counted first (`params`, or more than 2²⁴ keys, or murmur3 or polynomial) change ranges
    of the file of `range_bytes` each, which executors bring together: neither they nor the driver hold all of a
    large filter.

    >>> from tamis.spark import build                                         # doctest: +SKIP
    >>> users = build(df, key="email:trim,lower", group="country", fpr=0.001)  # doctest: +SKIP
    >>> users.save("users.tamis")                                              # doctest: +SKIP
    """
    given = {name: value for name, value in locals().items() if name not in ("df", "params", "path", "range_bytes")}
    options = {**given, "hash_key": make_known(hash_key), "params": params_as_json(params)}
    table = _table(df)
    elsewhere = is_elsewhere(path, table.spark)
    sketch, _ = build_source(table, options, None if elsewhere else path, range_bytes)
    if elsewhere and path is not None:
        save(sketch, path, table.spark)
    return warned_of_build(sketch, {**options, "params": params})


def build_source(
    source: Source,
    given: Mapping[str, Any],
    path: Union[str, os.PathLike[str], None] = None,
    range_bytes: int = _tamis.RANGE_BYTES,
) -> tuple[Sketch, dict[str, Any]]:
    """Builds, and tells what is to be said of it."""
    options = source.options(given)
    place = os.fspath(path) if path is not None else temporary_file(f"built-{os.urandom(8).hex()}.tamis")
    said: dict[str, Any] = {"skipped": 0, "estimated": False, "lone_keywords": False}
    begun = time.monotonic()
    with explained():
        params = _tamis.planned_without_rows(options)
        rows = source.rows(options)
        options["classes"] = source.classes(options)
        if params is None:
            found = _counted(source, rows, options).conclude(place)
            said.update({name: value for name, value in found.items() if name != "params"})
            params = found.get("params")
            said["seconds"] = {"count": time.monotonic() - begun}
        if params is not None:
            with_params = {**_of_rows(options), "params": params}
            said["skipped"] = _put_together(options, rows, with_params, params, range_bytes, place)
    opened = _tamis.open if path is not None else _tamis.take_over
    return Sketch(opened(place, said["skipped"])), said


# What is left to say of rows when the parameters are known.
_FREE = ("key", "group", "keywords", "weight", "bad_rows", "text", "names", "marked")


def _of_rows(options: Mapping[str, Any]) -> dict[str, Any]:
    # Steps are those of the parameters, which have them already.
    rows = {name: options.get(name) for name in _FREE}
    return rows if options.get("params") else {**rows, "key": None, "group": None, "keywords": None, "weight": None}


def _reducers(spark: Any) -> int:
    """A power of two near the number of cores."""
    # By Spark Connect nobody tells the number of cores.
    cores = _CORES if is_connect(spark) else max(1, min(256, spark.sparkContext.defaultParallelism))
    return int(1 << (cores - 1).bit_length())


# Cores that are taken for what there is, where nobody tells.
_CORES = 16


def _counted(source: Source, rows: Any, options: dict[str, Any]) -> _tamis.Counter:
    """Counts on the executors; all that they saw, in a counter here."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    few = _at_once(source.spark)
    most = few // 4
    # For static filters, all hashes are needed. Other counters estimate beyond some, and the sooner the more of them they have.
    needs_all = options.get("kind") in ("fuse", "ribbon") or options.get("params") is not None
    parts = _CUTS if needs_all else 16
    seen = rows.mapInArrow(_function(_tasks.CountRows(options, parts, most)), PARTS)
    seen.persist(StorageLevel.DISK_ONLY)  # how it is brought here depends on how much all of it is
    counter = _tamis.Counter(options)
    try:
        size = seen.agg(F.sum(F.length("data"))).collect()[0][0] or 0
        found = seen
        if size > few:
            several = 1 << (size // few).bit_length()
            by_hash = _by_part(seen, min(parts, several))
            merged = by_hash.mapInArrow(_function(_tasks.MergeCounts(options, most)), PARTS)
            found = merged.repartition(several)  # evenly, whatever the hashes are
        for _, data in local_parts(found, size):
            counter.absorb(data)
    finally:
        seen.unpersist()
    return counter


def _by_part(seen: Any, partitions: int) -> Any:
    """Parts of the same number in one partition, evenly where Spark can (4.1 and later)."""
    from pyspark.sql import functions as F

    if hasattr(seen, "repartitionById"):
        return seen.repartitionById(partitions, F.col("part").cast("int"))
    return seen.repartition(partitions, "part")


def _put_together(
    given: dict[str, Any], rows: Any, options: dict[str, Any], params: str, range_bytes: int, path: str
) -> int:
    """Writes the file of ranges that executors brought together; returns the rows left out. What was given is
    recorded about it."""
    assembly = _tamis.Assembly(params, range_bytes, path)
    assembly.record(given)
    merged = merged_ranges(rows, options, params, range_bytes)
    for _, data in local_parts(merged, _tamis.data_bytes(params)):
        assembly.put(data)
    return assembly.finish()


def merged_ranges(rows: Any, options: dict[str, Any], params: str, range_bytes: int) -> Any:
    """A DataFrame of ranges, each once: what rows change in sketches of these parameters."""
    from pyspark.sql import functions as F

    task = _tasks.BuildRows(options, range_bytes)
    changed = rows.mapInArrow(_function(task), PARTS)
    merge = _function(_tasks.MergeRanges(params, range_bytes))
    partitions = _partitions(rows)
    if partitions > 2 * _FAN_IN:
        # A tree: some tasks' parts are brought together first.
        salted = changed.withColumn("salt", (F.spark_partition_id() / _FAN_IN).cast("int"))
        some = salted.repartition(partitions // _FAN_IN, "part", "salt").sortWithinPartitions("part")
        changed = some.select("part", "data").mapInArrow(merge, PARTS)
    ranges = max(1, min(4096, _tamis.data_bytes(params) // range_bytes))
    return changed.repartition(ranges, "part").sortWithinPartitions("part").mapInArrow(merge, PARTS)


# Tasks whose parts are brought together at once.
_FAN_IN = 32


def _partitions(rows: Any) -> int:
    """About how many tasks rows have, found without a job."""
    if rows.isStreaming:
        return 0
    if is_connect(rows):
        return 32 * _FAN_IN  # many, as below
    query = rows._jdf.queryExecution()
    plan = query.executedPlan()
    if plan.getClass().getSimpleName() != "AdaptiveSparkPlanExec":
        return int(query.toRdd().getNumPartitions())
    # What its shuffles come to, Spark finds out by running them. The plan may know how many at most, else take many.
    return int(plan.initialPlan().outputPartitioning().numPartitions()) or 32 * _FAN_IN


def local_parts(df: Any, size: int) -> Iterator[tuple[int, bytes]]:
    """Parts on the driver, of this many bytes in all at most: one partition after the other, so that no more than one
    of them is here at a time, but where all of them are small."""
    from pyspark import StorageLevel

    if size <= _at_once(df.sparkSession):
        yield from _parts(df.collect())
        return
    # A partition is computed when it is asked for: one after the other, on one core. So all executors compute
    # theirs first, and what is asked for lies on their disks.
    df.persist(StorageLevel.DISK_ONLY)
    try:
        df.count()
        yield from _parts(df.toLocalIterator())
    finally:
        df.unpersist()


def _parts(rows: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
    for row in rows:
        yield row[0], bytes(row[1])


def _at_once(spark: Any) -> int:
    """The bytes that a job is to give back: so few that all of them may be here, and a part of what is allowed."""
    if is_connect(spark):
        return 32 << 20  # results come in parts, and the limit is the server's
    text = spark.sparkContext.getConf().get("spark.driver.maxResultSize", "1g")
    allowed = int(spark._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(text))  # 0 is no limit
    return min(32 << 20, allowed // 4 or 32 << 20)


def _function(task: Any) -> Any:
    # Spark asks for a function, and looks at its arguments.
    def run(batches: Any) -> Any:
        task.check()
        with task.speaking():
            yield from task(batches)

    return run


def plan(
    df: Any,
    key: Fields = None,
    group: Optional[str] = None,
    **options: Any,
) -> Params:
    """The parameters that `build` would choose, as a value, as `tamis.plan` gives them. Options are those of
    `build`.

    >>> from tamis.spark import plan                                         # doctest: +SKIP
    >>> params = plan(df, key="user_id", group="country", fpr=0.001)         # doctest: +SKIP
    """
    _refuse_unknown("plan", options)
    options["hash_key"] = make_known(options.get("hash_key"))
    planned: Params = json.loads(plan_source(_table(df), {"key": key, "group": group, **options})["params"])
    return planned


def _refuse_unknown(function: str, options: Mapping[str, Any]) -> None:
    known = set(build.__kwdefaults__ or ()) - {"params", "path", "range_bytes"}
    for name in options:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}; it takes {', '.join(sorted(known))}")


def plan_source(source: Source, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, as JSON, and what is to be said of how they were found."""
    options = source.options(given)
    with explained():
        params = _tamis.planned_without_rows(options)
        if params is None:
            return _counted(source, source.rows(options), options).conclude(None)
    return {"params": params}


def count(df: Any, key: Fields = None, group: Optional[str] = None, **options: Any) -> dict[str, int]:
    """How many different keys each group has: exactly up to 2²⁴ in all, beyond that an estimate with a margin
    of three standard errors (2.4 %). Without groups there is one, whose name is empty.

    >>> from tamis.spark import count                                        # doctest: +SKIP
    >>> count(df, key="user_id", group="country")                            # doctest: +SKIP
    {'at': 3, 'it': 1}
    """
    _refuse_unknown("count", options)
    planned = plan(df, key, group, **options)
    return {str(one["group"]): int(one["keys"]) for one in planned["groups"]}


def test(
    df: Any,
    sketch: Sketch,
    key: Fields = None,
    group: Optional[str] = None,
    *,
    negatives: Any = None,
    random: int = 0,
    seed: int = 1,
    bad_rows: str = "fail",
) -> dict[str, Any]:
    """Tests filters with the rows they were built from: exact false positives and false negatives of each
    group, as ``tamis test --json`` prints them.

    `key` and `group` name other columns, where these rows name them differently. `negatives` is a DataFrame of
    keys known to be outside; `random` keys are tested, too. Each distinct key is looked at once: keys are brought
    together by hash, and the file of filters is shipped to each executor once.

    >>> from tamis.spark import test                                         # doctest: +SKIP
    >>> test(df, users)["false_negatives"]                                   # doctest: +SKIP
    0
    """
    sketch_of(sketch)
    members = None if df is None else _table(df)
    outside = None if negatives is None else _table(negatives)
    options = {"key": key, "group": group, "bad_rows": bad_rows}
    for table in (df, negatives):
        if table is not None:
            warn_of_classes(table, sketch._file, key, 2)
    found = findings(members, sketch, options, outside, random, seed)
    with_members = df is not None
    report: dict[str, Any] = json.loads(
        _tamis.conclude_test(sketch._file, found, with_members, outside is not None)
    )
    return report


def findings(
    members: Optional[Source],
    sketch: Sketch,
    given: Mapping[str, Any],
    outside: Optional[Source],
    random: int,
    seed: int,
) -> str:
    """The numbers that a test comes to, as JSON."""
    sketch.verify()  # damage would be blamed on the data
    if counts(sketch):
        raise ValueError("counts have no false positives: tamis test compares them with the truth, on one machine")
    some = members or outside
    if some is None and not random:
        raise ValueError("nothing to test with: give rows, negatives or random")
    spark = active() if some is None else some.spark
    file = ship(spark, sketch)
    gathered = []
    with explained():
        for source, negative in ((members, False), (outside, True)):
            if source is None:
                continue
            options = source.options({**given, "group": None if negative else given.get("group")})
            rows = source.rows({**options, "without_group": negative}, sketch._file)
            lines = source.text is not None and source.text["format"] == "lines"
            if lines and ... not in _tamis.asked_columns({**options, "names": {}, "without_group": True}, sketch._file):
                options["key"] = "1"  # whatever the file calls it
            task = _tasks.GatherKeys(file, options, negative)
            gathered.append(rows.mapInArrow(_function(task), PARTS))
        if random:
            gathered.append(_random(spark, file, random, seed))
        keys = gathered[0]
        for more in gathered[1:]:
            keys = keys.union(more)
        # A part at a time is in memory, however many a task has.
        reducers = min(_CUTS, _reducers(spark))
        judged = keys.repartition(reducers, "part").sortWithinPartitions("part")
        found = judged.mapInArrow(_function(_tasks.JudgeKeys(file)), "found string").collect()
        return str(_tamis.sum_findings([row.found for row in found]))


def _random(spark: Any, file: Shipped, random: int, seed: int) -> Any:
    from pyspark.sql import functions as F

    piece = 1 << 20
    pieces = spark.range(-(-random // piece)).select(
        (F.col("id") * piece).alias("first"), F.least((F.col("id") + 1) * piece, F.lit(random)).alias("end")
    )
    return pieces.mapInArrow(_function(_tasks.RandomKeys(file, seed)), PARTS)


def filter_df(
    df: Any,
    sketch: Sketch,
    key: Fields = None,
    group: Union[str, bytes, int, None] = None,
    *,
    invert: bool = False,
    partial: bool = False,
    bad_rows: str = "fail",
) -> Any:
    """The rows whose key may be in the set, such as before a join; the others if `invert`.

    The columns of the key alone go to Python, as Arrow arrays; all others stay in the JVM (before Spark 4.1 all of them go
    there and back). The file is shipped to
    each executor once and mapped there. `key` names the column of the key where it is not that of the file,
    `group` one group to ask. A row without a key is an error, or not in the set with ``bad_rows="skip"``. `partial` asks
    a layered filter for the first keywords of records, as `Sketch.contains` does.

    >>> from tamis.spark import filter_df                                    # doctest: +SKIP
    >>> filter_df(orders, users, key="user_id").join(details, "user_id")     # doctest: +SKIP
    """
    coded = with_codes(df, sketch_of(sketch), key, group, bad_rows, partial=partial)
    warn_of_classes(df, sketch._file, key, 2)
    return passed(coded, invert)


def counts(sketch: Sketch) -> bool:
    """Whether it has counts, not filters."""
    return sketch.kind.startswith("count-min")


# The column of answers, while rows are sieved.
CODE = "__tamis_code"


def passed(coded: Any, invert: bool = False) -> Any:
    """The rows that may be in the set, or the others, without their codes."""
    from pyspark.sql import functions as F

    code = F.col(CODE)
    return coded.filter(code != 1 if invert else code == 1).drop(CODE)


def with_codes(
    df: Any,
    sketch: Sketch,
    key: Fields,
    group: Union[str, bytes, int, None],
    bad_rows: str,
    sent: Optional[Shipped] = None,
    marked: bool = False,
    names: Optional[dict[int, str]] = None,
    partial: bool = False,
) -> Any:
    """The rows with a code each: 1 where the key may be in the set, 0 where it is not, 2 where there is no key."""
    spark = session_of(df)
    _answers.Contains.refuse(sketch._file, group, bad_rows, partial)
    columns = _key_columns(df, sketch._file, key, names)
    task = _answers.Contains(sent or ship(spark, sketch), group, bad_rows, marked, partial)
    return _with_column(df, CODE, task, columns, "tinyint")


def _key_columns(df: Any, file: _tamis.File, key: Fields, names: Optional[dict[int, str]] = None) -> list[Any]:
    """The columns of the key in a DataFrame."""
    from pyspark.sql import functions as F

    options = {"key": key, "without_group": True, "names": names}
    asked = _tamis.asked_columns(options, file)
    if asked == [None] and len(df.columns) == 1:
        return [F.col(_quoted(df.columns[0]))]  # lines
    _tamis.find_columns(options, file, _leaves(df.schema))
    top = set(df.columns)

    def column(name: Any) -> Any:
        if name is ...:
            return _named(_tasks.Named(names or {}), file_number(df))
        if isinstance(name, str):
            return F.col(_quoted(name) if name in top else name)
        return F.col(_quoted(df.columns[name - 1] if name <= len(df.columns) else str(name)))

    return [column(name) for name in asked]


def estimates(
    df: Any, sketch: Sketch, key: Fields, group: Union[str, bytes, int, None], bad_rows: str, sent: Shipped
) -> Any:
    """The rows with a column of estimates."""
    _answers.Estimates.refuse(sketch._file, group, bad_rows)
    columns = _key_columns(df, sketch._file, key)
    task = _answers.Estimates(sent, group, bad_rows)
    return _with_column(df, "estimate", task, columns, "long")


def _with_column(df: Any, name: str, task: Any, columns: list[Any], returns: str) -> Any:
    """The rows with one more column, which a task makes of these columns as Arrow arrays."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ByteType, LongType, StructType

    if hasattr(F, "arrow_udf"):
        return df.withColumn(name, arrow_udf(task, returns)(*columns))
    # Before Spark 4.1 a user function takes pandas' series, to which integers with a null are floats. Whole batches
    # are Arrow there too; their columns have plain names meanwhile, since Spark takes these names apart.
    others = df.drop(name) if name in df.columns else df
    asked = others.select("*", *(column.alias("asked") for column in columns))
    plain = asked.toDF(*(f"c{at}" for at in range(len(asked.columns))))
    kept = StructType(plain.schema.fields[: len(others.columns)])
    schema = kept.add(name, {"tinyint": ByteType(), "long": LongType()}[returns])
    made = plain.mapInArrow(_function(_answers.Beside(task, name, len(columns))), schema)
    return made.toDF(*others.columns, name)


def _named(names: _tasks.Named, number: Any) -> Any:
    """The column of the names of files, of that of their numbers."""
    from pyspark.sql import functions as F

    if hasattr(F, "arrow_udf"):
        return arrow_udf(names, "string")(number)
    return F.udf(names.one, "string")(number)


def arrow_udf(task: Any, returns: str) -> Any:
    """A user function on Arrow arrays."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    def of_arrays(*columns):  # type: ignore[no-untyped-def]
        return task(*columns)

    of_arrays.__annotations__ = {"columns": pa.Array, "return": pa.Array}  # Spark asks for them
    udf: Any = F.arrow_udf  # none of its overloads fits a function whose types are only told at run time
    return udf(of_arrays, returns)
