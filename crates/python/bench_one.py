"""How fast one key, lists of integers and few keys are answered, beside rbloom; in one run, in turns.

    pip install numpy pyarrow rbloom
    pip install ./crates/python                 # a release build
    python crates/python/bench_one.py

Each row is the best of some rounds of both, in turns; read the ratios. The last column says whether the target is met.
"""

from __future__ import annotations

import time
from typing import Any, Callable

import numpy as np
import pyarrow as pa
from rbloom import Bloom

import tamis

FPR = 0.01
KEYS = 100_000
FEW = 100


def in_turns(rounds: int, keys: int, works: list[Callable[[], Any]]) -> list[float]:
    """Nanoseconds per key of the fastest round of each."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for at, work in enumerate(works):
            start = time.perf_counter_ns()
            work()
            best[at] = min(best[at], (time.perf_counter_ns() - start) / keys)
    return best


def one_by_one(keys: list[Any], sieve: Any) -> Callable[[], None]:
    def ask() -> None:
        for key in keys:
            key in sieve

    return ask


def row(name: str, ours: float, theirs: float, most: float) -> None:
    verdict = "met" if ours <= most * theirs else "missed"
    print(f"| {name} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} | {most} | {verdict} |")


def main() -> None:
    print("| | tamis, ns | beside, ns | ratio | target | |\n|---|---|---|---|---|---|")
    of_kind: dict[str, list[Any]] = {
        "str": [f"user-{i}@example.org" for i in range(KEYS)],
        "int": list(range(10**6, 10**6 + KEYS)),
        "np.int64": list(np.arange(10**6, 10**6 + KEYS)),
    }
    for name, keys in of_kind.items():
        ours, theirs = tamis.build(keys[::2], fpr=FPR), Bloom(KEYS // 2, FPR)
        theirs.update(keys[::2])
        row(f"`key in filter`, {name}; rbloom", *in_turns(7, KEYS, [one_by_one(keys, ours), one_by_one(keys, theirs)]), 1.6)
    for name in ("int", "str"):
        keys = of_kind[name]
        bloom = Bloom(KEYS, FPR)
        bloom.update(keys)
        sketch = tamis.build(keys, fpr=FPR)
        builds: list[Callable[[], Any]] = [lambda: tamis.build(keys, fpr=FPR), lambda: Bloom(KEYS, FPR).update(keys)]
        row(f"build of a list of {name}; rbloom", *in_turns(7, KEYS, builds), 1.0)
        asks: list[Callable[[], Any]] = [lambda: sketch.contains(keys), lambda: [key in bloom for key in keys]]
        row(f"`contains` of a list of {name}; rbloom", *in_turns(7, KEYS, asks), 1.0)
    few, sketch = pa.array(of_kind["str"][:FEW]), tamis.build(of_kind["str"], fpr=FPR)
    calls: list[Callable[[], Any]] = [lambda: sketch.contains(few), lambda: sketch.contains(few, threads=1)]
    row("`contains` of 100 Arrow keys, a call; one thread", *in_turns(2000, 1, calls), 1.1)
    params = tamis.plan(keys=KEYS, fpr=FPR)
    builders = [tamis.Builder(params), tamis.Builder(params, threads=1)]
    adds = [lambda builder=builder: builder.add(few[:1]) for builder in builders]
    row("`Builder.add` of one Arrow key, a call; one thread", *in_turns(2000, 1, adds), 1.1)


if __name__ == "__main__":
    main()
