"""How fast many keys are answered: beside the library itself, and beside other packages; in one run.

    pip install pyarrow rbloom pyprobables
    pip install ./crates/python                 # a release build
    python crates/python/bench.py [KEYS]        # 10 million if nothing is said

Half of the keys are in the set. All numbers are nanoseconds per key on one thread, the best of some
rounds; read them as ratios of one run, on a machine that does nothing else. The library (crates/tamis/examples/lookup.rs) hashes the same keys
and asks the same file in batches; rbloom and pyprobables have no batches, and are asked key by key, as
their users do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa

import tamis

ROOT = Path(__file__).resolve().parents[2]
FPR = 0.01


def best(rounds: int, keys: int, work: Callable[[], Any]) -> float:
    """Nanoseconds per key of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - start)
    return min(times) / keys


def library(folder: str, sketch: tamis.Sketch, keys: list[str]) -> float:
    """The library alone, on the same file and keys."""
    file, text = os.path.join(folder, "keys.tamis"), os.path.join(folder, "keys.txt")
    sketch.save(file)
    Path(text).write_text("\n".join(keys))
    command = ["cargo", "run", "--quiet", "--release", "-p", "tamis", "--example", "lookup", "--", file, text]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return float(said.split()[0])


def main() -> None:
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    keys = [f"user-{i}@example.org" for i in range(count)]
    array = pa.array(keys)
    build = time.perf_counter_ns()
    sketch = tamis.build(array.slice(0, count // 2), fpr=FPR, threads=1)
    build = time.perf_counter_ns() - build
    alone, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):  # in turns, so that what else the machine does meets both
            alone.append(library(folder, sketch, keys))
            ours.append(best(5, count, lambda: sketch.contains(array, threads=1)))
    rows = [
        ("the library, batches", min(alone)),
        ("contains(pyarrow array), 1 thread", min(ours)),
        ("contains(pyarrow array), all threads", best(5, count, lambda: sketch.contains(array))),
        ("contains(list)", best(1, count, lambda: sketch.contains(keys, threads=1))),
    ]
    some = keys[:: max(1, count // 1_000_000)]
    rows.append(("contains(key), one by one", best(2, len(some), lambda: [sketch.contains(key) for key in some])))
    try:
        from rbloom import Bloom
    except ImportError:
        print("rbloom is not installed: left out")
    else:
        bloom = Bloom(count // 2, FPR)
        bloom.update(keys[: count // 2])
        rows.append(("rbloom, key in bloom", best(2, count, lambda: [key in bloom for key in keys])))
    try:
        from probables import BloomFilter
    except ImportError:
        print("pyprobables is not installed: left out")
    else:
        # It takes microseconds per key: a hundredth of the keys tells as much.
        few = keys[:: max(1, count // 100_000)]
        slow = BloomFilter(est_elements=len(few), false_positive_rate=FPR)
        for key in few[::2]:
            slow.add(key)
        rows.append((f"pyprobables, check ({len(few):,} keys)", best(1, len(few), lambda: [slow.check(key) for key in few])))
    print(f"{count:,} keys, half of them in the set; built in {build / (count // 2):.1f} ns/key")
    for name, nanoseconds in rows:
        print(f"{name:<40} {nanoseconds:>10.1f} ns/key {nanoseconds / rows[1][1]:>9.2f} x")


if __name__ == "__main__":
    main()
