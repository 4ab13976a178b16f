"""Makes nested.parquet: pip install pyarrow==26.0.1; python make_nested.py (the rows are always the same)."""

import datetime
import decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 300


def some(every, value):
    """Rows, every so many of which are null."""
    return [None if i % every == every - 1 else value(i) for i in range(ROWS)]


def maybe(i, every, value):
    return None if i % every == 0 else value


table = pa.table(
    {
        "key": pa.array(some(7, lambda i: f"k{i % 40}"), pa.string()),
        "number": pa.array([i % 150 for i in range(ROWS)], pa.int64()),
        "small": pa.array(some(5, lambda i: i % 100 - 50), pa.int8()),
        "unsigned": pa.array(some(6, lambda i: 2**32 - 1 - i), pa.uint32()),
        "single": pa.array(some(4, lambda i: i / 8), pa.float32()),
        "double": pa.array(some(3, lambda i: i / 3), pa.float64()),
        "truth": pa.array(some(9, lambda i: i % 2 == 0), pa.bool_()),
        "day": pa.array(some(8, lambda i: datetime.date(2000, 1, 1) + datetime.timedelta(i)), pa.date32()),
        "at": pa.array(some(5, lambda i: i * 1_000_001), pa.timestamp("us", tz="Europe/Rome")),
        "price": pa.array(some(6, lambda i: decimal.Decimal(i) / 100), pa.decimal128(20, 2)),
        "bytes": pa.array(some(7, lambda i: bytes([i % 256, 10, 13, 0])), pa.binary()),
        "three": pa.array(some(4, lambda i: bytes([i % 256] * 3)), pa.binary(3)),
        "word": pa.array(some(5, lambda i: "abc"[i % 3])).dictionary_encode(),
        "list": pa.array(some(5, lambda i: [maybe(j, 3, j) for j in range(i % 4)]), pa.list_(pa.int32())),
        "lists": pa.array(
            some(6, lambda i: [maybe(k, 2, [str(j) for j in range(k)]) for k in range(i % 4)]),
            pa.list_(pa.list_(pa.string())),
        ),
        "struct": pa.array(
            some(4, lambda i: {"a": maybe(i, 3, i), "b": maybe(i, 5, {"c": str(i), "d": [i, None]})}),
            pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string()), ("d", pa.list_(pa.int16()))]))]),
        ),
        "map": pa.array(
            some(5, lambda i: [(str(j), maybe(j, 2, j)) for j in range(i % 3)]), pa.map_(pa.string(), pa.int32())
        ),
    }
)
table = table.replace_schema_metadata({"made by": "make_nested.py"})
pq.write_table(table, Path(__file__).parent / "nested.parquet", row_group_size=100, compression="zstd")
