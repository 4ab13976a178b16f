"""DataFrames of Spark Connect, where TAMIS_CONNECT names a server (``./check --clusters connect``)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tamis
import tamis.spark

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif("TAMIS_CONNECT" not in os.environ, reason="TAMIS_CONNECT names no server"),
]

ROWS = [(f"k{i % 4000}", f"g{i % 7}", i % 3) for i in range(12_000)]
SCHEMA = "key string, group string, weight int"


@pytest.fixture(scope="module")
def remote() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(os.environ["TAMIS_CONNECT"]).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(remote: Any) -> Any:
    return remote.createDataFrame(ROWS, SCHEMA).repartition(5)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    keys, groups, weights = zip(*ROWS)
    return pa.table({"key": keys, "group": groups, "weight": weights})


KINDS: list[dict[str, Any]] = [
    {},
    {"hash": "murmur3", "fpr": 0.05},
    {"kind": "fuse"},
    {"kind": "count-min", "weight": "weight", "epsilon": 0.01},
    {"size": "64KB"},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_the_bytes_are_those_of_one_machine(frame: Any, table: pa.Table, options: dict[str, Any]) -> None:
    there = tamis.spark.build(frame, key="key", group="group", range_bytes=4096, **options)
    assert there == tamis.build(table, key="key", group="group", **options)


def test_plans_and_counts_are_those_of_one_machine(frame: Any, table: pa.Table) -> None:
    options: dict[str, Any] = {"key": "key", "group": "group", "fpr": 0.01}
    there, here = tamis.spark.plan(frame, **options), tamis.plan(table, **options)
    assert json.dumps(there, sort_keys=True) == json.dumps(here, sort_keys=True)
    assert sum(tamis.spark.count(frame, key="key").values()) == 4000


def test_a_filter_is_tested_and_sieves(remote: Any, frame: Any, table: pa.Table, tmp_path: Path) -> None:
    known = tamis.build({"key": [f"k{i}" for i in range(0, 4000, 2)]}, key="key", fpr=1e-9)
    kept = tamis.spark.filter_df(frame, known, key="key")
    assert {row.key for row in kept.collect()} == {f"k{i}" for i in range(0, 4000, 2)}
    left = tamis.spark.filter_df(frame, known, key="key", invert=True)
    assert kept.count() + left.count() == len(ROWS)
    built = tamis.spark.build(frame, key="key", group="group", fpr=0.01, path=tmp_path / "there.tamis")
    report = tamis.spark.test(frame, built, random=10_000)
    assert report["false_negatives"] == 0
    # Another file of the same session does not take the place of the first.
    other = tamis.build({"key": ["k1"]}, key="key", fpr=1e-9)
    assert {row.key for row in tamis.spark.filter_df(frame, other, key="key").collect()} == {"k1"}
    assert kept.count() == sum(1 for key, *_ in ROWS if int(key[1:]) % 2 == 0)


def test_answers_are_columns_and_functions_of_sql(remote: Any) -> None:
    df = remote.createDataFrame([("ann", 1), ("zoe", 2)], "who string, n int")
    df.createOrReplaceTempView("orders")
    users = tamis.build({"id": ["ann"], "country": ["at"]}, key="id", group="country", fpr=1e-9)
    hits = tamis.build(["zoe", "zoe"], kind="count-min")
    asked = df.select(tamis.spark.udf(users)("who"), tamis.spark.udf(users, "groups")("who"))
    assert [tuple(row) for row in asked.collect()] == [(True, ["at"]), (False, [])]
    tamis.spark.register(remote, users)
    tamis.spark.register(remote, hits, answer="estimate")
    found = remote.sql("SELECT n, tamis_estimate(who) FROM orders WHERE NOT tamis_contains(who)").collect()
    assert [tuple(row) for row in found] == [(2, 2)]


def test_files_of_the_server_are_not_at_hand(frame: Any) -> None:
    with pytest.raises(tamis.Error, match="by Spark Connect no file system of the server is at hand"):
        tamis.spark.build(frame, key="key", path="hdfs:///a.tamis")
    with pytest.raises(tamis.Error, match="by Spark Connect no file system of the server is at hand"):
        tamis.spark.open("hdfs:///a.tamis")


def test_a_row_without_a_key_is_said_in_words(remote: Any) -> None:
    df = remote.createDataFrame([("a",), (None,)], "key string")
    with pytest.raises(tamis.Error, match="key"):
        tamis.spark.build(df, key="key")


def test_streams_need_a_classic_session(frame: Any, tmp_path: Path) -> None:
    with pytest.raises(tamis.Error, match="Spark Connect.*classic session"):
        tamis.spark.train_stream(frame, key="key", keys=1000, state=str(tmp_path / "state"))
