"""What holds of every set of keys."""

from __future__ import annotations

import pickle
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis

keys = st.lists(st.text(min_size=1, max_size=12).filter(lambda text: text != "\\N"), min_size=1, max_size=80)
rows = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 4)), min_size=1, max_size=200)
kinds = st.sampled_from(["blocked", "bloom", "fuse", "ribbon", "counting"])
mergeable = st.sampled_from(["blocked", "bloom", "count-min"])


def table(rows: list[tuple[int, int]]) -> pa.Table:
    ids, groups = zip(*rows) if rows else ((), ())
    return pa.table({"id": pa.array(ids, pa.int64()), "group": pa.array(groups, pa.int8())})


@given(keys, kinds, st.sampled_from(["xxh3", "murmur3"]), st.integers(1, 3))
def test_no_key_that_is_in_the_set_is_missed(keys: list[str], kind: str, hash: str, threads: int) -> None:
    kind = "bloom" if hash == "murmur3" else kind
    sketch = tamis.build(keys, kind=kind, hash=hash, threads=threads)
    assert all(sketch.contains(keys))
    assert all(key in sketch for key in keys)


@given(keys, keys, kinds)
def test_many_keys_are_answered_as_each_alone(known: list[str], asked: list[str], kind: str) -> None:
    sketch = tamis.build(known, kind=kind, fpr=0.3)
    alone = [sketch.contains(key) for key in asked]
    assert sketch.contains(asked) == alone
    chunks = pa.chunked_array([asked[:1], [], asked[1:]], pa.string())
    for array in [pa.array(asked), pa.array(asked, pa.large_string()), pa.array(asked, pa.string_view())]:
        assert sketch.contains(array).to_pylist() == alone
        assert sketch.contains(array.slice(len(asked) // 2)).to_pylist() == alone[len(asked) // 2 :]
    assert sketch.contains(chunks).to_pylist() == alone
    assert sketch.contains(pa.array(asked).dictionary_encode()).to_pylist() == alone


@given(rows, rows, mergeable)
def test_a_merge_is_a_build_of_all_rows(a: list[tuple[int, int]], b: list[tuple[int, int]], kind: str) -> None:
    options = {"epsilon": 0.1} if kind == "count-min" else {"fpr": 0.02}
    params = tamis.plan(table(a + b), key="id", group="group", kind=kind, **options)
    left, right = (tamis.build(table(part), params=params) for part in (a, b))
    whole = tamis.build(table(a + b), params=params)
    assert tamis.merge(left, right) == whole
    assert tamis.merge([right, left]) == whole
    assert left | right == whole
    assert whole == tamis.build(table(a + b), key="id", group="group", kind=kind, **options)


@given(rows, st.sampled_from(["blocked", "bloom", "fuse", "ribbon", "counting", "count-min"]))
def test_a_sketch_comes_back_from_pickling_as_it_was(rows: list[tuple[int, int]], kind: str) -> None:
    sketch = tamis.build(table(rows), key="id", group="group", kind=kind)
    again = pickle.loads(pickle.dumps(sketch))
    assert again == sketch and again.to_bytes() == sketch.to_bytes() and again.params == sketch.params
    again.verify()


@given(rows, st.booleans(), st.sampled_from([32, 64]))
def test_no_estimate_is_below_the_truth(rows: list[tuple[int, int]], conservative: bool, bits: int) -> None:
    columns = {"id": [key for key, _ in rows], "weight": [weight for _, weight in rows]}
    hits = tamis.build(
        columns, key="id", weight="weight", kind="count-min", width=7, depth=3, conservative=conservative, counter_bits=bits
    )
    truth: Counter[int] = Counter()
    for key, weight in rows:
        truth[key] += weight
    estimates = hits.estimate(list(truth))
    assert all(estimate >= truth[key] for key, estimate in zip(truth, estimates))
    assert estimates == [hits.estimate(key) for key in truth]
    assert hits.total == sum(truth.values())


@given(rows)
def test_groups_are_those_whose_filters_say_yes(rows: list[tuple[int, int]]) -> None:
    sketch = tamis.build(table(rows), key="id", group="group", fpr=0.2)
    assert sketch.group_names == [str(group) for group in sorted({group for _, group in rows})]
    asked = list(range(0, 330, 7))
    for key, found in zip(asked, sketch.groups(asked)):
        assert found == [name for name in sketch.group_names if sketch.contains(key, group=name)]
        assert found == sketch.groups(key)
        assert sketch.contains(key) == bool(found)
    assert all(str(group) in sketch.groups(key) for key, group in rows)


@given(rows, st.integers(1, 200), st.integers(1, 3))
def test_the_bytes_do_not_depend_on_threads_or_batches(rows: list[tuple[int, int]], size: int, threads: int) -> None:
    whole = table(rows)
    batches = pa.Table.from_batches(whole.to_batches(max_chunksize=size))
    one = tamis.build(whole, key="id", group="group", threads=1)
    assert tamis.build(batches, key="id", group="group", threads=threads) == one
    reader = pa.RecordBatchReader.from_batches(whole.schema, iter(whole.to_batches(max_chunksize=size)))
    assert tamis.build(reader, key="id", group="group", threads=threads) == one


@given(rows, st.integers(1, 200), st.sampled_from(["blocked", "bloom", "count-min"]), st.booleans())
def test_batches_one_by_one_give_the_sketch_of_all(
    rows: list[tuple[int, int]], size: int, kind: str, conservative: bool
) -> None:
    options = {"kind": kind, "conservative": conservative and kind == "count-min"}
    whole = table(rows)
    params = tamis.plan(whole, key="id", group="group", **options)
    builder = tamis.Builder(params)
    for batch in whole.to_batches(max_chunksize=size):
        builder.add(batch)
    expected = tamis.build(whole, params=params)
    assert builder.finish() == expected
    assert tamis.build(iter(whole.to_batches(max_chunksize=size)), params=params) == expected


def test_a_large_array_is_asked_on_many_threads() -> None:
    numbers = pa.array([f"user-{i}" for i in range(300_000)])
    sketch = tamis.build(numbers.slice(0, 150_000), fpr=0.001)
    found = sketch.contains(numbers, threads=3)
    assert found.equals(sketch.contains(numbers, threads=1))
    assert found.slice(0, 150_000).true_count == 150_000
    assert found.slice(150_000).true_count == pytest.approx(150, abs=80)
