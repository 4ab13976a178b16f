"""Keys that mean the same are the same from every tool; what may be missed is not missed without a word."""

from __future__ import annotations

import datetime as dt
import pickle
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tamis

WIDTH = 1e-9
few = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@contextmanager
def heard() -> Iterator[list[Any]]:
    """What is said of classes meanwhile."""
    said: list[Any] = []
    with warnings.catch_warnings(record=True) as all_of:
        warnings.simplefilter("always")
        yield said
    said += [one.message for one in all_of if issubclass(one.category, tamis.KeyClassWarning)]


def found(sketch: tamis.Sketch, column: Any) -> list[bool]:
    return [bool(one) for one in list(sketch.contains(column, bad_rows="skip"))]


def of_arrow(answers: Any) -> list[bool]:
    return answers.to_pylist() if hasattr(answers, "to_pylist") else list(answers)


# The same column in the hands of each tool.
TOOLS: dict[str, Callable[[pa.Array], Any]] = {
    "pyarrow": lambda array: array,
    "pandas": lambda array: array.to_pandas(),
    "pandas with types": lambda array: array.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda array: pl.Series(array),
    "DuckDB": lambda array: _of_duckdb(array),
    "a list": lambda array: array.to_pylist(),
}


def _of_duckdb(array: pa.Array) -> Any:
    return duckdb.from_arrow(pa.table({"c": array})).to_arrow_table()["c"]


def all_found(sketch: tamis.Sketch, array: pa.Array) -> None:
    """Every tool finds all of a column, and nothing is said."""
    for tool, held in TOOLS.items():
        with heard() as said:
            answers = sketch.contains(held(array), bad_rows="skip")
        assert all(of_arrow(answers)), (tool, array)
        assert not said, (tool, said)


small = st.integers(-(2**53) + 1, 2**53 - 1).filter(lambda n: abs(n) < 10**16)
numbers = st.lists(small, min_size=1, max_size=20)


@given(numbers)
@few
def test_whole_numbers_are_one_key_as_integers_floats_and_decimals(values: list[int]) -> None:
    integers, floats = pa.array(values, pa.int64()), pa.array(values, pa.float64())
    decimals = pa.array([Decimal(value) for value in values], pa.decimal128(20, 2))
    of_integers, of_floats = tamis.build(integers, fpr=WIDTH), tamis.build(floats, fpr=WIDTH)
    assert of_integers.about == {"classes": ["integer"]} and of_floats.about == {"classes": ["float"]}
    for array in (integers, floats, decimals):
        all_found(of_integers, array)
        if array is not decimals or all(len(str(abs(value))) <= 15 for value in values):
            all_found(of_floats, array)
    # Text has the digits of an integer, however it comes here.
    of_text = tamis.build([str(value) for value in values], fpr=WIDTH)
    assert of_text.about == {}
    for array in (integers, floats, decimals):
        all_found(of_text, array)


@given(st.lists(st.decimals(-(10**6), 10**6, places=2), min_size=1, max_size=20))
@few
def test_decimals_are_the_floats_of_their_digits(values: list[Decimal]) -> None:
    decimals = pa.array(values, pa.decimal128(12, 2))
    of_floats = tamis.build(pa.array([float(value) for value in values]), fpr=WIDTH)
    all_found(of_floats, decimals)
    all_found(tamis.build(decimals, fpr=WIDTH), decimals)


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20))
@few
def test_a_float32_and_its_double_are_one_key_and_so_are_both_zeros(values: list[float]) -> None:
    singles = pa.array(values, pa.float32())
    doubles = pa.array(singles.to_pylist(), pa.float64())
    turned = pa.array([-value if value == 0 else value for value in doubles.to_pylist()], pa.float64())
    for built in (singles, doubles):
        sketch = tamis.build(built, fpr=WIDTH)
        for asked in (singles, doubles, turned, pa.array(turned.to_pylist(), pa.float32())):
            all_found(sketch, asked)


days = st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1)), min_size=1, max_size=20)


@given(days)
@few
def test_a_day_and_its_midnight_are_one_key(values: list[dt.date]) -> None:
    dates = pa.array(values, pa.date32())
    times = pa.array([dt.datetime(day.year, day.month, day.day) for day in values], pa.timestamp("us"))
    for built in (dates, times, pa.array([day.isoformat() for day in values])):
        sketch = tamis.build(built, fpr=WIDTH)
        all_found(sketch, times)
        if built is not times or dates.type == built.type:
            assert all(sketch.contains(dates).to_pylist())
    assert all(tamis.build(times, fpr=WIDTH).contains(dates).to_pylist())


moments = st.lists(
    st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2200, 1, 1)).map(lambda at: at.replace(microsecond=0)),
    min_size=1,
    max_size=20,
)


@given(moments)
@few
def test_times_are_found_in_text_as_iso_and_as_python_and_pandas_write_them(values: list[dt.datetime]) -> None:
    local = pa.array(values, pa.timestamp("us"))
    instants = pa.array(values, pa.timestamp("us", "UTC"))
    for texts in ([str(at) for at in values], [at.isoformat() for at in values]):
        all_found(tamis.build(texts, fpr=WIDTH), local)
    aware = [at.replace(tzinfo=dt.timezone.utc) for at in values]
    zulu = [at.isoformat() + "Z" for at in values]
    for texts in ([str(at) for at in aware], [at.isoformat() for at in aware], zulu):
        all_found(tamis.build(texts, fpr=WIDTH), instants)


def test_truths_are_found_in_text_as_every_tool_writes_them() -> None:
    for texts in (["true"], ["True"], ["TRUE"]):
        all_found(tamis.build(texts, fpr=WIDTH), pa.array([True]))


def test_compound_keys_are_found_in_the_forms_of_each_part() -> None:
    texts = tamis.build({"id": ["7", "8"], "at": ["2026-11-15 12:00:00", "2026-11-16"]}, key=["id", "at"], fpr=WIDTH)
    asked = pd.DataFrame({"id": [7.0, 8.0], "at": pd.to_datetime(["2026-11-15 12:00:00", "2026-11-16 00:00:00"])})
    assert texts.contains(asked).tolist() == [True, True]
    assert texts.contains((7.0, dt.datetime(2026, 11, 15, 12))) and (8, dt.date(2026, 11, 16)) in texts


def test_counts_and_groups_are_those_of_all_forms() -> None:
    hits = tamis.build(["0.0", "-0.0", "7"], kind="count-min")
    assert hits.estimate(0.0) == 2 and hits.estimate(7.0) == 1 and hits.estimate([7.0, -0.0]) == [1, 2]
    # Steps make one key of both: it is counted once.
    rounded = tamis.build({"k": ["7", "7.0"]}, key="k:prefix=1", kind="count-min")
    assert rounded.estimate(7.0) == 2 and rounded.estimate(pa.array([7.0])).to_pylist() == [2]
    groups = tamis.build({"k": ["7", "7.0"], "g": ["a", "b"]}, key="k", group="g", fpr=WIDTH)
    assert groups.groups(7.0) == ["a", "b"] and groups.groups(pa.array([7.0, 8.0])) == [["a", "b"], []]


# What stands in the cells of a CSV: each column is of one sort, and may have gaps.
SORTS = [
    st.from_regex(r"0{0,2}[1-9][0-9]{0,5}", fullmatch=True),
    st.from_regex(r"-?[0-9]{1,4}\.[0-9]{0,2}0?", fullmatch=True),
    st.from_regex(r"[1-9]e[0-9]{1,2}", fullmatch=True),
    st.sampled_from(["True", "False", "true", "false", "TRUE", "FALSE"]),
    st.dates(dt.date(1970, 1, 1), dt.date(2100, 1, 1)).map(str),
    moments.map(lambda all_of: str(all_of[0])),
    moments.map(lambda all_of: all_of[0].isoformat() + ".500"),
    moments.map(lambda all_of: all_of[0].isoformat() + "Z"),
    st.sampled_from(["ann", "bob", "x y", "7b"]),
]
columns = st.sampled_from(SORTS).flatmap(lambda sort: st.lists(sort | st.just(""), min_size=1, max_size=12)).filter(any)

READERS: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda path: pd.read_csv(path)["id"],
    "pandas with dates": lambda path: _with_dates(path),
    "polars": lambda path: pl.read_csv(path, try_parse_dates=True)["id"],
    "pyarrow": lambda path: pa.csv.read_csv(path)["id"],
    "DuckDB": lambda path: duckdb.read_csv(str(path), header=True).to_arrow_table()["id"],
}


def _with_dates(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pd.read_csv(path, parse_dates=["id"])["id"]


def values_in(column: Any) -> int:
    """The values that are keys: neither missing nor empty."""
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return sum(not (value is None or value is pd.NaT or value == "" or value != value) for value in values)


@given(texts=columns)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_csv_that_a_tool_read_is_found_or_the_classes_are_named(
    texts: list[str], tmp_path: Path, cli: Callable[..., str]
) -> None:
    """Built by the command line, which takes the texts as they are; asked with what tools make of them."""
    path = tmp_path / "rows.csv"
    path.write_text("id,n\n" + "".join(f"{text},{n}\n" for n, text in enumerate(texts)))
    cli("build", path, "--key", "id", "--fpr", WIDTH, "--bad-rows", "skip", "-o", tmp_path / "rows.tamis", "--quiet")
    for reader, read in READERS.items():
        sketch = tamis.open(tmp_path / "rows.tamis")
        column = read(path)
        with heard() as said:
            hits = sum(found(sketch, column))
        assert hits == values_in(column) or said, (reader, texts, column)
        assert len(said) <= 1, said


TYPED = {
    "integer": (st.integers(-(2**40), 2**40), pa.int64()),
    "decimal": (st.decimals(-(10**6), 10**6, places=2), pa.decimal128(12, 2)),
    "float": (st.floats(allow_nan=False, allow_infinity=False), pa.float64()),
    "date": (st.dates(dt.date(1970, 1, 1), dt.date(2100, 1, 1)), pa.date32()),
    "time": (st.datetimes(dt.datetime(1970, 1, 2), dt.datetime(2100, 1, 1)), pa.timestamp("us")),
    "boolean": (st.booleans(), pa.bool_()),
    "bytes": (st.binary(min_size=1, max_size=9).filter(lambda of: of != b"\\N"), pa.binary()),
    "text": (st.text("abc019", min_size=1, max_size=9), pa.string()),
}
typed = st.sampled_from(sorted(TYPED)).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(TYPED[name][0], min_size=1, max_size=9))
)


@given(of=typed)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_command_line_records_the_class_of_a_parquet_column_as_python_does(
    of: tuple[str, list[Any]], tmp_path: Path, cli: Callable[..., str]
) -> None:
    name, values = of
    array = pa.array(values, TYPED[name][1])
    table = pa.table({"id": array})
    pa.parquet.write_table(table, tmp_path / "rows.parquet")
    cli("build", tmp_path / "rows.parquet", "--key", "id", "--fpr", WIDTH, "-o", tmp_path / "rows.tamis", "--quiet")
    theirs, ours = tamis.open(tmp_path / "rows.tamis"), tamis.build(table, key="id", fpr=WIDTH)
    assert ours.to_bytes() == theirs.to_bytes()
    assert theirs.about.get("classes", ["text"]) == [name]
    all_found(theirs, array)
    # And with no class at all the keys are what they were.
    assert theirs == tamis.build({"id": ours_as_texts(array)}, key="id", fpr=WIDTH)


def ours_as_texts(array: pa.Array) -> list[bytes]:
    """The texts of keys, as the specification has them."""
    if pa.types.is_boolean(array.type):
        return [b"true" if value else b"false" for value in array.to_pylist()]
    if pa.types.is_timestamp(array.type):
        return [at.isoformat().rstrip("0").encode() if at.microsecond else at.isoformat().encode() for at in array.to_pylist()]
    if pa.types.is_floating(array.type):
        return [_shortest(value).encode() for value in array.to_pylist()]
    return [value if isinstance(value, bytes) else str(value).encode() for value in array.to_pylist()]


def _shortest(value: float) -> str:
    """The text of a float as Python writes it, with exponents as the specification has them."""
    if value != 0 and not 1e-4 <= abs(value) < 1e16:
        digits, _, exponent = f"{Decimal(repr(value)):e}".lower().partition("e")
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return f"{digits}e{int(exponent)}"
    return repr(value)


@given(typed, typed)
@few
def test_classes_unite_where_sketches_merge_and_refuse_no_merge(a: tuple[str, list[Any]], b: tuple[str, list[Any]]) -> None:
    params = tamis.plan(keys=100)
    arrays = [pa.array(values, TYPED[name][1]) for name, values in (a, b)]
    one, two = (tamis.build(array, params=params) for array in arrays)
    both = one | two
    names = {a[0], b[0]}
    assert set(both.about.get("classes", ["text"])) == names
    assert one.add(arrays[1]).about == both.about == (two | one).about
    builder = tamis.Builder(params)
    for array in arrays:
        builder.add(array)
    assert builder.finish().to_bytes() == both.to_bytes()
    assert tamis.merge(tamis.build([], params=params), one).to_bytes() == one.to_bytes()


def test_another_class_warns_once_by_name_with_what_to_do() -> None:
    sketch = tamis.build(["01234", "7"], fpr=WIDTH)
    with pytest.warns(tamis.KeyClassWarning, match=r"made from text, and integers ask: the texts 01234.*dtype=str"):
        assert sketch.contains(pd.Series([1234, 7])).tolist() == [False, True]
    with heard() as said:
        assert not sketch.contains(1234) and sketch.contains([7])
        assert sketch.groups(99) == []
    assert not said
    with heard() as said:
        assert tamis.build(["7"], fpr=WIDTH).contains(pd.Series([7])).all()
    assert not said  # nothing was missed
    with heard() as said:
        assert not sketch.contains(1.25)
    assert "floats ask" in str(said[0])


@pytest.mark.parametrize(
    ("built", "asked", "words"),
    [
        (pa.array([Decimal("42.50")]), pa.array([42.5]), "42.5 and 42.50 are two keys"),
        (pa.array([dt.datetime(2026, 11, 15)], pa.timestamp("us", "UTC")), pa.array([dt.date(2026, 11, 15)]), "another key than the same time in UTC"),
        (pa.array([1.5]), pa.array(["1.50"]), "made from floats, and text ask"),
        (pa.array([7]), pa.array([dt.date(2026, 11, 15)]), "made from integers, and dates ask"),
    ],
)
def test_what_is_not_certain_is_named(built: pa.Array, asked: pa.Array, words: str) -> None:
    with pytest.warns(tamis.KeyClassWarning, match=words):
        tamis.build(built, fpr=WIDTH).contains(asked)


def test_many_keys_of_another_class_with_almost_no_hits_are_named() -> None:
    sketch = tamis.build(pa.array(range(100_000, 102_000)), fpr=WIDTH)
    texts = [f"{number:09}" for number in range(100_000, 102_000)]
    with heard() as said:
        assert not any(sketch.contains(texts[:7]))
    assert ["text ask: the texts 007" in str(one) for one in said] == [True]
    with pytest.warns(tamis.KeyClassWarning, match="0 of 8 keys were found"):
        sketch.contains(texts[7])
    # A few that are found by chance are almost none of many.
    other = tamis.build(pa.array(range(100_000, 102_000)), fpr=WIDTH)
    with pytest.warns(tamis.KeyClassWarning, match="9 of 1,?000 keys were found"):
        other.contains([str(number) for number in range(100_000, 100_009)] + texts[:991])


def test_what_a_conversion_cannot_tell_is_named() -> None:
    """Each was missed without a word."""
    ids = list(range(2**60, 2**60 + 900 * 1024, 1024))
    rounded = [float(number + 1) for number in ids]  # as a column with a gap has them
    for built, asked in (
        ([number + 1 for number in ids], rounded),
        (pa.array([Decimal("42.50")]), pa.array([Decimal("42.5")])),
        ([1, 2, 3], [1, 2.0]),
        ([1.0, 2.0], [1, 2.0, "x"]),
    ):
        with pytest.warns(tamis.KeyClassWarning):
            assert not all(tamis.build(built, fpr=WIDTH).contains(asked))


def test_a_warning_that_is_an_error_is_one_every_time() -> None:
    sketch = tamis.build(["007"], fpr=WIDTH)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tamis.KeyClassWarning)
        for _ in range(2):
            with pytest.raises(tamis.KeyClassWarning):
                sketch.contains([7])


def test_a_double_is_not_taken_for_the_single_next_to_it() -> None:
    tenths = [number / 10 for number in range(1, 5000)]
    others = [single for single in map(float, pa.array(tenths, pa.float32()).to_pylist()) if single not in tenths]
    assert len(others) > 1000 and not any(tamis.build(tenths, fpr=WIDTH).contains(others))
    assert all(tamis.build(pa.array(tenths, pa.float32()), fpr=WIDTH).contains(others))


def test_integers_that_floats_hold_are_found_however_large() -> None:
    large = [2**53, 2**60, 10**16, 10**22]
    with heard() as said:
        assert all(tamis.build([str(number) for number in large]).contains([float(number) for number in large]))
        assert all(tamis.build([float(number) for number in large]).contains(large[:3]))
    assert not said


def test_times_of_another_zone_are_named() -> None:
    at = [dt.datetime(2026, 11, 15, hour) for hour in range(24)]
    instants = tamis.build(pa.array(at, pa.timestamp("us", "UTC")), fpr=WIDTH)
    with pytest.warns(tamis.KeyClassWarning, match="0 of 24 keys.*without a zone.*tz_localize"):
        assert not instants.contains(pd.Series(at)).any()
    with heard() as said:
        assert instants.contains(pd.Series(at).dt.tz_localize("UTC")).all()
        assert all(instants.contains([moment.replace(tzinfo=dt.timezone.utc) for moment in at]))
    assert not said


def test_a_filter_that_ends_up_full_warns() -> None:
    with pytest.warns(UserWarning, match="full.*give it more room"):
        tamis.build(range(100_000), size="1KB")
    with pytest.warns(UserWarning, match="rate of false positives is 0.*give it more room"):
        tamis.build(range(8000), bits_per_key=1, kind="bloom")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tamis.build(range(1000), size="1KB")
        tamis.build(range(1000), fpr=0.6)


@pytest.mark.parametrize("kind", ["blocked", "bloom", "fuse", "ribbon", "counting", "count-min"])
def test_damaged_bytes_are_refused_wherever_the_damage_is(kind: str) -> None:
    sketch = tamis.build(range(2000), kind=kind, fpr=None if kind == "count-min" else 0.01)
    data = sketch.to_bytes()
    for at in {8, 200, len(data) // 2, len(data) - 1}:
        damaged = bytearray(data)
        damaged[at] ^= 4
        with pytest.raises(tamis.Error, match="these bytes"):
            tamis.from_bytes(damaged)
    pickled = bytearray(pickle.dumps(sketch))
    pickled[len(pickled) // 2] ^= 4
    with pytest.raises(tamis.Error, match="damaged|checksum"):
        pickle.loads(pickled)


def test_the_text_of_a_missing_value_is_no_key() -> None:
    with pytest.raises(tamis.Error, match=r"row 1.*\\N or null is not a key"):
        tamis.build(["ann", "\\N"])
    sketch = tamis.build(["ann"])
    with pytest.raises(tamis.Error, match=r"\\N or null is not a key"):
        sketch.contains("\\N")
    with pytest.raises(tamis.Error, match="row 0"):
        sketch.contains(pa.array(["\\N"]))


def test_the_command_line_names_the_classes_where_parquet_asks(tmp_path: Path, program: str, cli: Callable[..., str]) -> None:
    (tmp_path / "codes.csv").write_text("id\n01234\n567\n")
    cli("build", tmp_path / "codes.csv", "--key", "id", "-o", tmp_path / "codes.tamis", "--quiet")
    pa.parquet.write_table(pa.table({"id": [1234, 567]}), tmp_path / "codes.parquet")
    asked = [program, "filter", str(tmp_path / "codes.tamis"), str(tmp_path / "codes.parquet"), "--count"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0 and "made from text, and integers ask: the texts 01234" in done.stderr
    done = subprocess.run([*asked[:3], str(tmp_path / "codes.csv"), "--count"], capture_output=True, text=True)
    assert "ask" not in done.stderr
    cli("build", tmp_path / "codes.parquet", "--key", "id", "-o", tmp_path / "ids.tamis", "--quiet")
    assert "keys made from integers" in cli("inspect", tmp_path / "ids.tamis")
    # Those of both merge, and the command line adds to what it records.
    cli("plan", tmp_path / "codes.csv", "--key", "id", "-o", tmp_path / "params.json", "--quiet")
    for name in ("csv", "parquet"):
        cli("build", tmp_path / f"codes.{name}", "--params", tmp_path / "params.json", "-o", tmp_path / f"{name}.tamis", "--quiet")
    cli("merge", tmp_path / "csv.tamis", tmp_path / "parquet.tamis", "-o", tmp_path / "both.tamis", "--quiet")
    cli("add", tmp_path / "csv.tamis", tmp_path / "codes.parquet", "--quiet")
    for name in ("both", "csv"):
        assert tamis.open(tmp_path / f"{name}.tamis").about == {"classes": ["text", "integer"]}


def test_a_stream_of_parquet_records_its_classes_as_a_build_does(tmp_path: Path, cli: Callable[..., str]) -> None:
    pa.parquet.write_table(pa.table({"id": [1234, 567]}), tmp_path / "ids.parquet")
    cli("plan", tmp_path / "ids.parquet", "--key", "id", "-o", tmp_path / "params.json", "--quiet")
    cli("build", tmp_path / "ids.parquet", "--params", tmp_path / "params.json", "-o", tmp_path / "ids.tamis", "--quiet")
    cli("stream", "--train", tmp_path / "ids.parquet", "--params", tmp_path / "params.json", "--state", tmp_path / "state", "--quiet")
    learned = [path for path in (tmp_path / "state").iterdir() if path.name.endswith(".tamis")]
    assert (tmp_path / "ids.tamis").read_bytes() in [path.read_bytes() for path in learned]


@pytest.mark.spark
@pytest.mark.parametrize("key, name", [("n", "integer"), ("x", "float"), ("d", "decimal")])
@given(values=st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=12))
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spark_makes_and_finds_the_keys_of_every_class(spark: Any, key: str, name: str, values: list[int]) -> None:
    from tamis.spark import build, filter_df

    df = spark.createDataFrame([(value,) for value in values], "n long").coalesce(1)
    df = df.selectExpr("n", "cast(n as double) x", "cast(n as decimal(12,2)) d")
    sketch = build(df, key=key, fpr=WIDTH)
    assert sketch.about == {"classes": [name]}
    assert sketch.to_bytes() == tamis.build(df.toArrow(), key=key, fpr=WIDTH).to_bytes()
    # Whole numbers are found in a file of integers or floats, whatever they are now.
    with heard() as said:
        asked = ["n", "x", "d"] if name != "decimal" else ["d"]
        found = df
        for other in asked:
            found = filter_df(found, sketch, key=other)
        assert found.count() == len(values)
    # Files do not record how many digits their decimals have: that is said.
    assert ["42.5 and 42.50 are two keys" in str(one) for one in said] == [True] * (name == "decimal")


@pytest.mark.spark
def test_spark_names_the_classes_where_integers_ask_for_texts(spark: Any) -> None:
    from tamis.spark import filter_df, test

    texts = tamis.build({"id": ["01234", "7"]}, key="id", fpr=WIDTH)
    df = spark.createDataFrame([(1234,), (7,)], "id long")
    with pytest.warns(tamis.KeyClassWarning, match="made from text, and integers ask"):
        assert filter_df(df, texts).count() == 1
    with pytest.warns(tamis.KeyClassWarning, match="made from text, and integers ask"):
        test(df, texts)
    with heard() as said:
        assert filter_df(df.selectExpr("cast(id as string) id"), texts).count() == 1
    assert not said


@pytest.mark.spark
def test_times_from_spark_are_found_as_the_documentation_says_in_every_zone(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe that was documented found none of 50 outside UTC."""
    from tamis.spark import build

    before = spark.conf.get("spark.sql.session.timeZone")
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
        df = spark.range(50).selectExpr("timestamp_seconds(1794000000 + id * 3600) t")
        sketch = build(df, key="t", fpr=WIDTH)
        assert sketch.contains(dt.datetime.fromtimestamp(1794000000, dt.timezone.utc))
        assert all(sketch.contains(df.toArrow()["t"]).to_pylist())
        naive = df.toPandas()["t"]
        assert sketch.contains(naive.dt.tz_localize(spark.conf.get("spark.sql.session.timeZone"))).all()
        rows = df.collect()
        assert all(sketch.contains([row.t.astimezone() for row in rows]))
        with pytest.warns(tamis.KeyClassWarning, match="without a zone"):
            assert not sketch.contains(naive).any()
        local = build(df.selectExpr("cast(t as timestamp_ntz) t"), key="t", fpr=WIDTH)
        assert local.contains(naive).all()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
        monkeypatch.undo()
        time.tzset()
