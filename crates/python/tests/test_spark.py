"""tamis on Spark, in one session on this machine."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, Optional

import pyarrow as pa
import pyspark
import pyarrow.parquet as pq
import pytest

import tamis
import tamis.spark
from tamis.spark import _batch, _files, _read, _session, _stream, _tasks, job
from tamis.spark._store import Store

pytestmark = pytest.mark.spark

ROWS = [(f"k{i % 4000}", f"g{i % 7}", i % 3) for i in range(12_000)]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    keys, groups, weights = zip(*ROWS)
    return pa.table({"key": keys, "group": groups, "weight": weights})


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    df = spark.createDataFrame(ROWS, "key string, group string, weight int").repartition(5).persist()
    yield df
    df.unpersist()


# Each way that keys take over executors once; the others take the same way.
KINDS: list[dict[str, Any]] = [
    {},
    {"hash": "murmur3", "fpr": 0.05},
    {"kind": "fuse"},
    {"kind": "count-min", "weight": "weight", "epsilon": 0.01},
    {"keys": 2000},
    {"size": "64KB"},
]
ALIKE: list[dict[str, Any]] = [
    {"kind": "bloom", "bits_per_key": 10},
    {"hash": "polynomial", "seed": 7, "hashes": 3, "fpr": 0.05},
    {"kind": "bloom", "hashes": 2, "bits_per_group": 1050},
    {"kind": "ribbon"},
    {"kind": "counting"},
]


@pytest.mark.parametrize("options", [*KINDS, *(pytest.param(one, marks=pytest.mark.full) for one in ALIKE)], ids=str)
def test_the_bytes_are_those_of_one_machine(frame: Any, table: pa.Table, options: dict[str, Any]) -> None:
    here = tamis.build(table, key="key", group="group", **options)
    there = tamis.spark.build(frame, key="key", group="group", range_bytes=4096, **options)
    assert there == here
    there.verify()
    assert "path" not in there.inspect()


def test_records_of_keywords_are_those_of_one_machine(spark: Any) -> None:
    rows = [(f"a{i % 50},b{i % 7},c{i % 3}", str(i % 2)) for i in range(500)]
    options: dict[str, Any] = {"keywords": "words:split=,", "group": "g", "kind": "layered", "fpr": 0.05}
    here = tamis.build({"words": [row[0] for row in rows], "g": [row[1] for row in rows]}, **options)
    there = tamis.spark.build(spark.createDataFrame(rows, "words string, g string"), range_bytes=640, **options)
    assert there == here
    asked = spark.createDataFrame([("a1,b1,c1",), ("a1,b1",), ("a1,b2,c1",), ("z,b1",)], "words string")
    kept = tamis.build({"words": ["a1,b1,c1", "a2,b2,c2"]}, keywords="words:split=,", kind="layered", layers=3, fpr=1e-6)
    found = [row.words for row in tamis.spark.filter_df(asked, kept).collect()]
    partial = [row.words for row in tamis.spark.filter_df(asked, kept, partial=True).collect()]
    assert (found, partial) == (["a1,b1,c1"], ["a1,b1,c1", "a1,b1", "a1,b2,c1"])


def test_a_file_may_be_larger_than_rows_and_results_of_spark_may_be(spark: Any, tmp_path: Path) -> None:
    """10 MB in ranges of 1 MB, where a job may give back 8 MB; and more tasks than are brought together at once."""
    df = spark.range(20_000).repartition(70).selectExpr("cast(id as string) as key")
    params = tamis.plan(keys=8_000_000, fpr=0.01)
    path = tmp_path / "large.tamis"
    there = tamis.spark.build(df, key="key", params=_named(params), range_bytes=1 << 20, path=path)
    assert path.stat().st_size > 10_000_000
    here = tamis.build({"key": [str(i) for i in range(20_000)]}, params=_named(params), key="key")
    assert there == here == tamis.open(path)


def test_what_is_counted_may_be_more_than_a_result_of_spark_may_be(spark: Any) -> None:
    """12 MB of hashes, all of which `fuse` needs on the driver, where a job may give back 8 MB."""
    keys = pa.array(range(1_500_000))
    there = tamis.spark.build(spark.range(1_500_000).withColumnRenamed("id", "key"), key="key", kind="fuse")
    assert there == tamis.build({"key": keys}, key="key", kind="fuse")


def test_what_is_counted_may_be_of_one_hash(spark: Any) -> None:
    """Over 8 MB of it, in as many groups: no cut by hash makes that less."""
    df = spark.range(300_000).selectExpr("'a' as key", "id as group")
    assert tamis.spark.count(df, key="key", group="group") == {str(i): 1 for i in range(300_000)}


def test_no_job_is_run_to_plan_another(spark: Any) -> None:
    """Neither shuffles nor broadcasts are, to count tasks."""
    few, many = spark.range(10), spark.range(0, 100, 1, 70)
    some = spark.range(0, 100, 1, 3)
    params = json.dumps(tamis.plan(keys=100, key="id"))
    tracker = spark.sparkContext.statusTracker()
    # What the tracker tells it hears from a queue.
    heard = spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty
    spark.sparkContext.setJobGroup("planning", "")
    for rows, tasks in (many, 70), (few.repartition(100), 100), (some.join(few.hint("broadcast"), "id"), 3):
        rows = _batch.Source(rows).rows({"key": "id"})
        assert _batch._partitions(rows) == tasks
        ranges = _batch.merged_ranges(rows, {"key": "id", "params": params}, params, 4096)
    heard()
    assert not tracker.getJobIdsForGroup("planning")
    assert ranges.collect()
    heard()
    assert tracker.getJobIdsForGroup("planning")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def _named(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters for a column, in place of lines."""
    return tamis.plan(keys=params["groups"][0]["keys"], key="key", fpr=0.01)


def test_parameters_and_counts_are_those_of_one_machine(frame: Any, table: pa.Table) -> None:
    assert tamis.spark.plan(frame, key="key", group="group", fpr=0.001) == tamis.plan(
        table, key="key", group="group", fpr=0.001
    )
    counts = tamis.spark.count(frame, key="key", group="group")
    assert counts == {f"g{g}": len({key for key, group, _ in ROWS if group == f"g{g}"}) for g in range(7)}


def test_a_test_finds_what_the_command_line_finds(
    spark: Any, table: pa.Table, program: str, tmp_path: Path
) -> None:
    filters, data, outside = tmp_path / "f.tamis", tmp_path / "d.parquet", tmp_path / "o.parquet"
    some = table.slice(0, 9000)
    tamis.build(some, key="key", group="group", fpr=0.05).save(filters)
    # Rows of a group without a filter, and keys outside of which one is a member.
    rows = [*ROWS[:9000], ("stranger", "g99", 1)]
    names = ("key", "group", "weight")
    pq.write_table(pa.table(dict(zip(names, zip(*rows)))), data)
    pq.write_table(pa.table({"key": [f"o{i}" for i in range(500)] + ["k1"]}), outside)
    command = [program, "test", filters, data, "--negatives", outside, "--random", "2000", "--seed", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # false negatives are what is looked for
    said = json.loads(done.stdout)
    there = tamis.spark.test(
        spark.read.parquet(str(data)), tamis.open(filters), negatives=spark.read.parquet(str(outside)), random=2000, seed=3
    )
    assert {**there, "seconds": 0} == {**said, "seconds": 0}
    assert there["false_negatives"] == 1 and there["removed_negatives"] == 1


def test_rows_pass_whose_key_may_be_in_the_set(spark: Any, frame: Any, table: pa.Table) -> None:
    seen = tamis.build([f"k{i}" for i in range(0, 4000, 3)], fpr=1e-9)
    small = tamis.spark.filter_df(frame, seen, key="key")
    assert sorted(row.key for row in small.collect()) == sorted(key for key, *_ in ROWS if int(key[1:]) % 3 == 0)
    others = tamis.spark.filter_df(frame, seen, key="key", invert=True)
    assert small.count() + others.count() == len(ROWS)
    # Of a compound key and of one group, and the column of the key has another name here.
    pairs = tamis.build(table.slice(0, 3000), key=["key", "weight"], group="group", fpr=1e-9)
    renamed = frame.withColumnRenamed("key", "k")
    found = tamis.spark.filter_df(renamed, pairs, key=["k", "weight"], group="g3").collect()
    expected = {(key, weight) for key, group, weight in ROWS[:3000] if group == "g3"}
    assert {(row.k, row.weight) for row in found} == expected
    # Only the key goes to Python, where Spark has functions on Arrow arrays.
    plan = small._jdf.queryExecution().executedPlan().toString()
    assert "ArrowEvalPython [of_arrays(key" in plan or "MapInArrow" in plan and pyspark.__version__ < "4.1", plan


def test_numbers_and_times_are_asked_as_they_were_learned(spark: Any) -> None:
    """A column with a gap does not become one of floats, and a time stays in its zone: neither would be found."""
    times = [datetime.datetime(2026, 7, 1, hour, tzinfo=datetime.timezone.utc) for hour in range(3)]
    rows = [(2**53 + 1, times[0]), (7, times[1]), (None, None), (-(2**63), times[2])]
    df = spark.createDataFrame(rows, "n long, t timestamp").coalesce(1)
    for key in ("n", "t", ["n", "t"]):
        learned = tamis.spark.build(df, key=key, fpr=1e-9, bad_rows="skip")
        assert tamis.spark.filter_df(df, learned, bad_rows="skip").count() == 3


def test_an_estimate_is_the_largest_number_of_spark_where_that_is_too_small(spark: Any) -> None:
    weights = pa.table({"key": ["full", "few"], "weight": pa.array([2**64 - 1, 5], pa.uint64())})
    counts = tamis.build(weights, key="key", weight="weight", kind="count-min", epsilon=0.001, counter_bits=64)
    assert counts.estimate(["full", "few"]) == [2**64 - 1, 5]
    asked = spark.createDataFrame([("full",), ("few",)], "key string")
    found = _batch.estimates(asked, counts, "key", None, "fail", _session.ship(spark, counts)).collect()
    assert {row.key: row.estimate for row in found} == {"full": 2**63 - 1, "few": 5}


def test_executors_need_no_package_but_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("numpy", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    lines = [b"key", b"a", b"b", b"key", b"c", b"d"]
    columns = [pa.array(lines), pa.array([1, 1, 1, 2, 2, 2]), pa.array([0, 0, 0, 0, 0, 99])]
    batch = pa.RecordBatch.from_arrays(columns, names=["value", "file", "start"])
    found = _tasks._lines([batch.slice(0, 2), batch.slice(2)], b"key\n")
    lines_of = [(line, file) for part, file in found for line in part.to_pylist()]
    assert lines_of == [(b"a", 1), (b"b", 1), (b"c", 2), (b"d", 2)]


@pytest.mark.full
@pytest.mark.parametrize("task", ["BuildRows(options, 16 << 20)", "GatherKeys(Here(), {'key': 'key'}, False)"])
def test_a_task_takes_little_memory_beside_the_jvm(tmp_path: Path, task: str) -> None:
    """20 million keys are changes of 320 MB, of a filter of 1.2 GB: what has been handed on is not held.

    330 MB were seen with the pyarrow of Spark 4.3, 360 MB with that of 3.5; whoever held all would have 320 MB more.
    """
    tamis.build({"key": [1]}, key="key").save(tmp_path / "few.tamis")
    done = subprocess.run([sys.executable, "-c", _ONE_TASK, task, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 450_000, "KB"


_ONE_TASK = r"""
import json, re, sys
import pyarrow as pa
import tamis
from tamis.spark._tasks import *


class Here:
    def open(self):
        return tamis.open(f"{sys.argv[2]}/few.tamis")._file


def rows():
    for start in range(0, 20_000_000, 1 << 16):
        yield pa.RecordBatch.from_arrays([pa.array(range(start, start + (1 << 16)))], names=disguised(["key"]))


def peak():
    return int(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1])


options = {"key": "key", "params": json.dumps(tamis.plan(keys=1_000_000_000, key="key"))}
before = peak()
for batch in eval(sys.argv[1])(rows()):
    pass
print(peak() - before)
"""


def test_what_is_shipped_is_what_was_opened(frame: Any, tmp_path: Path) -> None:
    path = tmp_path / "seen.tamis"
    tamis.build(["k1"], fpr=1e-9).save(path)
    opened = tamis.open(path)
    tamis.build(["k2"], fpr=1e-9).save(path)
    assert {row.key for row in tamis.spark.filter_df(frame, opened, key="key").collect()} == {"k1"}


@pytest.fixture
def mounted(spark: Any, tmp_path: Path) -> str:
    """A folder that is on no file system of this machine, for all that anyone but Hadoop knows."""
    name = tmp_path.name.replace("_", "-")
    spark._jsc.hadoopConfiguration().set(f"fs.viewfs.mounttable.{name}.link./there", f"file://{tmp_path}")
    return f"viewfs://{name}/there"


def test_a_sketch_of_hadoop_stays_what_it_was_when_another_is_opened(spark: Any, mounted: str, tmp_path: Path) -> None:
    sketches = [tamis.build([f"k{i}"]) for i in range(2)]
    folder = _files.Folder(spark, f"{mounted}/state")
    assert folder.local is None
    for i, sketch in enumerate(sketches):
        sketch.save(tmp_path / "here")
        folder.put(f"{i}.tamis", str(tmp_path / "here"))
    opened = [folder.open(f"{i}.tamis") for i in range(2)]
    assert opened == sketches
    assert "path" not in opened[0].inspect()  # its copy has no name


def test_a_name_means_to_the_state_what_it_means_to_spark(spark: Any, tmp_path: Path) -> None:
    for name in ("a%20b", "a b#c?d"):
        folder = _files.Folder(spark, f"file://{tmp_path}/{name}/")
        (tmp_path / "one").write_text("")
        folder.put("one", str(tmp_path / "one"))
        assert Store.of(spark).exists(f"file://{tmp_path}/{name}/one")
        assert (tmp_path / name / "one").exists()


TEXT = {
    "two.csv": ["key,group,weight\nann,at,1\n\"b,ob\",\"a\"\"t\",2\n", "\ufeffkey,group,weight\r\neve,it,3\r\n\r\nann,it,4"],
    "semicolons.csv": ["group;key\nat;ann\nit;bob\n"],
    "tabs.tsv": ["key\tgroup\n" + "".join(f"k{i}\tg{i % 3}\n" for i in range(3000))],
    "lines.txt": ["ann\nbob\r\n\nlast", "\ufeffeve\n"],
    "objects.ndjson": ['{"key": "ann", "group": {"x": 1.50}}\n{"key": 7, "group": {"x": 2e3}}\n', '{"group":{"x":"y"},"key":"b\\u00e9"}'],
}


@pytest.mark.parametrize("name", TEXT)
def test_text_makes_the_keys_that_it_makes_on_one_machine(
    spark: Any, cli: Callable[..., str], tmp_path: Path, name: str
) -> None:
    """Headers in every file, byte order marks, quotes, CRLF, empty lines, numbers as they are written."""
    folder, extension = tmp_path / "in", name.partition(".")[2]
    folder.mkdir()
    for i, text in enumerate(TEXT[name]):
        data = text.encode()
        if i == 1:
            (folder / f"{i}.{extension}.gz").write_bytes(gzip.compress(data))
        else:
            (folder / f"{i}.{extension}").write_bytes(data)
    here = tmp_path / "here.tamis"
    options: dict[str, Any] = {} if extension == "txt" else {"key": ["key"], "group": "group"}
    if extension == "ndjson":
        options["group"] = "group.x"
    arguments = [f"--{one}={value[0] if one == 'key' else value}" for one, value in options.items()]
    cli("build", folder, *arguments, "-o", here)
    reading = {"bad_rows": "fail"}
    source = _read.rows(spark, [str(folder / "*")], reading, options)
    there, _ = _batch.build_source(source, {**options, "bad_rows": "fail"})
    assert there == tamis.open(here)
    # And the same keys are asked in a test.
    found = _batch.findings(_read.rows(spark, [str(folder)], reading, {}, there._file), there, {}, None, 0, 1)
    assert all(hits["members"] == hits["found"] for hits in json.loads(found)["filters"])


def test_what_cannot_be_is_said(spark: Any, frame: Any, tmp_path: Path) -> None:
    from pyspark.errors import PythonException

    with pytest.raises(tamis.Error, match='no column "kee" .did you mean "key"'):
        tamis.spark.build(frame, key="kee")
    with pytest.raises(tamis.Error, match='no column "nothing"'):
        tamis.spark.filter_df(frame, tamis.build(["a"]), key="nothing")
    gaps = spark.createDataFrame([("a", 1), (None, 2), ("b", 3)], "key string, n int")
    with pytest.raises(tamis.Error, match="^a row: in the key.*bad_rows=\"skip\""):
        tamis.spark.build(gaps, key="key")
    skipping = tamis.spark.build(gaps, key="key", bad_rows="skip")
    assert skipping.skipped == 1 and skipping.contains("b")
    # Failures of a filter come when its rows are taken, and then it is Spark that speaks.
    with pytest.raises(PythonException, match="in the key.*bad_rows=\"skip\""):
        tamis.spark.filter_df(gaps, skipping, key="key").collect()
    assert tamis.spark.filter_df(gaps, skipping, key="key", bad_rows="skip").count() == 2
    with pytest.raises(tamis.Error, match="Spark 3.4.1.*3.5 or later"):
        _session.check_version("3.4.1")
    with pytest.raises(ValueError, match="order of rows"):
        options = {"key": "key", "kind": "count-min", "conservative": True, "epsilon": 0.01}
        _batch.build_source(_batch.Source(frame), options)
    with pytest.raises(TypeError, match="a Spark DataFrame is needed"):
        tamis.spark.build(pa.table({"key": ["a"]}), key="key")
    with pytest.raises(ValueError, match="no stream"):
        tamis.spark.train_stream(frame, key="key", keys=10, state=str(tmp_path))
    assert "ship" in _session._said("ModuleNotFoundError: No module named 'tamis'")
    (tmp_path / "a.csv").write_text("key\na\n")
    (tmp_path / "b.csv").write_text("other\nb\n")
    source = _read.rows(spark, [str(tmp_path / "*.csv")], {}, {"key": ["key"]})
    with pytest.raises(tamis.Error, match="a file begins with 'other'"):
        _batch.build_source(source, {"key": ["key"]})


def test_what_a_user_function_says_is_not_taken_for_words_of_tamis(spark: Any) -> None:
    from pyspark.sql import functions as F

    rows = spark.createDataFrame([("a",)], "key string")
    with pytest.raises(Exception, match="invalid literal for int") as failed:
        tamis.spark.build(rows.select(F.udf(lambda text: int(text), "int")("key").alias("key")), key="key")
    assert not isinstance(failed.value, tamis.Error) and "in <lambda>" in str(failed.value)
    # What tamis says is short, with what Spark said behind it.
    with pytest.raises(tamis.Error, match="^a row: in the key") as failed:
        tamis.spark.build(spark.createDataFrame([(None,)], "key string"), key="key")
    assert "_tasks.py" in str(failed.value.__cause__)
    assert _session._said("ModuleNotFoundError: No module named 'tamis_of_others'") is None


def test_a_job_filters_to_the_formats_of_spark(spark: Any, tmp_path: Path) -> None:
    data, filters = tmp_path / "in.csv", tmp_path / "f.tamis"
    data.write_text("id,who\n1,ann\n2,\"b,ob\"\n3,\n4,eve\n")
    tamis.build({"who": ["ann", "b,ob"]}, key="who", fpr=1e-9).save(filters)
    asked = {
        "inputs": [str(data)], "filters": str(filters), "output": None, "output_format": None, "invert": False,
        "partial": False, "group": None, "bad_rows": "skip",
    }
    numbers = {"records": 4, "admitted": 2, "keyless": 1, "quoted": ["csv"], "classes": []}
    assert job._filter(spark, asked)[0] == numbers
    for form, read in (("csv", "csv"), ("parquet", "parquet"), ("ndjson", "json")):
        output = tmp_path / form
        told, _ = job._filter(spark, {**asked, "output": str(output), "output_format": form})
        assert told == numbers
        rows = getattr(spark.read, read)(str(output), **({"header": True} if form == "csv" else {})).collect()
        assert sorted((row.id, row.who) for row in rows) == [("1", "ann"), ("2", "b,ob")]
        with pytest.raises(tamis.Error, match="there already"):
            job._filter(spark, {**asked, "output": str(output), "output_format": form})
    assert not Store.of(spark).exists(str(tmp_path / "none"))


@pytest.mark.parametrize("kind", ["bloom", "count-min"])
def test_a_batch_that_comes_again_changes_nothing(spark: Any, mounted: str, tmp_path: Path, kind: str) -> None:
    inputs, folder = tmp_path / "in", tmp_path / "state"
    inputs.mkdir()
    state = str(folder) if kind == "bloom" else f"{mounted}/state"
    options: dict[str, Any] = {"kind": kind, **({"keys": 5000} if kind == "bloom" else {"epsilon": 0.001})}
    range_bytes = 640 if kind == "bloom" else 8192  # about ten
    rows: list[str] = []

    def learn(number: int) -> tamis.Sketch:
        more = [f"10.0.{number}.{i % 200}" for i in range(1000)]
        rows.extend(more)
        (inputs / f"{number}.txt").write_text("\n".join(more) + "\n")
        return again()

    def again() -> tamis.Sketch:
        stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(inputs)).withColumnRenamed("value", "ip")
        query = tamis.spark.train_stream(
            stream, key="ip", state=state, trigger={"availableNow": True}, range_bytes=range_bytes, **options
        )
        query.awaitTermination()
        return tamis.spark.open_state(state, spark)

    learn(0)
    known = learn(1)
    expected = tamis.build({"ip": rows}, key="ip", **options)
    assert known == expected
    # As if all had ended before Spark knew that the batch was done.
    commits = sorted(path for path in (folder / "checkpoint" / "commits").iterdir() if path.name.isdigit())
    os.unlink(commits[-1])
    crc = commits[-1].with_name(f".{commits[-1].name}.crc")
    crc.unlink(missing_ok=True)
    assert again() == expected
    # Another query, whose batches have the same numbers, is not taken for this one.
    other = spark.readStream.text(str(inputs)).withColumnRenamed("value", "ip")
    query = tamis.spark.train_stream(
        other, key="ip", state=state, checkpoint=str(tmp_path / "other"), trigger={"availableNow": True}, **options
    )
    with pytest.raises(Exception, match="another query"):
        query.awaitTermination()
    with pytest.raises(tamis.Error, match="other parameters"):
        tamis.spark.train_stream(other, key="ip", keys=77, state=state)

    found: list[tuple[Any, ...]] = []
    asked = tmp_path / "asked"
    asked.mkdir()
    (asked / "a.txt").write_text("10.0.0.7\n10.0.0.7\n10.9.9.9\n")
    questions = spark.readStream.text(str(asked)).withColumnRenamed("value", "ip")
    answers = tamis.spark.query_stream(
        questions, state, key="ip", checkpoint=str(tmp_path / "answers"), trigger={"availableNow": True},
        answer=lambda df, _: found.extend(map(tuple, df.collect())),
    )
    answers.awaitTermination()
    assert sorted(found) == ([("10.0.0.7",)] if kind == "bloom" else [("10.0.0.7", 5), ("10.9.9.9", 0)])


def test_what_a_stream_lacks_to_be_learned_is_said(spark: Any, frame: Any, tmp_path: Path) -> None:
    stream = spark.readStream.text(str(tmp_path)).selectExpr("value as key", "value as group")

    def learn(**options: Any) -> None:
        tamis.spark.train_stream(stream, key="key", state=str(tmp_path / "state"), **options)

    for options in ({"kind": "scalable"}, {"kind": "fuse", "keys": 5}, {"kind": "ribbon"}, {"params": tamis.build(["a"], kind="fuse")}):
        with pytest.raises(ValueError, match='cannot be made of parts of a stream: use kind="blocked" and keys=N'):
            learn(**options)
    for params in ({"a": 1}, "{nonsense"):
        with pytest.raises(ValueError, match="invalid parameters"):
            learn(params=params)
    with pytest.raises(ValueError, match="groups of a stream are not known first.* tamis.spark.plan of a sample"):
        learn(group="group", keys=10)
    params = tamis.spark.plan(frame, key="key", group="group", keys=777)
    assert [group["keys"] for group in params["groups"]] == [777] * 7
    assert not (tmp_path / "state").exists()


def test_a_filter_of_a_stream_says_what_it_was_planned_for_and_when_that_is_not_enough(
    spark: Any, tmp_path: Path
) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "keys.txt").write_text("".join(f"key {number}\n" for number in range(2000)))

    def learn(state: str, **options: Any) -> list[str]:
        stream = spark.readStream.text(str(tmp_path / "rows"))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            query = tamis.spark.train_stream(
                stream, key="value", kind="bloom", state=str(tmp_path / state), trigger={"availableNow": True},
                range_bytes=1 << 20, **options,
            )
            query.awaitTermination()
        return [str(one.message) for one in said if re.search("planned for|holds", str(one.message))]

    assert learn("default") == ["this bloom filter is planned for 10,000,000 keys: keys=N plans it for others"]
    learned = tamis.spark.open_state(str(tmp_path / "default"), spark)
    assert learned.inspect()["groups"][0]["planned_keys"] == 10_000_000
    assert learned.contains("key 7")
    assert learn("enough", keys=2000) == []
    (too_many,) = learn("little", keys=100)
    assert re.search("/little: the filter holds (so many keys|.*, more than the) .*; start over with a larger keys=$", too_many)


def test_columns_may_have_points_in_their_names_and_be_fields_of_structs(spark: Any) -> None:
    rows = [(f"u{number}", f"s{number % 7}") for number in range(300)]
    df = spark.createDataFrame([(a, (b, 1), b) for a, b in rows], "`user.id` string, s struct<z: string, n: int>, `a``b` string")
    for key, at in [("user.id", 0), ("s.z", 1), ("a`b", 1)]:
        table = {key: [row[at] for row in rows]}
        sketch = tamis.spark.build(df, key=key)
        assert sketch == tamis.build(table, key=key)
        assert tamis.spark.filter_df(df, sketch).count() == 300
        if key != "user.id":
            continue  # the other jobs find columns as these do
        assert sketch == tamis.spark.build(df, key=key, params=tamis.spark.plan(df, key=key))
        assert tamis.spark.count(df, key=key) == {"": len(set(table[key]))}
        assert tamis.spark.test(df, sketch)["false_negatives"] == 0
    assert tamis.spark.build(df, key="1") == tamis.build({"user.id": [row[0] for row in rows]}, key="1")
    for function in [tamis.spark.plan, tamis.spark.count]:
        with pytest.raises(TypeError, match="unexpected keyword argument 'fprr'; it takes .*fpr"):
            function(df, key="user.id", fprr=0.1)
    with pytest.warns(UserWarning, match="plan it for more keys"):
        tamis.spark.build(df, key="user.id", keys=1)
    alike = df.select("`user.id`", "`a``b`").toDF("x", "x")
    here = pa.table([list(column) for column in zip(*rows)], names=["x", "x"])
    assert tamis.spark.build(alike, key="2") == tamis.build(here, key="2")
    with pytest.raises(ValueError, match="use estimate"):
        tamis.spark.filter_df(df, tamis.build(["a"], kind="count-min"))


def test_what_is_no_state_no_sketch_or_no_table_is_refused(spark: Any, frame: Any, tmp_path: Path) -> None:
    sketch = tamis.build(["k1", "k2"])
    stream = spark.readStream.text(str(tmp_path)).withColumnRenamed("value", "key")
    with pytest.raises(TypeError, match=r"a tamis.Sketch is needed, not str: tamis.open\(path\) opens one"):
        tamis.spark.filter_df(frame, "users.tamis", key="key")
    with pytest.raises(TypeError, match="a tamis.Sketch is needed, not NoneType"):
        tamis.spark.test(frame, None)
    with pytest.raises(ValueError, match="is a stream: tamis.spark.train_stream learns of it"):
        tamis.spark.build(stream, key="key")

    def ask(state: Path, key: str, **question: Any) -> None:
        tamis.spark.query_stream(
            stream, str(state), key=key, answer=lambda rows, batch: None, checkpoint=str(tmp_path / "asked"), **question
        )

    mistyped = tmp_path / "mistyped"
    with pytest.raises(tamis.Error, match="mistyped: there is no such state; train_stream makes it"):
        ask(mistyped, "key")
    with pytest.raises(tamis.Error, match="there is no such state"):
        tamis.spark.open_state(str(mistyped), spark)
    assert not mistyped.exists()
    known = _stream._State(spark, str(tmp_path / "state"), create=True)
    sketch.save(tmp_path / "some.tamis")
    known.put("0123456789ab", 0, str(tmp_path / "some.tamis"))
    with pytest.raises(tamis.Error, match="no column \"zz\""):
        ask(tmp_path / "state", "zz")
    for kind, question, why in (
        ("blocked", {"group": "g9"}, 'there is no group "g9"'),
        ("blocked", {"bad_rows": "leave"}, "bad_rows: it is"),
        ("count-min", {}, "each group has counts of its own: name one with group="),
        ("count-min", {"group": "a", "bad_rows": "leave"}, "bad_rows: it is"),
    ):
        _learned(tmp_path / kind, 0, ["a"], kind=kind, group="ip")
        with pytest.raises(ValueError, match=why):
            ask(tmp_path / kind, "key", **question)
    learned = tamis.spark.open_state(str(tmp_path / "count-min"), spark)
    with pytest.raises(ValueError, match="name one with group="):
        _batch.estimates(frame, learned, "key", None, "fail", _session.ship(spark, learned))


def test_a_row_without_a_key_is_said_without_a_number_that_nobody_knows(spark: Any) -> None:
    rows = spark.createDataFrame([("k1",), (None,)], "key string")
    with pytest.raises(Exception, match=r"tamis.Error: a row: .*bad_rows=\"skip\""):
        tamis.spark.filter_df(rows, tamis.build(["k1"]), key="key").collect()
    assert tamis.spark.filter_df(rows, tamis.build(["k1"]), key="key", bad_rows="skip").count() == 1


def test_a_mark_that_is_removed_while_it_is_read_hides_no_sketch(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = _stream._State(spark, str(tmp_path))
    known.put_empty("0123456789ab", 0, "")
    read = _files.Folder.read

    def later(folder: _files.Folder, name: str) -> Any:
        # The next batch is committed between the look at the folder and the look into the mark.
        monkeypatch.setattr(_files.Folder, "read", read)
        (tmp_path / name).unlink()
        _learned(tmp_path, 1, ["a"])
        return read(folder, name)

    monkeypatch.setattr(_files.Folder, "read", later)
    assert known.last() == (1, "0123456789ab", "sketch-0123456789ab-000000000001.tamis")


def test_a_mark_that_is_removed_while_it_is_opened_hides_no_sketch_of_hadoop(
    spark: Any, mounted: str, tmp_path: Path
) -> None:
    known = _stream._State(spark, f"{mounted}/state", create=True)
    known.put_empty("0123456789ab", 0, "")

    class Later:
        def __init__(self, system: Any) -> None:
            self.system = system

        def open(self, path: Any) -> Any:
            # The next batch is committed when all that was asked before has been answered.
            del store.find
            (tmp_path / "state" / "empty-0123456789ab-000000000000").unlink()
            _learned(tmp_path / "state", 1, ["a"])
            return self.system.open(path)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.system, name)

    def find(name: str) -> tuple[Any, Any]:
        system, path = Store.find(store, name)
        return Later(system), path

    store = known.folder._store
    store.find = find
    assert known.last() == (1, "0123456789ab", "sketch-0123456789ab-000000000001.tamis")


def test_a_stream_does_not_go_on_over_missing_batches(spark: Any, tmp_path: Path) -> None:
    """Its state was emptied or is an older one, or its checkpoint is: each batch is the next or the last again."""
    inputs, state, checkpoint = tmp_path / "in", tmp_path / "state", tmp_path / "checkpoint"
    inputs.mkdir()

    def learn(text: str) -> list[str]:
        (inputs / f"{len(list(inputs.iterdir()))}.txt").write_text(text)
        return again()

    def again() -> list[str]:
        stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(inputs)).withColumnRenamed("value", "ip")
        query = tamis.spark.train_stream(
            stream, key="ip", keys=100, state=str(state), checkpoint=str(checkpoint), trigger={"availableNow": True}
        )
        query.awaitTermination()
        return sorted(path.name[-18:] for path in state.iterdir() if path.is_file())

    with pytest.raises(tamis.Error, match="nothing was learned yet"):
        learn("")
        tamis.spark.open_state(str(state), spark)
    assert learn("a\n") == ["000000000001.tamis"]
    shutil.copytree(state, tmp_path / "older state")
    shutil.copytree(checkpoint, tmp_path / "older checkpoint")
    # A batch without rows leaves its number, and what is known stays.
    assert learn("")[1][-12:] == "000000000002"
    assert tamis.spark.open_state(str(state), spark) == tamis.build({"ip": ["a"]}, key="ip", keys=100)
    shutil.move(state, tmp_path / "right")
    with pytest.raises(Exception, match="batch 3 is the next by the checkpoint .* and batch 0 by this state"):
        learn("b\n")
    assert list(state.iterdir()) == []
    state.rmdir()
    shutil.copytree(tmp_path / "older state", state)
    with pytest.raises(Exception, match="and batch 2 by this state"):
        again()
    shutil.rmtree(state)
    shutil.move(tmp_path / "right", state)
    again()
    known = tamis.spark.open_state(str(state), spark)
    assert known == tamis.build({"ip": ["a", "b"]}, key="ip", keys=100)
    # Batch 2 of the older checkpoint may have other rows than batch 2 had.
    shutil.rmtree(checkpoint)
    shutil.move(tmp_path / "older checkpoint", checkpoint)
    with pytest.raises(Exception, match="batch 2 is the next by the checkpoint .* and batch 4 by this state"):
        again()
    assert tamis.spark.open_state(str(state), spark) == known


def _ask(
    spark: Any, asked: Path, state: Path, answer: Any, select: Sequence[str] = ("value as ip",), **options: Any
) -> None:
    questions = spark.readStream.option("maxFilesPerTrigger", 1).text(str(asked)).selectExpr(*select)
    query = tamis.spark.query_stream(
        questions, str(state), answer=answer, checkpoint=f"{asked}-done", trigger={"availableNow": True}, **options
    )
    query.awaitTermination()


def _learned(state: Path, batch: int, keys: list[str], **options: Any) -> None:
    """A state as `train_stream` leaves it."""
    state.mkdir(exist_ok=True)
    tamis.build({"ip": keys}, key="ip", **options).save(state / f"sketch-0123456789ab-{batch:012d}.tamis")


@pytest.mark.parametrize("kind", ["bloom", pytest.param("count-min", marks=pytest.mark.full)])
def test_states_that_answered_do_not_pile_up(spark: Any, tmp_path: Path, kind: str) -> None:
    """Neither as files of Spark, which stay on all machines, nor as broadcasts."""
    asked, state, context = tmp_path / "asked", tmp_path / "state", spark.sparkContext
    asked.mkdir()
    for i in range(4):
        (asked / f"{i}.txt").write_text("k1\nk2\nk3\n")
    _learned(state, 0, ["none"], kind=kind)
    found: list[int] = []
    held: list[int] = []

    def answer(df: Any, batch: int) -> None:
        found.append(df.count() if kind == "bloom" else df.where("estimate > 0").count())
        held.append(len(os.listdir(context._temp_dir)))
        _learned(state, batch + 1, [f"k{i}" for i in range(batch + 2)], kind=kind)

    files = context._jsc.sc().listFiles().size()
    _ask(spark, asked, state, answer, key="ip")
    assert found == [0, 1, 2, 3]
    assert context._jsc.sc().listFiles().size() == files
    assert len(set(held)) == 1, held


NAMED: list[tuple[Optional[str], list[str]]] = [
    ("who.ip", ["named_struct('ip', value) as who", "1 as n"]),
    ("2", ["1 as n", "value as ip"]),
    (None, ["value"]),
]


@pytest.mark.parametrize("key, select", NAMED, ids=str)
def test_each_key_is_answered_once_however_it_is_named(spark: Any, tmp_path: Path, key: Any, select: list[str]) -> None:
    asked, state = tmp_path / "asked", tmp_path / "state"
    asked.mkdir()
    (asked / "a.txt").write_text("a\nb\na\nc\nb\n")
    state.mkdir()
    tamis.build(["a", "b"], fpr=1e-9).save(state / "sketch-0123456789ab-000000000000.tamis")
    found: list[int] = []
    _ask(spark, asked, state, lambda df, _: found.append(df.count()), select, key=key)
    assert found == [2]


def test_answers_that_are_written_over_are_there_once(spark: Any, tmp_path: Path) -> None:
    """A batch is answered again where all ended before Spark knew that it was; by what is known then."""
    asked, state = tmp_path / "asked", tmp_path / "state"
    asked.mkdir()
    (asked / "a.txt").write_text("a\nb\nc\n")
    called: list[int] = []

    def answer(seen: Any, batch: int) -> None:
        called.append(batch)
        seen.write.mode("overwrite").json(f"{tmp_path}/answers/batch={batch}")

    _learned(state, 0, ["a"])
    _ask(spark, asked, state, answer, key="ip")
    for commit in (tmp_path / "asked-done" / "commits").iterdir():
        commit.unlink()
    _learned(state, 1, ["a", "b"])
    _ask(spark, asked, state, answer, key="ip")
    assert called == [0, 0]
    assert sorted(map(tuple, spark.read.json(f"{tmp_path}/answers").collect())) == [("a", 0), ("b", 0)]
