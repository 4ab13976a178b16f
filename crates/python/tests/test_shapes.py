"""Answers come in the shape of the question."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tamis

USERS = tamis.build(["ann", "bob", "1", "2"], fpr=1e-9)
HITS = tamis.build(["ann", "ann", "bob"], kind="count-min")


def test_pyarrow_gives_pyarrow() -> None:
    found = USERS.contains(pa.array(["ann", "eve"]))
    assert isinstance(found, pa.BooleanArray) and found.to_pylist() == [True, False]
    chunks = USERS.contains(pa.chunked_array([["ann"], ["eve", "bob"]]))
    assert isinstance(chunks, pa.ChunkedArray) and chunks.num_chunks == 2
    assert chunks.to_pylist() == [True, False, True]
    assert USERS.contains(pa.chunked_array([], pa.string())).to_pylist() == []
    assert HITS.estimate(pa.array(["ann", "eve"])).equals(pa.array([2, 0], pa.uint64()))
    assert USERS.contains(pa.array([1, 2, 3])).to_pylist() == [True, True, False]


def test_polars_gives_a_series_of_the_same_name() -> None:
    for kind in [pl.String, pl.Categorical]:
        series = pl.Series("name", ["ann", "eve", "bob"], dtype=kind)
        found = USERS.contains(series)
        assert found.to_list() == [True, False, True] and found.name == "name"
    frame = pl.DataFrame({"name": ["ann", "eve"], "n": [1, 2]})
    assert frame.filter(USERS.contains(frame["name"]))["n"].to_list() == [1]
    assert HITS.estimate(frame["name"]).to_list() == [2, 0]
    lazy = frame.lazy()
    assert tamis.build(lazy, key="name") == tamis.build(frame, key="name")


@pytest.mark.parametrize("dtype", ["object", "string", "category", "string[pyarrow]"])
def test_pandas_gives_a_series_with_the_same_index(dtype: str) -> None:
    series = pd.Series(["ann", "eve", "bob"], index=[7, 8, 9], name="who", dtype=dtype)
    found = USERS.contains(series)
    expected = pd.Series([True, False, True], index=[7, 8, 9], name="who")
    pd.testing.assert_series_equal(found, expected)
    frame = pd.DataFrame({"who": series})
    assert list(frame[USERS.contains(frame["who"])].index) == [7, 9]
    whole = tamis.build(frame, key="who").contains(frame)
    pd.testing.assert_series_equal(whole, pd.Series(True, index=[7, 8, 9]))
    assert tamis.build(frame, key="who") == tamis.build({"who": ["ann", "eve", "bob"]}, key="who")


def test_a_frame_may_have_a_column_called_name_and_a_filter_an_index_to_ask() -> None:
    frame = pd.DataFrame({"name": ["ann", "eve"]}, index=["x", "y"])
    found = tamis.build(frame[:1], key="name", fpr=1e-9).contains(frame)
    pd.testing.assert_series_equal(found, pd.Series([True, False], index=["x", "y"]))
    assert USERS.contains(pd.Index(["ann", "eve"])).tolist() == [True, False]


def test_a_column_of_values_of_all_sorts_is_taken_as_their_texts() -> None:
    mixed = pd.Series(["ann", 2, None, float("nan"), 2.5, True], dtype="object", name="who")
    texts = ["ann", "2", "2.5", "true"]
    assert tamis.build(mixed, keys=9, bad_rows="skip") == tamis.build(texts, keys=9)
    for rows in [pd.DataFrame({"who": mixed, "n": range(6)}), {"n": np.arange(6), "who": mixed}]:
        found = tamis.build(rows, key="who", keys=9, bad_rows="skip")
        assert found == tamis.build({"who": texts}, key="who", keys=9) and found.skipped == 2
    with pytest.raises(tamis.Error, match="row 2"):
        tamis.build(mixed)
    by_index = pd.DataFrame({"other": mixed}, index=pd.Index(list("abcdef"), name="id"))
    assert tamis.build(by_index, key="id", fpr=1e-9).contains(["a", "f", "g"]) == [True, True, False]
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        tamis.build(pd.DataFrame([[1, 2]], columns=["a", "a"]), key="a")


def test_columns_of_a_dict_may_be_arrow_in_chunks_of_any_size() -> None:
    names = [f"u{number}" for number in range(10)]
    days = [number % 3 for number in range(10)]
    rows = {
        "name": pa.chunked_array([names[:4], [], names[4:]]),
        "day": pa.chunked_array([days[:1], days[1:4], days[4:9], days[9:]]),
        "list": names,
        "array": np.arange(10),
    }
    for group, values in {"day": days, "list": names, "array": range(10)}.items():
        expected = tamis.build({"name": names, group: values}, key="name", group=group)
        assert tamis.build(rows, key="name", group=group) == expected
    with pytest.raises(ValueError, match="as many rows"):
        tamis.build({"a": pa.array([1]), "b": [1, 2]}, key="a")


def test_numpy_gives_numpy() -> None:
    for array in [np.array(["ann", "eve"]), np.array(["ann", "eve"], dtype=object)]:
        found = USERS.contains(array)
        assert found.dtype == np.bool_ and found.tolist() == [True, False]
    assert USERS.contains(np.array([1, 3], dtype=np.int16)).tolist() == [True, False]
    assert HITS.estimate(np.array(["ann"])).tolist() == [2]
    assert USERS.contains(np.int64(1)) is True
    for one in [np.float32(0.1), np.float16(0.1), np.float64(0.1), np.bool_(True), np.uint8(7)]:
        assert tamis.build(np.array([one]), fpr=1e-9).contains(one) is True, type(one)
    with pytest.raises(ValueError, match="one dimension"):
        USERS.contains(np.array([["ann"]]))


def test_all_else_gives_a_list() -> None:
    for keys in [["ann", "eve"], ("ann", "eve"), iter(["ann", "eve"]), (key for key in ["ann", "eve"])]:
        assert USERS.contains(keys) == [True, False]
    assert USERS.contains([]) == []
    assert set(USERS.contains({"ann"})) == {True}


class Foreign:
    """An Arrow array of a library that is not known."""

    def __init__(self, values: list[str]) -> None:
        self.array = pa.array(values)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.array.__arrow_c_array__(requested_schema)


def test_other_arrow_objects_give_one() -> None:
    found = USERS.contains(Foreign(["ann", "eve"]))
    assert pa.array(found).to_pylist() == [True, False] and len(found) == 2


def test_a_table_is_asked_by_the_columns_of_the_key() -> None:
    rows = {"first": ["ann", "bob"], "last": ["lee", "ray"]}
    both = tamis.build(rows, key=["first", "last"], fpr=1e-9)
    asked = pa.table({"last": ["lee", "lee"], "other": [1, 2], "first": ["ann", "bob"]})
    assert both.contains(asked).to_pylist() == [True, False]
    assert both.contains(("ann", "lee")) is True and ("ann", "ray") not in both
    assert both.contains([("bob", "ray"), ("annl", "ee")]) == [True, False]
    with pytest.raises(TypeError, match="2 parts"):
        both.contains("ann")
    with pytest.raises(TypeError, match="row 1"):
        both.contains([("bob", "ray"), "ann"])


def test_no_strings_are_copied() -> None:
    ask = """
import resource, pyarrow as pa, tamis
users, array = tamis.build(["ann"]), pa.array(["x" * 1000] * 200_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert users.contains(array).true_count == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = int(subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True).stdout)
    assert grown < 50_000  # kilobytes, where the strings are 200 MB


def test_without_pyarrow_columns_are_taken_value_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert USERS.contains(np.array(["ann", "eve"])).tolist() == [True, False]
    assert USERS.contains(pd.Series(["ann", "eve"])).tolist() == [True, False]
