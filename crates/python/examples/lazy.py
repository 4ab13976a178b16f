"""The same filter in polars' lazy frames, in DuckDB, and over a dataset that is never held whole."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import tamis


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(pa.table({"id": [1, 2, 3], "n": [10, 20, 30]}), folder / "users.parquet")

        users = tamis.build(ds.dataset(folder / "users.parquet"), key="id", fpr=1e-6)

        lazy = pl.LazyFrame({"id": [3, 4], "page": ["/", "/login"]})
        print(lazy.filter(users.expr("id")).collect(engine="streaming")["page"].to_list())

        connection = duckdb.connect()
        users.duckdb(connection, "known")
        print(connection.sql("SELECT x FROM range(1, 6) t(x) WHERE known(x)").fetchall())

        print(sum(batch.num_rows for batch in users.filter(ds.dataset(folder / "users.parquet"), key="id")))


if __name__ == "__main__":
    main()
