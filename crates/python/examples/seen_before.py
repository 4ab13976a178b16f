"""Which orders are new? What was seen is remembered in a file between one run and the next."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

import tamis


def new_orders(batch: pl.DataFrame, memory: Path) -> pl.DataFrame:
    seen = tamis.Filter.open(memory) if memory.exists() else tamis.Filter(key="order", fpr=1e-6)
    new = seen.dedup(batch)
    seen.save(memory)
    return new


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = Path(folder) / "orders.tamis"
        monday = pl.DataFrame({"order": [1, 2, 2, 3], "total": [10, 20, 20, 30]})
        tuesday = pl.DataFrame({"order": [3, 4], "total": [30, 40]})
        for day in (monday, tuesday):
            print(new_orders(day, memory)["order"].to_list())


if __name__ == "__main__":
    main()
