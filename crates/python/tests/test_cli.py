"""The package and the command line make the same files of the same rows, and read each other's."""

from __future__ import annotations

import datetime
import json
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import tamis

ROWS = 5000
TABLE = pa.table(
    {
        "id": [f" User-{i % 3000} " for i in range(ROWS)],
        "country": [["at", "it", "fr"][i % 3] for i in range(ROWS)],
        "rating": [i % 21 / 2 for i in range(ROWS)],
        "bytes": [i * i % 1000 for i in range(ROWS)],
        "tags": [f"t{i % 7}, t{i % 11}, t{i % 13}" for i in range(ROWS)],
    }
)

CHOICES: list[tuple[dict[str, Any], list[str]]] = [
    ({"key": "id"}, ["--key", "id"]),
    ({"key": "id:trim,lower", "fpr": 0.001}, ["--key", "id:trim,lower", "--fpr", "0.001"]),
    ({"key": "id", "group": "country"}, ["--key", "id", "--group", "country"]),
    ({"key": "id", "group": "rating:round", "bits_per_key": 9.7}, ["--key", "id", "--group", "rating:round", "--bits-per-key", "9.7"]),
    ({"key": ["id", "country"], "size": 20000}, ["--key", "id", "--key", "country", "--size", "20000"]),
    ({"key": "id", "kind": "bloom", "seed": 7}, ["--key", "id", "--kind", "bloom", "--seed", "7"]),
    ({"key": "id", "hash": "murmur3", "group": "country"}, ["--key", "id", "--hash", "murmur3", "--group", "country"]),
    ({"key": "id", "kind": "bloom", "hashes": 2, "bits": 10200}, ["--key", "id", "--kind", "bloom", "--hashes", "2", "--bits", "10200"]),
    (
        {"key": "id", "hash": "polynomial", "seed": 7, "group": "country", "bits_per_group": 5160},
        ["--key", "id", "--hash", "polynomial", "--seed", "7", "--group", "country", "--bits-per-group", "5160"],
    ),
    ({"key": "id", "kind": "fuse"}, ["--key", "id", "--kind", "fuse"]),
    ({"key": "id", "kind": "ribbon", "fpr": 0.003}, ["--key", "id", "--kind", "ribbon", "--fpr", "0.003"]),
    ({"key": "id", "kind": "counting"}, ["--key", "id", "--kind", "counting"]),
    ({"key": "id", "keys": 9000, "group": "country"}, ["--key", "id", "--keys", "9000", "--group", "country"]),
    ({"keywords": "tags:split=,", "kind": "layered", "fpr": 0.05}, ["--keywords", "tags:split=,", "--kind", "layered", "--fpr", "0.05"]),
    ({"key": "id", "kind": "count-min", "weight": "bytes"}, ["--key", "id", "--kind", "count-min", "--weight", "bytes"]),
    (
        {"key": "id", "kind": "count-min", "group": "country", "epsilon": 0.01, "delta": 0.05, "counter_bits": 32},
        ["--key", "id", "--kind", "count-min", "--group", "country", "--epsilon", "0.01", "--delta", "0.05", "--counter-bits", "32"],
    ),
    ({"key": "country", "kind": "count-min", "heavy": 0.1}, ["--key", "country", "--kind", "count-min", "--heavy", "0.1"]),
    (
        {"key": "id", "kind": "count-min", "conservative": True, "width": 500, "depth": 3},
        ["--key", "id", "--kind", "count-min", "--conservative", "--width", "500", "--depth", "3"],
    ),
]


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    pyarrow.csv.write_csv(TABLE, path)
    return path


@pytest.mark.parametrize(("options", "arguments"), CHOICES, ids=[" ".join(arguments) for _, arguments in CHOICES])
def test_the_bytes_are_those_of_the_command_line(
    options: dict[str, Any], arguments: list[str], csv: Path, tmp_path: Path, cli: Callable[..., str]
) -> None:
    theirs, ours = tmp_path / "cli.tamis", tmp_path / "python.tamis"
    cli("build", csv, *arguments, "-o", theirs, "--quiet")
    sketch = tamis.build(TABLE, **options)
    sketch.save(ours)
    assert ours.read_bytes() == theirs.read_bytes()
    assert sketch == tamis.open(theirs)
    shown = json.loads(cli("inspect", ours, "--json"))
    assert tamis.open(ours).inspect() == shown


def test_lines_are_keys_as_in_a_file_of_lines(tmp_path: Path, cli: Callable[..., str]) -> None:
    lines = [f"key {i}" for i in range(1000)]
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    cli("build", tmp_path / "lines.txt", "-o", tmp_path / "lines.tamis", "--quiet")
    theirs = tamis.open(tmp_path / "lines.tamis")
    for keys in [lines, iter(lines), pa.array(lines), {line: None for line in lines}.keys()]:
        assert tamis.build(keys) == theirs


def test_parts_with_saved_parameters_merge_to_what_the_command_line_builds(
    csv: Path, tmp_path: Path, cli: Callable[..., str]
) -> None:
    saved, whole = tmp_path / "params.json", tmp_path / "whole.tamis"
    cli("plan", csv, "--key", "id", "--group", "country", "-o", saved, "--quiet")
    cli("build", csv, "--params", saved, "-o", whole, "--quiet")
    params = tamis.plan(TABLE, key="id", group="country")
    assert params == json.loads(saved.read_text())
    parts = [tamis.build(part, params=saved.read_text()) for part in (TABLE.slice(0, 1234), TABLE.slice(1234))]
    assert tamis.merge(parts) == tamis.open(whole)
    assert tamis.build(TABLE, params=parts[0]) == tamis.open(whole)


def test_the_command_line_finds_what_was_built_here(tmp_path: Path, program: str) -> None:
    path = tmp_path / "users.tamis"
    tamis.build({"id": ["ann", "bob"], "country": ["at", "it"]}, key="id", group="country", fpr=1e-6).save(path)
    found = subprocess.run([program, "query", str(path), "ann"], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "ann\tat\n")


MOMENT = datetime.datetime(2026, 11, 15, 12, 34, 56, 789000)
TYPES: list[tuple[str, list[Any], Any]] = [
    ("bool", [True, False, None], pa.bool_()),
    *[(f"int{bits}", [0, 1, -1, None, 2 ** (bits - 1) - 1], getattr(pa, f"int{bits}")()) for bits in (8, 16, 32, 64)],
    *[(f"uint{bits}", [0, 1, None, 2**bits - 1], getattr(pa, f"uint{bits}")()) for bits in (8, 16, 32, 64)],
    ("float32", [0.0, -1.5, 1e-7, 3.4e38, None, float("nan"), 0.1], pa.float32()),
    ("float64", [0.0, -1.5, 1e-7, 1e300, None, float("inf"), 0.1], pa.float64()),
    ("string", ["a", "é", None, "x" * 50], pa.string()),
    ("large_string", ["a", "é", None, "x" * 50], pa.large_string()),
    ("string_view", ["a", "é", None, "x" * 50], pa.string_view()),
    ("binary", [b"a", b"\xff\x00", None], pa.binary()),
    ("binary_view", [b"a", b"\xff\x00", None, b"y" * 40], pa.binary_view()),
    ("fixed", [b"abc", b"\xff\x00\x01", None], pa.binary(3)),
    ("date32", [datetime.date(2026, 11, 15), None, datetime.date(1900, 1, 1)], pa.date32()),
    ("time_ms", [datetime.time(1, 2, 3, 4000), None], pa.time32("ms")),
    ("time_us", [datetime.time(1, 2, 3, 4), None], pa.time64("us")),
    ("time_ns", [datetime.time(1, 2, 3), None], pa.time64("ns")),
    ("stamp_s", [MOMENT.replace(microsecond=0), None], pa.timestamp("s")),
    ("stamp_ms", [MOMENT, None], pa.timestamp("ms")),
    ("stamp_us", [MOMENT, None], pa.timestamp("us", tz="Europe/Vienna")),
    ("stamp_ns", [MOMENT, None], pa.timestamp("ns", tz="UTC")),
    ("decimal", [Decimal("1.50"), Decimal("-0.07"), None], pa.decimal128(10, 2)),
    ("decimal_wide", [Decimal("1.50"), Decimal("-123456789012345678901234567890.07"), None], pa.decimal256(60, 2)),
    ("half", [0.5, -2.0, None], pa.float16()),
]


@pytest.mark.parametrize(("values", "type"), [case[1:] for case in TYPES], ids=[case[0] for case in TYPES])
def test_every_type_has_the_text_that_it_has_in_parquet(
    values: list[Any], type: pa.DataType, tmp_path: Path, cli: Callable[..., str]
) -> None:
    table = pa.table({"key": pa.array(values, type)})
    pa.parquet.write_table(table, tmp_path / "rows.parquet", version="2.6")
    cli("build", tmp_path / "rows.parquet", "--key", "key", "--bad-rows", "skip", "-o", tmp_path / "rows.tamis", "--quiet")
    theirs = tamis.open(tmp_path / "rows.tamis")
    ours = tamis.build(table, key="key", bad_rows="skip")
    assert ours.skipped == values.count(None)
    assert ours == theirs
    if not pa.types.is_floating(type) and not pa.types.is_decimal256(type):
        encoded = pa.table({"key": table["key"].dictionary_encode()})
        assert tamis.build(encoded, key="key", bad_rows="skip") == theirs


def test_python_values_have_the_text_of_arrow_values() -> None:
    for values in [[1, -5, 2**63 - 1], [0.1, -1.5, 1e300, 1e-7], [True, False], ["a", "é"], [b"\xff", b"x"]]:
        assert tamis.build(values) == tamis.build(pa.array(values))
    assert tamis.build([2**80]).contains(str(2**80))


def test_parquet_that_is_written_is_the_same_table_in_pyarrow(tmp_path: Path, cli: Callable[..., str]) -> None:
    """Nested columns, nulls, every type, and what pyarrow says of its own types are kept."""
    rows = 60
    columns = {name: pa.array([values[i % len(values)] for i in range(rows)], type) for name, values, type in TYPES}
    parts = [None, [], [1, None, 3]]
    columns["list"] = pa.array([parts[i % 3] for i in range(rows)], pa.list_(pa.int16()))
    columns["lists"] = pa.array([[parts[i % 3], parts[(i + 1) % 3]] for i in range(rows)], pa.large_list(pa.list_(pa.int8())))
    columns["map"] = pa.array([None if i % 5 == 0 else [("a", i), ("b", None)][: i % 3] for i in range(rows)], pa.map_(pa.string(), pa.int64()))
    inner = pa.struct([("x", pa.string()), ("y", pa.list_(pa.float32()))])
    columns["struct"] = pa.array([None if i % 4 == 0 else {"x": None if i % 3 == 0 else str(i), "y": parts[i % 3]} for i in range(rows)], inner)
    columns["word"] = pa.array([["u", None, "v"][i % 3] for i in range(rows)]).dictionary_encode()
    columns["nothing"] = pa.nulls(rows)
    table = pa.table({"key": [f"k{i % 50}" for i in range(rows)], **columns})
    pa.parquet.write_table(table, tmp_path / "rows.parquet", version="2.6", row_group_size=17)
    table = pa.parquet.read_table(tmp_path / "rows.parquet")  # Parquet has no seconds
    for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
        first, again = tmp_path / "first.parquet", tmp_path / "again.parquet"
        cli("dedup", tmp_path / "rows.parquet", "--key", "key", "--compression", codec, "-o", first, "--rejected", again, "--quiet")
        for path, part in [(first, table.slice(0, 50)), (again, table.slice(50))]:
            found = pa.parquet.read_table(path)
            assert found.schema.equals(table.schema, check_metadata=True)
            # A list shows every value; NaN is not equal to itself.
            assert repr(found.to_pylist()) == repr(part.to_pylist())
