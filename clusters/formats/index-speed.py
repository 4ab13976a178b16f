"""The filters of a column of a Parquet file by tamis, beside pyarrow reading that column, in one run on this machine.

    cargo build --release --locked -p tamis-jobs --example index_speed
    python index-speed.py make FOLDER
    python index-speed.py run FOLDER target/release/examples/index_speed

4,000,000 rows in 8 row groups, a column to a file: numbers and texts, each stored as it is, by a dictionary of 1,000
values, and by one that is given up since it becomes too large. Milliseconds, the median of the rounds. The copy of the
file, which an index makes, too, is not measured. `least` is decoding, hashing and setting bits, and nothing else.
"""

import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, GROUP, ROUNDS = 4_000_000, 500_000, 5
CODECS = ["none", "snappy", "zstd"]


def columns():
    """Each column, and whether pyarrow is to make a dictionary of it."""
    dice = np.random.default_rng(20)
    numbers = dice.integers(0, 2**60, ROWS)
    few = dice.integers(0, 1000, ROWS)
    texts = pa.array(np.char.add("user-", np.char.zfill((numbers % 10**11).astype(str), 11)))
    yield "int-plain", pa.array(numbers), False
    yield "int-dictionary", pa.array(numbers[few]), True
    yield "int-given-up", pa.array(numbers), True
    yield "text-plain", texts, False
    yield "text-dictionary", texts.take(pa.array(few)), True
    yield "text-given-up", texts, True


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, column, dictionary in columns():
        for codec in CODECS:
            pq.write_table(
                pa.table({"column": column}),
                folder / f"{name}.{codec}.parquet",
                row_group_size=GROUP,
                compression=codec,
                use_dictionary=dictionary,
            )


def pyarrow_reads(path, use_threads):
    """Milliseconds, the median of the rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        table = pq.read_table(path, columns=["column"], use_threads=use_threads)
        times.append((time.perf_counter() - start) * 1e3)
        assert table.num_rows == ROWS
        del table
    return statistics.median(times)


def run(folder, program):
    print("| column | codec | threads | pyarrow reads | tamis reads | least | index | of pyarrow |")
    print("|---|---|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.parquet")):
        name, codec, _ = path.name.split(".")
        for threads in [1, 2]:
            theirs = pyarrow_reads(path, threads > 1)
            done = subprocess.run(
                [program, path, "column", str(threads), str(ROUNDS)], check=True, capture_output=True, text=True
            )
            looked, least, index = map(float, done.stdout.split())
            print(
                f"| {name} | {codec} | {threads} | {theirs:.1f} | {looked:.1f} | {least:.1f} | {index:.1f} "
                f"| {index / theirs:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", folder]:
            make(pathlib.Path(folder))
        case ["run", folder, program]:
            run(pathlib.Path(folder), program)
        case _:
            sys.exit(__doc__)
