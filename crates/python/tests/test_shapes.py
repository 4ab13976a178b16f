"""Answers come in the shape of the question."""

from __future__ import annotations

import datetime
import decimal
import sys
import uuid
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
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
    kept = by_index.assign(id=by_index.index).drop(columns="other")
    assert tamis.build(kept, key="id") == tamis.build(by_index, key="id")
    for twice in [["a", "a"], [1, "1"]]:
        with pytest.raises(ValueError, match="two columns are called '[a1]'"):
            tamis.build(pd.DataFrame([[1, 2]], columns=twice), key=f'"{twice[0]}"')
    # Whole numbers stay whole, whatever stands beside them.
    day, moment = datetime.date(2026, 11, 15), datetime.datetime(2026, 11, 15, 12)
    one, two = decimal.Decimal("1.5"), decimal.Decimal("2.25")
    for values in [[1, 2.5], [2**70, 1], [1, np.float32(0.1)], [one, two], [1, one], [day, moment]]:
        texts = tamis.build(values, keys=9)
        for array in [pd.Series(values, dtype="object"), np.array(values, dtype=object)]:
            assert tamis.build(array, keys=9) == texts and texts.contains(array).all()


def test_columns_that_nobody_asks_for_do_not_matter() -> None:
    useless: dict[str, Any] = {"mixed": [1, "a"], "lists": [[1], [2, 3]], "objects": [object(), 1], "large": [2**70, 1]}
    frame = pd.DataFrame({"id": ["ann", "bob"], **{name: pd.Series(of, dtype="object") for name, of in useless.items()}})
    expected = tamis.build({"id": ["ann", "bob"]}, key="id")
    assert tamis.build(frame, key="id") == expected == tamis.build({"id": ["ann", "bob"], **useless}, key="id")
    of_polars = pl.DataFrame({"id": ["ann", "bob"], "objects": pl.Series(useless["objects"], dtype=pl.Object)})
    assert tamis.build(of_polars, key="id") == expected
    for table in [frame, of_polars]:
        with pytest.raises(tamis.Error, match='"objects" has row 0 .* of type object'):
            tamis.build(table, key="objects")
    assert tamis.build(pl.Series([1, "a"], dtype=pl.Object)) == tamis.build([1, "a"])
    assert tamis.build({"id": ["ann", "bob"], "no text": ["\ud800", "a"]}, key="id") == expected


def test_an_index_of_several_columns_is_one_of_tuples() -> None:
    index = pd.MultiIndex.from_tuples([("ann", 1), ("bob", 2)])
    known = tamis.build([("ann", 1), ("eve", 2)], key=["1", "2"], fpr=1e-9)
    assert list(known.contains(index)) == [True, False]


def test_dates_times_and_decimals_have_the_text_of_their_column() -> None:
    values: list[Any] = [
        datetime.date(2026, 11, 15),
        datetime.datetime(2026, 11, 15, 12, 34, 56, 500_000),
        datetime.datetime(2026, 11, 15, 12, 34, 56, tzinfo=datetime.timezone.utc),
        pd.Timestamp("2026-11-15T12:00:00.000000001", tz="Europe/Rome"),
        datetime.time(12, 34, 56),
        decimal.Decimal("1.50"),
        uuid.UUID("01234567-89ab-cdef-0011-2233445566ff"),
        np.datetime64("2026-11-15"),
        pa.scalar("ann"),
    ]
    texts = ["2026-11-15", "2026-11-15T12:34:56.5", "2026-11-15T12:34:56Z", "2026-11-15T11:00:00.000000001Z", "12:34:56"]
    texts += ["1.50", "01234567-89ab-cdef-0011-2233445566ff", "2026-11-15", "ann"]
    for value, text in zip(values, texts):
        known = tamis.build([text], fpr=1e-9)
        assert known.contains(value) is True and known.contains([value]) == [True], value
    for missing in [pd.NA, pd.NaT]:
        assert USERS.contains([missing], bad_rows="skip") == [False]
    for several in [1 + 2j, {}, {"id": "ann"}, pd.Interval(0, 1), ["ann"]]:
        with pytest.raises(TypeError, match="of type .*: give its text"):
            USERS.contains([several])


class Number:
    """One of a library that calls its types otherwise."""

    dtype = object()

    def __index__(self) -> int:
        return 1


def test_a_number_of_another_library_is_one() -> None:
    assert USERS.contains(Number()) is True and USERS.contains([Number()]) == [True]


def test_a_uuid_has_the_text_that_parquet_gives_it(tmp_path: Path, cli: Callable[..., str]) -> None:
    names = ["01234567-89ab-cdef-0011-2233445566ff", "ffffffff-89ab-cdef-0011-2233445566ff"]
    table = pa.table({"id": pa.array([uuid.UUID(name).bytes for name in names], pa.uuid()), "n": [1, 2]})
    pq.write_table(table, tmp_path / "ids.parquet")
    cli("build", tmp_path / "ids.parquet", "--key", "id", "-o", tmp_path / "ids.tamis", "--quiet")
    known = tamis.open(tmp_path / "ids.tamis")
    assert known.contains(names) == [True, True] and known == tamis.build(table, key="id")
    assert known.contains(table["id"]).to_pylist() == known.contains(table).to_pylist() == [True, True]
    period = pd.Series(pd.period_range("2026-11-15", periods=2, freq="D"))
    with pytest.raises(tamis.Error, match="pandas.period.*cast it"):
        tamis.build(period)


def test_a_table_whose_columns_are_called_by_numbers_is_asked_by_its_recipe() -> None:
    table = pa.table({"1": ["a", "b"], "2": ["x", "y"]})
    assert tamis.build(table, key=["2", "1"], fpr=1e-9).contains(table).to_pylist() == [True, True]
    assert tamis.build(table, key="2", fpr=1e-9).contains(table).to_pylist() == [True, True]


def test_bytes_in_any_form_are_one_key() -> None:
    for one in [b"ann", bytearray(b"ann"), memoryview(b"ann")]:
        assert USERS.contains(one) is True and USERS.contains([one]) == [True]
        assert tamis.from_bytes(type(one)(USERS.to_bytes())) == USERS
        with pytest.raises(TypeError, match="one key, not a table"):
            tamis.build(one)
    for nothing in [None, 5]:
        with pytest.raises(TypeError, match="iterable of keys is taken, not"):
            tamis.build(nothing)
    with pytest.raises(ValueError, match=r'ask with a column, such as table\["id"\]'):
        USERS.contains(pa.table({"id": ["ann"]}))


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
    with pytest.raises(ValueError, match="the same number of rows"):
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


def test_no_strings_are_copied(memory_of: Callable[[str, str], int]) -> None:
    grown = memory_of(
        "import pyarrow as pa, tamis; users, array = tamis.build(['ann']), pa.array(['x' * 1000] * 200_000)",
        "assert users.contains(array).true_count == 0",
    )
    assert grown < 50_000  # kilobytes, where the strings are 200 MB


def test_without_pyarrow_columns_are_taken_value_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert USERS.contains(np.array(["ann", "eve"])).tolist() == [True, False]
    assert USERS.contains(pd.Series(["ann", "eve"])).tolist() == [True, False]
    with pytest.raises(TypeError, match="of type date need pyarrow"):
        USERS.contains(datetime.date(2026, 11, 15))
