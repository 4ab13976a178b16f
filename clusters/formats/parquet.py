"""Bloom filters in Parquet files, between tamis, pyarrow, DuckDB and Spark.

    python parquet.py TAMIS FOLDER

What tamis indexed reads the same in all of them, and DuckDB and Spark skip row groups by it; the filters that DuckDB
and Spark wrote hold when tamis checks them.
"""

import json
import pathlib
import random
import subprocess
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

TAMIS, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
ROWS, GROUP = 100_000, 10_000
GROUPS = ROWS // GROUP
COLUMNS = ["name", "long", "int", "double", "raw", "city"]


def tamis(*words):
    """What tamis says, as JSON."""
    done = subprocess.run([TAMIS, *map(str, words), "--json", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


def table():
    """Values all over their range in each row group: statistics do not tell row groups apart."""
    dice = random.Random(20)
    longs = dice.sample(range(-(2**61), 2**61), ROWS)
    ints = dice.sample(range(-(2**31), 2**31), ROWS)
    return pa.table(
        {
            "name": [f"name é {value}" for value in longs],
            "long": pa.array(longs, pa.int64()),
            "int": pa.array([None if row % 9 == 0 else value for row, value in enumerate(ints)], pa.int32()),
            "double": [dice.random() for _ in range(ROWS)],
            "raw": pa.array([value.to_bytes(8, "big", signed=True) for value in longs], pa.binary()),
            "city": [f"city {dice.randrange(50)}" for _ in range(ROWS)],
        }
    )


def pyarrow_reads(rows, plain, indexed):
    before, after = pq.ParquetFile(plain), pq.ParquetFile(indexed)
    assert after.read().equals(rows)
    assert before.metadata.metadata == after.metadata.metadata
    for group in range(GROUPS):
        assert before.metadata.row_group(group).sorting_columns == after.metadata.row_group(group).sorting_columns
        for column in range(len(COLUMNS)):
            here, there = (file.metadata.row_group(group).column(column).to_dict() for file in (before, after))
            assert there.pop("bloom_filter_offset", 1) and there.pop("bloom_filter_length", 1)
            here.pop("bloom_filter_offset", None), here.pop("bloom_filter_length", None)
            assert here == there
    print(f"  pyarrow {pa.__version__} reads the same {ROWS} rows, with the same statistics and metadata")


def duckdb_skips(rows, indexed):
    """Its probe function excludes the row groups that do not hold a value, and none that does."""
    connection = duckdb.connect()
    assert connection.execute(f"select count(*) from '{indexed}'").fetchall() == [(ROWS,)]
    excluded, others = 0, 0
    for column in ("name", "long", "int", "double", "raw"):
        for row in range(1, ROWS, ROWS // 20):
            value = rows[column][row].as_py()
            if value is None:
                continue
            found = connection.execute(
                f"select row_group_id, bloom_filter_excludes from parquet_bloom_probe('{indexed}', '{column}', ?)",
                [value],
            ).fetchall()
            assert len(found) == GROUPS and not dict(found)[row // GROUP], (column, row, found)
            excluded += sum(excludes for _, excludes in found)
            others += GROUPS - 1
            query = f"select count(*) from '{indexed}' where \"{column}\" = ?"
            assert connection.execute(query, [value]).fetchall() == [(1,)], (column, value)
    assert excluded > 0.98 * others, (excluded, others)
    print(f"  DuckDB {duckdb.__version__}: its probe excludes {excluded} of {others} row groups that do not hold a value")


def scanned(spark, path, condition):
    """Rows that pass a condition, and rows that the scan gave to it."""
    plan = spark.read.parquet(str(path)).where(condition)._jdf.queryExecution().executedPlan()
    passed = len(plan.executeCollect())
    return passed, plan.collectLeaves().head().metrics().apply("numOutputRows").value()


def spark_skips(spark, rows, plain, indexed):
    """Its scan gives the rows of the row groups that may hold a value, and no others."""
    assert spark.read.parquet(str(indexed)).count() == ROWS
    given = 0
    for row in range(7, ROWS, ROWS // 10):
        for condition in (
            f"name = '{rows['name'][row].as_py()}'",
            f"long = {rows['long'][row].as_py()}L",
            f"double = {rows['double'][row].as_py()!r}D",
        ):
            passed, of_plain = scanned(spark, plain, condition)
            assert (passed, of_plain) == (1, ROWS), (condition, passed, of_plain)
            passed, of_indexed = scanned(spark, indexed, condition)
            assert passed == 1 and of_indexed < ROWS // 2, (condition, passed, of_indexed)
            given += of_indexed
    passed, of_indexed = scanned(spark, indexed, "name = 'nobody'")
    assert passed == 0 and of_indexed <= GROUP, of_indexed
    print(f"  Spark {spark.version}: its scan gives {given / 30:.0f} of {ROWS} rows for a value, without filters all")


def theirs_hold(spark, rows):
    """The filters that others write find every value, when tamis asks them."""
    (WORK / "spark").mkdir()
    writer = spark.createDataFrame(rows.to_pandas()).repartition(1).write
    for column in ("name", "long"):
        writer = writer.option(f"parquet.bloom.filter.enabled#{column}", "true")
        writer = writer.option(f"parquet.bloom.filter.expected.ndv#{column}", str(ROWS))
    writer.option("parquet.enable.dictionary", "false").mode("overwrite").parquet(str(WORK / "spark"))
    duckdb.connect().execute(
        f"copy (select * from '{WORK}/plain.parquet') to '{WORK}/duckdb.parquet' "
        "(format parquet, row_group_size 10240, dictionary_size_limit 20000)"
    )
    for system, path in (("Spark", next((WORK / "spark").glob("*.parquet"))), ("DuckDB", WORK / "duckdb.parquet")):
        for column in ("name", "long"):
            found = tamis("parquet", "check", path, "--column", column)
            assert found["missing"] == 0 and found["filters"] > 0 and found["values"] > 0, (system, column, found)
            assert found["rate"] < 2 * found["expected_rate"] + 1e-4, (system, column, found)
            print(
                f"  {system} wrote {found['filters']} filters for {column}: tamis finds all {found['values']} values, "
                f"rate {found['rate']:.2g}"
            )


def main():
    rows = table()
    plain, indexed = WORK / "plain.parquet", WORK / "indexed.parquet"
    pq.write_table(
        rows.replace_schema_metadata({"note": "kept"}), plain, row_group_size=GROUP, write_page_index=True,
        use_dictionary=["city"], sorting_columns=[pq.SortingColumn(5)],
    )
    columns = [word for column in COLUMNS for word in ("--column", column)]
    tamis("parquet", "index", plain, *columns, "--fpr", "0.001", "-o", indexed)
    assert tamis("parquet", "check", indexed, "--column", "name", "--complete")["missing"] == 0
    pyarrow_reads(rows.replace_schema_metadata({"note": "kept"}), plain, indexed)
    duckdb_skips(rows, indexed)

    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.memory", "512m").config("spark.sql.adaptive.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.sql.files.maxPartitionBytes", str(1 << 30))
    spark = builder.config("spark.sql.warehouse.dir", str(WORK / "warehouse")).getOrCreate()
    try:
        spark_skips(spark, rows, plain, indexed)
        theirs_hold(spark, rows)
    finally:
        spark.stop()


main()
