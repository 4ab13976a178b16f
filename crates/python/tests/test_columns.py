"""Answers of sketches as columns of Spark, files of Hadoop's file systems, and the Python of the tasks."""

from __future__ import annotations

import datetime
import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyspark
import pytest

import tamis
import tamis.spark
from tamis.spark import _session

pytestmark = pytest.mark.spark

# From here on Spark hands Arrow arrays to functions.
ARROW = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 1)


@pytest.fixture(scope="module")
def orders(spark: Any) -> Any:
    rows = [("ann", "at", 1), ("bob", "at", 2**53 + 1), ("zoe", "it", None)]
    df = spark.createDataFrame(rows, "who string, country string, n long")
    df.createOrReplaceTempView("orders")
    return df


@pytest.fixture(scope="module")
def users() -> tamis.Sketch:
    rows = {"id": ["ann", "bob", "bob"], "country": ["at", "at", "it"]}
    return tamis.build(rows, key="id", group="country", fpr=1e-9)


def _column(df: Any, column: Any) -> list[Any]:
    return [row[0] for row in df.select(column).collect()]


def test_a_sketch_is_a_function_of_columns(orders: Any, users: tamis.Sketch) -> None:
    known = tamis.spark.udf(users)
    assert _column(orders, known("who")) == [True, True, False]
    assert [row.who for row in orders.where(known(orders.who)).collect()] == ["ann", "bob"]
    assert dict(orders.withColumn("known", known("who")).dtypes)["known"] == "boolean"
    assert _column(orders, tamis.spark.udf(users, group="it")("who")) == [False, True, False]
    # Two files in one query.
    numbers = tamis.build({"n": [2**53 + 1]}, key="n", fpr=1e-9)
    both = known("who") & tamis.spark.udf(numbers, bad_rows="skip")("n")
    assert [row.who for row in orders.where(both).collect()] == ["bob"]


def test_groups_and_estimates_are_columns(orders: Any, users: tamis.Sketch) -> None:
    assert _column(orders, tamis.spark.udf(users, "groups")("who")) == [["at"], ["at", "it"], []]
    hits = tamis.build(["ann", "ann", "zoe"], kind="count-min")
    estimates = orders.select(tamis.spark.udf(hits, "estimate")("who").alias("n"))
    assert [row.n for row in estimates.collect()] == [2, 0, 1]
    assert estimates.dtypes == [("n", "bigint")]


def test_a_sketch_is_a_function_of_sql(spark: Any, orders: Any, users: tamis.Sketch) -> None:
    tamis.spark.register(spark, users)
    tamis.spark.register(spark, users, answer="groups")
    tamis.spark.register(spark, tamis.build(["ann"], kind="count-min"), "hits", "estimate")
    asked = spark.sql("SELECT who, tamis_groups(who), hits(who) FROM orders WHERE tamis_contains(who) ORDER BY who")
    assert [tuple(row) for row in asked.collect()] == [("ann", ["at"], 1), ("bob", ["at", "it"], 0)]
    with pytest.raises(Exception, match="has one column, and the function was given 2 columns: give it the columns of key id"):
        spark.sql("SELECT tamis_contains(who, country) FROM orders").collect()


def test_keys_of_several_parts_and_of_all_types_are_those_of_one_machine(spark: Any, orders: Any) -> None:
    pairs = tamis.build({"a": ["ANN", "BOB"], "b": ["at", "it"]}, key=["a:lower", "b"], fpr=1e-9)
    assert _column(orders, tamis.spark.udf(pairs)("who", "country")) == [True, False, False]
    with pytest.raises(tamis.Error, match="has 2 columns, and the function was given one column"):
        tamis.spark.udf(pairs)("who")
    days = [datetime.date(2026, 11, day) for day in (17, 18)]
    values: dict[str, list[Any]] = {
        "integer": [-(2**62) - 1, 7],
        "decimal(9,2)": [Decimal("1.50"), Decimal("-3.00")],
        "date": days,
        "binary": [b"\x00\xff", b"a"],
        "boolean": [True, True],
    }
    df = spark.createDataFrame(list(zip(*values.values())), "a long, b decimal(9,2), c date, d binary, e boolean")
    for name in df.columns:
        built = tamis.spark.build(df, key=name, fpr=1e-9)
        assert _column(df, tamis.spark.udf(built)(name)) == [True, True], name


def test_times_and_floats_are_asked_as_they_are_or_refused(spark: Any) -> None:
    df = spark.sql("SELECT timestamp '2026-11-18 01:02:03' AS t, cast(0.1 AS float) AS f")
    for name, words in ("t", "times without their zone"), ("f", "floats of 32 bits and of 64"):
        asked = df.select(tamis.spark.udf(tamis.spark.build(df, key=name, fpr=1e-9))(name))
        if ARROW:
            assert asked.collect()[0][0] is True
        else:
            with pytest.raises(Exception, match=f"Spark before 4.1 hands {words}.*use filter_df"):
                asked.collect()


def test_what_cannot_be_asked_is_refused_before_any_row(orders: Any, users: tamis.Sketch) -> None:
    with pytest.raises(ValueError, match="answer is contains, estimate, groups: not 'has'"):
        tamis.spark.udf(users, "has")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="leave out group="):
        tamis.spark.udf(users, "groups", "at")
    with pytest.raises((ValueError, tamis.Error), match="count-min"):
        tamis.spark.udf(users, "estimate")
    with pytest.raises((ValueError, tamis.Error), match="xx"):
        tamis.spark.udf(users, group="xx")
    with pytest.raises(TypeError, match="a tamis.Sketch is needed, not str"):
        tamis.spark.udf("users.tamis")  # type: ignore[arg-type]
    odd = tamis.build({"id": ["ann"], "g": [b"\xff"]}, key="id", group="g")
    with pytest.raises(ValueError, match="no UTF-8"):
        tamis.spark.udf(odd, "groups")
    numbers = tamis.build({"n": [1]}, key="n")
    assert _column(orders, tamis.spark.udf(numbers, bad_rows="skip")("n"))[2] is False
    with pytest.raises(Exception, match="no key|is null|empty"):
        orders.select(tamis.spark.udf(numbers)("n")).collect()


def test_files_are_opened_and_saved_wherever_hadoop_has_them(spark: Any, orders: Any, tmp_path: Path) -> None:
    """A scheme that is no local one: Hadoop's own view of a folder as another file system."""
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.tests.link./sets", f"file://{tmp_path}")
    there = "viewfs://tests/sets/orders.tamis"
    built = tamis.spark.build(orders, key="who", fpr=0.01, path=there)
    assert (tmp_path / "orders.tamis").exists()
    assert built == tamis.spark.open(there) == tamis.open(tmp_path / "orders.tamis")
    assert "path" not in tamis.spark.open(there).inspect()
    tamis.spark.save(built, "viewfs://tests/sets/again.tamis", spark)
    tamis.spark.save(built, f"file://{tmp_path}/here.tamis")
    assert tamis.spark.open(str(tmp_path / "here.tamis"), spark) == tamis.open(tmp_path / "again.tamis") == built
    assert not [path for path in tmp_path.iterdir() if "draft" in path.name]
    with pytest.raises(tamis.Error, match="no such file"):
        tamis.spark.open("viewfs://tests/sets/none.tamis")
    with pytest.raises(tamis.Error, match="this is a folder"):
        tamis.spark.build(orders, key="who", path="viewfs://tests/sets")
    with pytest.raises(tamis.Error, match="no file system for nothing://"):
        tamis.spark.build(orders, key="who", path="nothing://a/b.tamis")


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A Python without packages, as python3 is beside an environment that is not activated."""
    python = tmp_path / "python3"
    base = os.path.join(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    python.write_text(f'#!/bin/sh\nexec {base} -S "$@"\n')
    python.chmod(0o755)
    return str(python)


def test_an_environment_that_is_not_activated_is_told_what_to_set(
    spark: Any, orders: Any, users: tamis.Sketch, bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"has no package tamis: set PYSPARK_PYTHON={sys.executable} before the session starts"
    with monkeypatch.context() as changed:
        changed.setattr(spark.sparkContext, "pythonExec", bare)
        for ask in (
            lambda: tamis.spark.build(orders, key="who"),
            lambda: tamis.spark.filter_df(orders, users, key="who"),
            lambda: tamis.spark.udf(users)("who"),
            lambda: tamis.spark.register(spark, users),
        ):
            with pytest.raises(tamis.Error, match=words):
                ask()
        # On a cluster nobody can look before.
        changed.setattr(_session, "refuse_other_python", lambda spark: None)
        with pytest.raises(tamis.Error, match=f"Python of an executor has no.*PYSPARK_PYTHON={sys.executable}"):
            tamis.spark.build(orders, key="who")
    assert tamis.spark.build(orders, key="who").contains("zoe")
