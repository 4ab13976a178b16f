"""Rows that pass: in the type in which they came, lazily, in SQL, and batch by batch."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Callable

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import tamis

ROWS: dict[str, list[Any]] = {"who": ["ann", "zoe", "bob", "max"], "n": [1, 2, 3, 4]}
KNOWN = tamis.build(["ann", "bob"], fpr=1e-6)


def numbers(data: Any) -> list[int]:
    column = data["n"]
    return list(column) if isinstance(column, list) else list(column.to_pylist() if hasattr(column, "to_pylist") else column)


@pytest.mark.parametrize("table", [
    pd.DataFrame(ROWS), pl.DataFrame(ROWS), pa.table(ROWS), pa.record_batch(ROWS), dict(ROWS),
], ids=lambda table: type(table).__module__ + type(table).__name__)
def test_a_table_is_sieved_into_one_of_its_type(table: Any) -> None:
    for sieve in (KNOWN, KNOWN.to_filter()):
        passed, others = sieve.filter(table, "who"), sieve.filter(table, key=["who"], invert=True)
        assert type(passed) is type(others) is type(table)
        assert numbers(passed) == [1, 3] and numbers(others) == [2, 4]
    assert numbers(tamis.filter(table, KNOWN, "who")) == [1, 3]
    assert numbers(tamis.dedup({**ROWS, "who": ["a", "b", "a", "b"]}, "who")) == [1, 2]
    assert type(tamis.dedup(table, "who")) is type(table)


@pytest.mark.parametrize("keys", [
    ROWS["who"], tuple(ROWS["who"]), np.array(ROWS["who"]), pd.Series(ROWS["who"], index=list("abcd")), pl.Series(ROWS["who"]),
    pa.array(ROWS["who"]), pa.chunked_array([ROWS["who"][:1], ROWS["who"][1:]]),
], ids=lambda keys: type(keys).__module__ + type(keys).__name__)
def test_keys_are_sieved_into_keys(keys: Any) -> None:
    passed = KNOWN.filter(keys)
    assert type(passed) is type(keys) and [str(key) for key in passed] == ["ann", "bob"]
    assert [str(key) for key in tamis.dedup(keys)] == ROWS["who"]


def test_the_index_of_pandas_stays_and_may_be_the_key() -> None:
    frame = pd.DataFrame(ROWS).set_index("who")
    assert KNOWN.filter(frame, "who").index.tolist() == ["ann", "bob"]
    doubled = pd.DataFrame(ROWS, index=[7, 7, 8, 8])
    assert KNOWN.filter(doubled, "who").index.tolist() == [7, 8]
    assert KNOWN.filter(frame.index.to_series()).tolist() == ["ann", "bob"]


def test_groups_are_asked_all_one_or_each_rows_own() -> None:
    rows = {"id": ["ann", "bob", "eve"], "land": ["at", "it", "it"]}
    users = tamis.build(rows, key="id", group="land", fpr=1e-6)
    asked = pd.DataFrame({"id": ["ann", "bob", "eve", "zoe"], "land": ["it", "it", "fr", "at"]})
    assert users.filter(asked)["id"].tolist() == ["ann", "bob", "eve"]
    assert users.filter(asked, group="it")["id"].tolist() == ["bob", "eve"]
    assert users.filter(asked, own_group=True)["id"].tolist() == ["bob"]
    renamed = asked.rename(columns={"id": "who", "land": "of"})
    assert users.filter(renamed, "who", own_group="of", invert=True)["who"].tolist() == ["ann", "eve", "zoe"]
    rounded = tamis.build({"id": ["a", "b"], "r": [6.4, 7.6]}, key="id", group="r:round", fpr=1e-6)
    assert rounded.filter({"id": ["a", "b"], "r": [5.9, 6.2]}, own_group=True)["id"] == ["a"]
    with pytest.raises(ValueError, match="no groups"):
        KNOWN.filter(asked, "id", own_group=True)
    with pytest.raises(ValueError, match="exclude each other"):
        users.filter(asked, group="at", own_group=True)


def test_rows_without_a_key_are_named_or_do_not_pass() -> None:
    frame = pd.DataFrame({"who": ["ann", None], "n": [1, 2]})
    with pytest.raises(tamis.Error, match="row 1"):
        KNOWN.filter(frame, "who")
    assert numbers(KNOWN.filter(frame, "who", bad_rows="skip")) == [1]
    assert numbers(KNOWN.filter(frame, "who", bad_rows="skip", invert=True)) == [2]


def test_a_lazy_frame_stays_lazy_and_streams() -> None:
    lazy = pl.LazyFrame(ROWS)
    passed = KNOWN.filter(lazy, "who")
    assert isinstance(passed, pl.LazyFrame)
    assert numbers(passed.collect()) == numbers(passed.collect(engine="streaming")) == [1, 3]
    assert numbers(KNOWN.filter(lazy, "who", invert=True).collect()) == [2, 4]
    tagged = lazy.with_columns(known=KNOWN.expr("who"), other=~KNOWN.expr(pl.col("who").str.to_uppercase()))
    assert tagged.collect(engine="streaming")["known"].to_list() == [True, False, True, False]
    users = tamis.build(pd.DataFrame(ROWS), key=["who", "n"], fpr=1e-6)
    assert numbers(lazy.filter(users.expr()).collect()) == [1, 2, 3, 4]
    assert numbers(lazy.filter(users.expr(["who", pl.col("n") + 1])).collect()) == []
    nulls = pl.LazyFrame({"who": ["ann", None]}).select(KNOWN.expr("who")).collect()
    assert nulls["who"].to_list() == [True, False]
    with pytest.raises(ValueError, match="name the column"):
        KNOWN.expr()


def test_duckdb_has_a_function_in_one_line() -> None:
    connection = duckdb.connect()
    KNOWN.duckdb(connection, "known")
    rows = pd.DataFrame(ROWS)
    assert rows is not None
    assert connection.sql("SELECT n FROM rows WHERE known(who) ORDER BY n").fetchall() == [(1,), (3,)]
    assert connection.sql("SELECT known(NULL)").fetchall() == [(None,)]
    tamis.build([7, 8], fpr=1e-6).duckdb(connection, "numbers")
    assert connection.sql("SELECT count(*) FROM range(100) t(x) WHERE numbers(x)").fetchall() == [(2,)]
    tamis.build(rows, key=["who", "n"], fpr=1e-6).duckdb(connection, "pairs", type=["VARCHAR", "BIGINT"])
    assert connection.sql("SELECT count(*) FROM rows WHERE pairs(who, n)").fetchall() == [(4,)]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for part in range(4):
        ids = pa.array(range(part * 1000, part * 1000 + 2000))
        pq.write_table(pa.table({"id": ids, "land": pa.array(["at", "it"] * 1000), "n": ids}), tmp_path / f"{part}.parquet")
    return tmp_path


OPTIONS: list[dict[str, Any]] = [
    {}, {"group": "land"}, {"kind": "bloom"}, {"kind": "fuse"}, {"kind": "counting"}, {"kind": "count-min"}, {"hash": "murmur3"},
    {"keys": 5000}, {"kind": "count-min", "heavy": 0.5}, {"kind": "count-min", "weight": "n"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_streams_give_the_bytes_of_a_table(lake: Path, options: dict[str, Any]) -> None:
    dataset = ds.dataset(lake)
    expected = tamis.build(dataset.to_table(), key="id", **options).to_bytes()
    read = lambda: dataset.scanner(batch_size=700).to_reader()  # noqa: E731
    streams: list[Any] = [dataset, dataset.scanner(batch_size=700), read(), iter(list(read())), pl.scan_parquet(lake / "*.parquet")]
    for stream in streams:
        assert tamis.build(stream, key="id", **options).to_bytes() == expected, type(stream)


def test_a_stream_is_never_held_whole(memory_of: Callable[[str, str], int]) -> None:
    before = """
import pyarrow as pa, tamis
tamis.build(iter([pa.table({"id": ["a"]})]), key="id", keys=9)
schema = pa.schema({"id": pa.int64(), "text": pa.string()})
def batches():
    for i in range(60):
        yield pa.record_batch([pa.array(range(1000)), pa.array(["x" * 1000] * 1000)], schema)
"""
    step = 'tamis.build(pa.RecordBatchReader.from_batches(schema, batches()), key="id")'
    assert memory_of(before, step) < 25_000, "60 MB of text came by"


def test_a_dataset_is_sieved_batch_by_batch(lake: Path) -> None:
    few = tamis.build([5, 1005], fpr=1e-9)
    for source in [ds.dataset(lake), ds.dataset(lake).scanner(), ds.dataset(lake).scanner().to_reader()]:
        passed: Any = few.filter(source, "id")
        assert isinstance(passed, pa.RecordBatchReader)
        assert sorted(passed.read_all()["n"].to_pylist()) == [5, 1005, 1005]
    relation = duckdb.connect().sql("SELECT * FROM range(2000) t(id)")
    assert len(tamis.build(relation, key="id")) > 1900


def test_columns_of_odd_types_do_not_matter_where_nobody_asks_for_them() -> None:
    odd = pl.DataFrame({
        "id": ["ann", "bob"], "wide": pl.Series([1, 2], dtype=pl.Int128), "lists": [[1], [2]],
        "span": pl.Series([1, 2], dtype=pl.Duration), "none": [None, None],
    })
    known = tamis.build(odd, key="id", fpr=1e-6)
    assert known == tamis.build({"id": ["ann", "bob"]}, key="id", fpr=1e-6) == tamis.build(odd.lazy(), key="id", fpr=1e-6)
    assert known.contains(odd["id"]).to_list() == [True, True] and known.filter(odd).shape == odd.shape
    assert tamis.Filter(odd, "id").contains("ann") and tamis.dedup(odd, "id").shape == odd.shape
    with pytest.raises(tamis.Error, match="no column .*id, wide, lists"):
        tamis.build(odd, key="name")
    twice = pd.DataFrame([[1, 2, 3]], columns=["id", "n", "n"])
    assert 1 in tamis.build(twice, key="id")
    with pytest.raises(ValueError, match="two columns"):
        tamis.build(twice, key="n")


def test_dedup_is_exact_with_strict_and_remembers_nothing_between_calls() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2, 1], "b": ["x", "y", "x", "x"]})
    assert tamis.dedup(frame).index.tolist() == tamis.dedup(frame, ["a", "b"], strict=True).index.tolist() == [0, 1, 2]
    assert tamis.dedup(frame, "a").index.tolist() == tamis.dedup(frame, "a", strict=True).index.tolist() == [0, 2]
    assert tamis.dedup(frame, "b:upper", strict=True).index.tolist() == [0, 1]
    many = list(range(50_000)) * 2
    assert tamis.dedup(many, strict=True) == list(range(50_000))
    assert len(tamis.dedup(many)) >= 49_990
    with pytest.raises(TypeError, match="collect it first"):
        tamis.dedup(pl.LazyFrame({"a": [1]}), "a")
    with pytest.raises(ValueError, match="output is of files"):
        tamis.dedup(frame, "a", output="x.csv")
    reader = tamis.dedup(pa.table(frame).to_reader(max_chunksize=1), "a")
    assert reader.read_all()["a"].to_pylist() == [1, 2]
    assert list(itertools.chain(tamis.dedup(["a", "b", "a"]))) == ["a", "b"]
